"""A stored discovery -> the world that changes can affect: what is downstream of them. Pure.

Flows come from the graph: edges, the column lineage on statements, configurations. So no SQL is parsed unless
it changes, and of a large graph only the part behind the changes is read. Names are those of the nodes; where
two clusters have a name in common, the later ones are `{cluster}/{name}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.record import ConnectorLineage, ConnectorRecord
from lineage_bridge_dagster.impact.change import Change, ConnectorChange
from lineage_bridge_dagster.impact.changed_nodes import (
    ChangedPlace,
    changed_node,
    is_new,
    mentioned_topics,
    qualified_names,
)
from lineage_bridge_dagster.impact.connector_flows import ConnectorFlow
from lineage_bridge_dagster.impact.flows import ColumnSource, ColumnUse, FlowJob, Output, OutputColumn
from lineage_bridge_dagster.impact.report import ImpactGap
from lineage_bridge_dagster.impact.stored_schemas import SchemaIndex, StoredSubjects
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef, SqlJob, TableflowTable, World
from lineage_bridge_dagster.lineage.columns import flows_of, further_columns_of, uses_of
from lineage_bridge_dagster.lineage.coverage import PARENTS, Coverage
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Edge, EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import ConnectorNode, GlueTableNode, TableflowNode, TopicNode
from lineage_bridge_dagster.text import first_few

_KINDS: Mapping[str, NodeKind] = {
    NodeType.KAFKA_TOPIC: NodeKind.TOPIC,
    NodeType.FLINK_JOB: NodeKind.STATEMENT,
    NodeType.KSQLDB_QUERY: NodeKind.STATEMENT,
    NodeType.CONNECTOR: NodeKind.CONNECTOR,
    NodeType.CATALOG_TABLE: NodeKind.GLUE,
    NodeType.EXTERNAL_DATASET: NodeKind.DATASET,
    NodeType.EXTERNAL_JOB: NodeKind.JOB,
}
_PROCESSES = frozenset({NodeKind.STATEMENT, NodeKind.CONNECTOR, NodeKind.JOB})
#: Nodes of one name that are listed.
_MAX_SAME = 3
_NO_COLUMNS: Mapping[NodeKind, str] = {
    NodeKind.STATEMENT: "its column lineage is not known",
    NodeKind.JOB: "its events tell nothing of columns",
}


@dataclass(frozen=True)
class StoredFlows:
    """What a stored graph tells that a world does not hold.

    Attributes:
        jobs: Statements, queries and outside jobs.
        mirrors: Topic -> its mirrors.
        node_ids: Node -> its id in the graph.
        subjects: The subjects of its topics.
        gaps: What could not be read where the changes may reach.
    """

    jobs: Mapping[NodeRef, FlowJob] = field(default_factory=dict)
    connectors: Mapping[NodeRef, ConnectorFlow] = field(default_factory=dict)
    mirrors: Mapping[NodeRef, Sequence[NodeRef]] = field(default_factory=dict)
    node_ids: Mapping[NodeRef, str] = field(default_factory=dict)
    subjects: StoredSubjects = field(default_factory=StoredSubjects)
    gaps: tuple[ImpactGap, ...] = ()


def stored_world(
    discovery: Discovery, changes: Iterable[Change], place: ChangedPlace | None = None
) -> tuple[World, StoredFlows]:
    """The world behind changes.

    Args:
        changes: They name nodes as the graph does, or by `{cluster}/{name}`.
        place: Where the changed nodes are.
    """
    place = place or ChangedPlace()
    nodes = discovery.graph.nodes
    part, index = _Part(discovery.graph), SchemaIndex(discovery.graph)
    changes = list(changes)
    topics = {
        change: [topic for topic in index.topics_of(change) if topic in nodes and place.holds(nodes[topic])]
        for change in changes
    }
    wanted = {changed_node(change) for change in changes if not topics[change]}
    starts = [topic for found in topics.values() for topic in found]
    part.collect(wanted | mentioned_topics(changes), starts, place)
    if any(isinstance(change, ConnectorChange) for change in changes):
        part.add_topics()
    unknown = wanted - part.found.keys() - {changed_node(change) for change in changes if is_new(change)}
    gaps = [ImpactGap(node, "the stored discovery has no such node") for node in sorted(unknown)]
    gaps += [
        ImpactGap(
            node,
            f"{len(same)} nodes have this name, and the first is taken; choose by environment and cluster: "
            f"{first_few(same, _MAX_SAME)}",
        )
        for node, same in sorted(part.found.items())
        if node in wanted and len(same) > 1
    ]
    world, flows = part.world(), part.flows()
    gaps += _unread(discovery.coverage, part.nodes.values())
    subjects = index.subjects(
        {node_id: ref for node_id, ref in part.refs.items() if ref.kind is NodeKind.TOPIC}
    )
    world = replace(world, schemas=subjects.schemas, compatibility=subjects.levels)
    return world, StoredFlows(*flows, part.ids, subjects, tuple(gaps))


class _Part:
    """The part of a graph that changes can affect.

    Attributes:
        nodes: Its nodes, by id.
        refs: Id -> the node in the world.
        found: What changes name and the graph has, with the ids of all nodes of that name.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._into: dict[str, list[Edge]] = {}
        self._from: dict[str, list[Edge]] = {}
        for edge in graph.edges.values():
            if edge.edge_type in FLOW_EDGES:
                self._from.setdefault(edge.src_id, []).append(edge)
                self._into.setdefault(edge.dst_id, []).append(edge)
        self.nodes: dict[str, Node] = {}
        self.refs: dict[str, NodeRef] = {}
        self.found: dict[NodeRef, list[str]] = {}
        self._taken: set[NodeRef] = set()

    @property
    def ids(self) -> dict[NodeRef, str]:
        """The ids of the world's nodes."""
        return {ref: node_id for node_id, ref in self.refs.items()}

    def collect(self, wanted: Iterable[NodeRef], starts: Iterable[str], place: ChangedPlace) -> None:
        """Take what is downstream of some nodes, with all that its processes read and write.

        Args:
            wanted: Nodes by kind and name.
            starts: Further nodes, by id.
            place: Where the wanted nodes are.
        """
        names = {(ref.kind, ref.name): ref for ref in wanted}
        qualified = {name for ref in names.values() for name in qualified_names(ref)}
        pending = [*starts]
        for node in self._graph.nodes.values():
            kind = _KINDS.get(node.node_type) if node.qualified_name in qualified else None
            if kind is None or not place.holds(node):
                continue
            for name in (_name(node), f"{node.cluster_id}/{_name(node)}"):
                if (ref := names.get((kind, name))) is not None:
                    self.found.setdefault(ref, []).append(node.node_id)
                    self.refs.setdefault(node.node_id, self._unused(kind, name, node))
                    pending.append(node.node_id)
        # Writers of a changed topic or dataset are affected as well.
        pending += [edge.src_id for start in [*pending] for edge in self._into.get(start, ())]
        while pending:
            node_id = pending.pop()
            if node_id in self.nodes or node_id not in self._graph.nodes:
                continue
            node = self._graph.nodes[node_id]
            self._take(node)
            pending += [edge.dst_id for edge in self._from.get(node_id, ())]
        for node_id, node in [*self.nodes.items()]:
            if _KINDS.get(node.node_type) in _PROCESSES:
                ends = [edge.src_id for edge in self._into.get(node_id, ())]
                for each in ends:
                    if each in self._graph.nodes:
                        self._take(self._graph.nodes[each])

    def add_topics(self) -> None:
        """Add all topics of its clusters, among which a configuration finds those that it means."""
        clusters = {node.cluster_id for node in self.nodes.values()}
        for node in self._graph.of_type(NodeType.KAFKA_TOPIC):
            if node.cluster_id in clusters and node.node_id not in self.nodes:
                self._take(node)

    def world(self) -> World:
        """The world, without flows of statements and connectors."""
        of = {ref: self.nodes[node_id] for node_id, ref in self.refs.items()}
        topics = {ref.name: TopicNode.of(node) for ref, node in of.items() if ref.kind is NodeKind.TOPIC}
        configs = {name: _topic_config(topic) for name, topic in topics.items()}
        columns = {
            name: [*topic.key_columns, *(each.name for each in topic.schema_fields)]
            for name, topic in topics.items()
        }
        return World(
            topics=tuple(topics),
            topic_configs=configs,
            statements={
                ref.name: SqlJob(ref.name, node.sql)
                for ref, node in of.items()
                if ref.kind is NodeKind.STATEMENT and node.sql
            },
            connectors={
                ref.name: _record(ref, node) for ref, node in of.items() if ref.kind is NodeKind.CONNECTOR
            },
            tableflow=tuple(self._tables()),
            owners={str(ref): node.owners[0] for ref, node in of.items() if node.owners},
            columns=columns,
        )

    def flows(
        self,
    ) -> tuple[dict[NodeRef, FlowJob], dict[NodeRef, ConnectorFlow], dict[NodeRef, list[NodeRef]]]:
        """The jobs of statements and of others, those of connectors, and the mirrors of topics."""
        jobs: dict[NodeRef, FlowJob] = {}
        connectors: dict[NodeRef, ConnectorFlow] = {}
        mirrors: dict[NodeRef, list[NodeRef]] = {}
        for node_id, ref in self.refs.items():
            node = self.nodes[node_id]
            if ref.kind in (NodeKind.STATEMENT, NodeKind.JOB):
                jobs[ref] = self._with_columns(ref, node)
            elif ref.kind is NodeKind.CONNECTOR:
                direction = ConnectorNode.of(node).connector_type
                job = self._job(ref, node, set(ConnectorNode.of(node).dlq_topics))
                config = Config(ConnectorNode.of(node).config)
                connectors[ref] = ConnectorFlow(job, config, ConnectorLineage(direction))
            elif ref.kind is NodeKind.TOPIC:
                copies = [e for e in self._from.get(node_id, ()) if e.edge_type == EdgeType.TRANSFORMS]
                mirrors[ref] = [self.refs[e.dst_id] for e in copies if e.dst_id in self.refs]
        return jobs, connectors, mirrors

    def _take(self, node: Node) -> None:
        self.nodes[node.node_id] = node
        kind = _KINDS.get(node.node_type)
        if kind is not None and node.node_id not in self.refs:
            self.refs[node.node_id] = self._unused(kind, _name(node), node)

    def _unused(self, kind: NodeKind, name: str, node: Node) -> NodeRef:
        ref = NodeRef(kind, name)
        if ref in self._taken:
            ref = NodeRef(kind, f"{node.cluster_id or node.environment_id}/{name}")
        self._taken.add(ref)
        return ref

    def _ends(self, edges: Iterable[str]) -> frozenset[NodeRef]:
        return frozenset(self.refs[node_id] for node_id in edges if node_id in self.refs)

    def _job(self, ref: NodeRef, node: Node, without: set[str]) -> FlowJob:
        """A process by its edges; its dead letters are not output."""
        read = [edge.src_id for edge in self._into.get(node.node_id, ())]
        written = [edge for edge in self._from.get(node.node_id, ()) if edge.dst_id in self.refs]
        outputs = tuple(
            Output(self.refs[edge.dst_id], self._ends(read if edge.inputs is None else edge.inputs))
            for edge in written
            if self.refs[edge.dst_id].name not in without
        )
        return FlowJob(ref, outputs, self._ends(read))

    def _with_columns(self, ref: NodeRef, node: Node) -> FlowJob:
        job = self._job(ref, node, set())
        uses: dict[tuple[str, str | None], list[ColumnUse]] = {}
        for use in uses_of(node):
            sources = tuple(
                ColumnSource(self.refs[column.node_id], column.name, "")
                for column in use.sources
                if column.node_id in self.refs
            )
            uses.setdefault((use.output, use.column), []).append(ColumnUse(use.role, "", sources))
        columns: dict[NodeRef, list[OutputColumn]] = {}
        for flow in flows_of(node):
            target, name = flow.column
            if target not in self.refs:
                continue
            sources = tuple(
                ColumnSource(self.refs[source.node_id], source.name, str(how))
                for source, how in flow.sources
                if source.node_id in self.refs
            )
            deciding = (*uses.get((target, None), ()), *uses.get((target, name), ()))
            reason = "" if flow.complete else flow.reason or "its sources are not all known"
            column = OutputColumn(name, sources, deciding, open=reason)
            columns.setdefault(self.refs[target], []).append(column)
        further = {self.refs[t]: why for t, why in further_columns_of(node).items() if t in self.refs}
        outputs = tuple(
            replace(
                output,
                columns=tuple(columns.get(output.node, ())),
                open=further.get(output.node, "" if output.node in columns else _NO_COLUMNS[ref.kind]),
            )
            for output in job.outputs
        )
        return replace(job, outputs=outputs)

    def _tables(self) -> Iterator[TableflowTable]:
        """The catalog tables that Tableflow fills."""
        for node_id, node in self.nodes.items():
            if node.node_type != NodeType.TABLEFLOW_TABLE:
                continue
            table = TableflowNode.of(node)
            sources = self._ends(edge.src_id for edge in self._into.get(node_id, ()))
            topic = next((ref.name for ref in sources if ref.kind is NodeKind.TOPIC), "")
            for edge in self._from.get(node_id, ()):
                if topic and edge.dst_id in self.refs:
                    mode = (table.write_mode or "APPEND").upper()
                    on_error = (table.error_handling.mode or "SUSPEND").upper()
                    yield TableflowTable(topic, mode, "", on_error, self.refs[edge.dst_id].name)


def _name(node: Node) -> str:
    """The name of a node, a Glue table's as `{database}.{table}`."""
    if isinstance(node, GlueTableNode):
        place = node.shown_place
        return f"{place.database}.{place.table}"
    return node.qualified_name


def _record(ref: NodeRef, node: Node) -> ConnectorRecord:
    connector = ConnectorNode.of(node)
    config = {str(key): str(value) for key, value in connector.config.items()}
    return ConnectorRecord(ref.name, connector.connector_type, connector.connector_id or None, config)


def _topic_config(topic: TopicNode) -> dict[str, object]:
    found = {
        "partitions": topic.partitions,
        "retention.ms": topic.retention_ms,
        "cleanup.policy": topic.cleanup_policy or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _unread(coverage: Coverage, nodes: Iterable[Node]) -> Iterator[ImpactGap]:
    """The scopes that may hide readers, in the environments and clusters of some nodes."""
    nodes = list(nodes)
    environments = {node.environment_id for node in nodes} | {""}
    places = {node.cluster_id for node in nodes}
    for report in coverage.hiding:
        scope = report.scope
        by_cluster = PARENTS.get(scope.api) == "clusters"
        if scope.environment in environments and (not by_cluster or scope.place in places):
            yield ImpactGap(None, f"{scope} was not read completely ({report.status}): {report.reason}")
