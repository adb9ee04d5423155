"""The graph's edges as arrays."""

from __future__ import annotations

from lineage_bridge_dagster.spark.chains.adjacency import adjacency
from lineage_bridge_dagster_tests.spark.graphs import tangle


def test_arrays_hold_the_upstream_index() -> None:
    graph = tangle(7).graph
    arrays, ids = adjacency(graph), list(graph.nodes)
    assert {ids[i]: [ids[j] for j in arrays.upstream(i)] for i in range(len(ids)) if arrays.upstream(i)} == {
        node: sources for node, sources in graph.upstream_index().items() if sources
    }
