"""A topic with its table, and what the table must have."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.topic_to_iceberg.loading.model import SecondWriterError, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.staging import MovedError
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1, InMemoryTopic, order_v1

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMAS = TopicSchemas(value=ORDERS_V1)


def load_into(database: str, table: str = "orders", *, catalog: str = "glue", **options: Any) -> TopicLoad:
    """How a topic is loaded into a table."""
    return TopicLoad(topic="orders.v1", catalog=catalog, database=database, table=table, **options)


def changed(load: TopicLoad, **options: Any) -> TopicLoad:
    """The settings of a load with others in place of some."""
    return load.model_copy(update=options)


class Loaded:
    """A topic, and writers of its table."""

    def __init__(self, spark: SparkSession, database: str, *, catalog: str = "glue", **options: Any) -> None:
        self.spark = spark
        self.topic = InMemoryTopic()
        self.config = load_into(database, catalog=catalog, **options)
        self.added = 0
        self.add(2)

    def add(self, count: int) -> None:
        for _ in range(count):
            self.added += 1
            self.topic.add(self.added % 2, order_v1(self.added), key=b"%d" % (self.added % 5))

    def writer(self, **options: Any) -> TopicTable:
        """A writer, with other settings than the table was given at first."""
        table = TopicTable(self.spark, self.topic, changed(self.config, **options), lambda: SCHEMAS)
        table.ensure()
        return table

    def write_at_once(self) -> None:
        """Have two writers load eight records at the same time, and check the table."""
        self.writer()
        self.add(8)

        def write(_: int) -> None:
            writer = self.writer(batch_records=4)
            try:
                while not writer.advance().caught_up:
                    pass
            except (SecondWriterError, MovedError):
                # Refused, or outrun in each of its attempts.
                return

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(write, range(2)))
        while not self.writer().advance().caught_up:
            pass
        self.check()

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
