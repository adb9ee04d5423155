from __future__ import annotations

import pytest

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


def produces(inputs: object, confidence: float = 1.0) -> Edge:
    return Edge("job", "topic", "produces", confidence, attributes={"inputs": inputs})


def test_inputs_of_two_edges_are_united() -> None:
    graph = Graph(edges=[produces(["b", "c"]), produces(["a", "b"])])

    assert graph.edges["job", "topic", "produces"].attributes["inputs"] == ["a", "b", "c"]


@pytest.mark.parametrize("unknown", [Edge("job", "topic", "produces"), produces("b"), produces(None)])
def test_inputs_are_unknown_if_one_of_two_edges_does_not_name_them(unknown: Edge) -> None:
    for edges in ([produces(["a"]), unknown], [unknown, produces(["a"])]):
        merged = Graph(edges=edges).edges["job", "topic", "produces"]

        assert merged.inputs is None
        assert "inputs" not in merged.attributes


@pytest.mark.parametrize(
    ("inputs", "read"),
    [
        (["b", "a"], ("b", "a")),
        ([], ()),
        ("a", None),
        ({"a": 1}, None),
        (["a", 1], None),
        (["a", None], None),
        (None, None),
        (7, None),
    ],
)
def test_only_a_list_of_texts_counts_as_inputs(inputs: object, read: tuple[str, ...] | None) -> None:
    assert produces(inputs).inputs == read


def test_only_produces_edges_have_inputs() -> None:
    merged = Graph(edges=[Edge("a", "b", "consumes", attributes={"inputs": [i]}) for i in "xy"])

    assert merged.edges["a", "b", "consumes"].inputs is None
    assert merged.edges["a", "b", "consumes"].attributes == {"inputs": ["y"]}
