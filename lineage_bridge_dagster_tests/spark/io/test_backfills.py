"""Many partitions of one table through Spark: in one run, and in ten writes at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from dagster import (
    BackfillPolicy,
    DagsterInstance,
    DailyPartitionsDefinition,
    StaticPartitionsDefinition,
    asset,
    materialize,
)
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.slices import slice_of
from lineage_bridge_dagster.spark.io.write import write_frame
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster_tests.spark.io.conftest import orders
from lineage_bridge_dagster_tests.spark_session import CREDENTIALS

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

COUNTRIES = StaticPartitionsDefinition([f"c{n}" for n in range(4)])


def test_writes_at_once_of_slices_that_share_a_file_all_succeed(
    spark: SparkSession, table: TableName
) -> None:
    options = WriteOptions(
        write_mode="overwrite_slice", partition_expr="country", preview_rows=0, partition_by=("id",)
    )
    countries = COUNTRIES.get_partition_keys()
    ready = threading.Barrier(len(countries))
    first = orders(spark, *((1, country, 0.0) for country in countries)).coalesce(1)
    write_frame(first, table, options, slice_=slice_of(COUNTRIES, countries, "country", "sales"))

    def write(country: str) -> None:
        frame = orders(spark, (1, country, 1.0))
        ready.wait(120)
        write_frame(frame, table, options, slice_=slice_of(COUNTRIES, [country], "country", "sales"))

    with ThreadPoolExecutor(len(countries)) as pool:
        list(pool.map(write, countries))
    found = spark.table(table.sql).collect()
    assert sorted((row.country, row.total) for row in found) == [(country, 1.0) for country in countries]
    # A slice that shares its files is a commit that deletes rows and one that appends them.
    assert len(list(ancestors(spark, table))) == 1 + 2 * len(countries)
    assert [ref.name for ref in spark.table(f"{table.sql}.refs").collect()] == ["main"]


def test_backfill_of_a_range_is_one_snapshot_by_spark_and_by_pyiceberg(
    spark: SparkSession,
    spark_catalog: CatalogSettings,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run through Spark is a single snapshot, and one through PyIceberg continues its table."""
    days = DailyPartitionsDefinition("2026-01-01", end_date="2026-02-01")
    policy = BackfillPolicy.single_run()
    metadata = {"partition_expr": "day"}

    @asset(key=[database, "sales"], partitions_def=days, metadata=metadata, backfill_policy=policy)
    def by_spark(context) -> DataFrame:  # type: ignore[no-untyped-def]
        return spark.createDataFrame([(key, 1) for key in context.partition_keys], "day string, n bigint")

    @asset(key=[database, "sales"], partitions_def=days, metadata=metadata, backfill_policy=policy)
    def by_arrow(context) -> pa.Table:  # type: ignore[no-untyped-def]
        return pa.table({"day": list(context.partition_keys), "n": [2] * len(context.partition_keys)})

    manager = PySparkIcebergIOManager(
        spark=SparkResource(catalog=spark_catalog.model_dump(exclude_none=True)),
        confluent=ConfluentSettingsResource(),
    )
    tags = {
        "dagster/asset_partition_range_start": "2026-01-03",
        "dagster/asset_partition_range_end": "2026-01-06",
    }
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with DagsterInstance.ephemeral() as instance:
        for each in (by_spark, by_arrow):
            result = materialize([each], resources={"io_manager": manager}, tags=tags, instance=instance)
            assert result.success
    table = TableName("glue", database, "sales")
    assert [s.operation for s in ancestors(spark, table)] == ["overwrite", "overwrite"]
    assert sorted(map(tuple, spark.table(table.sql).collect())) == [(f"2026-01-0{n}", 2) for n in range(3, 7)]
