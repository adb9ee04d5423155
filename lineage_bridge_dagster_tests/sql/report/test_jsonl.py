"""Output lines for input lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.report.jsonl import lineage_record, lineage_records
from lineage_bridge_dagster.sql.statement import TextLineage

pytestmark = pytest.mark.xdist_group("flink")


def test_lists_are_sorted_sets_of_last_parts_and_of_paths() -> None:
    lineage = TextLineage(reads=(("c", "d", "t"), ("t",), ("a",)), writes=(("z",), ("b.1",)))
    assert lineage_record({"id": 7, "sql": "..."}, lineage) == {
        "id": 7,
        "reads": ["a", "t"],
        "writes": ["b.1", "z"],
        "reads_fq": [["a"], ["c", "d", "t"], ["t"]],
        "writes_fq": [["b.1"], ["z"]],
        "error": None,
    }


def test_output_lines_are_in_order_and_a_bad_line_has_its_own_error(parser: FlinkSqlParser) -> None:
    lines: list[dict[str, Any]] = [
        {"id": "a", "sql": "SELECT * FROM t"},
        {"id": "b"},
        {"id": "c", "sql": None},
        {"sql": "INSERT INTO d SELEC"},
        {"id": "e", "sql": "CREATE VIEW v AS SELECT * FROM w"},
    ]
    records = list(lineage_records(lines, parser.parse))
    assert [record["id"] for record in records] == ["a", "b", "c", None, "e"]
    assert [record["error"] is None for record in records] == [True, False, False, False, True]
    assert records[4]["reads"] == ["w"]
    assert records[4]["writes"] == ["v"]
    assert json.loads(json.dumps(records)) == records
