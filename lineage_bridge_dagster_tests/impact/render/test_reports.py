"""Reports for people, pull requests and CI: the same impact in each form."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from lineage_bridge_dagster.impact.change import DropNode
from lineage_bridge_dagster.impact.render import json_report, junit, markdown, sarif, text_report
from lineage_bridge_dagster.impact.render.phrases import next_step
from lineage_bridge_dagster.impact.report import Affected, Impact, ImpactGap, PathStep, Verdict
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef

SCHEMA = Path(__file__).parents[3] / "docs" / "impact_report.schema.json"
ORDERS, SINK = NodeRef(NodeKind.TOPIC, "orders"), NodeRef(NodeKind.CONNECTOR, "pg-sink", "id-1")
HOSTILE = NodeRef(NodeKind.GLUE, "lake.a|b`c\x00<img src=x onerror=alert(1)>")


def impact(*, gap: bool = True, many: int = 0) -> Impact:
    """Two nodes that are affected, one of a name that wants to be markup, and more that gain a column."""
    path = (PathStep(ORDERS, "region"), PathStep(SINK, None, "topics of connector pg-sink"))
    effects = [
        Affected(SINK, "region", Verdict.BREAKS, "the column is NOT NULL", path, "team:shop"),
        Affected(SINK, "price", Verdict.CHANGES_TYPE, "it is wider", path),
        Affected(HOSTILE, None, Verdict.LOSES_DATA, "<!-- lineage --> no @rows", path),
        *(
            Affected(NodeRef(NodeKind.VIEW, f"lake.v{number}"), "x", Verdict.GAINS_COLUMN, "new " * 30, path)
            for number in range(many)
        ),
    ]
    gaps = [ImpactGap(None, "connect:env-1:lkc-a was not read"), ImpactGap(ORDERS, "a note", matters=False)]
    return Impact((DropNode(ORDERS),), tuple(effects), tuple(gaps if gap else gaps[1:]))


@pytest.mark.parametrize("found", [impact(), impact(gap=False, many=3), Impact(())])
def test_json_has_each_node_once_and_fits_its_published_schema(found: Impact) -> None:
    report = json_report.report(found)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(json.loads(json.dumps(report)))
    assert [each["node"] for each in report["effects"]] == [str(each.node) for each in found.by_node]
    assert report["complete"] is not found.is_incomplete


def test_json_has_all_columns_of_a_node() -> None:
    effect = json_report.report(impact())["effects"][0]
    assert (effect["verdict"], effect["column"], effect["owner"]) == ("breaks", "region", "team:shop")
    assert [each["column"] for each in effect["columns"]] == ["region", "price"]
    assert effect["path"][1] == {
        "node": "connector : pg-sink",
        "column": "",
        "evidence": "topics of connector pg-sink",
    }


def test_markdown_is_one_comment_with_a_summary_first_and_no_markup_of_others() -> None:
    text = markdown.report(impact(many=2))
    lines = text.splitlines()
    assert lines[0] == markdown.MARKER
    assert text.count("<!--") == 1
    assert "1 breaks, 1 loses data, 2 gain a column; 1 gap, so there may be more" in text
    # What is within backticks is not markup.
    outside = "".join(text.split("`")[::2])
    assert "<img" not in outside
    assert "@" not in outside
    rows = [line for line in lines if line.startswith("| **breaks**")]
    assert len(rows) == 1
    assert "`region`" in rows[0]
    assert "team:shop" in rows[0]
    tables = text.split("<details>")[:2]
    for table, bars in zip(tables, (6, 5), strict=True):
        rows = [line.replace("\\|", "") for line in table.splitlines() if line.startswith("|")]
        assert {row.count("|") for row in rows} == {bars}
    assert "was not read" in text
    assert next_step(impact().effects[0]) in text


@pytest.mark.parametrize("many", [5_000, 20])
def test_markdown_fits_into_a_comment_and_counts_what_does_not(many: int) -> None:
    text = markdown.report(impact(many=many))
    assert len(text) <= 65_536
    shown = text.count("| view `lake.v")
    assert (f"{many - shown:,} more are not shown" in text) is (shown < many)
    assert text.count("<details>") == text.count("</details>")


def test_a_terminal_shows_each_node_with_its_reason_path_and_next_step() -> None:
    text = text_report.report(impact())
    for part in (
        "Change: topic orders is deleted",
        "connector pg-sink (region)  [team:shop]",
        "the column is NOT NULL",
        "orders.region -> pg-sink",
        next_step(impact().effects[0]),
        "Not known:\n  - connect:env-1:lkc-a was not read\n",
        "Notes:\n  - topic orders: a note\n",
        "1 breaks, 1 loses data; 1 gap, so there may be more.",
    ):
        assert part in text
    assert text_report.report(Impact(())).strip() == "Nothing is affected."


@pytest.mark.parametrize(("fail_on", "failures"), [(Verdict.BREAKS, 1), (Verdict.GAINS_COLUMN, 3)])
def test_junit_has_a_case_for_each_node_and_an_error_for_each_gap(fail_on: Verdict, failures: int) -> None:
    suite = ElementTree.fromstring(junit.report(impact(many=1), fail_on))[0]  # noqa: S314 - it is our own
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": str(failures),
        "errors": "1",
    }
    assert len(suite.findall("testcase")) == 4
    assert len(suite.findall("testcase/failure")) == failures
    assert len(suite.findall("testcase/error")) == 1


def test_sarif_has_what_code_scanning_asks_for() -> None:
    report = sarif.report(impact(), ["schemas/orders.avsc"])
    assert report["version"] == "2.1.0"
    (run,) = report["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert len(run["results"]) == 3
    for result in run["results"]:
        assert result["ruleId"] in rules
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"] == "schemas/orders.avsc"
        assert result["partialFingerprints"]
    assert len({json.dumps(result["partialFingerprints"]) for result in run["results"]}) == 3


@pytest.mark.parametrize(
    ("kind", "verdict", "column", "own", "step"),
    [
        (NodeKind.STATEMENT, Verdict.BREAKS, "region", False, "Deploy a version for the new input"),
        (NodeKind.STATEMENT, Verdict.BREAKS, None, False, "Before the change is made, replace"),
        (NodeKind.STATEMENT, Verdict.BREAKS, "region", True, "Correct its SQL"),
        (NodeKind.CONNECTOR, Verdict.LOSES_DATA, "region", False, "Remove the missing topic or field from"),
        (NodeKind.CONNECTOR, Verdict.LOSES_DATA, None, False, "Leave it running"),
        (NodeKind.GLUE, Verdict.BREAKS, "region", False, "Make the change one that Tableflow accepts"),
        (NodeKind.GLUE, Verdict.BREAKS, None, True, "Keep it until its readers have moved on"),
        (NodeKind.TOPIC, Verdict.BREAKS, "region", True, "Change the schema so that the registry accepts it"),
        (NodeKind.VIEW, Verdict.GAINS_COLUMN, "region", False, "Nothing has to be done"),
    ],
)
def test_the_next_step_follows_from_what_happens_to_which_node(
    kind: NodeKind, verdict: Verdict, column: str | None, own: bool, step: str
) -> None:
    node = NodeRef(kind, "n")
    path = (PathStep(node, column),) if own else (PathStep(ORDERS, None), PathStep(node, column))
    assert next_step(Affected(node, column, verdict, "why", path)).startswith(step)


def test_every_effect_has_a_next_step() -> None:
    for kind in NodeKind:
        for verdict in Verdict:
            assert next_step(Affected(NodeRef(kind, "n"), None, verdict, "why"))
