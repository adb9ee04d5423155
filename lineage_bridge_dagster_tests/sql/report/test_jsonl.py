"""JSON lines in, JSON lines out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.report.jsonl import account, accounts
from lineage_bridge_dagster.sql.statement import StatementLineage

pytestmark = pytest.mark.xdist_group("flink")


def test_lists_are_sorted_sets_of_last_parts_and_of_paths() -> None:
    lineage = StatementLineage(reads=(("c", "d", "t"), ("t",), ("a",)), writes=(("z",), ("b.1",)))
    assert account({"id": 7, "sql": "..."}, lineage) == {
        "id": 7,
        "reads": ["a", "t"],
        "writes": ["b.1", "z"],
        "reads_fq": [["a"], ["c", "d", "t"], ["t"]],
        "writes_fq": [["b.1"], ["z"]],
        "error": None,
    }


def test_lines_are_answered_in_order_and_a_bad_line_has_its_own_error(parser: FlinkSqlParser) -> None:
    lines: list[dict[str, Any]] = [
        {"id": "a", "sql": "SELECT * FROM t"},
        {"id": "b"},
        {"id": "c", "sql": None},
        {"sql": "INSERT INTO d SELEC"},
        {"id": "e", "sql": "CREATE VIEW v AS SELECT * FROM w"},
    ]
    got = list(accounts(lines, parser))
    assert [g["id"] for g in got] == ["a", "b", "c", None, "e"]
    assert [g["error"] is None for g in got] == [True, False, False, False, True]
    assert got[4]["reads"] == ["w"]
    assert got[4]["writes"] == ["v"]
    assert json.loads(json.dumps(got)) == got
