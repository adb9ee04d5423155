"""Columns of queries as Flink's own planner has them.

`planner_columns.jsonl` holds what Flink 2.1.0's planner answers for each query over the tables of
`planner_tables.sql`: the names of its columns, and for each the origins that Calcite's
`RelMetadataQuery.getColumnOrigins` gives for the plan as it is before optimization. None stands where it
can't say (window functions, pattern matching, UNNEST), or where the note says how it differs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.sql.columns.derivation import ColumnText, derive_columns
from lineage_bridge_dagster.sql.columns.relations import Field
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

pytestmark = pytest.mark.xdist_group("flink")

HERE = Path(__file__).parent
TABLES = (HERE / "planner_tables.sql").read_text("utf-8")
ANSWERS = [json.loads(line) for line in (HERE / "planner_columns.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer["sql"][:60])
def test_columns_of_a_query_are_the_planners(parser: FlinkSqlParser, answer: dict[str, Any]) -> None:
    (parsed,) = parser.parse_trees([TABLES + ";\n" + answer["sql"]])
    assert parsed.lineage.error is None
    (text,) = derive_columns([ColumnText(parsed.lineage.statements, parsed.trees)], outputs=True)
    relation = text.outputs[-1]
    assert relation is not None
    fields = [item for item in relation if isinstance(item, Field)]
    assert [field.name for field in fields] == [name for name, _ in answer["columns"]]
    for field, (name, origins) in zip(fields, answer["columns"], strict=True):
        if origins is not None:
            assert field.origin.complete
            got = sorted(f"{source.table[-1]}.{source.column}" for source in field.origin.sources)
            assert (name, got) == (name, origins)
