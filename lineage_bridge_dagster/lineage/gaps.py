"""Where a graph may lack something because a scope was not asked whole."""

from __future__ import annotations

from collections.abc import Iterable

from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport
from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Graph, Node, NodeType, scopes_of
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, TopicNode

#: APIs whose failure may hide what is upstream of anything in their environment, and whatever a statement or
#: a cluster link brings to a topic of another one.
_WHOLE_ENVIRONMENT = frozenset({"clusters", "compute_pools"})
#: Kinds whose sources may be in another environment: a topic's writer or origin, what a statement reads.
_ACROSS_ENVIRONMENTS = frozenset({NodeType.KAFKA_TOPIC, NodeType.FLINK_JOB})
#: APIs asked per Kafka cluster: connectors, mirrors, Tableflow's own edges.
_PER_CLUSTER = frozenset({"connect", "kafka", "mirrors", "tableflow", "catalog_integrations"})


class Gaps:
    """For any set of nodes, the incomplete scopes that could have added to what is upstream of them.

    Those are the scopes of the nodes and of the edges that lead into them, and the scopes that could have
    reported another edge into one: without the Flink statements of a region any topic of the environment
    may lack the job that writes it.
    """

    def __init__(self, graph: Graph, coverage: Coverage | None) -> None:
        self._graph = graph
        self._coverage = coverage if coverage is not None else Coverage()
        self._reports = self._coverage.incomplete
        #: Whether there is anything to say at all; without coverage nothing is known.
        self._silent = not len(self._coverage)
        self._unproven: dict[str, Scope | None] = {}
        self._of_node: dict[str, frozenset[Scope]] = {}
        self._of_edges: dict[str, set[Scope]] = {}
        if not self._silent:
            for edge in graph.edges.values():
                if edge.edge_type in FLOW_EDGES and (found := self._unproven_of(scopes_of(edge.attributes))):
                    self._of_edges.setdefault(edge.dst_id, set()).update(found)

    def of(self, node_ids: Iterable[str]) -> tuple[Scope, ...]:
        """The incomplete scopes behind these nodes (a table and its hops), sorted."""
        if self._silent:
            return ()
        found: set[Scope] = set()
        for node_id in node_ids:
            known = self._of_node.get(node_id)
            if known is None:
                known = self._of_node[node_id] = frozenset(self._ask(node_id))
            found |= known
        return tuple(sorted(found))

    def _ask(self, node_id: str) -> set[Scope]:
        node = self._graph.nodes[node_id]
        found = self._of_edges.get(node_id, set()) | self._unproven_of(scopes_of(node.attributes))
        found.update(report.scope for report in self._reports if _may_hide(report, node))
        return found

    def _unproven_of(self, scopes: Iterable[str]) -> set[Scope]:
        found = set()
        for text in scopes:
            if text not in self._unproven:
                scope = Scope.parse(text)
                self._unproven[text] = None if self._coverage.proves_absence(scope) else scope
            if (unproven := self._unproven[text]) is not None:
                found.add(unproven)
        return found


def _may_hide(report: ScopeReport, node: Node) -> bool:
    """Whether this incomplete scope could have reported something upstream of the node."""
    scope = report.scope
    if scope.api == "environments":
        return True
    if scope.api == "consumer_groups":
        # They read, and nothing is downstream of them.
        return False
    if scope.api == "glue":
        return node.node_type == NodeType.CATALOG_TABLE and scope.place in (
            "",
            GlueTableNode.of(node).aws_region or scope.place,
        )
    if not node.environment_id:
        # An outside dataset has no environment: its own scopes speak for it.
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
        # Not upstream, but a topic that lost its fields to an outage, or to a key that was revoked, must not
        # be pushed over one that has them.
        return node.node_type == NodeType.KAFKA_TOPIC and not TopicNode.of(node).schema_fields
    return True


def _flink_may_write(scope: Scope, topic: Node) -> bool:
    """Whether a statement of this scope could write the topic: of its own environment, or of its region.

    A statement reaches the clusters of every environment of the organization in its own cloud and region.
    """
    if scope.environment == topic.environment_id:
        return True
    view = TopicNode.of(topic)
    return not (view.cloud and view.region) or scope.place in ("", f"{view.cloud.lower()}.{view.region}")
