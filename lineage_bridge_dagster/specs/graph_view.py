"""A discovery indexed for building assets, and the context in which a translator sees a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from dagster import AssetKey, AssetSpec

from lineage_bridge_dagster.lineage.catalog_tables import takes_lineage
from lineage_bridge_dagster.lineage.columns import ColumnFlow, ColumnIndex
from lineage_bridge_dagster.lineage.coverage import ScopeReport
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.downstream import ColumnTargets, DownstreamIndex
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import ConnectorNode, GlueTableNode
from lineage_bridge_dagster.lineage.unknowns import Unknown, unknowns_of
from lineage_bridge_dagster.lineage.upstream import Place, UpstreamIndex, node_of, reachable
from lineage_bridge_dagster.lineage.writers import is_inferred

#: The kinds of node that read inputs and write outputs.
PROCESSES = frozenset({NodeType.CONNECTOR, NodeType.FLINK_JOB, NodeType.KSQLDB_QUERY, NodeType.EXTERNAL_JOB})

#: Settings of a sink connector by which a record may be dropped, changed or written elsewhere.
_SELECTING = ("transforms", "iceberg.tables.route-field", "iceberg.tables.dynamic-enabled")


class Role(StrEnum):
    """Which asset of its node: a table's node has two, the table itself and its upstream chain."""

    ITSELF = "itself"
    CHAIN = "chain"


@dataclass(frozen=True)
class GraphView:
    """A discovery with indexes that all assets share."""

    discovery: Discovery
    upstream: UpstreamIndex
    downstream: DownstreamIndex
    #: Ids of a topic's schemas.
    schemas: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, discovery: Discovery) -> GraphView:
        graph = discovery.graph
        upstream = UpstreamIndex.of(graph)
        schemas: dict[str, list[str]] = {}
        for edge in graph.edges.values():
            if edge.edge_type == EdgeType.HAS_SCHEMA and edge.dst_id in graph:
                schemas.setdefault(edge.src_id, []).append(edge.dst_id)
        return cls(discovery, upstream, DownstreamIndex.of(upstream), schemas)

    @property
    def graph(self) -> Graph:
        return self.discovery.graph

    @cached_property
    def gaps(self) -> Gaps:
        return Gaps(self.discovery.graph, self.discovery.coverage)

    @cached_property
    def columns(self) -> ColumnIndex:
        return ColumnIndex(self.discovery.graph, self.upstream.direct)

    @cached_property
    def column_targets(self) -> ColumnTargets:
        return ColumnTargets(flow for node in self.graph.nodes.values() for flow in self.column_flows(node))

    def column_flows(self, node: Node) -> list[ColumnFlow]:
        """The flows into the columns of a table, a topic or a dataset, as far as they are known."""
        if takes_lineage(node):
            copied = None if isinstance(node, GlueTableNode) else self.copied_topic(node)
            return self.columns.table(node, [copied] if copied else self.topics_of(node))
        if node.node_type in (NodeType.KAFKA_TOPIC, NodeType.EXTERNAL_DATASET):
            return list(self.columns.topic(node.node_id).values())
        return []

    @cached_property
    def open_outputs(self) -> Mapping[str, Sequence[str]]:
        """By id of an output, the processes of which it is not known for sure what they make it of."""
        found: dict[str, list[str]] = {}
        for edge in self.graph.edges.values():
            if edge.edge_type != EdgeType.PRODUCES or edge.dst_id not in self.graph:
                continue
            process = self.graph.nodes.get(edge.src_id)
            if process and is_inferred(edge):
                found.setdefault(edge.dst_id, []).append(edge.src_id)
                continue
            # A dead letter queue takes records of all inputs, whatever they are.
            kinds = unknowns_of(process) if process and not edge.attributes.get("role") else ()
            if kinds and (edge.inputs is None or (Unknown.TRANSFORM in kinds and edge.confidence < 1)):
                found.setdefault(edge.dst_id, []).append(edge.src_id)
        return found

    @cached_property
    def inferred(self) -> frozenset[tuple[str, str]]:
        """The ends of the edges that only the names of topics tell."""
        return frozenset(edge.key[:2] for edge in self.graph.edges.values() if is_inferred(edge))

    @cached_property
    def doubtful(self) -> frozenset[str]:
        """The ids of everything downstream of an open output, and of these outputs."""
        direct = self.downstream.direct
        return frozenset(reachable(self.open_outputs, lambda node_id: direct.get(node_id, ())))

    def sources(self, node: Node) -> list[Node]:
        """The direct sources of a node's data."""
        return [self.graph.nodes[source] for source in self.upstream.direct.get(node.node_id, ())]

    def targets(self, node: Node) -> list[Node]:
        """The direct targets of a node's data."""
        return [self.graph.nodes[target] for target in self.downstream.direct.get(node.node_id, ())]

    def schemas_of(self, topic: Node) -> list[Node]:
        return [self.graph.nodes[schema] for schema in self.schemas.get(topic.node_id, ())]

    def topics_of(self, table: Node) -> list[Node]:
        """The topics behind a catalog table, directly or through its Tableflow table; each once."""
        return self.columns.topics_of(table)

    def feeding_topics(self, table: Node) -> tuple[list[Node], list[Node]]:
        """The nearest topics upstream of a table, and the processes between them and the table."""
        topics: dict[str, Node] = {}
        processes: dict[str, Node] = {}
        seen: set[Place] = set()
        stack = list(self.upstream.sources(table.node_id))
        while stack:
            place = stack.pop()
            node = self.graph.nodes[node_of(place)]
            if node.node_type == NodeType.KAFKA_TOPIC:
                topics[node.node_id] = node
            elif place not in seen:
                seen.add(place)
                if node.node_type in PROCESSES:
                    processes[node.node_id] = node
                stack.extend(self.upstream.sources(place))
        return list(topics.values()), list(processes.values())

    def copied_topic(self, table: Node) -> Node | None:
        """The one topic of which every record becomes a row of the table; None if that is not known.

        Sink connectors without transforms and routes write all that they read.
        """
        topics, processes = self.feeding_topics(table)
        copied = all(node.node_type == NodeType.CONNECTOR and _writes_all(node) for node in processes)
        return topics[0] if len(topics) == 1 and copied else None


def _writes_all(connector: Node) -> bool:
    config = ConnectorNode.of(connector).config
    return bool(config) and not any(config.get(key) for key in _SELECTING)


@dataclass(slots=True)
class Translation:
    """The default translation of a node, once it is made.

    Attributes:
        spec: the translation; at first that of the last load, if it still holds.
        copied: whether each caller gets a copy, since it may change the spec's metadata and tags in place.
    """

    node: Node
    spec: AssetSpec | None = None
    copied: bool = True


@dataclass(frozen=True)
class NodeContext:
    """What a translator may use besides the node."""

    view: GraphView
    role: Role = Role.ITSELF
    #: Sources that are not among the asset's dependencies because they would close a cycle.
    cyclic_sources: tuple[Node, ...] = ()
    #: Scopes on the asset's lineage that could not be fully read.
    incomplete: tuple[ScopeReport, ...] = ()
    #: The keys of assets by node id, to link to them; a process's inputs and outputs are among them.
    keys: Mapping[str, AssetKey] = field(default_factory=dict)
    #: For the default translator; a context made from this one has none.
    translation: Translation | None = field(default=None, init=False, repr=False, compare=False)
