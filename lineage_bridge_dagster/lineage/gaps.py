"""Where a graph may be incomplete because a scope was not fully read."""

from __future__ import annotations

from collections.abc import Iterable

from lineage_bridge_dagster.lineage.coverage import (
    ICEBERG,
    OPENLINEAGE,
    SUPPLEMENTARY,
    Coverage,
    Scope,
    ScopeReport,
)
from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Graph, Node, NodeType, scopes_of
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, TopicNode

#: APIs whose failure may hide anything upstream in their environment, and what a statement or a cluster link
#: brings to a topic of another environment.
_WHOLE_ENVIRONMENT = frozenset({"clusters", "compute_pools"})
#: Kinds of node whose direct sources may be in another environment: writers and mirrored topics of a topic,
#: topics that a statement reads.
_ACROSS_ENVIRONMENTS = frozenset({NodeType.KAFKA_TOPIC, NodeType.FLINK_JOB})
#: Kinds of node that jobs outside Confluent may write and read.
_WRITTEN_OUTSIDE = frozenset({NodeType.KAFKA_TOPIC, NodeType.EXTERNAL_DATASET, NodeType.CATALOG_TABLE})
#: APIs read per Kafka cluster.
_PER_CLUSTER = frozenset({"connect", "kafka", "mirrors", "tableflow", "catalog_integrations"})


class Gaps:
    """Finds the incomplete scopes that could hide something upstream of given nodes.

    These are the scopes of the nodes and of the edges into them, and those that could have reported another
    edge into one: without the Flink statements of a region, any topic of the environment may lack the job
    that writes it.

    Args:
        coverage: The coverage of the graph's discovery; without one, no gaps are found.
    """

    def __init__(self, graph: Graph, coverage: Coverage | None) -> None:
        self._graph = graph
        self._coverage = coverage if coverage is not None else Coverage()
        self._reports = self._coverage.hiding
        self._unproven: dict[str, Scope | None] = {}
        self._by_node: dict[str, frozenset[Scope]] = {}
        self._by_edge_target: dict[str, set[Scope]] = {}
        if len(self._coverage):
            for edge in graph.edges.values():
                if edge.edge_type in FLOW_EDGES and (found := self._unproven_of(scopes_of(edge.attributes))):
                    self._by_edge_target.setdefault(edge.dst_id, set()).update(found)

    def of(self, node_ids: Iterable[str]) -> tuple[Scope, ...]:
        """The incomplete scopes that reported these nodes (a table and its hops), sorted."""
        if not len(self._coverage):
            return ()
        found: set[Scope] = set()
        for node_id in node_ids:
            if node_id not in self._by_node:
                self._by_node[node_id] = frozenset(self._scopes_behind(node_id))
            found |= self._by_node[node_id]
        return tuple(sorted(found))

    def below(self, nodes: Iterable[Node]) -> tuple[Scope, ...]:
        """The incomplete scopes that could have reported something that reads these nodes, sorted."""
        if not self._reports:
            return ()
        alike = {(node.node_type, node.environment_id, node.cluster_id): node for node in nodes}
        return tuple(
            sorted(
                report.scope
                for report in self._reports
                if any(_may_hide_reader(report.scope, node) for node in alike.values())
            )
        )

    def any_behind(self, node_id: str) -> bool:
        """Whether `of` finds a scope behind this node alone. Nothing is kept of it, for there may be many."""
        if not len(self._coverage):
            return False
        if node_id in self._by_edge_target:
            return True
        node = self._graph.nodes[node_id]
        if any(self._unproven_scope(text) is not None for text in scopes_of(node.attributes)):
            return True
        return any(_may_hide(report, node) for report in self._reports)

    def _scopes_behind(self, node_id: str) -> set[Scope]:
        node = self._graph.nodes[node_id]
        found = self._by_edge_target.get(node_id, set()) | self._unproven_of(scopes_of(node.attributes))
        found.update(report.scope for report in self._reports if _may_hide(report, node))
        return found

    def _unproven_of(self, scopes: Iterable[str]) -> set[Scope]:
        return {found for text in scopes if (found := self._unproven_scope(text)) is not None}

    def _unproven_scope(self, text: str) -> Scope | None:
        if text not in self._unproven:
            scope = Scope.parse(text)
            hides_nothing = scope.api in SUPPLEMENTARY or self._coverage.proves_absence(scope)
            self._unproven[text] = None if hides_nothing else scope
        return self._unproven[text]


def _may_hide(report: ScopeReport, node: Node) -> bool:
    """Whether this incomplete scope could have reported a direct source of the node."""
    scope = report.scope
    if scope.api == "environments":
        return True
    if scope.api == "consumer_groups" or scope.api in SUPPLEMENTARY:
        # Consumer groups only read: nothing is downstream of them.
        return False
    if scope.api == "glue":
        return node.node_type == NodeType.CATALOG_TABLE and scope.place in (
            "",
            GlueTableNode.of(node).aws_region or scope.place,
        )
    if scope.api == OPENLINEAGE:
        # Outside jobs may write whatever is not a process.
        return node.node_type in _WRITTEN_OUTSIDE
    if not node.environment_id:
        # An outside dataset has no environment; its own scopes decide.
        return False
    if scope.api == "flink":
        return node.node_type == NodeType.KAFKA_TOPIC and _flink_may_write(scope, node)
    if scope.environment != node.environment_id:
        return scope.api in _WHOLE_ENVIRONMENT and node.node_type in _ACROSS_ENVIRONMENTS
    if scope.api in _WHOLE_ENVIRONMENT:
        return True
    if scope.api in ("ksqldb", "ksqldb_clusters"):
        return node.node_type == NodeType.KAFKA_TOPIC
    if scope.api in _PER_CLUSTER:
        unplaced = node.node_type == NodeType.KAFKA_TOPIC and not node.cluster_id
        return unplaced or scope.place in ("", node.cluster_id)
    if scope.api == "schema_registry":
        # Schemas are not upstream, but a topic that lost its fields to an outage or a revoked key must not
        # replace one with fields in Glue.
        return node.node_type == NodeType.KAFKA_TOPIC and not TopicNode.of(node).schema_fields
    return True


def _may_hide_reader(scope: Scope, node: Node) -> bool:
    """Whether this incomplete scope could have reported a direct target of the node."""
    if scope.api == "environments":
        return True
    if scope.api == OPENLINEAGE:
        return node.node_type in _WRITTEN_OUTSIDE
    if scope.api in ("glue", ICEBERG):
        return node.node_type != NodeType.CATALOG_TABLE
    if node.node_type == NodeType.EXTERNAL_DATASET:
        # A source connector of any cluster may read it.
        return scope.api in ("clusters", "connect")
    if node.node_type != NodeType.KAFKA_TOPIC or scope.api in (*SUPPLEMENTARY, "schema_registry"):
        return False
    if scope.environment != node.environment_id:
        # A statement or a cluster link of another environment may read it.
        return scope.api in ("flink", *_WHOLE_ENVIRONMENT)
    return scope.api not in _PER_CLUSTER or scope.place in ("", node.cluster_id)


def _flink_may_write(scope: Scope, topic: Node) -> bool:
    """Whether a Flink statement of this scope could write the topic.

    A statement reaches its own environment's clusters, and those of every other environment of the
    organization in its cloud and region.
    """
    if scope.environment == topic.environment_id:
        return True
    view = TopicNode.of(topic)
    return not (view.cloud and view.region) or scope.place in ("", f"{view.cloud.lower()}.{view.region}")
