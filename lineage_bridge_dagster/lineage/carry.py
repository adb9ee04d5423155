"""What the last discovery knew and this one could not ask: carried over, and marked stale.

"Could not ask" is never "nothing there": something goes only when a complete answer proves it gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from lineage_bridge_dagster.lineage.columns import ATTRIBUTE as COLUMN_LINEAGE
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node, NodeType, scopes_of
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, NodeView

Entry = TypeVar("Entry", Node, Edge)

STALE_SINCE = "stale_since"
#: On a node that was seen, but not by all that told of it before: the attributes that are from before.
STALE_ATTRIBUTES = "stale_attributes"

#: Marks of an earlier discovery that nothing is carried from.
_MARKS = frozenset({STALE_SINCE, STALE_ATTRIBUTES, "scope", "scopes"})

#: The APIs that give a node attributes without having reported it, by kind of node.
_TELLERS: dict[str, tuple[str, ...]] = {
    NodeType.KAFKA_TOPIC: ("kafka", "schema_registry"),
    NodeType.TABLEFLOW_TABLE: ("tableflow", "catalog_integrations"),
    NodeType.CATALOG_TABLE: ("glue", "tableflow", "catalog_integrations"),
}

#: The APIs that tell which topics there are and their fields, of which a Flink job's columns are derived.
_FIELD_TELLERS = frozenset({"schema_registry", "kafka", "clusters", "environments"})


def carry_forward(new: Discovery, last: Discovery | None) -> Discovery:
    """This discovery with all of the last one that it could not prove gone. Changes neither argument.

    Nodes and edges of a scope that was not asked whole stay as they were, with `stale_since` (when they were
    last seen, kept through repeated failures). What is seen again has no such mark, keeps its `first_seen`,
    and keeps attributes that a failed scope would have given (a topic's fields, when only its registry
    failed), named in `stale_attributes`. A scope that a narrower filter leaves out under a complete answer
    above it is no failure: its things go.
    """
    graph = Graph()
    if last is None:
        for node in new.graph.nodes.values():
            graph.add_node(_stamped(node, new.discovered_at))
        for edge in new.graph.edges.values():
            graph.add_edge(_stamped(edge, new.discovered_at))
        return replace(new, graph=graph)
    proof = _Proof(new.coverage)
    for node in new.graph.nodes.values():
        known = last.graph.nodes.get(node.node_id)
        seen = _stamped(node, new.discovered_at)
        graph.add_node(seen if known is None else _seen_again(seen, known, proof))
    stale_nodes = {
        node_id
        for node_id, node in last.graph.nodes.items()
        if node_id not in new.graph and not proof.is_gone(_node_scopes(node))
    }
    stale_edges: list[Edge] = []
    for key, edge in last.graph.edges.items():
        if key not in new.graph.edges and _is_owed(edge, new.graph, stale_nodes, proof):
            stale_edges.append(edge)
            # An edge is nothing without its ends.
            stale_nodes.update(end for end in key[:2] if end not in new.graph and end in last.graph)
    for node_id, node in last.graph.nodes.items():
        if node_id in stale_nodes:
            graph.add_node(_stale(node, last, new))
    for key, edge in new.graph.edges.items():
        known_edge = last.graph.edges.get(key)
        seen_edge = _stamped(edge, new.discovered_at)
        graph.add_edge(seen_edge if known_edge is None else _seen_again(seen_edge, known_edge, proof))
    for edge in stale_edges:
        graph.add_edge(_stale(edge, last, new))
    return replace(new, graph=graph)


class _Proof:
    """What a coverage proves, with the answers kept: a graph has few scopes and many edges."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._known: dict[str, bool] = {}

    def of(self, scope: str) -> bool:
        known = self._known.get(scope)
        if known is None:
            known = self._known[scope] = self._coverage.proves_absence(Scope.parse(scope))
        return known

    def is_gone(self, scopes: frozenset[str]) -> bool:
        """Whether something of these scopes that none of them reported is gone.

        Something without a scope is gone only when everything was asked and answered.
        """
        return all(map(self.of, scopes)) if scopes else self._coverage.complete

    def hides_columns(self, seen: Node, known: Node) -> bool:
        """Whether a job's columns may lack what a failed scope would have told: the fields of topics."""
        return (
            seen.node_type == NodeType.FLINK_JOB
            and bool(columns := known.attributes.get(COLUMN_LINEAGE))
            and columns != seen.attributes.get(COLUMN_LINEAGE)
            and NodeView.of(seen).sql == NodeView.of(known).sql
            and any(report.scope.api in _FIELD_TELLERS for report in self._coverage.incomplete)
        )

    def may_hide_attributes(self, node: Node) -> bool:
        """Whether a scope that could tell of the node did not answer whole."""
        if any(not self.of(scope) for scope in scopes_of(node.attributes)):
            return True
        return any(
            report.scope.api in _TELLERS.get(node.node_type, ()) and _covers(report.scope, node)
            for report in self._coverage.incomplete
        )


def _covers(scope: Scope, node: Node) -> bool:
    if scope.api == "glue":
        return scope.place in ("", GlueTableNode.of(node).aws_region or scope.place)
    if scope.environment != (node.environment_id or ""):
        return False
    # A schema registry serves its whole environment, whatever its own id is.
    return scope.api == "schema_registry" or scope.place in ("", node.cluster_id)


def _node_scopes(node: Node) -> frozenset[str]:
    """The scopes that must prove a node gone."""
    scopes = scopes_of(node.attributes)
    if node.node_type == NodeType.CATALOG_TABLE and node.environment_id and node.cluster_id:
        # Which catalog tables are looked for is told by Tableflow: without its answer nobody looked.
        looked_for_by = ("tableflow", "catalog_integrations")
        return scopes | {str(Scope(api, node.environment_id, node.cluster_id)) for api in looked_for_by}
    return scopes


def _is_owed(edge: Edge, now: Graph, stale_nodes: set[str], proof: _Proof) -> bool:
    """Whether an edge of last time that was not reported now must be kept."""
    scopes = scopes_of(edge.attributes)
    if not proof.is_gone(scopes):
        return True
    # Its own scope answered, but with an end of it unknown now it may not have known what to report.
    ends = (edge.src_id, edge.dst_id)
    return any(end in stale_nodes for end in ends) and all(end in stale_nodes or end in now for end in ends)


def _stamped(entry: Entry, discovered_at: str) -> Entry:
    when = discovered_at or None
    return replace(entry, first_seen=entry.first_seen or when, last_seen=entry.last_seen or when)


def _seen_again(seen: Entry, known: Entry, proof: _Proof) -> Entry:
    attributes: dict[str, Any] = {k: v for k, v in seen.attributes.items() if k != STALE_SINCE}
    # A scope that could not be asked keeps its say: or the next discovery would take this for all of it.
    scopes = scopes_of(seen.attributes)
    silent = {scope for scope in scopes_of(known.attributes) - scopes if not proof.of(scope)}
    if silent:
        attributes["scopes"] = sorted(scopes | silent)
    first_seen = min(filter(None, (seen.first_seen, known.first_seen)), default=None)
    if isinstance(seen, Node) and isinstance(known, Node):
        if proof.hides_columns(seen, known):
            attributes[COLUMN_LINEAGE] = known.attributes[COLUMN_LINEAGE]
            attributes[STALE_ATTRIBUTES] = [COLUMN_LINEAGE]
        filled = _with_what_failed(seen, attributes, known, proof)
        return replace(filled, first_seen=first_seen)
    return replace(seen, attributes=attributes, first_seen=first_seen)


def _with_what_failed(seen: Node, attributes: dict[str, Any], known: Node, proof: _Proof) -> Node:
    """The node with what only a scope that failed could have told, as it was."""
    if not proof.may_hide_attributes(known):
        return replace(seen, attributes=attributes)
    missing = _missing(attributes, known.attributes)
    if missing:
        attributes.update(missing)
        attributes[STALE_ATTRIBUTES] = sorted({*missing, *attributes.get(STALE_ATTRIBUTES, ())})
    return replace(
        seen,
        attributes=attributes,
        display_name=seen.display_name or known.display_name,
        environment_name=seen.environment_name or known.environment_name,
        cluster_name=seen.cluster_name or known.cluster_name,
        catalog_type=seen.catalog_type or known.catalog_type,
        tags=tuple(dict.fromkeys((*seen.tags, *known.tags))),
        url=seen.url or known.url,
    )


def _missing(attributes: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in known.items()
        if name not in _MARKS
        and attributes.get(name) in (None, "", [], {})
        and value not in (None, "", [], {})
    }


def _stale(entry: Entry, last: Discovery, new: Discovery) -> Entry:
    since = entry.attributes.get(STALE_SINCE) or entry.last_seen or last.discovered_at or new.discovered_at
    return entry.with_attributes(**{STALE_SINCE: since})
