"""A table's upstream chain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.lineage.catalog_tables import tables_of
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.hops import hop_record
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.lineage.upstream import Place, UpstreamIndex


@dataclass(frozen=True, slots=True)
class Hop:
    """An upstream node and its shortest distance from the table; a direct source has distance 1."""

    distance: int
    node: Node


@dataclass(frozen=True, slots=True)
class Chain:
    """Everything upstream of a table, ordered by distance, then qualified name.

    `complete` is False if a scope that could have added to the chain was not fully read; those scopes are in
    `incomplete_scopes`. Without coverage (a graph from a file) the chain counts as complete; a push decides
    itself whether it removes anything on that basis.

    `sources` has the direct sources of each place upstream of the table: of a node, or of one of its ports.
    """

    table: Node
    hops: tuple[Hop, ...]
    complete: bool = True
    incomplete_scopes: tuple[Scope, ...] = ()
    sources: Mapping[Place, Sequence[Place]] = field(default_factory=dict, repr=False)


def order_hops(hops: Iterable[Hop]) -> tuple[Hop, ...]:
    """Sort by distance, then qualified name, then id (topics of one name in two clusters)."""
    return tuple(sorted(hops, key=lambda hop: (hop.distance, hop.node.qualified_name, hop.node.node_id)))


def chain_of(
    graph: Graph,
    table_id: str,
    index: UpstreamIndex | None = None,
    coverage: Coverage | None = None,
    *,
    gaps: Gaps | None = None,
) -> Chain:
    """Return the chain of one table.

    Args:
        graph: Holds the table and everything upstream of it.
        index: `UpstreamIndex.of(graph)`, if already computed.
        coverage: The coverage of the graph's discovery; None or empty if unknown.
        gaps: `Gaps(graph, coverage)`, if already computed.

    Raises:
        KeyError: The graph has no such node.
    """
    table = graph.nodes[table_id]
    if index is None:
        index = UpstreamIndex.of(graph)
    if gaps is None:
        gaps = Gaps(graph, coverage)
    places = index.places_above(table_id)
    distances = index.nearest(places, table_id)
    missing = gaps.of((table_id, *distances))
    return Chain(
        table=table,
        hops=order_hops(Hop(distance, graph.nodes[node_id]) for node_id, distance in distances.items()),
        complete=not missing,
        incomplete_scopes=missing,
        sources={place: index.sources(place) for place in places},
    )


def chains_of(graph: Graph, coverage: Coverage | None = None) -> Iterator[Chain]:
    """Yield the chain of every table that takes lineage, in the graph's order."""
    index = UpstreamIndex.of(graph)
    gaps = Gaps(graph, coverage)
    for table in tables_of(graph):
        yield chain_of(graph, table.node_id, index, gaps=gaps)


def chain_lines(graph: Graph, sql: str = "redacted") -> Iterator[str]:
    """Yield the JSON of `to_json` for every table that takes lineage, in the graph's order.

    Each node is rendered once, however many chains it is in.
    """
    index = UpstreamIndex.of(graph)
    rendered: dict[str, tuple[str, str]] = {}
    for table in tables_of(graph):
        hops = []
        for node_id, distance in index.distances(table.node_id).items():
            if (known := rendered.get(node_id)) is None:
                node = graph.nodes[node_id]
                known = rendered[node_id] = (node.qualified_name, _after_distance(node, sql))
            hops.append((distance, known[0], node_id, known[1]))
        hops.sort()
        texts = ", ".join([f'{{"hop": {distance}, {text}' for distance, _, _, text in hops])
        yield f'{{"table": {json.dumps(table.node_id, ensure_ascii=False)}, "hops": [{texts}]}}'


def _after_distance(node: Node, sql: str) -> str:
    """The JSON of a hop behind its distance, which comes first."""
    record = hop_record(0, node, sql)
    del record["hop"]
    return json.dumps(record, ensure_ascii=False)[1:]


def to_json(chain: Chain, sql: str = "redacted") -> dict[str, Any]:
    """Return `{"table": id, "hops": [...]}`: all hops, each as in `lineage_bridge.upstream_chain`.

    `sql` is how SQL is shown, one of `SQL_MODES`.
    """
    return {
        "table": chain.table.node_id,
        "hops": [hop_record(hop.distance, hop.node, sql) for hop in chain.hops],
    }
