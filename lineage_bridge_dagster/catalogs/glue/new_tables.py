"""Glue tables that have appeared since the last discovery, asked for by name."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from lineage_bridge_dagster.catalogs.glue.absence import UNSUPPORTED_STORAGES
from lineage_bridge_dagster.catalogs.glue.enrichment import KnownTables, enrich_scanned
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.glue.scan import CatalogScan
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace
from lineage_bridge_dagster.lineage.glue_status import GlueStatus, glue_status, is_in_glue
from lineage_bridge_dagster.lineage.loaded_topics import LoadedTopic
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType, known_since
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, TableflowNode

#: Tables that are asked for; with more, reading whole databases takes less.
MAX_TABLES = 50
_CALLS_AT_ONCE = 8


def with_new_tables(
    graph: Graph,
    last: Discovery,
    reader: GlueReader,
    *,
    clusters: Collection[tuple[str, str]],
    databases: Collection[str],
    region: str,
    now: str,
    sql: str,
) -> Graph | None:
    """The graph with the Glue tables that Tableflow has created since the last discovery.

    Args:
        graph: that of the last discovery, perhaps with newer Tableflow tables.
        clusters: environment and cluster ids whose Tableflow tables may have changed.
        databases: names, in lower case, of the databases whose tables may have changed.
        now: ISO 8601 UTC.
        sql: how the SQL of earlier pushes is shown: full, redacted, hash or none.

    Returns:
        None if only a whole discovery can tell: a table is in no Glue catalog, or in an unknown place,
        several topics claim one table, or there are too many.

    Raises:
        CallError: a table could not be read.
    """
    wanted: dict[GluePlace, Node] = {}
    claims: dict[GluePlace, int] = {}
    for node in graph.of_type(NodeType.TABLEFLOW_TABLE):
        view, is_new = TableflowNode.of(node), node.node_id not in last.graph
        place = view.expected_place
        if AWS_GLUE in view.catalog_types and place is not None:
            claims[place] = claims.get(place, 0) + 1
        if AWS_GLUE not in view.catalog_types or place is None or view.storage_kind in UNSUPPORTED_STORAGES:
            if is_new:
                return None
            continue
        is_affected = (node.environment_id, node.cluster_id) in clusters or place.database in databases
        if is_new or (is_affected and glue_status(node) in (GlueStatus.MISSING, GlueStatus.UNKNOWN)):
            wanted[place] = node
    if len(wanted) > MAX_TABLES or any(claims[place] > 1 for place in wanted):
        return None
    scan = _scan(reader, wanted, last.graph)
    if any(LoadedTopic.parse(table.parameters) is not None for table in scan.tables):
        return None
    found = enrich_scanned(Graph(wanted.values()), scan, KnownTables(last), region=region, now=now, sql=sql)
    return _overlaid(graph, found, wanted)


def _scan(reader: GlueReader, places: Collection[GluePlace], graph: Graph) -> CatalogScan:
    scan = CatalogScan(databases=sorted({place.database for place in places}))
    with ThreadPoolExecutor(_CALLS_AT_ONCE, thread_name_prefix="glue-read") as pool:
        answers = pool.map(lambda place: reader.table(place.database, place.table), places)
        scan.tables.extend(table for table in answers if table is not None)
    seen = {table.place.folded.database for table in scan.tables}
    seen |= {
        found.database
        for node in graph.of_kind(GlueTableNode)
        if is_in_glue(node) and (found := _place(node))
    }
    if seen >= set(scan.databases):
        scan.visible = set(scan.databases)
    else:
        scan.visible = {each.name.lower() for each in reader.databases()} & set(scan.databases)
    return scan


def _overlaid(graph: Graph, found: Graph, places: Collection[GluePlace]) -> Graph:
    """The graph with what was found in these places in place of what it had there."""
    outdated = {
        node.node_id
        for node in graph.of_kind(GlueTableNode)
        if _place(node) in places and not is_in_glue(node) and node.node_id not in found
    }
    result = Graph()
    result.nodes = {key: node for key, node in graph.nodes.items() if key not in outdated}
    result.edges = {key: edge for key, edge in graph.edges.items() if not outdated.intersection(edge.key[:2])}
    for node_id, node in found.nodes.items():
        result.nodes[node_id] = known_since(node, graph.nodes.get(node_id))
    for key, edge in found.edges.items():
        result.edges[key] = known_since(edge, graph.edges.get(key))
    return result


def _place(node: Node) -> GluePlace | None:
    place = GlueTableNode.of(node).home_place
    return place.folded if place else None
