"""Example assets downstream of a topic and a Glue table, as users of the PySpark IO manager write them.

They name both as inputs, receive a lazy DataFrame of each and return one, which the IO manager writes to an
Iceberg table. One is recomputed by every run, the other processes the new rows of its input.
docs/io_manager.md and docs/inputs.md explain them.
"""

from typing import Any

from dagster import AssetIn, AssetsDefinition, asset

from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.lineage.glue_status import is_in_glue
from lineage_bridge_dagster.lineage.nodes import GlueTableNode

TOPIC, TABLE = "orders.status", "orders.v1"
DATABASE = "order_analytics"


def example_assets(inventory: Inventory, io_manager_key: str) -> list[AssetsDefinition]:
    """Return the example assets if one cluster has both of their inputs, else nothing."""
    for table in inventory.tables:
        view = GlueTableNode.of(table.node)
        if not isinstance(table.node, GlueTableNode) or not is_in_glue(table.node):
            continue
        if view.shown_place.table != TABLE or view.conflict:
            continue
        for topic in inventory.topics:
            same_cluster = topic.node.cluster_id == table.node.cluster_id
            if topic.node.qualified_name == TOPIC and same_cluster:
                return [
                    status_changes_by_country(topic, table, io_manager_key),
                    newest_orders(table, io_manager_key),
                ]
    return []


def status_changes_by_country(topic: Asset, table: Asset, io_manager_key: str) -> AssetsDefinition:
    """Status changes of orders by country: the records of a topic joined with the rows of a table."""

    @asset(
        key=[DATABASE, "status_changes_by_country"],
        ins={"statuses": AssetIn(topic.key), "orders": AssetIn(table.key)},
        io_manager_key=io_manager_key,
        group_name=DATABASE,
        kinds={"pyspark", "iceberg"},
        metadata={"dagster/table_name": f"{DATABASE}.status_changes_by_country"},
        description="Status changes of orders by country, from a Kafka topic and a Glue table.",
    )
    def _status_changes(statuses: Any, orders: Any) -> Any:
        from pyspark.sql import functions as F

        changes = statuses.where("value IS NOT NULL").select(
            "value.order_id", "value.status", "value.changes"
        )
        return (
            changes.join(orders.select("order_id", "country", "total"), "order_id")
            .groupBy("country", "status")
            .agg(
                F.count("*").alias("orders"), F.sum("changes").alias("changes"), F.sum("total").alias("total")
            )
        )

    return _status_changes


def newest_orders(table: Asset, io_manager_key: str) -> AssetsDefinition:
    """The current state of each order: the table's rows since the last run, merged by order."""

    @asset(
        key=[DATABASE, "newest_orders"],
        ins={"orders": AssetIn(table.key, metadata={"incremental": True})},
        io_manager_key=io_manager_key,
        group_name=DATABASE,
        kinds={"pyspark", "iceberg"},
        metadata={
            "dagster/table_name": f"{DATABASE}.newest_orders",
            "write_mode": "merge",
            "join_cols": ["order_id"],
        },
        description="The newest row of each order; a run takes the rows that are new since the last one.",
    )
    def _newest_orders(orders: Any) -> Any:
        from pyspark.sql import functions as F

        newest = F.max_by(F.struct("country", "status", "total", "ordered_at"), "ordered_at")
        return orders.groupBy("order_id").agg(newest.alias("newest")).select("order_id", "newest.*")

    return _newest_orders
