"""A topic with its table, and what the table must have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.topic_to_iceberg.loading.config import TopicSchemas, TopicTableConfig
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1, InMemoryTopic, order_v1

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMAS = TopicSchemas(value=ORDERS_V1)


class Loaded:
    """A topic, and writers of its table."""

    def __init__(self, spark: SparkSession, database: str, *, catalog: str = "glue", **options: Any) -> None:
        self.spark = spark
        self.topic = InMemoryTopic()
        self.config = TopicTableConfig(TableName(catalog, database, "orders"), **options)
        self.added = 0
        self.add(2)

    def add(self, count: int) -> None:
        for _ in range(count):
            self.added += 1
            self.topic.add(self.added % 2, order_v1(self.added), key=b"%d" % (self.added % 5))

    def writer(self, **options: Any) -> TopicTable:
        table = TopicTable(self.spark, self.topic, self.config, lambda: SCHEMAS, **options)
        table.ensure()
        return table

    def check(self) -> None:
        """Check that the table is what the topic says."""
        expected = list(range(1, self.added + 1))
        if self.config.mode == "upsert":
            last = {(number % 2, number % 5): number for number in expected}
            expected = sorted(last.values())
        assert sorted(row.id for row in self.spark.table(self.config.name.sql).collect()) == expected

    def compact(self) -> None:
        name = self.config.name
        self.spark.sql(
            f"CALL {name.catalog}.system.rewrite_data_files(table => '`{name.database}`.orders', "
            "options => map('rewrite-all', 'true'))"
        )
