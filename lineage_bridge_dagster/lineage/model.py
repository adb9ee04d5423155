"""Nodes, edges and the graph they form.

Discovery fills a graph, or it is loaded from a file; after that it is only read. Ids are opaque here: `ids`
builds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

from lineage_bridge_dagster.lineage.nodes.node import Node as Node
from lineage_bridge_dagster.lineage.nodes.node import NodeType as NodeType


class EdgeType(StrEnum):
    """Kinds of edge, each in the direction the data flows."""

    PRODUCES = "produces"
    CONSUMES = "consumes"
    TRANSFORMS = "transforms"
    MATERIALIZES = "materializes"
    HAS_SCHEMA = "has_schema"


class Evidence(StrEnum):
    """How an edge is known: its `attributes["evidence"]`."""

    PARSED = "parsed"  # from a statement's text
    ENGINE = "engine"  # reported by the engine that runs the query
    OBSERVED = "observed"  # seen at run time: offsets, lags, a table at a topic's storage location
    DECLARED = "declared"  # from a configuration or a catalog
    INFERRED = "inferred"  # from a topic's name alone: see `writers`


#: Kinds of edge that carry data; a chain follows them from destination to source.
FLOW_EDGES = frozenset({EdgeType.PRODUCES, EdgeType.CONSUMES, EdgeType.TRANSFORMS, EdgeType.MATERIALIZES})

#: Attribute of a `produces` edge: see `Edge.inputs`.
INPUTS = "inputs"


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge; `(src_id, dst_id, edge_type)` identifies it. Attributes as on `Node`."""

    src_id: str
    dst_id: str
    edge_type: str
    confidence: float = 1.0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    first_seen: str | None = None
    last_seen: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.src_id, self.dst_id, self.edge_type)

    @property
    def inputs(self) -> tuple[str, ...] | None:
        """The ids of the nodes that the output of a `produces` edge is made of, from `attributes["inputs"]`.

        None if that is unknown, or not a list of texts: then all inputs of the process count. An id that is
        no input of the process has no effect.
        """
        value = self.attributes.get(INPUTS)
        if value is None or self.edge_type != EdgeType.PRODUCES:
            return None
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
        return None

    def with_attributes(self, **attributes: Any) -> Edge:
        """Return a copy with these attributes added or replaced."""
        return replace(self, attributes={**self.attributes, **attributes})


Entry = TypeVar("Entry", Node, Edge)
N = TypeVar("N")


class Graph:
    """Nodes by id and edges by key, in insertion order.

    Adding a node or edge that exists merges the two: later non-empty fields and attributes win, tags and
    scopes are united, an edge keeps the higher confidence, and `first_seen` the earlier time. A merged edge's
    inputs are those of both edges, unknown if one does not name them.
    """

    def __init__(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: dict[tuple[str, str, str], Edge] = {}
        for node in nodes:
            self.add_node(node)
        for edge in edges:
            self.add_edge(edge)

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node_id: object) -> bool:
        return node_id in self.nodes

    def add_node(self, node: Node) -> Node:
        """Add or merge a node, and return the result."""
        known = self.nodes.get(node.node_id)
        if known is not None:
            node = _merge_nodes(known, node)
        self.nodes[node.node_id] = node
        return node

    def add_edge(self, edge: Edge) -> Edge:
        """Add or merge an edge, and return the result. Its ends may be added later."""
        key = edge.key
        known = self.edges.get(key)
        if known is not None:
            edge = _merge_edges(known, edge)
        self.edges[key] = edge
        return edge

    def of_type(self, *node_types: str) -> Iterator[Node]:
        """The nodes of these kinds, in insertion order."""
        return (node for node in self.nodes.values() if node.node_type in node_types)

    def of_kind(self, kind: type[N]) -> Iterator[N]:
        """The nodes of a class, such as `TopicNode`, in insertion order."""
        return (node for node in self.nodes.values() if isinstance(node, kind))


def known_since(entry: Entry, before: Entry | None) -> Entry:
    """A node or an edge, first seen when it was before."""
    return entry if before is None else replace(entry, first_seen=before.first_seen)


def _earlier(a: str | None, b: str | None) -> str | None:
    return min(a, b) if a and b else a or b


def scopes_of(attributes: Mapping[str, Any]) -> frozenset[str]:
    """The text forms of every scope that reported a node or an edge; empty if none is recorded."""
    listed, single = attributes.get("scopes"), attributes.get("scope")
    scopes = [str(scope) for scope in listed] if isinstance(listed, list | tuple) else []
    if single:
        scopes.append(str(single))
    return frozenset(scopes)


def _merge_attributes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**old, **new}
    scopes = scopes_of(old) | scopes_of(new)
    if len(scopes) > 1:
        merged["scopes"] = sorted(scopes)
    return merged


def _merge_nodes(old: Node, new: Node) -> Node:
    return Node(
        node_id=new.node_id,
        system=new.system,
        node_type=new.node_type,
        qualified_name=new.qualified_name,
        display_name=new.display_name or old.display_name,
        environment_id=new.environment_id or old.environment_id,
        environment_name=new.environment_name or old.environment_name,
        cluster_id=new.cluster_id or old.cluster_id,
        cluster_name=new.cluster_name or old.cluster_name,
        catalog_type=new.catalog_type or old.catalog_type,
        attributes=_merge_attributes(old.attributes, new.attributes),
        tags=tuple(dict.fromkeys((*old.tags, *new.tags))),
        url=new.url or old.url,
        first_seen=_earlier(old.first_seen, new.first_seen),
        last_seen=new.last_seen or old.last_seen,
    )


def _merge_edges(old: Edge, new: Edge) -> Edge:
    attributes = _merge_attributes(old.attributes, new.attributes)
    if new.edge_type == EdgeType.PRODUCES and INPUTS in attributes:
        if old.inputs is None or new.inputs is None:
            del attributes[INPUTS]
        else:
            attributes[INPUTS] = sorted({*old.inputs, *new.inputs})
    return replace(
        new,
        confidence=max(old.confidence, new.confidence),
        attributes=attributes,
        first_seen=_earlier(old.first_seen, new.first_seen),
        last_seen=new.last_seen or old.last_seen,
    )
