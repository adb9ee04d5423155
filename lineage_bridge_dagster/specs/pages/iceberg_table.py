"""The page of a table of a REST catalog, such as one of S3 Tables, and of its upstream chain."""

from __future__ import annotations

from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TABLEFLOW
from lineage_bridge_dagster.lineage.catalog_tables import name_of
from lineage_bridge_dagster.lineage.nodes import CommitReport, IcebergTableNode
from lineage_bridge_dagster.specs.graph_view import NodeContext, Role
from lineage_bridge_dagster.specs.pages.phrases import location, names, plain
from lineage_bridge_dagster.specs.pages.queries import QueriedTable, QueryPlace, statements
from lineage_bridge_dagster.specs.pages.tableflow_facts import tableflow_of, tableflow_rows


def first_line(table: IcebergTableNode, context: NodeContext) -> str:
    """What it is and the topics it comes from."""
    topics, _ = context.view.feeding_topics(table)
    where = location(topics[0]) if len(topics) == 1 else ""
    origin = f", from Kafka topic {names(topics)}{where}" if topics else ""
    if context.role is Role.CHAIN:
        return plain(f"Upstream lineage of the Iceberg table {name_of(table).dotted}{origin}")
    where = f"namespace {table.database} of catalog {table.catalog}"
    return plain(f"Iceberg table {table.table_name} in {where}{origin}")


def facts(table: IcebergTableNode, context: NodeContext) -> dict[str, str]:
    """What its catalog, and Tableflow, report about the table."""
    return {
        "Location": plain(table.storage_location),
        **catalog_rows(table),
        **tableflow_rows(tableflow_of(table, context.view)),
        "Not pushed": plain(table.not_writable),
    }


def catalog_rows(table: CommitReport) -> dict[str, str]:
    """What a REST catalog tells of a table, or of a Tableflow table: rows of its page."""
    return {
        "Catalog": plain(" at ".join(filter(None, (table.catalog, table.shown_settings.get("uri", ""))))),
        "Rows": "" if table.rows is None else f"{table.rows:,}",
        "Last commit": plain(table.last_commit),
        "Snapshot": plain(table.snapshot_id),
    }


def queries(table: IcebergTableNode, context: NodeContext) -> str:
    """Statements to query it; none if its catalog is not known."""
    settings = table.shown_settings
    if "type" not in settings:
        return ""
    # Tableflow's catalog hands out credentials for files in Confluent's storage alone.
    managed = [each.storage_kind.lower() == "managed" for each in tableflow_of(table, context.view)]
    vended = settings["type"] == TABLEFLOW and bool(managed) and all(managed)
    catalog = QueryPlace(name=table.catalog, **settings)
    return statements(QueriedTable(catalog, ".".join(table.namespace), table.table_name, vended))
