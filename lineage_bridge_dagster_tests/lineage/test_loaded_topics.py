"""The stamp of tables that are loaded from topics, and the lineage that follows from it."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.documents import pipeline_type
from lineage_bridge_dagster.lineage.ids import topic_id
from lineage_bridge_dagster.lineage.loaded_topics import STAMP, LoadedTopic, add_loaded_table, loaded_topic_of
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType, scopes_of

SCOPE = Scope("glue", "", "us-east-1")
TOPIC = LoadedTopic("env-1", "lkc-1", "orders.v1")


def topic() -> Node:
    scope = "kafka:env-1:lkc-1"
    return Node(
        topic_id("env-1", "lkc-1", "orders.v1"),
        "confluent",
        NodeType.KAFKA_TOPIC,
        "orders.v1",
        environment_id="env-1",
        cluster_id="lkc-1",
        attributes={"scope": scope},
    )


def table() -> Node:
    return Node(
        "aws:glue_table:env-1:glue://sales/orders", "aws", NodeType.CATALOG_TABLE, "glue://sales/orders"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("env-1/lkc-1/orders.v1", TOPIC),
        ("/onprem/orders", LoadedTopic("", "onprem", "orders")),
        ("orders", None),
        ("env-1//orders", None),
        ("", None),
    ],
)
def test_a_stamp_names_environment_cluster_and_topic(text: str, expected: LoadedTopic | None) -> None:
    found = LoadedTopic.parse({STAMP: text})
    assert found == expected
    assert found is None or found.stamp == text


def test_a_stamped_table_has_its_topic_as_the_source_and_a_pipeline_type_of_its_own() -> None:
    graph = Graph([topic()])
    node = add_loaded_table(graph, table(), TOPIC, SCOPE, "t1")
    (edge,) = graph.edges.values()
    assert (edge.src_id, edge.dst_id) == (topic().node_id, node.node_id)
    assert edge.attributes["loader"] == "topic_to_iceberg"
    # Neither an outage of Glue nor one of the list of topics may remove it.
    assert scopes_of(edge.attributes) == {str(SCOPE), "kafka:env-1:lkc-1"}
    chain = chain_of(graph, node.node_id)
    assert [hop.node.qualified_name for hop in chain.hops] == ["orders.v1"]
    assert pipeline_type(chain) == "topic_to_iceberg"
    assert loaded_topic_of(node) == TOPIC


def test_a_topic_that_the_discovery_lacks_gets_no_edge_and_is_not_invented() -> None:
    other = topic()
    graph = Graph([other])
    add_loaded_table(graph, table(), LoadedTopic("env-1", "lkc-1", "gone"), SCOPE, "t1")
    assert not graph.edges
    assert len(graph) == 2


def test_the_topic_of_a_self_managed_cluster_is_a_dataset_outside_confluent() -> None:
    graph = Graph([topic()])
    node = add_loaded_table(graph, table(), LoadedTopic("", "onprem", "orders"), SCOPE, "t1")
    (hop,) = chain_of(graph, node.node_id).hops
    assert (hop.node.node_type, hop.node.qualified_name) == ("external_dataset", "kafka://onprem/orders")


def test_a_stamp_without_an_environment_finds_the_topic_by_its_cluster() -> None:
    graph = Graph([topic()])
    node = add_loaded_table(graph, table(), LoadedTopic("", "lkc-1", "orders.v1"), SCOPE, "t1")
    assert [hop.node.node_id for hop in chain_of(graph, node.node_id).hops] == [topic().node_id]
