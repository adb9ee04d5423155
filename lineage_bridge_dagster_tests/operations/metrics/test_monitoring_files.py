"""Alert rules, dashboard and runbooks fit the exporter and the commands that there are."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import promql_parser
import pytest
import yaml

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.operations.doctor.checks import all_checks, selected
from lineage_bridge_dagster.operations.metrics.families import FAMILIES
from lineage_bridge_dagster_tests.deploy.programs import program

ROOT = Path(__file__).parents[3]
MONITORING = ROOT / "deploy" / "monitoring"
RULES = [
    rule
    for group in yaml.safe_load((MONITORING / "rules.yaml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
RUNBOOKS = sorted((ROOT / "docs").glob("runbooks*.md"))

#: Labels that Prometheus sets; it renames those of a scraped page.
SET_BY_PROMETHEUS = {"job", "instance"}
#: Labels of each series; Prometheus makes `up` itself.
LABELS = {series: {*family.labels, *SET_BY_PROMETHEUS} for family in FAMILIES for series in family.series}
LABELS["up"] = SET_BY_PROMETHEUS


def selectors(expression: str) -> Iterator[tuple[str, set[str]]]:
    """The series in an expression of PromQL, each with the labels that it is selected by."""
    promql_parser.parse(expression)
    for name, matchers in re.findall(r"\b(lineage_bridge_\w+|up)\b(?:\{([^}]*)\})?", expression):
        yield name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))


def dashboard_expressions() -> list[str]:
    return [
        target["expr"].replace("$component", "x")
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", [])
    ]


@pytest.mark.parametrize("expression", [*(rule["expr"] for rule in RULES), *dashboard_expressions()])
def test_expression_uses_metrics_and_labels_that_exist(expression: str) -> None:
    found = list(selectors(expression))
    assert found
    for name, labels in found:
        assert name in LABELS
        assert labels <= LABELS[name]
    grouped = {
        each.strip() for group in re.findall(r"\bby \(([^)]*)\)", expression) for each in group.split(",")
    }
    assert grouped <= set().union(*(LABELS[name] for name, _ in found)) - SET_BY_PROMETHEUS


def test_no_label_is_one_that_prometheus_sets() -> None:
    assert not [family.name for family in FAMILIES if SET_BY_PROMETHEUS & set(family.labels)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_alert_has_all_that_whoever_is_on_call_needs(rule: dict[str, Any]) -> None:
    assert rule["alert"].startswith("LineageBridge")
    assert re.fullmatch(r"\d+[mh]", rule["for"])
    assert rule["labels"] in ({"severity": "critical"}, {"severity": "warning"})
    url = urlsplit(rule["annotations"]["runbook_url"])
    assert (url.scheme, url.hostname) == ("https", "lineage-bridge.example.com")
    text = (ROOT / url.path.lstrip("/")).read_text()
    # As GitHub and GitLab make anchors of headings.
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [each for each in headings if each.lower().replace(" ", "-") == url.fragment] == [rule["alert"]]
    section = text.partition(f"\n## {rule['alert']}\n")[2].partition("\n## ")[0]
    for part in ("**Means:**", "**Look", "**Do", "**Don't**", "**Escalate**"):
        assert part in section, f"{rule['alert']} lacks {part}"
    # Labels of the summary are those that the expression keeps.
    kept = {
        each.strip() for group in re.findall(r"\bby \(([^)]*)\)", rule["expr"]) for each in group.split(",")
    }
    assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= kept


def test_each_section_of_the_runbooks_is_an_alert() -> None:
    sections = [
        name for page in RUNBOOKS for name in re.findall(r"^## (\w+)$", page.read_text(), re.MULTILINE)
    ]
    assert sorted(sections) == sorted(rule["alert"] for rule in RULES)


def commands() -> list[str]:
    """The commands in the code of the runbooks."""
    text = "\n".join(page.read_text() for page in RUNBOOKS)
    code = re.findall(r"`([^`\n]+)`", text) + [
        line for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL) for line in block.splitlines()
    ]
    return sorted(
        {each for each in code if each.startswith(("lineage-bridge ", "dg ", "dagster ", "dagster-"))}
    )


@pytest.mark.parametrize("command", commands())
def test_command_of_the_runbooks_exists_with_its_options(command: str) -> None:
    from dagster_dg_cli.cli import cli as dg

    program, *words = shlex.split(command)
    if program == "dagster-daemon":
        return
    found: click.Command = {"lineage-bridge": main, "dg": dg}[program]
    while isinstance(found, click.Group) and words:
        inner = found.get_command(click.Context(found), words.pop(0))
        assert inner is not None, command
        found = inner
    options = {each for parameter in found.params for each in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= options
    if found.name == "doctor":
        assert selected(all_checks(), [after for word, after in pairwise(words) if word == "--only"])


def test_the_dashboard_can_be_imported() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert DASHBOARD["uid"]
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        if panel["type"] != "row":
            assert panel["title"]
            assert panel["fieldConfig"]["defaults"]["unit"]
            assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
    variables = {each["name"] for each in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource", "component"}


def test_rules_fire_as_their_samples_say() -> None:
    command = [program("promtool"), "test", "rules", MONITORING / "rules.test.yaml"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_samples_have_every_alert() -> None:
    samples = (MONITORING / "rules.test.yaml").read_text()
    assert {rule["alert"] for rule in RULES} == set(re.findall(r'alertname="(\w+)"', samples))
