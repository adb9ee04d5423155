"""The handed cases, as strictly as their rules say: nodes hit, verdicts, unaffected nodes flagged."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from lineage_bridge_dagster.impact.analysis import impact
from lineage_bridge_dagster.impact.change import Change, change_of_json
from lineage_bridge_dagster.impact.sql_flows import Parse
from lineage_bridge_dagster.impact.world import World
from lineage_bridge_dagster_tests.conftest import shared

pytestmark = pytest.mark.xdist_group("flink")


def test_verdicts_on_the_handed_cases(parse: Parse) -> None:
    """Without Terraform plans and Protobuf, whose compatibility is not judged; doubtful ones are left out."""
    lines = shared("cases", "impact.jsonl").read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if "doubt" not in case]
    score: Counter[str] = Counter()
    wrong: list[str] = []
    for case in cases:
        changes = changes_of(case["change"])
        if changes is not None:
            _judge(case, changes, parse, score, wrong)
    hit, extra, missed = score["hit"], score["extra"], score["missed"]
    assert hit / (hit + extra) >= 0.97, wrong
    assert hit / (hit + missed) >= 0.97, wrong
    assert score["right"] / hit >= 0.95, wrong
    assert score["flagged"] <= 0.02 * score["unaffected"], wrong


def changes_of(document: dict[str, Any]) -> list[Change] | None:
    left_out = document["kind"] == "terraform_plan" or document.get("type") == "PROTOBUF"
    return None if left_out else [change_of_json(document)]


def _judge(
    case: dict[str, Any], changes: list[Change], parse: Parse, score: Counter[str], wrong: list[str]
) -> None:
    found = {str(e.node): e for e in impact(World.of_json(case["world"]), changes, parse).by_node}
    expected = {each["node"]: each for each in case["expected"]}
    counted = found.keys() - set(case.get("optional", ()))
    score["hit"] += len(counted & expected.keys())
    score["extra"] += len(counted - expected.keys())
    score["missed"] += len(expected.keys() - found.keys())
    score["unaffected"] += len(case["unaffected"])
    score["flagged"] += len(found.keys() & set(case["unaffected"]))
    wrong += [f"{case['id']}: {node} is missed" for node in sorted(expected.keys() - found.keys())]
    wrong += [f"{case['id']}: {node} is flagged" for node in sorted(counted - expected.keys())]
    for node in counted & expected.keys():
        accepted = [expected[node]["verdict"], *expected[node].get("accept", ())]
        score["right"] += found[node].verdict in accepted
        if found[node].verdict not in accepted:
            wrong.append(f"{case['id']}: {node} {found[node].verdict} instead of {accepted}")
