from __future__ import annotations

from lineage_bridge_dagster.lineage.model import Edge, Graph, Node, scopes_of


def test_node_reported_by_several_scopes_records_them_all() -> None:
    graph = Graph()
    graph.add_node(Node("t", "c", "kafka_topic", "t", attributes={"scope": "kafka:e:c", "a": 1}))
    graph.add_node(Node("t", "c", "kafka_topic", "t", attributes={"scope": "flink:e:r", "b": 2}))
    graph.add_node(Node("t", "c", "kafka_topic", "t", attributes={"scope": "connect:e:c"}))

    assert scopes_of(graph.nodes["t"].attributes) == {"kafka:e:c", "flink:e:r", "connect:e:c"}
    assert graph.nodes["t"].attributes["a"] == 1


def test_merge_keeps_fields_that_the_later_node_leaves_empty() -> None:
    graph = Graph([Node("t", "c", "kafka_topic", "t", display_name="T", tags=("a",), first_seen="2")])
    merged = graph.add_node(Node("t", "c", "kafka_topic", "t", tags=("b",), first_seen="1"))

    assert (merged.display_name, merged.tags, merged.first_seen) == ("T", ("a", "b"), "1")


def test_edge_keeps_the_higher_confidence() -> None:
    graph = Graph(edges=[Edge("a", "b", "produces", 0.9), Edge("a", "b", "produces", 0.5)])

    assert graph.edges["a", "b", "produces"].confidence == 0.9


def test_index_lists_a_source_once_even_with_two_kinds_of_edge() -> None:
    graph = Graph([Node("a", "", "x", "a"), Node("b", "", "x", "b")])
    graph.add_edge(Edge("a", "b", "produces"))
    graph.add_edge(Edge("a", "b", "consumes"))

    assert graph.upstream_index() == {"b": ["a"]}
