"""A process that loads a topic into several tables in two batches, and says when it begins the second ones.

python -m lineage_bridge_dagster_tests.topic_to_iceberg.loading.load_and_die MODE CATALOG DATABASE...
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.embedded.materializer import class_conf
from lineage_bridge_dagster.schemas.schemas import Mode
from lineage_bridge_dagster.spark.session import spark_session
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1, InMemoryTopic, order_v1
from lineage_bridge_dagster_tests.spark_session import SMALL_SPARK
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into

RECORDS = 12


def topic() -> InMemoryTopic:
    """The topic: each of four keys several times, in two partitions."""
    found = InMemoryTopic()
    for number in range(RECORDS):
        found.add(number % 2, order_v1(number), key=b"%d" % (number % 4))
    return found


def table(database: str, mode: Mode) -> TopicLoad:
    """A database's table."""
    return load_into(database, mode=mode, batch_records=RECORDS // 2)


def main(mode: Mode, catalog: str, *databases: str) -> None:
    """Load half of the topic into each table, say so, wait for a line, and load the rest into all at once."""
    spark = spark_session(
        Catalogs.of(CatalogSettings.model_validate_json(catalog)),
        # A task that hangs must not keep those of the other tables from running.
        class_conf({"spark.master": "local[8]", "spark.driver.memory": "512m", **SMALL_SPARK}),
    )
    schemas = TopicSchemas(value=ORDERS_V1)

    def begin(database: str) -> TopicTable:
        config = table(database, mode)
        writer = TopicTable(spark, topic(), config, lambda: schemas)
        writer.ensure()
        writer.advance()
        return writer

    # A thread for each table: a thread has a Spark session of its own.
    threads = [ThreadPoolExecutor(1) for _ in databases]
    begun = [thread.submit(begin, database) for thread, database in zip(threads, databases, strict=True)]
    writers = [each.result() for each in begun]
    sys.stdout.write("half\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for each in [thread.submit(writer.advance) for thread, writer in zip(threads, writers, strict=True)]:
        each.result()


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
