"""Columns of queries, compared with Flink's own planner.

`planner_columns.jsonl` holds the output of Flink 2.1.0's planner for each query over the tables of
`planner_tables.sql`: column names, and each column's origins according to Calcite's
`RelMetadataQuery.getColumnOrigins` on the plan before optimization. Origins are null where Calcite has none
(window functions, pattern matching, UNNEST), or where the note explains a difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.sql.columns.derivation import derive_columns
from lineage_bridge_dagster.sql.columns.relations import KnownColumn
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

pytestmark = pytest.mark.xdist_group("flink")

HERE = Path(__file__).parent
TABLES = (HERE / "planner_tables.sql").read_text("utf-8")
EXPECTED = [json.loads(line) for line in (HERE / "planner_columns.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda expected: expected["sql"][:60])
def test_query_has_the_columns_of_the_planner(parser: FlinkSqlParser, expected: dict[str, Any]) -> None:
    (parsed,) = parser.parse_trees([TABLES + ";\n" + expected["sql"]])
    assert parsed.lineage.error is None
    (text,) = derive_columns([parsed], outputs=True)
    relation = text.outputs[-1]
    assert relation is not None
    fields = [item for item in relation if isinstance(item, KnownColumn)]
    assert [field.name for field in fields] == [name for name, _ in expected["columns"]]
    for field, (name, origins) in zip(fields, expected["columns"], strict=True):
        if origins is not None:
            assert field.origin.complete
            actual = sorted(f"{source.table[-1]}.{source.column}" for source in field.origin.sources)
            assert (name, actual) == (name, origins)
