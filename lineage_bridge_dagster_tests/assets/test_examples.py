"""The assets on the pages of the IO manager run unchanged."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pytest
from dagster import AssetsDefinition, AssetSpec, materialize
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io import read
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.io.options import ReadOptions, WriteMode, WriteOptions
from lineage_bridge_dagster.spark.io.output_metadata import output_metadata
from lineage_bridge_dagster.spark.io.write import write_frame
from lineage_bridge_dagster.spark.session import SparkResource

PAGE = "\n\n".join(
    (Path(__file__).parents[2] / "docs" / name).read_text()
    for name in ("io_manager.md", "small_tables.md", "inputs.md")
)


def assets_of_the_page() -> dict[str, AssetsDefinition]:
    """Return the assets that the code blocks of the page define, by name."""
    found: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/io_manager.md", "exec"), found)  # noqa: S102 - our own page
    return {name: value for name, value in found.items() if isinstance(value, AssetsDefinition)}


def table_of(heading: str) -> set[str]:
    """Return the names in the first column of the table with this first heading."""
    rows = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_the_page_lists_exactly_the_options_that_exist() -> None:
    assert table_of("output option") == {option.name for option in fields(WriteOptions)}
    assert table_of("input option") == {option.name for option in fields(ReadOptions)}
    assert table_of("mode") == set(get_args(WriteMode))


@pytest.fixture
def manager(spark_catalog: CatalogSettings, spark: SparkSession) -> PySparkIcebergIOManager:
    for name in ("status_changes_by_country", "newest_orders"):
        spark.sql("CREATE NAMESPACE IF NOT EXISTS glue.order_analytics")
        spark.sql(f"DROP TABLE IF EXISTS {quoted('glue', 'order_analytics', name)}")
    resource = SparkResource(catalog=spark_catalog.model_dump(exclude_none=True))
    return PySparkIcebergIOManager(spark=resource, confluent=ConfluentSettingsResource())


def add(spark: SparkSession, database: str, *rows: tuple[int, str, str, int]) -> None:
    """Append orders as Tableflow does: id, country, status, and the hour of the order."""
    first = datetime(2026, 1, 1)
    ddl = "order_id long, country string, status string, total decimal(12,2), ordered_at timestamp"
    orders = [(i, c, s, Decimal(i), first + timedelta(hours=hour)) for i, c, s, hour in rows]
    write_frame(
        spark.createDataFrame(orders, ddl),
        TableName("glue", database, "orders.v1"),
        WriteOptions(write_mode="append"),
    )


def stored(spark: SparkSession, name: str, *columns: str) -> set[tuple[Any, ...]]:
    rows = spark.table(quoted("glue", "order_analytics", name)).select(*columns).collect()
    return {tuple(row) for row in rows}


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_the_examples_produce_the_described_tables(
    spark: SparkSession,
    manager: PySparkIcebergIOManager,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def records(*_: Any, **__: Any) -> DataFrame:
        ddl = "value struct<order_id: long, status: string, changes: int>"
        return spark.createDataFrame([((1, "PAID", 3),), ((2, "PAID", 1),), (None,)], ddl)

    monkeypatch.setattr(read, "_read_topic", records)
    found = assets_of_the_page()
    joined, newest = found["status_changes_by_country"], found["newest_orders"]
    keys = {key.path[0]: key for key in joined.dependency_keys}
    topic = AssetSpec(
        keys["kafka"],
        metadata={
            "lineage_bridge/node_type": "kafka_topic",
            "lineage_bridge/topic": "orders.status",
            "lineage_bridge/bootstrap": "localhost:9",
        },
    )
    table = AssetSpec(keys["glue"], metadata={"dagster/table_name": f"{database}.orders.v1"})

    def run() -> Any:
        # In a bare run, external assets have the default key of an IO manager.
        both = {"lineage_io_manager": manager, "io_manager": manager}
        return materialize([topic, table, joined, newest], resources=both)

    add(spark, database, (1, "de", "NEW", 0), (1, "de", "PAID", 1), (2, "fr", "NEW", 0))
    assert run().success
    assert stored(spark, "newest_orders", "order_id", "status") == {(1, "PAID"), (2, "NEW")}
    # The table has order 1 twice, so its three changes count twice.
    assert stored(spark, "status_changes_by_country", "country", "orders", "changes") == {
        ("de", 2, 6),
        ("fr", 1, 1),
    }

    add(spark, database, (2, "fr", "PAID", 2), (3, "es", "NEW", 2))
    events = run().asset_materializations_for_node(newest.op.name)
    assert events[0].metadata["lineage_bridge/rows_written"].value == 2
    assert stored(spark, "newest_orders", "order_id", "status") == {(1, "PAID"), (2, "PAID"), (3, "NEW")}


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_the_page_lists_exactly_the_metadata_that_is_written(spark: SparkSession, database: str) -> None:
    by_day = WriteOptions(write_mode="overwrite_slice", overwrite_filter="id >= 0")
    written = write_frame(spark.sql("SELECT 1 AS id"), TableName("glue", database, "t"), by_day)
    shown = output_metadata(spark, written, partitions=1, preview_rows=1)
    assert table_of("metadata") == {*shown, "lineage_bridge/consumed"}
