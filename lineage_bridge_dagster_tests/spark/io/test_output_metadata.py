"""What a materialization shows of the table and of the commit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors
from lineage_bridge_dagster.spark.io.increments import run_marker
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.output_metadata import first_rows, output_metadata
from lineage_bridge_dagster.spark.io.write import WriteResult, write_frame
from lineage_bridge_dagster_tests.spark.io.conftest import APPEND, orders

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def metadata_of(result: WriteResult, spark: SparkSession, **more: Any) -> Mapping[str, Any]:
    return output_metadata(spark, result, **{"partitions": 0, "preview_rows": 2, **more})


def test_counts_are_those_of_the_table_and_of_the_commit(spark: SparkSession, table: TableName) -> None:
    write_frame(orders(spark, (1, "de", 1.0)), table, APPEND)
    frame = spark.sql(
        "SELECT 2 AS id, repeat('x', 500) AS country, 1.0D AS total UNION ALL SELECT 3, 'b', 2.0D"
    ).coalesce(1)
    result = write_frame(frame, table, APPEND, run_marker("run-1", {}))
    metadata = metadata_of(result, spark)
    assert metadata["dagster/row_count"] == 3
    assert metadata["lineage_bridge/rows_written"] == 2
    assert metadata["lineage_bridge/operation"] == "append"
    assert metadata["lineage_bridge/snapshot_id"] == str(next(ancestors(spark, table)).snapshot_id)
    assert metadata["lineage_bridge/committed_at"].value > 1_700_000_000
    assert metadata["dagster/uri"].startswith("s3://")
    assert metadata["dagster/table_name"] == f"{table.database}.orders.v1"
    records = metadata["lineage_bridge/preview"].records
    assert all(len(str(value)) <= 80 for record in records for value in record.data.values())
    assert "lineage_bridge/preview" not in metadata_of(result, spark, preview_rows=0)
    assert next(ancestors(spark, table)).summary["dagster-run-id"] == "run-1"


def test_preview_of_a_slice_shows_rows_of_the_slice(spark: SparkSession, table: TableName) -> None:
    stored = orders(spark, (1, "de", 1.0), (2, "fr", 2.0), (3, "de", 3.0))
    write_frame(stored, table, WriteOptions(partition_by=("country",)))
    by_country = WriteOptions(write_mode="overwrite_slice", overwrite_filter="country = 'de'")
    metadata = metadata_of(write_frame(orders(spark, (4, "de", 4.0)), table, by_country), spark)
    assert metadata["dagster/row_count"] == 2
    assert metadata["lineage_bridge/rows_written"] == 1
    assert metadata["lineage_bridge/added_records"] == 1
    assert metadata["lineage_bridge/deleted_records"] == 2
    assert [record.data["id"] for record in metadata["lineage_bridge/preview"].records] == [4]


def test_rows_with_delete_files_are_not_counted(spark: SparkSession, table: TableName) -> None:
    write_frame(orders(spark, (1, "de", 1.0), (2, "fr", 2.0)).coalesce(1), table, WriteOptions())
    spark.sql(f"ALTER TABLE {table.sql} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    spark.sql(f"DELETE FROM {table.sql} WHERE id = 1")  # noqa: S608
    metadata = metadata_of(write_frame(orders(spark, (3, "es", 3.0)), table, APPEND), spark)
    assert metadata["dagster/row_count"] == 2


def test_preview_shows_values_of_every_type_alike_on_every_machine(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.sql(
        "SELECT double('nan') AS no_number, timestamp'2026-01-01 12:00:00Z' AS at, "
        "named_struct('at', timestamp'2026-01-01 12:00:00Z', 'ids', array(1, 2)) AS nested, "
        "map('k', 1) AS counts, X'00FF' AS raw, timestamp_ntz'2026-01-01 12:00:00' AS wall"
    )
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        shown = first_rows(frame, 5)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert shown is not None
    (record,) = shown.records
    assert record.data == {
        "no_number": "nan",
        "at": "2026-01-01T12:00:00.000Z",
        "nested": '{"at":"2026-01-01T12:00:00.000Z","ids":[1,2]}',
        "counts": '{"k":1}',
        "raw": "2 bytes",
        "wall": "2026-01-01 12:00:00",
    }
