"""The graph's edges as arrays."""

from __future__ import annotations

from lineage_bridge_dagster.lineage.upstream import Port, UpstreamIndex
from lineage_bridge_dagster.spark.chains.adjacency import adjacency
from lineage_bridge_dagster_tests.spark.graphs import tangle, world


def test_arrays_hold_the_upstream_index_with_its_ports() -> None:
    graph = tangle(7).graph
    arrays, index = adjacency(graph), UpstreamIndex.of(graph)
    ports = [place for place in index.places if isinstance(place, Port)]
    places = [*graph.nodes, *ports]
    assert ports
    assert {places[i]: [places[j] for j in arrays.upstream(i)] for i in range(len(places))} == {
        place: index.sources(place) or [] for place in places
    }
    assert [places[arrays.node_of(i)] for i in range(len(places))] == [
        *graph.nodes,
        *(p.process for p in ports),
    ]


def test_graph_without_ports_has_no_more_places_than_nodes() -> None:
    graph = world(3).graph
    arrays = adjacency(graph)
    assert (len(arrays.processes), len(arrays.offsets)) == (0, len(graph) + 1)
