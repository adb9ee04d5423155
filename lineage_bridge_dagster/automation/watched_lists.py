"""The lists that a tick compares with the state: Tableflow topics, catalog integrations, names of tables."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from lineage_bridge_dagster.lineage.coverage import ICEBERG, Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_status import is_in_glue
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.model import scopes_of as reporters_of
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, IcebergTableNode, TableflowNode, TopicNode
from lineage_bridge_dagster.text import first_few

TABLEFLOW = "tableflow"
INTEGRATIONS = "integrations"
GLUE = "glue"


class NamedTables(NamedTuple):
    """The tables of a list that matter.

    Those of a Glue database are asked for by name if its list is denied; those that are present are not: a
    refresh notices that one is gone.

    Attributes:
        present: the names that the state has.
        missing: the names that Tableflow has yet to create, as far as the state knows; for a REST catalog,
            the datasets in the state, one of which may be a table that connectors write.
    """

    present: frozenset[str]
    missing: tuple[str, ...]


@dataclass(frozen=True, order=True)
class ListScope:
    """One list: its API, and its environment and cluster, or its database or catalog with the tables."""

    api: str
    environment: str = ""
    place: str = ""
    tables: Callable[[], NamedTables] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return ":".join(part for part in (self.api, self.environment, self.place) if part)


def titles(discovery: Discovery) -> dict[ListScope, str]:
    """A title for each list, with the cluster's name before its id."""
    cluster_names = {
        node.cluster_id: node.cluster_name
        for node in discovery.graph.of_type(NodeType.KAFKA_TOPIC, NodeType.TABLEFLOW_TABLE)
        if node.cluster_id and node.cluster_name
    }
    found = {}
    for scope in scopes_of(discovery):
        name = cluster_names.get(scope.place)
        cluster = f"cluster {name} ({scope.place})" if name else f"cluster {scope.place}"
        found[scope] = {
            TABLEFLOW: f"Tableflow topics of {cluster}",
            INTEGRATIONS: f"catalog integrations of {cluster}",
            GLUE: f"Glue tables of database {scope.place}",
            ICEBERG: f"tables of catalog {scope.place}",
        }[scope.api]
    return found


#: Reads one list from Confluent, Glue or a REST catalog. Each entry is a name, then a tab and the part of its
#: state that matters, if any. Raises an error if the list cannot be read: an empty list always means that
#: there are no entries.
ListReader = Callable[[ListScope], Iterable[str]]


def fingerprint(items: Iterable[str]) -> str:
    """A hash of a list that does not depend on its order."""
    return hashlib.sha256("\n".join(sorted(set(items))).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def names(items: Iterable[str]) -> frozenset[str]:
    """The names without the state after the tab."""
    return frozenset(item.partition("\t")[0] for item in items)


def scopes_of(discovery: Discovery) -> list[ListScope]:
    """The lists of every cluster and database in the discovery; only a refresh finds new clusters."""
    found: set[ListScope] = set()
    for node in discovery.graph.of_type(NodeType.KAFKA_TOPIC, NodeType.TABLEFLOW_TABLE):
        outside = isinstance(node, TopicNode) and node.outside_selection
        if node.environment_id and node.cluster_id and not outside:
            found.add(ListScope(TABLEFLOW, node.environment_id, node.cluster_id))
            found.add(ListScope(INTEGRATIONS, node.environment_id, node.cluster_id))
    places = [node.place for node in discovery.graph.of_kind(GlueTableNode)]
    # Before its first table exists, a database is known only as the one that Tableflow should use.
    places += [
        TableflowNode.of(node).expected_place for node in discovery.graph.of_type(NodeType.TABLEFLOW_TABLE)
    ]
    for database in {place.database for place in places if place and place.is_home}:
        found.add(ListScope(GLUE, "", database, partial(_named_tables, discovery, database)))
    for report in discovery.coverage:
        if report.scope.api == ICEBERG:
            catalog = report.scope.place
            found.add(ListScope(ICEBERG, "", catalog, partial(_tables_of_catalog, discovery, catalog)))
    return sorted(found)


@dataclass(frozen=True)
class ListDifference:
    """The names that only the list has, and those that only the state has."""

    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.gone)

    def __str__(self) -> str:
        return "; ".join(
            f"{label}: {first_few(names)}"
            for label, names in (("new", self.new), ("gone", self.gone))
            if names
        )


def difference(discovery: Discovery, scope: ListScope, listed: Iterable[str]) -> ListDifference:
    """How a list differs from the state."""
    current = names(listed)
    known = frozenset(_known(discovery, scope))
    if scope.api == GLUE:
        # A database may also contain tables that no topic feeds.
        expected = frozenset(_expected_tables(discovery, scope.place))
        return ListDifference(tuple(sorted((current & expected) - known)), tuple(sorted(known - current)))
    if scope.api == INTEGRATIONS:
        return ListDifference()
    return ListDifference(tuple(sorted(current - known)), tuple(sorted(known - current)))


def _known(discovery: Discovery, scope: ListScope) -> Sequence[str]:
    graph = discovery.graph
    if scope.api == TABLEFLOW:
        return [
            TableflowNode.of(node).topic
            for node in graph.of_type(NodeType.TABLEFLOW_TABLE)
            if (node.environment_id, node.cluster_id) == (scope.environment, scope.place)
        ]
    if scope.api == GLUE:
        places = (node.place for node in graph.of_kind(GlueTableNode) if is_in_glue(node))
        return [place.table for place in places if place and place.is_home and place.database == scope.place]
    if scope.api == ICEBERG:
        return sorted(_tables_of_catalog(discovery, scope.place).present)
    return []


def _named_tables(discovery: Discovery, database: str) -> NamedTables:
    present = frozenset(_known(discovery, ListScope(GLUE, "", database)))
    return NamedTables(present, tuple(sorted(set(_expected_tables(discovery, database)) - present)))


def _tables_of_catalog(discovery: Discovery, catalog: str) -> NamedTables:
    """The tables of a REST catalog, as `namespace.table`; not those that Tableflow's own catalogs tell of."""
    nodes = (node for node in discovery.graph.of_kind(IcebergTableNode) if not _is_from_tableflow(node))
    tables = (IcebergTableNode.of(node) for node in nodes)
    datasets = (node.qualified_name for node in discovery.graph.of_type(NodeType.EXTERNAL_DATASET))
    return NamedTables(
        frozenset(f"{table.database}.{table.table_name}" for table in tables if table.catalog == catalog),
        tuple(sorted(datasets)),
    )


def _is_from_tableflow(node: Node) -> bool:
    return any(Scope.parse(scope).api == TABLEFLOW for scope in reporters_of(node.attributes))


def _expected_tables(discovery: Discovery, database: str) -> Iterable[str]:
    """Names in this database of the Glue tables that Tableflow has yet to create."""
    graph = discovery.graph
    with_table = {
        edge.src_id
        for edge in graph.edges.values()
        if edge.dst_id in graph
        and isinstance(graph.nodes[edge.dst_id], GlueTableNode)
        and is_in_glue(graph.nodes[edge.dst_id])
    }
    for node in graph.of_type(NodeType.TABLEFLOW_TABLE):
        if node.node_id not in with_table:
            place = TableflowNode.of(node).expected_place
            if place and place.database == database:
                yield place.table
