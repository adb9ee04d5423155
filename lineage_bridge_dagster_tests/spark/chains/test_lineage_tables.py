"""The records of the lineage tables, without Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lineage_bridge_dagster.lineage.coverage import Coverage, Note, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.spark.chains.lineage_tables import COLUMNS, graph_records


def test_coverage_names_what_a_scope_leaves_open() -> None:
    reports = [
        ScopeReport(
            Scope("connect", "env-1", "lkc-1"),
            Status.COMPLETE,
            count=2,
            notes=(Note("connector_class", ("crm",)),),
        ),
        ScopeReport(Scope("kafka", "env-1", "lkc-1"), Status.COMPLETE, count=5),
    ]
    records = graph_records(Discovery(coverage=Coverage(reports), discovered_at="2026-04-30T12:00:00Z"))
    coverage = next(each for each in records if each.table == "coverage")
    assert coverage.rows.column_names == [name for name, _, _ in COLUMNS["coverage"]]
    assert coverage.rows["notes"].to_pylist() == [["1 connector of an unknown class: crm"], []]


def stored_attributes(attributes: dict[str, Any]) -> str:
    """As `nodes` and `edges` hold them."""
    node = Node("n", "confluent", NodeType.KAFKA_TOPIC, "n", attributes=attributes)
    graph = Graph([node], [Edge("n", "n", EdgeType.PRODUCES, attributes=attributes)])
    nodes, edges, _ = graph_records(Discovery(graph))
    [text], [of_edge] = (records.rows["attributes"].to_pylist() for records in (nodes, edges))
    assert text == of_edge
    return str(text)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({"b": [1, 2.5, None, True], "a": "é"}, {"a": "é", "b": [1, 2.5, None, True]}),
        (1 << 70, 1 << 70),
        ("a\ud800b", "a\ufffdb"),
        ({1: "a"}, {"1": "a"}),
        (("a", "b"), ["a", "b"]),
        (EdgeType.PRODUCES, "produces"),
        (datetime(2026, 4, 30, tzinfo=UTC), "2026-04-30 00:00:00+00:00"),
        (float("nan"), None),
        ([float("nan"), -float("inf"), 1 << 70, "NaN"], [None, None, 1 << 70, "NaN"]),
    ],
    ids=[
        "JSON",
        "more than 64 bits",
        "lone surrogate",
        "number as a name",
        "tuple",
        "enumeration",
        "time",
        "NaN",
        "NaN beside more than 64 bits",
    ],
)
def test_attributes_of_any_value_are_stored_as_json(value: Any, stored: Any) -> None:
    assert json.loads(stored_attributes({"x": value, "a": 1})) == {"a": 1, "x": stored}


def test_attributes_are_stored_with_their_names_in_order() -> None:
    forward, backward = {"a": 1, "b": {"c": 1 << 70, "d": 2}}, {"b": {"d": 2, "c": 1 << 70}, "a": 1}
    assert stored_attributes(forward) == stored_attributes(backward)
    assert stored_attributes({"b": 1, "a": 2}) == '{"a":2,"b":1}'
