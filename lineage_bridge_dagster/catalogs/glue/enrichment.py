"""Adds the Glue tables that Tableflow's tables become, and those of sinks, to a discovery."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.glue.absence import (
    AbsenceReason,
    DatabaseReading,
    not_configured,
    why_absent,
)
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable, normalize_location
from lineage_bridge_dagster.catalogs.glue.matching import (
    MatchedBy,
    TableMatch,
    find_conflicts,
    match_tables,
    place_of,
    topic_of,
)
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.glue.scan import CatalogScan, scan_catalog
from lineage_bridge_dagster.catalogs.glue.sink_tables import SinkTables, add_edges, source_of
from lineage_bridge_dagster.catalogs.glue.table_nodes import absent_table_node, table_node
from lineage_bridge_dagster.lineage.catalog_tables import materializes
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace
from lineage_bridge_dagster.lineage.glue_status import (
    GlueStatus,
    is_in_glue,
)
from lineage_bridge_dagster.lineage.loaded_topics import LoadedTopic, add_loaded_table, two_writers
from lineage_bridge_dagster.lineage.model import Edge, Evidence, Graph, Node, NodeType, scopes_of
from lineage_bridge_dagster.lineage.nodes import GlueReport, GlueTableNode, TableflowNode
from lineage_bridge_dagster.lineage.times import iso, utc_now

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


def enrich(
    discovery: Discovery,
    client: GlueClient,
    *,
    region: str,
    sql: str = "redacted",
    clock: Callable[[], datetime] = utc_now,
    last: Discovery | None = None,
    warehouses: Collection[str] = (),
) -> Discovery:
    """Add a `catalog_table` node for each Tableflow table that is synced to Glue, whether or not Glue has it
    yet, for each that `topic_to_iceberg` loads or a sink connector writes, and for each other Glue table that
    carries lineage from an earlier push.

    Both the Tableflow table and the Glue table get `attributes["glue_status"]`, and the reason if there is no
    table: see `lineage.glue_status`. If several topics claim one Glue table, all of them and the table get
    `attributes["conflict"]`.

    Args:
        region: the client's region, for the scope `glue::{region}` of the coverage.
        sql: how the SQL of earlier pushes is shown: full, redacted, hash or none.
        warehouses: other catalogs of Glue that are read besides, as its Iceberg endpoint names them.
        last: the last discovery. A table of it that cannot be read now gets no node here: it is carried over.

    Returns:
        A new discovery. What could not be read is in its coverage; nothing is raised for it.
    """
    now = iso(clock())
    sources = _sources(discovery.graph)
    known = KnownTables(last or Discovery(Graph()))
    sinks = SinkTables(discovery.graph, region)
    scan = _scan(sources, known, sinks, GlueReader(client))
    graph = enrich_scanned(discovery.graph, scan, known, region=region, now=now, sql=sql, sinks=sinks)
    coverage = Coverage(discovery.coverage)
    unplaced = sum(TableflowNode.of(source).expected_place is None for source in sources)
    report = scan.report(Scope("glue", "", region), unplaced, warehouses)
    coverage.add(replace(report, notes=(*report.notes, *sinks.notes(scan.tables))))
    return replace(discovery, graph=graph, coverage=coverage, discovered_at=discovery.discovered_at or now)


def _sources(graph: Graph) -> list[Node]:
    tables = graph.of_type(NodeType.TABLEFLOW_TABLE)
    return [_without_status(node) for node in tables if AWS_GLUE in TableflowNode.of(node).catalog_types]


def enrich_scanned(
    graph: Graph,
    scan: CatalogScan,
    known: KnownTables,
    *,
    region: str,
    now: str,
    sql: str,
    sinks: SinkTables | None = None,
) -> Graph:
    """The graph with the Glue tables of a scan, as `enrich` adds them."""
    sinks = sinks or SinkTables(graph, region)
    scope = Scope("glue", "", region)
    tableflow_tables = list(graph.of_type(NodeType.TABLEFLOW_TABLE))
    sources = _sources(graph)
    matches = match_tables(sources, scan.tables)
    unmatched = (TableflowNode.of(node).expected_place for node in sources if node.node_id not in matches)
    scan.require(place.database for place in unmatched if place is not None)
    conflicts = {**_two_writers(matches.values()), **find_conflicts(sources, matches)}

    nodes, edges = graph.nodes, graph.edges
    graph = Graph()
    graph.nodes = {node_id: _without_status(node) for node_id, node in nodes.items()}
    graph.edges = dict(edges)
    expected = {source.node_id for source in sources}
    for node in map(_without_status, tableflow_tables):
        if node.node_id not in expected and TableflowNode.of(node).catalog_integrations_read is not None:
            graph.add_node(node.with_attributes(**not_configured(node).attributes))
    absent: dict[GluePlace, list[tuple[Node, AbsenceReason]]] = {}
    for source in sources:
        match = matches.get(source.node_id)
        reason = None
        if match is None:
            reason = why_absent(
                source,
                region=region,
                database=_database(source, scan),
                last_found=known.last_found(source),
            )
            place = TableflowNode.of(source).expected_place
            carried = reason.status is GlueStatus.UNKNOWN and known.table_of(source) is not None
            if place is not None and not carried:
                absent.setdefault(place, []).append((source, reason))
        claimed = place_of(source, match)
        status = _source_status(match, reason, conflicts.get(claimed) if claimed else None)
        graph.add_node(source.with_attributes(**status))
    by_place: dict[GluePlace, list[TableMatch]] = {}
    for match in matches.values():
        by_place.setdefault(match.table.place, []).append(match)
    for place, matched in by_place.items():
        node = _add_matched(graph, matched, scope, now, conflicts.get(place), sql)
        if (topic := LoadedTopic.parse(matched[0].table.parameters)) is not None:
            add_loaded_table(graph, node, topic, scope, now)
    for place, reasons in absent.items():
        _add_absent(graph, place, reasons, scope, now, known, conflicts.get(place))
    for table in scan.tables:
        if table.place in by_place:
            continue
        written = sinks.matches(table)
        if (topic := LoadedTopic.parse(table.parameters)) is not None:
            node = table_node(table, scope, now, source=topic.source(graph), sql=sql)
            node = add_loaded_table(graph, node, topic, scope, now)
            if written:
                add_edges(graph, node, written, scope, now)
        elif written:
            node = table_node(table, scope, now, source=source_of(table, written), sql=sql)
            add_edges(graph, node, written, scope, now)
        elif table.carries_lineage:
            graph.add_node(table_node(table, scope, now, sql=sql))
    return graph


def _scan(sources: Iterable[Node], known: KnownTables, sinks: SinkTables, reader: GlueReader) -> CatalogScan:
    """Scan the catalog for tables that may be Tableflow's or a sink's, and tables that carry lineage."""
    views = [TableflowNode.of(source) for source in sources]
    expected = {place for view in views if (place := view.expected_place) is not None}
    locations = {normalize_location(view.table_path) for view in views} - {""}

    def keep(table: GlueTable) -> bool:
        return (
            table.place.folded in expected
            or normalize_location(table.location) in locations
            or table.carries_lineage
            or LoadedTopic.parse(table.parameters) is not None
            or table.place.folded in sinks.places
            or bool(sinks.matches(table))
        )

    return scan_catalog(
        reader,
        keep=keep,
        # Tableflow may have named a table otherwise, and a table may have lost its topic.
        expected=expected | known.places | sinks.places,
    )


def _without_status(node: Node) -> Node:
    """The node without what an earlier scan told of its table, as in a graph from a file."""
    if not node.attributes.keys() & GlueReport.declared.keys():
        return node
    kept = {name: value for name, value in node.attributes.items() if name not in GlueReport.declared}
    return node.changed(attributes=kept)


class KnownTables:
    """The Glue tables of the last discovery, by the Tableflow tables that became them."""

    def __init__(self, last: Discovery) -> None:
        graph, self._discovered_at = last.graph, last.discovered_at
        self._table_of = {
            edge.src_id: graph.nodes[edge.dst_id]
            for edge in graph.edges.values()
            if edge.src_id in graph
            and edge.dst_id in graph
            and isinstance(graph.nodes[edge.dst_id], GlueTableNode)
        }

        self.places = {
            place
            for node in graph.of_kind(GlueTableNode)
            if is_in_glue(node) and (place := GlueTableNode.of(node).home_place) is not None
        }

    def table_of(self, source: Node) -> Node | None:
        return self._table_of.get(source.node_id)

    def last_found(self, source: Node) -> str | None:
        """ISO 8601: when Glue was last known to have the table; None if it never was."""
        table = self.table_of(source)
        if table is None:
            return None
        if not is_in_glue(table):
            return GlueTableNode.of(table).glue_last_found or None
        return table.stale_since or self._discovered_at or table.last_seen


def _database(source: Node, scan: CatalogScan) -> DatabaseReading | None:
    """What the scan tells about the database in which a table is expected; None if that is unknown."""
    place = TableflowNode.of(source).expected_place
    error = scan.error_at(place)
    if place is None:
        return DatabaseReading(error) if error else None
    return DatabaseReading(error, place.database in scan.visible)


def _source_status(
    match: TableMatch | None, reason: AbsenceReason | None, conflict: str | None
) -> dict[str, Any]:
    """The attributes that report on a Tableflow table whether Glue has it."""
    attributes = reason.attributes if reason else {"glue_status": str(GlueStatus.FOUND)}
    if match:
        attributes["glue_table_found"] = match.table.place.dotted
    if conflict:
        attributes |= {"glue_status": str(GlueStatus.CONFLICT), "conflict": conflict}
    return attributes


def _two_writers(matches: Iterable[TableMatch]) -> dict[GluePlace, str]:
    """The tables of Tableflow that `topic_to_iceberg` also loads, each with a sentence that names both."""
    return {
        match.table.place: two_writers(topic, topic_of(match.source), match.table.place.qualified_name)
        for match in matches
        if (topic := LoadedTopic.parse(match.table.parameters)) is not None
    }


def _add_matched(
    graph: Graph, matches: list[TableMatch], scope: Scope, now: str, conflict: str | None, sql: str
) -> Node:
    """Add a Glue table and the edges from the Tableflow tables that became it."""
    sources = [match.source for match in matches]
    node = table_node(matches[0].table, scope, now, source=_first(sources), conflict=conflict, sql=sql)
    scopes = _scopes(sources, scope)
    node = graph.add_node(node.with_attributes(scopes=scopes, glue_status=str(GlueStatus.FOUND)))
    for match in matches:
        graph.add_edge(_edge(match, node, scope, scopes, now))
    return node


def _add_absent(
    graph: Graph,
    place: GluePlace,
    absent: list[tuple[Node, AbsenceReason]],
    scope: Scope,
    now: str,
    known: KnownTables,
    conflict: str | None,
) -> None:
    """Add a Glue table that was not found, and the edges from the Tableflow tables that should become it."""
    sources = [source for source, _ in absent]
    source = _first(sources)
    reason = next(reason for each, reason in absent if each is source)
    scopes = _scopes(sources, scope)
    last_found = known.last_found(source)
    node = absent_table_node(place, scope, now, source=source, conflict=conflict).with_attributes(
        **reason.attributes, **({"glue_last_found": last_found} if last_found else {}), scopes=scopes
    )
    node = graph.add_node(node)
    for each in sources:
        graph.add_edge(materializes(each, node, scope, scopes, now))


def _first(sources: Iterable[Node]) -> Node:
    """The Tableflow table that gives a Glue table its environment and cluster."""
    return min(sources, key=lambda node: node.node_id)


def _scopes(sources: Iterable[Node], scope: Scope) -> list[str]:
    """The scopes of a Glue table and of the edges into it.

    It is known because Glue and Tableflow were both read: neither's outage may remove it.
    """
    return sorted({str(scope)}.union(*map(_source_scopes, sources)))


def _source_scopes(source: Node) -> set[str]:
    """The scopes that show which Glue table a Tableflow table belongs to.

    The catalog integrations are one of them: they give the catalogs and the database.
    """
    scopes = set(scopes_of(source.attributes))
    if source.environment_id and source.cluster_id:
        scopes.add(str(Scope("catalog_integrations", source.environment_id, source.cluster_id)))
    return scopes


def _edge(match: TableMatch, table: Node, scope: Scope, scopes: Iterable[str], now: str) -> Edge:
    return materializes(
        match.source,
        table,
        scope,
        scopes,
        now,
        evidence=Evidence.DECLARED if match.by is MatchedBy.NAME else Evidence.OBSERVED,
        confidence=0.5 if match.location_differs else 1.0,
        matched_by=str(match.by),
        **({"location_differs": True} if match.location_differs else {}),
    )
