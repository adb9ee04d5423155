"""Adds the Iceberg tables of catalogs other than the account's own Glue to a discovery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from lineage_bridge_dagster.catalogs.errors import AccessDeniedError, CallError
from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.table_errors import (
    UnreadableTableError,
    concerns_one_table,
    translate,
)
from lineage_bridge_dagster.catalogs.iceberg.table_reading import (
    IcebergTable,
    Identifier,
    TablesRead,
    read_tables,
)
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.carry import STALE_SINCE, stale_since
from lineage_bridge_dagster.lineage.catalog_tables import materializes
from lineage_bridge_dagster.lineage.coverage import ICEBERG, Coverage, Note, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.ids import external_dataset_id, iceberg_table_id
from lineage_bridge_dagster.lineage.loaded_topics import LoadedTopic, add_loaded_table
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node, NodeType, scopes_of
from lineage_bridge_dagster.lineage.nodes import ICEBERG_REST, SHOWN_SETTINGS, IcebergTableNode
from lineage_bridge_dagster.lineage.sql_policy import shown_parameters
from lineage_bridge_dagster.lineage.text import shorten
from lineage_bridge_dagster.lineage.times import iso, utc_now
from lineage_bridge_dagster.lineage.unknowns import LEFT_OUT, UNCONNECTED_TABLES, UNREADABLE_TABLES
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.text import first_few, plural

#: The name of a table's dataset, as connectors to it have it: of a catalog and `namespace.table`.
DatasetName = Callable[[CatalogSettings, str], str]

#: Key in `Discovery.caches`: the names of all tables of each catalog. A new one may be loaded from a topic,
#: which only its properties tell.
SEEN = "iceberg_tables_seen"

#: Tables and namespaces that a report names.
_SHOWN = 3
#: Characters of the reason why a table could not be loaded.
_REASON = 200
#: Calls to a catalog at once.
_CONCURRENCY = 8


def iceberg_catalogs(catalogs: Catalogs) -> list[CatalogSettings]:
    """The REST catalogs whose tables are not those of the account's own Glue."""
    return [each for each in catalogs.values() if each.type == "rest" and each.glue_account is None]


def enrich(
    discovery: Discovery,
    catalogs: Catalogs,
    *,
    dataset_name: DatasetName,
    sql: str = "redacted",
    clock: Callable[[], datetime] = utc_now,
    last: Discovery | None = None,
) -> Discovery:
    """Add a `catalog_table` node for each table that a known process writes, with an edge from its dataset,
    for each that carries lineage from an earlier push, and for every one of a catalog that discovers all.

    A table without a known writer is loaded to see whether it carries lineage, or the stamp of the topic that
    it is loaded from: once, and from then on only if it did. So a discovery takes a call for each of its
    assets, and a few that list the catalog.

    Args:
        catalogs: All catalogs; see `iceberg_catalogs` for those that are read.
        dataset_name: How a connector to a table names it.
        sql: How the SQL of earlier pushes is shown: full, redacted, hash or none.
        last: The last discovery, which tells which tables carry lineage.

    Returns:
        A new discovery. A catalog that could not be read is in its coverage, as `iceberg::{name}`; nothing is
        raised for it.
    """
    now = iso(clock())
    graph = Graph(discovery.graph.nodes.values(), discovery.graph.edges.values())
    coverage = Coverage(discovery.coverage)
    last_seen = _names_seen(last)
    names_seen: dict[str, list[Identifier]] = {}
    writers = _edges_into_datasets(graph)

    def dataset_of(settings: CatalogSettings, name: Identifier) -> Node | None:
        text = dataset_name(settings, ".".join(name))
        return graph.nodes.get(external_dataset_id(text)) if text else None

    for settings in iceberg_catalogs(catalogs):
        scope = Scope(ICEBERG, "", settings.name)
        seen = last_seen.get(settings.name)
        wanted = partial(
            _is_wanted,
            _known_tables(last, scope),
            None if seen is None else frozenset(seen),
            partial(dataset_of, settings),
        )
        try:
            read = read_tables(
                open_catalog(catalogs, settings.name),
                settings.namespaces,
                nested=settings.nests_namespaces,
                wanted=(lambda _name: True) if settings.discovers_all else wanted,
                max_concurrency=_CONCURRENCY,
            )
        except LineageBridgeError as error:
            coverage.add(unread(scope, error))
            if seen is not None:
                names_seen[settings.name] = seen
            continue
        left_out = list(read.listed)
        names_seen[settings.name] = sorted(
            [*read.listed, *((*table.namespace, table.name) for table in read.tables)]
        )
        for table in read.tables:
            name = (*table.namespace, table.name)
            dataset = dataset_of(settings, name)
            topic = LoadedTopic.parse(table.properties)
            if topic is not None:
                node = table_node(table, settings, scope, now, sql=sql)
                node = add_loaded_table(graph, node, topic, scope, now)
                if dataset is not None:
                    _add(graph, node, scope, dataset, writers, now)
            elif dataset or settings.discovers_all or any(key.startswith(PREFIX) for key in table.properties):
                node = table_node(table, settings, scope, now, sql=sql)
                _add(graph, node, scope, dataset, writers, now)
            else:
                left_out.append(name)
        report, unreadable = _told_apart(scope, read)
        for name in unreadable:
            _carry_table(graph, scope, name, last, dataset_of(settings, name), writers, now)
        notes = (*report.notes, *_unconnected(left_out), *_unreadable(unreadable))
        coverage.add(replace(report, notes=notes))
    return replace(
        discovery,
        graph=graph,
        coverage=coverage,
        discovered_at=discovery.discovered_at or now,
        caches={**discovery.caches, SEEN: names_seen},
    )


def _names_seen(last: Discovery | None) -> dict[str, list[Identifier]]:
    """The names that the last discovery listed in each catalog; none of a malformed cache."""
    saved = last.caches.get(SEEN) if last else None
    if not isinstance(saved, Mapping):
        return {}
    return {
        str(catalog): [tuple(map(str, name)) for name in names if isinstance(name, list | tuple)]
        for catalog, names in saved.items()
        if isinstance(names, list)
    }


def _known_tables(last: Discovery | None, scope: Scope) -> frozenset[Identifier] | None:
    """The tables that the last discovery found in a catalog; None if it did not read the catalog fully."""
    report = last.coverage.get(scope) if last else None
    if last is None or report is None or report.status is not Status.COMPLETE:
        return None
    tables = last.graph.of_kind(IcebergTableNode)
    return frozenset((*table.namespace, table.table_name) for table in tables if table.catalog == scope.place)


def _is_wanted(
    known: Collection[Identifier] | None,
    seen: Collection[Identifier] | None,
    dataset_of: Callable[[Identifier], Node | None],
    name: Identifier,
) -> bool:
    is_new = known is None or (seen is not None and name not in seen)
    return is_new or (known is not None and name in known) or dataset_of(name) is not None


def _told_apart(scope: Scope, read: TablesRead) -> tuple[ScopeReport, Mapping[Identifier, CallError]]:
    """The report of a catalog, and the tables that could not be loaded for a reason of their own.

    Such a table says nothing about the others. A refusal only counts as the table's own if the catalog let
    another table be read: otherwise the permission may be missing for all of them.
    """
    alone = {
        name: error
        for name, error in read.failed.items()
        if isinstance(error, UnreadableTableError) or (read.tables and concerns_one_table(error))
    }
    failed = {name: error for name, error in read.failed.items() if name not in alone}
    return report_of(scope, replace(read, failed=failed)), alone


def _carry_table(
    graph: Graph,
    scope: Scope,
    name: Identifier,
    last: Discovery | None,
    dataset: Node | None,
    writers: Mapping[str, Sequence[Edge]],
    now: str,
) -> None:
    """Keep a table of the last discovery that cannot be loaded now, with its current sources."""
    node_id = iceberg_table_id("", scope.place, ".".join(name[:-1]), name[-1])
    known = last.graph.nodes.get(node_id) if last else None
    if last is None or known is None:
        return
    node = known.with_attributes(scopes=[str(scope)], **{STALE_SINCE: stale_since(known, last)})
    _add(graph, node, scope, dataset, writers, now)
    for edge in last.graph.edges.values():
        # `_add` added the edge from the dataset, as it is today.
        source = graph.nodes.get(edge.src_id)
        if edge.dst_id == node_id and source is not None and source.node_type != NodeType.EXTERNAL_DATASET:
            graph.add_edge(edge)


def _unreadable(failed: Mapping[Identifier, CallError]) -> tuple[Note, ...]:
    names = (f"{'.'.join(name)} ({_reason(error)})" for name, error in sorted(failed.items()))
    return (Note(UNREADABLE_TABLES, tuple(names)),) if failed else ()


def _reason(error: CallError) -> str:
    """Why a table was not loaded, without the sentence about which one."""
    return shorten(redact_text(error.message.partition(" failed: ")[2] or error.message), _REASON)


def _unconnected(left_out: Iterable[Identifier]) -> tuple[Note, ...]:
    """A note on the tables that are not assets: the number in each namespace, for there may be thousands."""
    counts = Counter(".".join(name[:-1]) for name in left_out)
    names = tuple(f"{namespace} ({plural(count, 'table')})" for namespace, count in sorted(counts.items()))
    return (Note(UNCONNECTED_TABLES, names),) if names else ()


def without_other_catalogs(last: Discovery, catalogs: Catalogs) -> Discovery:
    """The last discovery without the tables of catalogs that are not read any more.

    Nothing is known about them now: they were taken out of the configuration, or turned off.
    """

    def is_read(node: Node) -> bool:
        if not isinstance(node, IcebergTableNode) or node.catalog in catalogs:
            return True
        # Which catalogs Tableflow has follows from its tables, which may not have been read.
        from_tableflow = "tableflow" in {Scope.parse(scope).api for scope in scopes_of(node.attributes)}
        return from_tableflow and catalogs.reads_tableflow

    nodes = [node for node in last.graph.nodes.values() if is_read(node)]
    if len(nodes) == len(last.graph):
        return last
    kept = {node.node_id for node in nodes}
    edges = [edge for edge in last.graph.edges.values() if {edge.src_id, edge.dst_id} <= kept]
    return replace(last, graph=Graph(nodes, edges))


def _add(
    graph: Graph,
    node: Node,
    scope: Scope,
    dataset: Node | None,
    writers: Mapping[str, Sequence[Edge]],
    now: str,
) -> None:
    if dataset is None:
        graph.add_node(node)
        return
    # Known only because both the catalog and the connector were read: an outage of either must not remove it.
    scopes = sorted(
        {str(scope)}.union(
            scopes_of(dataset.attributes),
            *(scopes_of(edge.attributes) for edge in writers.get(dataset.node_id, ())),
        )
    )
    node = graph.add_node(node.with_attributes(scopes=scopes))
    graph.add_edge(materializes(dataset, node, scope, scopes, now))


def _edges_into_datasets(graph: Graph) -> dict[str, list[Edge]]:
    found: dict[str, list[Edge]] = {}
    for edge in graph.edges.values():
        target = graph.nodes.get(edge.dst_id)
        if target is not None and target.node_type == NodeType.EXTERNAL_DATASET:
            found.setdefault(edge.dst_id, []).append(edge)
    return found


def table_node(
    table: IcebergTable, settings: CatalogSettings, scope: Scope, now: str, *, sql: str = "redacted"
) -> Node:
    """The `catalog_table` node of a table, without secrets.

    It has no environment: connectors of several may write it.
    """
    namespace = ".".join(table.namespace)
    attributes: dict[str, Any] = {
        **facts_of(table, settings),
        "database": namespace,
        "table_name": table.name,
        "parameters": shown_parameters(table.properties, sql),
        "not_writable": f"the catalog {settings.name} is read-only" if settings.read_only else None,
        "scope": str(scope),
    }
    return Node(
        node_id=iceberg_table_id("", settings.name, namespace, table.name),
        system="iceberg",
        node_type=NodeType.CATALOG_TABLE,
        qualified_name=f"iceberg://{settings.name}/{namespace}/{table.name}",
        display_name=f"{settings.name}.{namespace}.{table.name}",
        catalog_type=ICEBERG_REST,
        attributes={name: value for name, value in attributes.items() if value is not None},
        first_seen=now,
        last_seen=now,
    )


def facts_of(table: IcebergTable, settings: CatalogSettings) -> dict[str, Any]:
    """What a catalog reports about a table: its schema and its current snapshot, without secrets."""
    return {
        "catalog": settings.name,
        "catalog_settings": {
            name: redact_text(str(value)) for name in SHOWN_SETTINGS if (value := getattr(settings, name))
        },
        "columns": [
            {"name": column.name, "type": column.type, "comment": redact_text(column.comment) or None}
            for column in table.columns
        ],
        "storage_location": redact_text(table.location) or None,
        "table_uuid": table.uuid or None,
        # As text: JavaScript, and so the UI, would round it.
        "snapshot_id": str(table.snapshot_id) if table.snapshot_id is not None else None,
        "last_commit": iso(datetime.fromtimestamp(table.committed_ms / 1000, UTC))
        if table.committed_ms
        else None,
        "rows": table.rows,
    }


def unread(scope: Scope, error: LineageBridgeError) -> ScopeReport:
    """The report of a catalog that could not be opened or listed."""
    cause = error.__cause__
    if not isinstance(error, CallError) and isinstance(cause, Exception):
        denied = isinstance(translate(cause, action="", where=""), AccessDeniedError)
    else:
        denied = isinstance(error, AccessDeniedError)
    return ScopeReport(scope, Status.DENIED if denied else Status.FAILED, error.reason)


def report_of(scope: Scope, read: TablesRead) -> ScopeReport:
    """The report of a catalog that was listed, with what it and its tables may not say."""
    notes = (Note(LEFT_OUT, read.left_out),) if read.left_out else ()
    if not (errors := read.all_errors):
        return ScopeReport(scope, Status.COMPLETE, count=len(read.tables), notes=notes)
    reason = f"{first_few([error.message for error in errors], _SHOWN)} {errors[0].hint}".strip()
    return ScopeReport(scope, Status.PARTIAL, reason, len(read.tables), notes)
