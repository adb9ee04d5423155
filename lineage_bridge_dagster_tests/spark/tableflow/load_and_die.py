"""A process that loads a topic's table in two batches, and says when it begins the second one.

python -m lineage_bridge_dagster_tests.spark.tableflow.load_and_die MODE DATABASE CATALOG
"""

from __future__ import annotations

import sys

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.session import spark_session
from lineage_bridge_dagster.spark.tableflow.config import Mode, TopicSchemas, TopicTableConfig
from lineage_bridge_dagster.spark.tableflow.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1, InMemoryTopic, order_v1

RECORDS = 12


def topic() -> InMemoryTopic:
    """The topic: each of four keys several times, in two partitions."""
    found = InMemoryTopic()
    for number in range(RECORDS):
        found.add(number % 2, order_v1(number), key=b"%d" % (number % 4))
    return found


def table(database: str, mode: Mode) -> TopicTableConfig:
    """The table."""
    return TopicTableConfig(TableName("glue", database, "orders"), mode=mode)


def main(mode: Mode, database: str, catalog: str) -> None:
    """Load half of the topic, say so, wait for a line, and load the rest."""
    spark = spark_session(
        Catalogs.of(CatalogSettings.model_validate_json(catalog)),
        {"spark.master": "local[2]", "spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "2"},
    )
    schemas = TopicSchemas(value=ORDERS_V1)
    writer = TopicTable(spark, topic(), table(database, mode), lambda: schemas, max_records=RECORDS // 2)
    writer.ensure()
    writer.advance()
    sys.stdout.write("half\n")
    sys.stdout.flush()
    sys.stdin.readline()
    writer.advance()


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
