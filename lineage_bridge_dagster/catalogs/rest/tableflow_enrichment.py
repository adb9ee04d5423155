"""Adds what Tableflow's own REST catalogs tell of Tableflow's tables to a discovery."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from lineage_bridge_dagster.catalogs.errors import NotFoundError
from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.table_errors import hint_of
from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable, read_tables
from lineage_bridge_dagster.catalogs.rest.enrichment import facts_of, report_of, table_node, unread
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.catalog_tables import materializes
from lineage_bridge_dagster.lineage.coverage import ICEBERG, Coverage, Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_status import Absence, GlueStatus, glue_status
from lineage_bridge_dagster.lineage.ids import iceberg_table_id
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType, scopes_of
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, TableflowNode
from lineage_bridge_dagster.lineage.times import iso, utc_now

TAKES_NO_PROPERTIES = (
    "Tableflow's catalog takes no properties: the lineage is in Dagster and the lineage tables"
)


def enrich_from_tableflow(
    discovery: Discovery,
    catalogs: Catalogs,
    *,
    sql: str = "redacted",
    clock: Callable[[], datetime] = utc_now,
) -> Discovery:
    """Add schema, snapshot and rows to each Tableflow table that Tableflow's own catalogs have, and a
    `catalog_table` node for each that Glue has not.

    Args:
        catalogs: All catalogs; those of Tableflow have the places of its tables.
        sql: How SQL in properties is shown: full, redacted, hash or none.

    Returns:
        A new discovery. A catalog that could not be read is in its coverage, as `iceberg::{name}`; nothing is
        raised for it.
    """
    now = iso(clock())
    graph = Graph(discovery.graph.nodes.values(), discovery.graph.edges.values())
    coverage = Coverage(discovery.coverage)
    in_glue = _in_glue(graph)
    for name, sources in _by_catalog(graph, catalogs).items():
        settings, scope = catalogs[name], Scope(ICEBERG, "", name)
        by_table = {(node.cluster_id or "", TableflowNode.of(node).topic): node for node in sources}
        try:
            read = read_tables(open_catalog(catalogs, name), sorted({cluster for cluster, _ in by_table}))
        except LineageBridgeError as error:
            coverage.add(unread(scope, error))
            continue
        # A cluster has no namespace until Tableflow has created its first table.
        errors = [each for each in read.all_errors if not isinstance(each, NotFoundError)]
        for each in errors:
            each.hint = hint_of(each.message, tableflow=True)
        read = replace(read, errors=tuple(errors), failed={})
        for table in read.tables:
            source = by_table.get((".".join(table.namespace), table.name))
            if source is None:
                continue
            facts = {key: value for key, value in facts_of(table, settings).items() if value is not None}
            scopes = sorted({str(scope), *scopes_of(source.attributes)})
            source = graph.add_node(source.with_attributes(**facts))
            if source.node_id not in in_glue:
                _add(graph, table, settings, scope, scopes, source, now, sql)
        coverage.add(report_of(scope, read))
    return replace(discovery, graph=graph, coverage=coverage, discovered_at=discovery.discovered_at or now)


def _by_catalog(graph: Graph, catalogs: Catalogs) -> dict[str, list[Node]]:
    """The Tableflow tables of each of Tableflow's catalogs, by its name."""
    found: dict[str, list[Node]] = {}
    for node in graph.of_type(NodeType.TABLEFLOW_TABLE):
        if name := catalogs.tableflow.get(TableflowPlace(*TableflowNode.of(node).own_catalog)):
            found.setdefault(name, []).append(node)
    return found


def _in_glue(graph: Graph) -> set[str]:
    """The Tableflow tables whose table of the graph is Glue's: Glue has it, may have it, or will have it."""
    return {
        edge.src_id
        for edge in graph.edges.values()
        if (table := graph.nodes.get(edge.dst_id)) is not None
        and isinstance(table, GlueTableNode)
        and not _lacks(table)
    }


def _lacks(table: GlueTableNode) -> bool:
    """Whether Glue certainly has no such table, and a first sync is not merely pending."""
    return glue_status(table) is GlueStatus.MISSING and table.glue_absence != Absence.NOT_SYNCED_YET


def _add(
    graph: Graph,
    table: IcebergTable,
    settings: CatalogSettings,
    scope: Scope,
    scopes: Iterable[str],
    source: Node,
    now: str,
    sql: str,
) -> None:
    node = table_node(table, settings, scope, now, sql=sql)
    namespace = ".".join(table.namespace)
    node = replace(
        node,
        node_id=iceberg_table_id(source.environment_id or "", settings.name, namespace, table.name),
        environment_id=source.environment_id,
        environment_name=source.environment_name,
        cluster_id=source.cluster_id,
        cluster_name=source.cluster_name,
        url=source.url,
    )
    # Known only because both the catalog and Tableflow were read: an outage of either must not remove it.
    node = graph.add_node(node.with_attributes(scopes=list(scopes), not_writable=TAKES_NO_PROPERTIES))
    graph.add_edge(materializes(source, node, scope, scopes, now))
