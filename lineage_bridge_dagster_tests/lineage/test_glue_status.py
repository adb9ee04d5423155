"""Counts and sentences about tables that Glue has or lacks."""

from __future__ import annotations

from typing import Any

from lineage_bridge_dagster.lineage.glue_status import (
    GlueStatus,
    absence_sentence,
    glue_counts,
    glue_status,
)
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType


def table(name: str, **attributes: Any) -> Node:
    return Node(
        name,
        "aws",
        NodeType.CATALOG_TABLE,
        f"glue://db/{name}",
        catalog_type="AWS_GLUE",
        attributes=attributes,
    )


def source(name: str, **attributes: Any) -> Node:
    return Node(name, "confluent", NodeType.TABLEFLOW_TABLE, name, attributes=attributes)


def test_table_without_a_status_counts_as_found() -> None:
    assert glue_status(table("a")) is GlueStatus.FOUND
    assert glue_status(table("a", glue_status="some other tool's word")) is GlueStatus.FOUND
    assert absence_sentence(table("a")) == ""


def test_tables_are_counted_by_status_and_kind_of_absence() -> None:
    graph = Graph(
        [
            table("a"),
            table("b", glue_status="found"),
            table("c", glue_status="missing", glue_absence="sync_failed"),
            table("d", glue_status="missing", glue_absence="other_region"),
            table("e", glue_status="missing", glue_absence="sync_failed"),
            table("f", glue_status="found", stale_since="2026-04-30T00:00:00Z"),
        ]
    )
    assert str(glue_counts(graph)) == (
        "2 found, 3 missing (1 other region, 2 sync failed), 1 unknown (1 not read since it was last seen)"
    )


def test_tableflow_table_of_unknown_database_counts_once() -> None:
    told = {"glue_status": "unknown", "glue_absence": "database_unknown"}
    graph = Graph(
        [source("s1", **told), source("s2", **told), table("t", glue_status="unknown", glue_absence="x")],
        [Edge("s2", "t", EdgeType.MATERIALIZES)],
    )
    assert glue_counts(graph).unknown == {"database_unknown": 1, "x": 1}


def test_sentence_names_region_and_reason() -> None:
    missing = table("a", glue_status="missing", aws_region="eu-west-1", glue_reason="it was dropped.")
    assert absence_sentence(missing) == (
        "Tableflow is enabled, but Glue has no such table in eu-west-1, because it was dropped."
    )
