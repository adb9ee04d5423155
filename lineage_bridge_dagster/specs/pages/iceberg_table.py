"""The page of a table of a REST catalog, such as one of S3 Tables, and of its upstream chain."""

from __future__ import annotations

from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TABLEFLOW
from lineage_bridge_dagster.lineage.catalog_facts import CatalogFacts
from lineage_bridge_dagster.lineage.catalog_tables import IcebergTableNode
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.specs.graph_view import NodeContext, Role
from lineage_bridge_dagster.specs.pages.phrases import location, names, plain
from lineage_bridge_dagster.specs.pages.queries import Place, QueriedTable, statements
from lineage_bridge_dagster.specs.pages.tableflow import tableflow_of, tableflow_rows


def first_line(table: IcebergTableNode, context: NodeContext) -> str:
    """What it is and the topics it comes from."""
    topics, _ = context.view.feeding_topics(table.node)
    where = location(topics[0]) if len(topics) == 1 else ""
    origin = f", from Kafka topic {names(topics)}{where}" if topics else ""
    if context.role is Role.CHAIN:
        return plain(f"Upstream lineage of the Iceberg table {table.name.dotted}{origin}")
    namespace = ".".join(table.namespace)
    return plain(f"Iceberg table {table.table} in namespace {namespace} of catalog {table.catalog}{origin}")


def facts(table: IcebergTableNode, context: NodeContext) -> dict[str, str]:
    """What its catalog, and Tableflow, report about the table."""
    return {
        "Location": plain(table.storage_location),
        **catalog_rows(table.node),
        **tableflow_rows(tableflow_of(table.node, context.view)),
        "Not pushed": plain(table.not_writable),
    }


def catalog_rows(node: Node) -> dict[str, str]:
    """What a REST catalog tells of a table, or of a Tableflow table: rows of its page."""
    table = CatalogFacts.of(node)
    return {
        "Catalog": plain(" at ".join(filter(None, (table.catalog, table.settings.get("uri", ""))))),
        "Rows": "" if table.rows is None else f"{table.rows:,}",
        "Last commit": plain(table.last_commit),
        "Snapshot": plain(table.snapshot_id),
    }


def queries(table: IcebergTableNode, context: NodeContext) -> str:
    """Statements to query it; none if its catalog is not known."""
    settings = CatalogFacts.of(table.node).settings
    if "type" not in settings:
        return ""
    # Tableflow's catalog hands out credentials for files in Confluent's storage alone.
    managed = [each.storage_kind.lower() == "managed" for each in tableflow_of(table.node, context.view)]
    vended = settings["type"] == TABLEFLOW and bool(managed) and all(managed)
    catalog = Place(name=table.catalog, **settings)
    return statements(QueriedTable(catalog, ".".join(table.namespace), table.table, vended))
