"""Each symptom on the page for troubleshooting has checks of the doctor, and these have tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from lineage_bridge_dagster.operations.doctor.checks import all_checks

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "troubleshooting.md"

#: What integrations with Glue document as troubleshooting and pitfalls.
DOCUMENTED = {
    "EntityNotFoundException",
    "AccessDeniedException",
    "InvalidInputException",
    "wrong resources",
    "wrong region",
    "wrong account",
    "stray keys",
    "name has a dot",
    "description stays empty",
    "might be overwritten",
    "table optimizer",
}
#: Areas of the machine that runs this, which no integration documents.
OF_THIS_MACHINE = {"machine", "network"}


def _rows() -> dict[str, tuple[set[str], set[str]]]:
    """The checks and the tests of each symptom."""
    table = PAGE.read_text().partition("| tested by |\n")[2].partition("\n\n")[0]
    cells = [row.strip("|").split(" | ") for row in table.splitlines()[1:]]
    return {symptom: (_quoted(checks), _quoted(tests)) for symptom, checks, tests in cells}


def _quoted(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def test_every_documented_symptom_is_on_the_page() -> None:
    symptoms = " ".join(_rows())
    assert [word for word in sorted(DOCUMENTED) if word not in symptoms] == []


def test_every_symptom_has_checks_that_exist_and_tests_of_them() -> None:
    checks = {check.name: check.run for check in all_checks()}
    tests = {
        node.name
        for file in Path(__file__).parent.glob("test_*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    for symptom, (named, held) in _rows().items():
        assert named, symptom
        assert held, symptom
        assert named <= checks.keys(), symptom
        assert held <= tests, symptom


def test_every_check_of_services_is_on_the_page() -> None:
    """Those of Confluent's planes are one row."""
    named = {check for checks, _ in _rows().values() for check in checks}
    planes = re.compile(r"confluent\.(schema_registry|flink|ksqldb|tableflow)")
    missing = [
        check.name
        for check in all_checks()
        if check.name not in named and check.area not in OF_THIS_MACHINE and not planes.fullmatch(check.name)
    ]
    assert missing == []
