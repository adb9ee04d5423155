"""An asset downstream of a topic and a Glue table, as a user of the PySpark IO manager would write one.

It asks for both by naming them as inputs, gets a lazy DataFrame of each, and returns one; the IO manager
writes that to an Iceberg table and counts its rows.
"""

from typing import Any

from dagster import AssetIn, AssetsDefinition, asset

from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.assets.resources import IO_MANAGER

TOPIC, TABLE = "orders.status", "orders.v1"
DATABASE, NAME = "order_analytics", "status_changes_by_country"


def example_assets(inventory: Inventory) -> list[AssetsDefinition]:
    """The asset, where one cluster has both of its inputs; nothing elsewhere."""
    for table in inventory.tables:
        if table.node.attributes.get("table_name") != TABLE or table.node.attributes.get("conflict"):
            continue
        for topic in inventory.topics:
            same_cluster = topic.node.cluster_id == table.node.cluster_id
            if topic.node.qualified_name == TOPIC and same_cluster:
                return [status_changes_by_country(topic, table)]
    return []


def status_changes_by_country(topic: Asset, table: Asset) -> AssetsDefinition:
    """How often orders changed their status, by country: the topic's records joined with the table's rows."""

    @asset(
        key=[DATABASE, NAME],
        ins={"statuses": AssetIn(topic.key), "orders": AssetIn(table.key)},
        io_manager_key=IO_MANAGER,
        group_name="order_analytics",
        kinds={"pyspark", "iceberg"},
        metadata={"dagster/table_name": f"{DATABASE}.{NAME}"},
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
