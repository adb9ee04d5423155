"""Nodes, edges and the graph they form.

A graph is a plain container: it is filled by discovery or read from a file, and only read after that.
Ids are opaque here; `ids` is the one place that builds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any


class NodeType(StrEnum):
    """Kinds of node. A graph from a file may hold others: keep and show them."""

    KAFKA_TOPIC = "kafka_topic"
    CONNECTOR = "connector"
    FLINK_JOB = "flink_job"
    KSQLDB_QUERY = "ksqldb_query"
    EXTERNAL_DATASET = "external_dataset"
    TABLEFLOW_TABLE = "tableflow_table"
    SCHEMA = "schema"
    CATALOG_TABLE = "catalog_table"
    CONSUMER_GROUP = "consumer_group"


class EdgeType(StrEnum):
    """Kinds of edge, each in the direction the data flows."""

    PRODUCES = "produces"
    CONSUMES = "consumes"
    TRANSFORMS = "transforms"
    MATERIALIZES = "materializes"
    HAS_SCHEMA = "has_schema"
    MEMBER_OF = "member_of"


class Evidence(StrEnum):
    """How an edge is known, in its `attributes["evidence"]`."""

    PARSED = "parsed"  # read out of a statement's text
    ENGINE = "engine"  # the engine that runs it says so
    OBSERVED = "observed"  # seen at run time: offsets, lags, a table at a topic's storage location
    DECLARED = "declared"  # a configuration or a catalog says so


#: Kinds of edge that lead upstream when followed against their direction.
FLOW_EDGES = frozenset({EdgeType.PRODUCES, EdgeType.CONSUMES, EdgeType.TRANSFORMS, EdgeType.MATERIALIZES})


@dataclass(frozen=True, slots=True)
class Node:
    """One node, with the fields of `lineage_graph.json`.

    `attributes["scope"]` names the discovery scope that reported the node (see `coverage`); one that several
    reported has them all in `attributes["scopes"]` too. By kind: `schema_fields` ([{name, type}], the value
    schema) on a topic, with `schema_columns` ([{name, type, comment}], nested ones too) where that tells
    more; `sql` on a Flink statement or ksqlDB query, with `formatted_sql` where it was not laid out;
    `connector_class` on a connector.
    `attributes["stale_since"]`, an ISO 8601 time, is there only on a node that was carried over from the
    last good state because its scope could not be asked.
    """

    node_id: str
    system: str
    node_type: str
    qualified_name: str
    display_name: str = ""
    environment_id: str | None = None
    environment_name: str | None = None
    cluster_id: str | None = None
    cluster_name: str | None = None
    catalog_type: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    url: str | None = None
    first_seen: str | None = None
    last_seen: str | None = None

    @property
    def label(self) -> str:
        """What a person reads: the display name, else the qualified one."""
        return self.display_name or self.qualified_name

    def with_attributes(self, **attributes: Any) -> Node:
        """A copy with these attributes added or replaced."""
        return replace(self, attributes={**self.attributes, **attributes})


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

    def with_attributes(self, **attributes: Any) -> Edge:
        """A copy with these attributes added or replaced."""
        return replace(self, attributes={**self.attributes, **attributes})


class Graph:
    """Nodes by id and edges by key, in the order they were added.

    Adding a node or an edge that is there already merges the two: the later non-empty fields and attributes
    win, tags and scopes are united, an edge keeps the higher confidence, `first_seen` the earlier time.
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
        """Add or merge; returns the node as it now stands."""
        known = self.nodes.get(node.node_id)
        if known is not None:
            node = _merge_nodes(known, node)
        self.nodes[node.node_id] = node
        return node

    def add_edge(self, edge: Edge) -> Edge:
        """Add or merge; returns the edge as it now stands. Its ends may be added later."""
        known = self.edges.get(edge.key)
        if known is not None:
            edge = _merge_edges(known, edge)
        self.edges[edge.key] = edge
        return edge

    def update(self, other: Graph) -> None:
        """Merge another graph into this one."""
        for node in other.nodes.values():
            self.add_node(node)
        for edge in other.edges.values():
            self.add_edge(edge)

    def of_type(self, *node_types: str) -> Iterator[Node]:
        """The nodes of these kinds, in order."""
        return (node for node in self.nodes.values() if node.node_type in node_types)

    def upstream_index(self) -> dict[str, list[str]]:
        """Destination id -> its direct sources, over the edges that carry data, between nodes that exist."""
        # A dict for each destination: a list would make a destination of many sources quadratic.
        index: dict[str, dict[str, None]] = {}
        for edge in self.edges.values():
            if edge.edge_type in FLOW_EDGES and edge.src_id in self.nodes and edge.dst_id in self.nodes:
                index.setdefault(edge.dst_id, {})[edge.src_id] = None
        return {destination: list(sources) for destination, sources in index.items()}


def _earlier(a: str | None, b: str | None) -> str | None:
    return min(a, b) if a and b else a or b


def scopes_of(attributes: Mapping[str, Any]) -> frozenset[str]:
    """The text forms of every scope that reported a node or an edge; empty when none is known."""
    named = attributes.get("scopes")
    several = [str(scope) for scope in named] if isinstance(named, list | tuple) else []
    one = attributes.get("scope")
    return frozenset([*several, str(one)] if one else several)


def _merge_attributes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**old, **new}
    scopes = scopes_of(old) | scopes_of(new)
    if len(scopes) > 1:
        merged["scopes"] = sorted(scopes)
    return merged


def _merge_nodes(old: Node, new: Node) -> Node:
    return replace(
        new,
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
    return replace(
        new,
        confidence=max(old.confidence, new.confidence),
        attributes=_merge_attributes(old.attributes, new.attributes),
        first_seen=_earlier(old.first_seen, new.first_seen),
        last_seen=new.last_seen or old.last_seen,
    )
