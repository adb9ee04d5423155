"""Adds the Glue tables that Tableflow's tables became to a discovery: scan, match, nodes, edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.glue.matching import (
    MatchedBy,
    TableMatch,
    find_conflicts,
    match_tables,
    place_of,
)
from lineage_bridge_dagster.glue.nodes import table_node
from lineage_bridge_dagster.glue.reader import GlueReader
from lineage_bridge_dagster.glue.scan import CatalogScan, scan_catalog
from lineage_bridge_dagster.glue.tables import GlueTable, normalize_location
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Evidence, Graph, Node, NodeType, scopes_of
from lineage_bridge_dagster.lineage.nodes import TableflowNode
from lineage_bridge_dagster.lineage.times import iso, utc_now

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


def enrich(
    discovery: Discovery,
    client: GlueClient,
    *,
    region: str,
    clock: Callable[[], datetime] = utc_now,
    databases: Iterable[str] | None = None,
    max_concurrency: int = 8,
) -> Discovery:
    """Add a `catalog_table` node for each Tableflow table that is in Glue, and for each other Glue table that
    carries lineage from an earlier push.

    Each Tableflow table gets `attributes["glue_status"]`: `found`, `not_found`, `unknown` (its database is
    unknown or could not be read) or `conflict`. If several topics claim one Glue table, all of them and the
    table get `attributes["conflict"]`.

    Args:
        region: the client's region, for the scope `glue::{region}` of the coverage.
        databases: read only these; None reads every database of the catalog.

    Returns:
        A new discovery. What could not be read is in its coverage; nothing is raised for it.
    """
    scope = Scope("glue", "", region)
    now = iso(clock())
    sources = [
        node
        for node in discovery.graph.of_type(NodeType.TABLEFLOW_TABLE)
        if AWS_GLUE in TableflowNode.of(node).catalog_types
    ]
    scan = _scan(sources, GlueReader(client), databases, max_concurrency)
    matches = match_tables(sources, scan.tables)
    unmatched = (TableflowNode.of(node).expected_place for node in sources if node.node_id not in matches)
    scan.require(place.database for place in unmatched if place is not None)
    conflicts = find_conflicts(sources, matches)

    graph = Graph(discovery.graph.nodes.values(), discovery.graph.edges.values())
    for source in sources:
        status = _source_status(source, matches.get(source.node_id), scan, conflicts)
        graph.add_node(source.with_attributes(**status))
    by_place: dict[GluePlace, list[TableMatch]] = {}
    for match in matches.values():
        by_place.setdefault(match.table.place, []).append(match)
    for place, matched in by_place.items():
        _add_matched(graph, matched, scope, now, conflicts.get(place))
    for table in scan.tables:
        if table.place not in by_place and table.carries_lineage:
            graph.add_node(table_node(table, scope, now))

    coverage = Coverage(discovery.coverage)
    unplaced = sum(TableflowNode.of(source).expected_place is None for source in sources)
    coverage.add(scan.report(scope, unplaced))
    return replace(discovery, graph=graph, coverage=coverage, discovered_at=discovery.discovered_at or now)


def _scan(
    sources: Iterable[Node], reader: GlueReader, databases: Iterable[str] | None, max_concurrency: int
) -> CatalogScan:
    """Scan the catalog for tables that may be Tableflow's and tables that carry lineage."""
    views = [TableflowNode.of(source) for source in sources]
    expected = {place for view in views if (place := view.expected_place) is not None}
    locations = {normalize_location(view.table_path) for view in views} - {""}

    def keep(table: GlueTable) -> bool:
        return (
            table.place.folded in expected
            or normalize_location(table.location) in locations
            or table.carries_lineage
        )

    return scan_catalog(
        reader,
        keep=keep,
        only=databases,
        expected=expected,
        max_concurrency=max_concurrency,
    )


def _source_status(
    source: Node, match: TableMatch | None, scan: CatalogScan, conflicts: Mapping[GluePlace, str]
) -> dict[str, Any]:
    """The attributes that report on a Tableflow table whether Glue has it."""
    place = place_of(source, match)
    if place is not None and place in conflicts:
        return {"glue_status": "conflict", "conflict": conflicts[place]}
    if match:
        return {"glue_status": "found", "glue_table_found": match.table.place.dotted}
    error = scan.error_at(place)
    if error is not None:
        return {"glue_status": "unknown", "glue_reason": error.message}
    if place is None:
        return {
            "glue_status": "unknown",
            "glue_reason": "its Glue database is unknown: the catalog integrations could not be read, "
            "or several of them set different databases",
        }
    return {"glue_status": "not_found"}


def _add_matched(
    graph: Graph, matches: list[TableMatch], scope: Scope, now: str, conflict: str | None
) -> None:
    """Add a Glue table and the edges from the Tableflow tables that became it."""
    source = min((match.source for match in matches), key=lambda node: node.node_id)
    node = table_node(matches[0].table, scope, now, source=source, conflict=conflict)
    # The table is known because Glue and Tableflow were both read: neither's outage may remove it.
    scopes = sorted({str(scope)}.union(*(_source_scopes(match.source) for match in matches)))
    node = graph.add_node(node.with_attributes(scopes=scopes))
    for match in matches:
        graph.add_edge(_edge(match, node, scope, now).with_attributes(scopes=scopes))


def _source_scopes(source: Node) -> set[str]:
    """The scopes that show which Glue table a Tableflow table belongs to.

    The catalog integrations are one of them: they give the catalogs and the database.
    """
    scopes = set(scopes_of(source.attributes))
    if source.environment_id and source.cluster_id:
        scopes.add(str(Scope("catalog_integrations", source.environment_id, source.cluster_id)))
    return scopes


def _edge(match: TableMatch, table: Node, scope: Scope, now: str) -> Edge:
    evidence = Evidence.DECLARED if match.by is MatchedBy.NAME else Evidence.OBSERVED
    attributes: dict[str, Any] = {
        "scope": str(scope),
        "matched_by": str(match.by),
        "evidence": str(evidence),
    }
    if match.location_differs:
        attributes["location_differs"] = True
    return Edge(
        match.source.node_id,
        table.node_id,
        EdgeType.MATERIALIZES,
        confidence=0.5 if match.location_differs else 1.0,
        attributes=attributes,
        first_seen=now,
        last_seen=now,
    )
