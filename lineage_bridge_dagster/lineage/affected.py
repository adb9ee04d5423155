"""Which chains a change of the graph can affect, and the part of the graph that decides some chains."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Edge, Graph, Node
from lineage_bridge_dagster.lineage.text import clean

#: The attributes that decide what a chain shows of a node, which tables have chains and how those are called,
#: and what the node's coverage may hide. All others, such as a table's parameters, change no chain.
CHAIN_ATTRIBUTES = (
    # A hop: see `hops.hop_record` and `spark.chains.hops`.
    "sql",
    "parse_error",
    "connector_class",
    "schema_fields",
    "writer",
    "stale_since",
    # A table: see `catalog_tables.name_of`.
    "catalog",
    "database",
    "table_name",
    # What may be hidden: see `gaps`.
    "scope",
    "scopes",
    "aws_region",
    "cloud",
    "region",
)


def chain_content(node: Node) -> tuple[Any, ...]:
    """All that chains and their gaps take from a node, as JSON values."""
    return (
        node.node_id,
        str(node.node_type),
        node.qualified_name,
        node.display_name,
        node.environment_id,
        node.cluster_id,
        node.catalog_type,
        *map(node.attributes.get, CHAIN_ATTRIBUTES),
    )


@dataclass(frozen=True, slots=True)
class GraphChange:
    """How a graph differs from an earlier one. Lone surrogates in ids are replaced, as in what is stored.

    Attributes:
        nodes: those that are new, or whose `chain_content` differs.
        removed: nodes that the graph no longer has.
        targets: where edges lead to that are new, differ or are gone.
    """

    nodes: Collection[str]
    removed: Collection[str]
    targets: Collection[str]


def affected(graph: Graph, change: GraphChange) -> set[str]:
    """The nodes whose chains may differ from those in the earlier graph; the chains of all others do not.

    A chain, with its gaps, depends on its nodes and on the edges into them. So it differs only below a node
    that differs, or that an edge has come to or gone from.
    """
    touched = {*change.nodes, *change.targets}
    if not touched and not change.removed:
        return set()
    starts = [node_id for node_id in graph.nodes if clean(node_id) in touched]
    below: dict[str, list[str]] = {}
    for edge in graph.edges.values():
        if edge.edge_type in FLOW_EDGES:
            if edge.src_id in graph.nodes:
                below.setdefault(edge.src_id, []).append(edge.dst_id)
            elif change.removed:
                # Edges from a node that is gone may stay, and no longer count.
                starts.append(edge.dst_id)
    found = {node_id for node_id in starts if node_id in graph.nodes}
    rest = list(found)
    while rest:
        for node_id in below.get(rest.pop(), ()):
            if node_id not in found and node_id in graph.nodes:
                found.add(node_id)
                rest.append(node_id)
    return found


def part_above(graph: Graph, node_ids: Iterable[str]) -> Graph:
    """The part of a graph in which these nodes have the same chains, with the same gaps: all above them."""
    into: dict[str, list[Edge]] = {}
    for edge in graph.edges.values():
        if edge.edge_type in FLOW_EDGES:
            into.setdefault(edge.dst_id, []).append(edge)
    part = Graph()
    rest = list(node_ids)
    while rest:
        node_id = rest.pop()
        if node_id in graph.nodes and node_id not in part.nodes:
            part.nodes[node_id] = graph.nodes[node_id]
            for edge in into.get(node_id, ()):
                part.edges[edge.key] = edge
                rest.append(edge.src_id)
    return part
