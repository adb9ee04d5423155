"""Rows appended and replaced, all of them or a slice, and what of the table must not be lost."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace as replace_fields
from itertools import islice
from typing import Any

import pytest
from dagster import StaticPartitionsDefinition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark.commits import CommitConflictError, CommitMarker
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors, at_snapshot, open_table
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.slices import slice_of
from lineage_bridge_dagster.spark.io.write import table_state, write_frame
from lineage_bridge_dagster.spark.mismatch import SchemaMismatchError
from lineage_bridge_dagster_tests.spark.io.conftest import APPEND, orders

pytestmark = [pytest.mark.spark, pytest.mark.both_sessions]


@pytest.fixture
def spark(any_spark: SparkSession) -> SparkSession:
    return any_spark


def rows(spark: SparkSession, table: TableName, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(table.sql).select(*(columns or ["*"])).collect())


def refs(spark: SparkSession, table: TableName) -> list[str]:
    return sorted(row.name for row in spark.table(f"{table.sql}.refs").collect())


def property_of(spark: SparkSession, table: TableName, key: str) -> str:
    (row,) = spark.sql(f"SHOW TBLPROPERTIES {table.sql} ('{key}')").collect()
    return str(row.value)


def where(condition: str, **more: Any) -> WriteOptions:
    return WriteOptions(write_mode="overwrite_slice", overwrite_filter=condition, **more)


def partition_fields(spark: SparkSession, table: TableName) -> list[str]:
    state = table_state(spark, table)
    assert state is not None
    return [str(field) for field in state.partition_by]


def commit_before_each_write(
    monkeypatch: pytest.MonkeyPatch, table: TableName, frame: DataFrame, times: int = 100
) -> None:
    """Have another writer append the frame to the table after each write was planned, the first times."""
    writer, left = CommitMarker.writer, iter(range(times))

    def late(self: CommitMarker, written: DataFrame, target: str) -> Any:
        for _ in islice(left, 1):
            frame.writeTo(table.sql).append()
        return writer(self, written, target)

    monkeypatch.setattr(CommitMarker, "writer", late)


def test_overwrite_with_the_same_columns_keeps_everything_of_the_table(
    spark: SparkSession, table: TableName
) -> None:
    write_frame(orders(spark, (1, "de", 1.0)), table, WriteOptions(partition_by=("country", "bucket(4, id)")))
    spark.sql(f"ALTER TABLE {table.sql} WRITE ORDERED BY id")
    spark.sql(f"ALTER TABLE {table.sql} SET TBLPROPERTIES ('owner-of-data' = 'sales')")
    spark.sql(f"ALTER TABLE {table.sql} ALTER COLUMN total COMMENT 'with tax'")
    first = next(ancestors(spark, table)).snapshot_id

    # In another order of columns, and without partition_by.
    write_frame(orders(spark, (2, "fr", 2.0)).select("total", "id", "country"), table, WriteOptions())

    assert rows(spark, table) == [(2, "fr", 2.0)]
    assert partition_fields(spark, table) == ["country", "bucket(4, id)"]
    assert open_table(spark, table).is_sorted
    assert property_of(spark, table, "owner-of-data") == "sales"
    assert spark.table(table.sql).schema["total"].metadata["comment"] == "with tax"
    assert rows(spark, table, "id") == [(2,)]
    assert at_snapshot(spark, table, first).collect()[0].id == 1


def test_overwrite_with_other_columns_replaces_them_and_keeps_snapshots_and_partitioning(
    spark: SparkSession, table: TableName, caplog: pytest.LogCaptureFixture
) -> None:
    partitioned = WriteOptions(partition_by=("country", "truncate(10, id)"))
    write_frame(orders(spark, (1, "de", 1.0)), table, partitioned)
    spark.sql(f"ALTER TABLE {table.sql} SET TBLPROPERTIES ('owner-of-data' = 'sales')")
    spark.sql(f"ALTER TABLE {table.sql} WRITE ORDERED BY id")
    first = next(ancestors(spark, table)).snapshot_id
    with caplog.at_level(logging.WARNING):
        result = write_frame(spark.sql("SELECT 'fr' AS country, 'x' AS id"), table, WriteOptions())

    assert spark.table(table.sql).columns == ["country", "id"]
    assert result.rows == 1
    assert partition_fields(spark, table) == ["country"]
    assert "no longer partitioned by truncate(10, id)" in caplog.text
    assert "loses its sort order" in caplog.text
    assert property_of(spark, table, "owner-of-data") == "sales"
    assert at_snapshot(spark, table, first).columns == ["id", "country", "total"]

    # With partition_by, the partitioning is replaced too.
    write_frame(orders(spark, (1, "de", 1.0)), table, WriteOptions(partition_by=("truncate(1, country)",)))
    assert partition_fields(spark, table) == ["truncate(1, country)"]


def test_append_sets_missing_columns_to_null_and_drops_none(spark: SparkSession, table: TableName) -> None:
    write_frame(orders(spark, (1, "de", 1.0)), table, APPEND)
    spark.sql(f"ALTER TABLE {table.sql} ADD COLUMN note string")
    spark.sql(f"UPDATE {table.sql} SET note = 'kept'")  # noqa: S608
    write_frame(spark.sql("SELECT 'fr' AS COUNTRY, 2 AS id"), table, APPEND)
    assert set(rows(spark, table, "id", "note")) == {(1, "kept"), (2, None)}


def test_table_evolves_on_request_only(spark: SparkSession, table: TableName) -> None:
    write_frame(orders(spark, (1, "de", 1.0)), table, APPEND)
    wider = spark.sql("SELECT 2L AS id, 'fr' AS country, 2.0D AS total, named_struct('a', 1) AS extra")
    with pytest.raises(SchemaMismatchError) as refused:
        write_frame(wider, table, APPEND)
    assert "column id: bigint in the DataFrame, int in the table" in str(refused.value)
    assert "column extra: struct<a:int> in the DataFrame, not in the table" in str(refused.value)
    assert "schema_update_mode: update" in str(refused.value)
    assert rows(spark, table) == [(1, "de", 1.0)]

    evolving = WriteOptions(write_mode="append", schema_update_mode="update")
    write_frame(wider, table, evolving)
    nested = spark.sql("SELECT 3 AS id, named_struct('b', 'x') AS extra")
    write_frame(nested, table, evolving)
    assert spark.table(table.sql).schema["id"].dataType.simpleString() == "bigint"
    assert spark.table(table.sql).schema["extra"].dataType.simpleString() == "struct<a:int,b:string>"
    assert spark.table(table.sql).where("extra.b = 'x' AND extra.a IS NULL").count() == 1

    with pytest.raises(SchemaMismatchError, match=r'cast\("double"\)'):
        write_frame(spark.sql("SELECT 4 AS id, 'much' AS total"), table, evolving)


def test_slice_of_whole_partitions_is_replaced_in_one_commit(spark: SparkSession, table: TableName) -> None:
    stored = orders(spark, (1, "de", 1.0), (2, "fr", 2.0), (3, "de", 3.0))
    write_frame(stored, table, WriteOptions(partition_by=("country",)))
    result = write_frame(orders(spark, (4, "de", 4.0)), table, where("country = 'de'"))
    assert rows(spark, table, "id") == [(2,), (4,)]
    assert [s.operation for s in result.snapshots] == ["overwrite"]


@pytest.mark.parametrize("condition", ["country = 'de'", "country = 'de' AND id % 2 = 1"])
def test_slice_within_files_is_replaced_atomically_and_leaves_no_branch(
    spark: SparkSession, table: TableName, condition: str
) -> None:
    stored = orders(spark, (1, "de", 1.0), (2, "fr", 2.0), (3, "de", 3.0), (4, "de", 4.0))
    write_frame(stored.coalesce(1), table, WriteOptions())
    result = write_frame(orders(spark, (5, "de", 5.0)), table, where(condition))
    assert rows(spark, table, "id") == ([(2,), (5,)] if "%" not in condition else [(2,), (4,), (5,)])
    assert result.rows == 1
    assert refs(spark, table) == ["main"]
    assert result.snapshots[0].count("total-records") == spark.table(table.sql).count()


@pytest.mark.parametrize("partition_by", [("country",), ()])
def test_row_outside_the_slice_fails_the_write_and_changes_nothing(
    spark: SparkSession, table: TableName, partition_by: tuple[str, ...]
) -> None:
    write_frame(orders(spark, (1, "de", 1.0)), table, WriteOptions(partition_by=partition_by))
    before = [s.snapshot_id for s in ancestors(spark, table)]
    with pytest.raises(LineageBridgeError, match="a row outside the slice"):
        write_frame(orders(spark, (2, "de", 2.0), (3, "fr", 3.0)), table, where("country = 'de'"))
    assert [s.snapshot_id for s in ancestors(spark, table)] == before
    assert refs(spark, table) == ["main"]


def test_rows_that_the_user_filters_out_may_be_outside_the_slice(
    spark: SparkSession, table: TableName
) -> None:
    write_frame(orders(spark, (1, "de", 1.0)), table, WriteOptions())
    left = orders(spark, (2, "de", 2.0), (3, "fr", 3.0))
    right = spark.sql("SELECT 2 AS id, true AS wanted UNION ALL SELECT 3, false")
    frame = left.join(right, "id").where("wanted").drop("wanted")
    assert write_frame(frame, table, where("country = 'de'")).rows == 1
    assert rows(spark, table, "id") == [(2,)]


def test_slices_of_one_new_table_are_replaced_concurrently(spark: SparkSession, table: TableName) -> None:
    """As a backfill does, each partition in a run of its own."""

    def replace(country: str) -> int:
        partitioned = WriteOptions(partition_by=("country",), write_mode="overwrite_slice")
        options = replace_fields(partitioned, overwrite_filter=f"country = '{country}'")
        return sum(write_frame(orders(spark, (i, country, 1.0)), table, options).rows for i in range(2))

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(replace, ("de", "fr", "es"))) == [2, 2, 2]
    assert rows(spark, table, "country", "id") == [("de", 1), ("es", 1), ("fr", 1)]


@pytest.mark.parametrize(("country", "is_conflict"), [("de", True), ("es", False)])
def test_commit_of_another_writer_to_the_same_slice_is_a_conflict(
    spark: SparkSession, table: TableName, monkeypatch: pytest.MonkeyPatch, country: str, is_conflict: bool
) -> None:
    write_frame(orders(spark, (1, "de", 1.0), (2, "fr", 2.0)).coalesce(1), table, WriteOptions())
    commit_before_each_write(monkeypatch, table, orders(spark, (9, country, 9.0)), times=1)
    with pytest.raises(CommitConflictError, match="changed meanwhile") if is_conflict else nullcontext():
        write_frame(orders(spark, (3, "de", 3.0)), table, where("country = 'de'"))
    monkeypatch.undo()
    assert rows(spark, table, "id") == ([(1,), (2,), (9,)] if is_conflict else [(2,), (3,), (9,)])
    assert refs(spark, table) == ["main"]


@pytest.mark.parametrize("options", [WriteOptions(), where("country = 'de'", partition_by=("country",))])
def test_concurrent_first_writes_replace_each_other(
    spark: SparkSession, table: TableName, options: WriteOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_before_each_write(monkeypatch, table, orders(spark, (1, "de", 1.0)))
    write_frame(orders(spark, (2, "de", 2.0)), table, options)
    assert rows(spark, table, "id") == [(2,)]


def test_refused_write_changes_nothing(spark: SparkSession, table: TableName) -> None:
    frame = orders(spark, (1, "de", 1.0))
    with pytest.raises(ConfigurationError, match="nope, which is not a column"):
        write_frame(frame, table, WriteOptions(partition_by=("days(nope)",)))
    with pytest.raises(ConfigurationError, match=r"overwrite_filter of .* is not a condition"):
        write_frame(frame, table, where("land = 'de'"))
    with pytest.raises(LineageBridgeError, match=r"Column nothing .* has no type"):
        write_frame(spark.sql("SELECT null AS nothing"), table, WriteOptions())
    # Not even the database was created.
    assert not spark.catalog.databaseExists(f"glue.`{table.database}`")
    write_frame(frame, table, WriteOptions())
    with pytest.raises(LineageBridgeError, match=r"Column more .* has no type"):
        write_frame(frame.withColumn("more", F.lit(None)), table, WriteOptions())


def test_names_in_another_case_are_the_same_columns_and_partitions(
    spark: SparkSession, table: TableName
) -> None:
    options = WriteOptions(partition_by=("country",))
    write_frame(orders(spark, (1, "de", 1.0)), table, options)
    spark.sql(f"ALTER TABLE {table.sql} WRITE ORDERED BY id")
    write_frame(spark.sql("SELECT 2 AS ID, 'fr' AS COUNTRY, 2.0D AS Total"), table, options)
    state = table_state(spark, table)
    assert state is not None
    assert (state.is_sorted, state.sort_columns) == (True, {"id"})
    assert rows(spark, table) == [(2, "fr", 2.0)]
    # Iceberg cannot drop a column that a table was ever sorted by.
    with pytest.raises(LineageBridgeError, match="was once sorted by a column"):
        write_frame(spark.sql("SELECT 'fr' AS country"), table, WriteOptions())
    assert rows(spark, table) == [(2, "fr", 2.0)]


def test_partition_expression_is_compared_as_a_whole(spark: SparkSession, table: TableName) -> None:
    expr = "id > 1 AND country = 'de'"
    slice_ = slice_of(StaticPartitionsDefinition(["true", "false"]), ["false"], expr, "orders")
    options = WriteOptions(write_mode="overwrite_slice", partition_expr=expr)
    write_frame(orders(spark, (0, "de", 1.0), (5, "fr", 1.0)), table, options, slice_=slice_)
    with pytest.raises(LineageBridgeError, match="outside the slice"):
        write_frame(orders(spark, (5, "de", 1.0)), table, options, slice_=slice_)
    assert rows(spark, table, "id") == [(0,), (5,)]


def test_glue_table_that_is_not_iceberg_is_left_alone(
    spark: SparkSession, table: TableName, spark_aws: Any
) -> None:
    glue = spark_aws.client("glue", "us-east-1")
    glue.create_database(DatabaseInput={"Name": table.database})
    glue.create_table(
        DatabaseName=table.database,
        TableInput={"Name": table.table, "Parameters": {"classification": "csv"}, "StorageDescriptor": {}},
    )
    with pytest.raises(LineageBridgeError, match="is not an Iceberg table"):
        write_frame(orders(spark, (1, "de", 1.0)), table, WriteOptions())
