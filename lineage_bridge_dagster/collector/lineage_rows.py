"""The links of a discovery as rows. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.collector.rows import Row
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode

#: Links along which data flows.
_DATA = frozenset({EdgeType.PRODUCES, EdgeType.CONSUMES, EdgeType.TRANSFORMS, EdgeType.MATERIALIZES})


def lineage_rows(discovery: Discovery, server: str) -> Iterator[Row]:
    """A row for each link between two nodes of the graph, sorted by source and target."""
    nodes = discovery.graph.nodes
    edges = (edge for edge in discovery.graph.edges.values() if edge.edge_type in _DATA)
    for edge in sorted(edges, key=lambda edge: (edge.src_id, edge.dst_id, str(edge.edge_type))):
        source, target = nodes.get(edge.src_id), nodes.get(edge.dst_id)
        if source is None or target is None:
            continue
        place = target.shown_place if isinstance(target, GlueTableNode) else None
        yield (
            server,
            str(source.node_type),
            source.qualified_name,
            source.node_id,
            str(target.node_type),
            target.qualified_name,
            target.node_id,
            str(edge.edge_type),
            place.database if place else None,
            place.table if place else None,
            discovery.discovered_at or None,
            _stale_since(source, target),
        )


def _stale_since(*nodes: Node) -> str | None:
    return min((since for node in nodes if (since := node.stale_since)), default=None)
