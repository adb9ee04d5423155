"""Facts that LineageBridge's graphs and earlier graphs keep elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.lineage.hops import hop_record
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node
from lineage_bridge_dagster.lineage.other_forms import read_other_forms
from lineage_bridge_dagster_tests.lineage.graphs import node

FIELDS = [{"name": "id", "type": "long", "description": "The number"}]


def topic_with(*schemas: tuple[Node, dict[str, Any]], **attributes: Any) -> Node:
    """A topic with `has_schema` edges of these attributes, after reading."""
    topic = node("topic", "kafka_topic", "orders", **attributes)
    edges = [Edge("topic", schema.node_id, "has_schema", attributes=given) for schema, given in schemas]
    graph = Graph([topic, *(schema for schema, _ in schemas)], edges)
    read_other_forms(graph)
    return graph.nodes["topic"]


def schema(subject: str, fields: list[dict[str, str]] = FIELDS, **attributes: Any) -> Node:
    return node(subject, "schema", subject, fields=fields, **attributes)


def test_topic_takes_the_fields_of_its_value_schema() -> None:
    key, value = schema("orders-key", [{"name": "k", "type": "int"}]), schema("orders-value")
    topic = topic_with((key, {"role": "key"}), (value, {"role": "value"}))
    assert hop_record(2, topic)["schema_fields"] == FIELDS


@pytest.mark.parametrize(
    "key", [(schema("orders-key"), {}), (schema("k", role="key"), {}), (schema("k"), {"role": "key"})]
)
def test_fields_of_a_key_are_not_those_of_the_topic(key: tuple[Node, dict[str, Any]]) -> None:
    assert "schema_fields" not in hop_record(2, topic_with(key))


def test_topic_of_several_record_types_has_no_single_list() -> None:
    topic = topic_with((schema("a.Placed"), {"role": "value"}), (schema("a.Paid"), {"role": "value"}))
    assert "schema_fields" not in hop_record(2, topic)


def test_own_fields_of_a_topic_stay() -> None:
    own = [{"name": "own", "type": "int"}]
    topic = topic_with((schema("orders-value"), {"role": "value"}), schema_fields=own)
    assert hop_record(2, topic)["schema_fields"] == own


def test_uncertain_schema_gives_no_fields() -> None:
    graph = Graph(
        [node("topic", "kafka_topic", "orders"), schema("orders")],
        [Edge("topic", "orders", "has_schema", confidence=0.5, attributes={"role": "value"})],
    )
    read_other_forms(graph)
    assert "schema_fields" not in graph.nodes["topic"].attributes


def test_sql_and_connector_class_under_their_other_names() -> None:
    graph = Graph(
        [
            node("q", "ksqldb_query", query="CREATE STREAM s AS SELECT 1"),
            node("c", "connector", **{"connector.class": "MySqlCdcSource"}),
            node("f", "flink_job", query="old", sql="SELECT 1"),
        ]
    )
    read_other_forms(graph)
    assert hop_record(3, graph.nodes["q"])["sql"] == "CREATE STREAM s AS SELECT 1"
    assert hop_record(3, graph.nodes["c"])["connector_class"] == "MySqlCdcSource"
    assert hop_record(3, graph.nodes["f"])["sql"] == "SELECT 1"


def test_serde_object_of_an_earlier_graph_is_kept_under_its_own_name() -> None:
    details = {"SerializationLibrary": "org.example.SerDe", "Parameters": {"a": "b"}}
    graph = Graph([node("t", "catalog_table", serde_info=details), node("u", "catalog_table", serde_info={})])
    read_other_forms(graph)
    assert graph.nodes["t"].attributes["serde_info"] == "org.example.SerDe"
    assert graph.nodes["t"].attributes["serde_details"] == details
    assert graph.nodes["u"].attributes["serde_info"] is None
    assert graph.nodes["u"].attributes["serde_details"] == {}


def test_nothing_is_read_twice() -> None:
    graph = Graph([node("t", "catalog_table", serde_info={"SerializationLibrary": "x"})])
    read_other_forms(graph)
    once = graph.nodes["t"]
    read_other_forms(graph)
    assert graph.nodes["t"] == once


def test_class_that_a_dataset_was_inferred_from_is_not_its_own() -> None:
    assert "connector_class" not in hop_record(5, node("d", "external_dataset", connector_class="X"))
