"""A discovery, indexed for the assets that are made of it, and what a translator may look at of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from lineage_bridge_dagster.lineage.columns import ColumnIndex
from lineage_bridge_dagster.lineage.coverage import ScopeReport
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, Node, NodeType


class Role(StrEnum):
    """What an asset is to its node. A Glue table's node has two: the table itself and its upstream chain."""

    ITSELF = "itself"
    CHAIN = "chain"


@dataclass(frozen=True)
class GraphView:
    """A discovery, indexed once for all the assets that are made of it."""

    discovery: Discovery
    #: Direct sources and targets of a node, by id, over the edges that carry data.
    upstream: Mapping[str, Sequence[str]]
    downstream: Mapping[str, Sequence[str]]
    #: The schemas of a topic, by the topic's id.
    schemas: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, discovery: Discovery) -> GraphView:
        graph = discovery.graph
        upstream = graph.upstream_index()
        downstream: dict[str, list[str]] = {}
        for target, sources in upstream.items():
            for source in sources:
                downstream.setdefault(source, []).append(target)
        schemas: dict[str, list[str]] = {}
        for edge in graph.edges.values():
            if edge.edge_type == EdgeType.HAS_SCHEMA and edge.dst_id in graph:
                schemas.setdefault(edge.src_id, []).append(edge.dst_id)
        return cls(discovery, upstream, downstream, schemas)

    @property
    def graph(self) -> Graph:
        return self.discovery.graph

    @cached_property
    def gaps(self) -> Gaps:
        return Gaps(self.discovery.graph, self.discovery.coverage)

    @cached_property
    def columns(self) -> ColumnIndex:
        return ColumnIndex(self.discovery.graph, self.upstream)

    def sources(self, node: Node) -> list[Node]:
        """The nodes that a node's data comes from directly."""
        return [self.graph.nodes[source] for source in self.upstream.get(node.node_id, ())]

    def targets(self, node: Node) -> list[Node]:
        """The nodes that a node's data goes to directly."""
        return [self.graph.nodes[target] for target in self.downstream.get(node.node_id, ())]

    def schemas_of(self, topic: Node) -> list[Node]:
        return [self.graph.nodes[schema] for schema in self.schemas.get(topic.node_id, ())]

    def topics_of(self, table: Node) -> list[Node]:
        """The topics that a catalog table is made of, past its Tableflow table; each once."""
        found: dict[str, Node] = {}
        for near in self.sources(table):
            for origin in [near] if near.node_type == NodeType.KAFKA_TOPIC else self.sources(near):
                if origin.node_type == NodeType.KAFKA_TOPIC:
                    found[origin.node_id] = origin
        return list(found.values())


@dataclass(frozen=True)
class NodeContext:
    """What a translator may look at besides the node."""

    view: GraphView
    role: Role = Role.ITSELF
    #: Sources left out of the asset's dependencies, since they would close a cycle.
    left_out: tuple[Node, ...] = ()
    #: Scopes that the asset's lineage passes through and that did not answer whole.
    incomplete: tuple[ScopeReport, ...] = ()
