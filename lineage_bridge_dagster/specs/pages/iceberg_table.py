"""The page of a table of a REST catalog, such as one of S3 Tables, and of its upstream chain."""

from __future__ import annotations

from lineage_bridge_dagster.lineage.catalog_tables import IcebergTableNode
from lineage_bridge_dagster.specs.graph_view import NodeContext, Role
from lineage_bridge_dagster.specs.pages.phrases import location, names, plain


def first_line(table: IcebergTableNode, context: NodeContext) -> str:
    """What it is and the topics it comes from."""
    topics, _ = context.view.feeding_topics(table.node)
    where = location(topics[0]) if len(topics) == 1 else ""
    origin = f", from Kafka topic {names(topics)}{where}" if topics else ""
    if context.role is Role.CHAIN:
        return plain(f"Upstream lineage of the Iceberg table {table.name.dotted}{origin}")
    namespace = ".".join(table.namespace)
    return plain(f"Iceberg table {table.table} in namespace {namespace} of catalog {table.catalog}{origin}")


def facts(table: IcebergTableNode) -> dict[str, str]:
    """What its catalog reports about the table."""
    rows = table.node.attributes.get("rows")
    return {
        "Location": plain(table.storage_location),
        "Rows": f"{rows:,}" if isinstance(rows, int) else "",
        "Last commit": plain(table.text("last_commit")),
        "Not pushed": plain(table.not_writable),
    }
