from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Edge, Graph
from lineage_bridge_dagster.lineage.upstream import Port, UpstreamIndex, walk
from lineage_bridge_dagster_tests.lineage.graphs import copier, edge, graphs_with_inputs, node, shop


def upstream_of(graph: Graph, node_id: str) -> dict[str, int]:
    return UpstreamIndex.of(graph).distances(node_id)


def job(*edges: tuple[str, str], **inputs: Any) -> Graph:
    """A graph of these edges, of which those from `job` name the inputs of their output."""
    ends = dict.fromkeys(end for pair in edges for end in pair)
    graph = Graph(node(end, "flink_job" if end == "job" else "kafka_topic") for end in ends)
    for src, dst in edges:
        named = {"inputs": inputs[dst]} if src == "job" and dst in inputs else {}
        graph.add_edge(edge(src, dst, "produces" if src == "job" else "consumes", **named))
    return graph


def test_each_topic_of_a_connector_comes_from_its_own_table() -> None:
    graph = copier("orders", "users", "carts", orders=["orders_db"], users=["users_db"])

    assert upstream_of(graph, "orders_table") == {"orders": 1, "connector": 2, "orders_db": 3}
    assert upstream_of(graph, "users") == {"connector": 1, "users_db": 2}
    # Unknown inputs: all of them count.
    assert upstream_of(graph, "carts") == {"connector": 1, "orders_db": 2, "users_db": 2, "carts_db": 2}


def test_process_itself_comes_from_all_its_inputs() -> None:
    graph = copier("orders", "users", orders=["orders_db"], users=["users_db"])

    assert upstream_of(graph, "connector") == {"orders_db": 1, "users_db": 1}
    assert UpstreamIndex.of(graph).direct["connector"] == ["orders_db", "users_db"]


def test_process_that_is_reached_through_two_outputs_appears_once_at_its_shortest_distance() -> None:
    graph = job(
        *(("a", "job"), ("b", "job"), ("c", "job")),
        *(("job", "near"), ("job", "far"), ("job", "other")),
        *(("near", "table"), ("far", "between"), ("between", "table")),
        near=["a"],
        far=["b"],
        other=["c"],
    )

    found = upstream_of(graph, "table")

    assert found == {"near": 1, "between": 1, "far": 2, "job": 2, "a": 3, "b": 4}
    assert [hop.node.node_id for hop in chain_of(graph, "table").hops].count("job") == 1


def test_output_of_unknown_inputs_beside_a_restricted_one_brings_all_inputs() -> None:
    graph = job(
        *(("a", "job"), ("b", "job"), ("job", "known"), ("job", "unknown")),
        *(("known", "table"), ("unknown", "between"), ("between", "table")),
        known=["a"],
    )

    found = upstream_of(graph, "table")

    assert found == {"known": 1, "between": 1, "unknown": 2, "job": 2, "a": 3, "b": 4}


def test_statement_that_reads_what_it_writes_brings_only_its_own_inputs() -> None:
    graph = job(
        *(("totals", "job"), ("orders", "job"), ("users", "job"), ("job", "totals"), ("job", "profiles")),
        totals=["orders", "totals"],
        profiles=["users"],
    )

    assert upstream_of(graph, "totals") == {"job": 1, "orders": 2}
    assert upstream_of(graph, "profiles") == {"job": 1, "users": 2}


def test_output_made_of_another_output_comes_through_both() -> None:
    graph = job(
        *(("a", "job"), ("b", "job"), ("c", "job"), ("first", "job"), ("job", "first"), ("job", "second")),
        first=["a"],
        second=["b", "first"],
    )

    assert upstream_of(graph, "second") == {"job": 1, "b": 2, "first": 2, "a": 4}


def test_inputs_without_a_node_or_an_edge_to_the_process_are_ignored() -> None:
    inputs = ["a", "elsewhere", "gone"]
    graph = job(("a", "job"), ("b", "job"), ("elsewhere", "b"), ("job", "out"), out=inputs)
    graph.add_edge(edge("gone", "job", "consumes"))

    assert upstream_of(graph, "out") == {"job": 1, "a": 2}


def test_chain_ends_at_a_process_whose_output_is_made_of_nothing_known() -> None:
    graph = job(("a", "job"), ("job", "out"), out=[])

    assert upstream_of(graph, "out") == {"job": 1}


@pytest.mark.parametrize("malformed", ["a", {"a": 1}, ["a", 3], 5, None])
def test_malformed_inputs_count_as_absent(malformed: object) -> None:
    graph = job(("a", "job"), ("b", "job"), ("job", "out"), out=malformed)

    assert upstream_of(graph, "out") == {"job": 1, "a": 2, "b": 2}


def test_inputs_do_not_count_beside_an_edge_of_another_kind() -> None:
    graph = job(("a", "job"), ("b", "job"), ("job", "out"), out=["a"])
    graph.add_edge(edge("job", "out", "transforms"))

    assert upstream_of(graph, "out") == {"job": 1, "a": 2, "b": 2}


def test_inputs_of_an_edge_that_is_no_output_have_no_effect() -> None:
    graph = Graph([node(i, "kafka_topic") for i in "abc"])
    graph.add_edge(edge("a", "b", "transforms", inputs=[]))
    graph.add_edge(edge("b", "c", "transforms", inputs=[]))

    assert upstream_of(graph, "c") == {"b": 1, "a": 2}


def test_output_between_two_processes_is_restricted_on_both_sides() -> None:
    graph = job(("a", "job"), ("b", "job"), ("job", "next"), ("x", "next"), next=["a"])
    graph.add_node(node("sink", "kafka_topic"))
    graph.add_edge(edge("next", "sink", "produces", inputs=["job"]))

    assert upstream_of(graph, "sink") == {"next": 1, "job": 2, "a": 3}


def test_only_an_output_with_less_than_all_inputs_gets_a_port() -> None:
    graph = copier("orders", "users", orders=["orders_db"], users=["orders_db", "users_db"])

    assert [place for place in UpstreamIndex.of(graph).places if isinstance(place, Port)] == [
        Port("connector", "orders")
    ]
    assert not UpstreamIndex.of(shop()).has_ports


def test_index_lists_a_source_once_even_with_two_kinds_of_edge() -> None:
    graph = Graph([node("a", "x"), node("b", "x")], [Edge("a", "b", "produces"), Edge("a", "b", "consumes")])

    assert UpstreamIndex.of(graph).direct == {"b": ["a"]}


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60))
def test_walk_gives_the_shortest_distances(pairs: list[tuple[int, int]]) -> None:
    upstream: dict[int, list[int]] = {}
    for source, target in pairs:
        upstream.setdefault(target, []).append(source)

    distances = walk(0, lambda n: upstream.get(n, ()))

    assert distances == shortest(pairs, 0)
    assert list(distances.values()) == sorted(distances.values())


@given(graphs_with_inputs())
def test_ports_give_the_chains_of_a_graph_with_each_process_split_by_output(graph: Graph) -> None:
    pairs = split_by_output(graph)
    for start in graph.nodes:
        expected: dict[str, int] = {}
        for (node_id, _output), distance in shortest(pairs, (start, None)).items():
            if node_id != start:
                expected[node_id] = min(distance, expected.get(node_id, distance))

        assert upstream_of(graph, start) == expected


def split_by_output(graph: Graph) -> list[tuple[Any, Any]]:
    """The graph's flow with each node split into one for each output: pairs of `(node, output)`.

    A node as a whole has no output.
    """
    inputs: dict[tuple[str, str | None], list[tuple[str, ...] | None]] = {}
    for e in graph.edges.values():
        if e.edge_type in FLOW_EDGES and e.src_id in graph and e.dst_id in graph:
            inputs.setdefault((e.src_id, e.dst_id), []).append(e.inputs)
    pairs = list(inputs)
    inputs.update(((node_id, None), [None]) for node_id in graph.nodes)
    return [
        ((source, target), (target, output))
        for (process, output), made_of in inputs.items()
        for source, target in pairs
        if target == process and any(named is None or source in named for named in made_of)
    ]


def shortest(pairs: list[tuple[Any, Any]], start: Any) -> dict[Any, int]:
    """Distances upstream of `start`, by Bellman-Ford."""
    found = {start: 0}
    for _ in range(len(pairs) + 1):
        for source, target in pairs:
            if target in found:
                found[source] = min(found.get(source, found[target] + 1), found[target] + 1)
    del found[start]
    return found


def test_walk_is_not_limited_by_the_recursion_depth() -> None:
    assert walk(0, lambda n: [n + 1] if n < 100_000 else [])[100_000] == 100_000
