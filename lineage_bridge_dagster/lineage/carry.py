"""Carrying over what the last discovery found and this one could not read, marked stale.

"Could not be read" never means "does not exist": something is dropped only if a fully read scope proves that
it is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from lineage_bridge_dagster.lineage.columns import COLUMN_LINEAGE
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import FLOW_EDGES, INPUTS, Edge, Graph, Node, NodeType, scopes_of
from lineage_bridge_dagster.lineage.nodes import CatalogTableNode
from lineage_bridge_dagster.lineage.nodes.policies import NEVER_CARRIED, reporters
from lineage_bridge_dagster.lineage.sql_policy import statement_hash
from lineage_bridge_dagster.lineage.writers import settle_writers

Entry = TypeVar("Entry", Node, Edge)

STALE_SINCE = "stale_since"
#: On a node that was found, but not by every scope that reported it before: the names of the attributes that
#: are carried over.
STALE_ATTRIBUTES = "stale_attributes"

#: The APIs that report topics and their fields, from which the columns of processes are derived.
_FIELD_APIS = frozenset({"schema_registry", "kafka", "clusters", "environments"})
_COLUMN_APIS: dict[str, frozenset[str]] = {
    NodeType.FLINK_JOB: _FIELD_APIS,
    # ksqlDB also describes the columns of its streams and tables.
    NodeType.KSQLDB_QUERY: _FIELD_APIS | {"ksqldb"},
}


def carry_forward(new: Discovery, last: Discovery | None) -> Discovery:
    """Return the new discovery plus everything of the last one that it does not prove gone.

    Nodes and edges of a scope that was not fully read are kept, however many discoveries fail, and marked
    with `stale_since`, the time when they were last seen. Those found again lose the mark and keep their
    `first_seen`. They also keep attributes that only a failed scope could have reported, such as a topic's
    fields if its registry failed; `stale_attributes` names them. The edge to an output keeps those of its
    inputs whose edges to the process are kept. A scope that a narrower filter excludes, below a fully read
    one, is not a failure: its nodes and edges are removed.
    """
    graph = Graph()
    if last is None:
        for node in new.graph.nodes.values():
            graph.add_node(_stamped(node, new.discovered_at))
        for edge in new.graph.edges.values():
            graph.add_edge(_stamped(edge, new.discovered_at))
        return replace(new, graph=graph)
    proof = _Proof(new, last)
    for node in new.graph.nodes.values():
        known = last.graph.nodes.get(node.node_id)
        seen = _stamped(node, new.discovered_at)
        graph.add_node(seen if known is None else _seen_again(seen, known, proof))
    stale_nodes = {
        node_id
        for node_id, node in last.graph.nodes.items()
        if node_id not in new.graph and not proof.is_gone(node_scopes(node))
    }
    stale_edges: list[Edge] = []
    for key, edge in last.graph.edges.items():
        if key not in new.graph.edges and _must_keep(edge, new.graph, stale_nodes, proof):
            stale_edges.append(edge)
            # An edge needs both its ends.
            stale_nodes.update(end for end in key[:2] if end not in new.graph and end in last.graph)
    for node_id, node in last.graph.nodes.items():
        if node_id in stale_nodes:
            graph.add_node(_stale(node, last, new))
    stale_inputs: dict[str, set[str]] = {}
    for edge in stale_edges:
        if edge.edge_type in FLOW_EDGES:
            stale_inputs.setdefault(edge.dst_id, set()).add(edge.src_id)
    for key, edge in new.graph.edges.items():
        known_edge = last.graph.edges.get(key)
        seen_edge = _stamped(edge, new.discovered_at)
        if known_edge is not None:
            seen_edge = _seen_again(seen_edge, known_edge, proof)
            seen_edge = _with_stale_inputs(seen_edge, known_edge, stale_inputs.get(edge.src_id, set()))
        graph.add_edge(seen_edge)
    for edge in stale_edges:
        graph.add_edge(_stale(edge, last, new))
    settle_writers(graph)
    return replace(new, graph=graph)


def kept_nodes(new: Discovery, last: Discovery) -> Iterator[Node]:
    """The nodes of the last discovery that the new one neither has nor proves gone."""
    proof = _Proof(new, last)
    for node_id, node in last.graph.nodes.items():
        if node_id not in new.graph and not proof.is_gone(node_scopes(node)):
            yield node


class _Proof:
    """What the new coverage proves, memoized: a graph has few scopes and many edges."""

    def __init__(self, new: Discovery, last: Discovery) -> None:
        self._new, self._last = new, last
        self._coverage = new.coverage
        self._by_scope: dict[str, bool] = {}
        self._hiding = new.coverage.hiding

    def covers(self, scope: str) -> bool:
        """Whether the coverage proves that anything unreported in the scope is gone."""
        if scope not in self._by_scope:
            self._by_scope[scope] = self._coverage.proves_absence(Scope.parse(scope))
        return self._by_scope[scope]

    def is_gone(self, scopes: frozenset[str]) -> bool:
        """Whether a node or edge that none of its scopes reported is gone.

        One without a scope is gone only if every scope was fully read.
        """
        return all(map(self.covers, scopes)) if scopes else self._coverage.complete

    def hides_columns(self, seen: Node, known: Node) -> bool:
        """Whether a process has columns that may be incomplete, since a scope that reports fields failed."""
        return (
            seen.node_type in _COLUMN_APIS
            and bool(columns := known.attributes.get(COLUMN_LINEAGE))
            and columns != seen.attributes.get(COLUMN_LINEAGE)
            and (statement := statement_hash(self._new, seen.node_id)) is not None
            and statement == statement_hash(self._last, seen.node_id)
            and any(report.scope.api in _COLUMN_APIS[seen.node_type] for report in self._hiding)
        )

    def may_hide_attributes(self, node: Node) -> bool:
        """Whether a scope that could report attributes of the node was not fully read."""
        if any(not self.covers(scope) for scope in scopes_of(node.attributes)):
            return True
        return any(
            report.scope.api in reporters(type(node)) and _contains(report.scope, node)
            for report in self._hiding
        )


def _contains(scope: Scope, node: Node) -> bool:
    if scope.api == "glue":
        region = node.aws_region if isinstance(node, CatalogTableNode) else ""
        return scope.place in ("", region or scope.place)
    if scope.environment != (node.environment_id or ""):
        return False
    # A schema registry serves all of its environment; its place is the registry's own id.
    return scope.api == "schema_registry" or scope.place in ("", node.cluster_id)


def node_scopes(node: Node) -> frozenset[str]:
    """The scopes that must prove a node gone."""
    scopes = scopes_of(node.attributes)
    of_sink = any(Scope.parse(scope).api == "connect" for scope in scopes)
    if node.node_type == NodeType.CATALOG_TABLE and node.environment_id and node.cluster_id and not of_sink:
        # Discovery looks for these catalog tables because Tableflow reports them.
        apis = ("tableflow", "catalog_integrations")
        return scopes | {str(Scope(api, node.environment_id, node.cluster_id)) for api in apis}
    return scopes


def _must_keep(edge: Edge, now: Graph, stale_nodes: set[str], proof: _Proof) -> bool:
    """Whether an edge of the last discovery that was not reported now must be kept."""
    if not proof.is_gone(scopes_of(edge.attributes)):
        return True
    # Its own scope was fully read, but may have been unable to report an edge to an end that is unknown now.
    ends = (edge.src_id, edge.dst_id)
    return any(end in stale_nodes for end in ends) and all(end in stale_nodes or end in now for end in ends)


def _stamped(entry: Entry, discovered_at: str) -> Entry:
    if entry.first_seen and entry.last_seen:
        return entry
    when = discovered_at or None
    return replace(entry, first_seen=entry.first_seen or when, last_seen=entry.last_seen or when)


def _seen_again(seen: Entry, known: Entry, proof: _Proof) -> Entry:
    attributes = dict(seen.attributes)
    # Keep unread scopes that reported it before, or the next discovery would not wait for them.
    scopes = scopes_of(seen.attributes)
    unread = {scope for scope in scopes_of(known.attributes) - scopes if not proof.covers(scope)}
    if unread:
        attributes["scopes"] = sorted(scopes | unread)
    first_seen = min(filter(None, (seen.first_seen, known.first_seen)), default=None)
    if isinstance(seen, Node) and isinstance(known, Node):
        if proof.hides_columns(seen, known):
            attributes[COLUMN_LINEAGE] = known.attributes[COLUMN_LINEAGE]
            attributes[STALE_ATTRIBUTES] = [COLUMN_LINEAGE]
        seen = seen.changed(attributes=attributes, first_seen=first_seen)
        return _with_unread_attributes(seen, attributes, known, proof)
    return replace(seen, attributes=attributes, first_seen=first_seen)


def _with_unread_attributes(seen: Node, attributes: dict[str, Any], known: Node, proof: _Proof) -> Node:
    """The node, with the attributes and names that only a failed scope could have reported."""
    if not proof.may_hide_attributes(known):
        return seen
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


def _with_stale_inputs(seen: Edge, known: Edge, stale: set[str]) -> Edge:
    """The edge to an output, made also of what it was made of if that is an input carried over."""
    if seen.inputs is None:
        return seen
    kept = stale if known.inputs is None else stale.intersection(known.inputs)
    return seen.with_attributes(**{INPUTS: sorted(kept.union(seen.inputs))}) if kept else seen


def _missing(attributes: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in known.items()
        if name not in NEVER_CARRIED
        and attributes.get(name) in (None, "", [], {})
        and value not in (None, "", [], {})
    }


def stale_since(entry: Node | Edge, last: Discovery) -> str:
    """When a node or an edge of the last discovery was last seen; empty if that is not known."""
    # Not `last_seen` first: a last discovery that was only confirmed since then keeps older times.
    return entry.attributes.get(STALE_SINCE) or last.discovered_at or entry.last_seen or ""


def _stale(entry: Entry, last: Discovery, new: Discovery) -> Entry:
    since = stale_since(entry, last) or new.discovered_at
    return replace(entry.with_attributes(**{STALE_SINCE: since}), last_seen=since or None)
