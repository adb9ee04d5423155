"""A discovery indexed for building assets, and the context in which a translator sees a node."""

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
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex


class Role(StrEnum):
    """Which asset of its node: a Glue table's node has two, the table itself and its upstream chain."""

    ITSELF = "itself"
    CHAIN = "chain"


@dataclass(frozen=True)
class GraphView:
    """A discovery with indexes that all assets share."""

    discovery: Discovery
    upstream: UpstreamIndex
    #: Ids of a node's direct targets, over the edges that carry data.
    downstream: Mapping[str, Sequence[str]]
    #: Ids of a topic's schemas.
    schemas: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, discovery: Discovery) -> GraphView:
        graph = discovery.graph
        upstream = UpstreamIndex.of(graph)
        downstream: dict[str, list[str]] = {}
        for target, sources in upstream.direct.items():
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
        return ColumnIndex(self.discovery.graph, self.upstream.direct)

    def sources(self, node: Node) -> list[Node]:
        """The direct sources of a node's data."""
        return [self.graph.nodes[source] for source in self.upstream.direct.get(node.node_id, ())]

    def targets(self, node: Node) -> list[Node]:
        """The direct targets of a node's data."""
        return [self.graph.nodes[target] for target in self.downstream.get(node.node_id, ())]

    def schemas_of(self, topic: Node) -> list[Node]:
        return [self.graph.nodes[schema] for schema in self.schemas.get(topic.node_id, ())]

    def topics_of(self, table: Node) -> list[Node]:
        """The topics behind a catalog table, directly or through its Tableflow table; each once."""
        found: dict[str, Node] = {}
        for source in self.sources(table):
            for origin in [source] if source.node_type == NodeType.KAFKA_TOPIC else self.sources(source):
                if origin.node_type == NodeType.KAFKA_TOPIC:
                    found[origin.node_id] = origin
        return list(found.values())


@dataclass(frozen=True)
class NodeContext:
    """What a translator may use besides the node."""

    view: GraphView
    role: Role = Role.ITSELF
    #: Sources that are not among the asset's dependencies because they would close a cycle.
    cyclic_sources: tuple[Node, ...] = ()
    #: Scopes on the asset's lineage that could not be fully read.
    incomplete: tuple[ScopeReport, ...] = ()
