"""The graph's edges as arrays."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.lineage.upstream import Port, UpstreamIndex
from lineage_bridge_dagster.spark.chains.adjacency import adjacency
from lineage_bridge_dagster_tests.spark.graphs import tangle, world


@pytest.mark.parametrize("seed", range(5))
def test_arrays_give_the_distances_of_the_upstream_index(seed: int) -> None:
    graph = tangle(seed).graph
    arrays, index, nodes = adjacency(graph), UpstreamIndex.of(graph), list(graph.nodes)
    assert len(arrays.processes) == sum(isinstance(place, Port) for place in index.places) > 0
    for number, node_id in enumerate(nodes):
        found = {nodes[node]: distance for node, distance in arrays.distances(number).items()}
        assert found == index.distances(node_id)


def test_graph_without_ports_has_no_more_places_than_nodes() -> None:
    graph = world(3).graph
    arrays = adjacency(graph)
    assert (len(arrays.processes), len(arrays.offsets)) == (0, len(graph) + 1)
