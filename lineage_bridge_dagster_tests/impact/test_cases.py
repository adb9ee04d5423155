"""The handed cases, as strictly as their rules say: nodes hit, verdicts, unaffected nodes flagged."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from lineage_bridge_dagster.impact.analysis import impact
from lineage_bridge_dagster.impact.files import read_case
from lineage_bridge_dagster.impact.sql_flows import Parse
from lineage_bridge_dagster_tests.conftest import shared

pytestmark = pytest.mark.xdist_group("flink")


def test_verdicts_on_the_handed_cases(parse: Parse) -> None:
    """Those that are marked as doubtful are left out."""
    lines = shared("cases", "impact.jsonl").read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if "doubt" not in case]
    score: Counter[str] = Counter()
    wrong: list[str] = []
    for case in cases:
        _judge(case, parse, score, wrong)
    hit, extra, missed = score["hit"], score["extra"], score["missed"]
    assert hit / (hit + extra) >= 0.97, wrong
    assert hit / (hit + missed) >= 0.97, wrong
    assert score["right"] / hit >= 0.95, wrong
    assert score["flagged"] <= 0.02 * score["unaffected"], wrong


def _judge(case: dict[str, Any], parse: Parse, score: Counter[str], wrong: list[str]) -> None:
    world, changes = read_case(case)
    found = {str(e.node): e for e in impact(world, changes.changes, parse).by_node}
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
