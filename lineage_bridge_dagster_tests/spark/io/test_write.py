"""Append, overwrite, overwrite of a slice: what becomes of the rows, and what must not be lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as replace_fields
from typing import Any

import pytest
from dagster import StaticPartitionsDefinition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark import commits
from lineage_bridge_dagster.spark.commits import CommitConflictError, Target, Write
from lineage_bridge_dagster.spark.iceberg_tables import ancestors, at_snapshot, is_sorted, load_table
from lineage_bridge_dagster.spark.io import partitioning
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.output_metadata import preview, stored_metadata
from lineage_bridge_dagster.spark.io.schemas import SchemaMismatchError
from lineage_bridge_dagster.spark.io.slices import slice_of
from lineage_bridge_dagster.spark.io.write import Stored, store

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

APPEND = WriteOptions(write_mode="append")


@pytest.fixture
def target(database: str) -> Target:
    return Target("glue", database, "orders.v1")


def orders(spark: SparkSession, *rows: tuple[int, str, float]) -> DataFrame:
    return spark.createDataFrame(list(rows), "id int, country string, total double")


def rows(spark: SparkSession, target: Target, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(target.name).select(*(columns or ["*"])).collect())


def by(condition: str, **more: Any) -> WriteOptions:
    return WriteOptions(write_mode="overwrite_slice", overwrite_filter=condition, **more)


def of(stored: Stored, spark: SparkSession, **more: Any) -> Mapping[str, Any]:
    return stored_metadata(spark, stored, **{"partitions": 0, "preview_rows": 2, **more})


def test_overwrite_of_the_same_columns_keeps_all_that_belongs_to_the_table(
    spark: SparkSession, target: Target
) -> None:
    store(orders(spark, (1, "de", 1.0)), target, WriteOptions(partition_by=("country", "bucket(4, id)")))
    spark.sql(f"ALTER TABLE {target.name} WRITE ORDERED BY id")
    spark.sql(f"ALTER TABLE {target.name} SET TBLPROPERTIES ('owner-of-data' = 'sales')")
    spark.sql(f"ALTER TABLE {target.name} ALTER COLUMN total COMMENT 'with tax'")
    first = next(ancestors(spark, target.name)).snapshot_id

    # In another order of columns, and without saying how it is partitioned.
    store(orders(spark, (2, "fr", 2.0)).select("total", "id", "country"), target, WriteOptions())

    table = load_table(spark, target.name)
    assert rows(spark, target) == [(2, "fr", 2.0)]
    assert [str(f) for f in partitioning.of_table(spark, target.name)] == ["country", "bucket(4, id)"]
    assert table.sortOrder().isSorted()
    assert table.properties()["owner-of-data"] == "sales"
    assert spark.table(target.name).schema["total"].metadata["comment"] == "with tax"
    assert rows(spark, target, "id") == [(2,)]
    assert at_snapshot(spark, target.name, first).collect()[0].id == 1


def test_overwrite_with_other_columns_replaces_them_and_keeps_snapshots_and_partitioning(
    spark: SparkSession, target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    store(orders(spark, (1, "de", 1.0)), target, WriteOptions(partition_by=("country", "truncate(10, id)")))
    spark.sql(f"ALTER TABLE {target.name} SET TBLPROPERTIES ('owner-of-data' = 'sales')")
    spark.sql(f"ALTER TABLE {target.name} WRITE ORDERED BY id")
    first = next(ancestors(spark, target.name)).snapshot_id
    with caplog.at_level(logging.WARNING):
        stored = store(spark.sql("SELECT 'fr' AS country, 'x' AS id"), target, WriteOptions())

    assert spark.table(target.name).columns == ["country", "id"]
    assert stored.rows == 1
    assert [str(f) for f in partitioning.of_table(spark, target.name)] == ["country"]
    assert "no longer partitioned by truncate(10, id)" in caplog.text
    assert "loses its sort order" in caplog.text
    assert load_table(spark, target.name).properties()["owner-of-data"] == "sales"
    assert at_snapshot(spark, target.name, first).columns == [
        "id",
        "country",
        "total",
    ]

    # Said, another partitioning is taken.
    store(orders(spark, (1, "de", 1.0)), target, WriteOptions(partition_by=("truncate(1, country)",)))
    assert [str(f) for f in partitioning.of_table(spark, target.name)] == ["truncate(1, country)"]


def test_append_fills_columns_of_others_with_null_and_loses_none(spark: SparkSession, target: Target) -> None:
    store(orders(spark, (1, "de", 1.0)), target, APPEND)
    spark.sql(f"ALTER TABLE {target.name} ADD COLUMN note string")
    spark.sql(f"UPDATE {target.name} SET note = 'kept'")  # noqa: S608
    store(spark.sql("SELECT 'fr' AS COUNTRY, 2 AS id"), target, APPEND)
    assert set(rows(spark, target, "id", "note")) == {(1, "kept"), (2, None)}


def test_a_table_is_evolved_on_request_alone(spark: SparkSession, target: Target) -> None:
    store(orders(spark, (1, "de", 1.0)), target, APPEND)
    wider = spark.sql("SELECT 2L AS id, 'fr' AS country, 2.0D AS total, named_struct('a', 1) AS extra")
    with pytest.raises(SchemaMismatchError) as refused:
        store(wider, target, APPEND)
    assert "column id: bigint in the DataFrame, int in the table" in str(refused.value)
    assert "column extra: struct<a:int> in the DataFrame, not in the table" in str(refused.value)
    assert "schema_update_mode: update" in str(refused.value)
    assert rows(spark, target) == [(1, "de", 1.0)]

    evolving = WriteOptions(write_mode="append", schema_update_mode="update")
    store(wider, target, evolving)
    nested = spark.sql("SELECT 3 AS id, named_struct('b', 'x') AS extra")
    store(nested, target, evolving)
    assert spark.table(target.name).schema["id"].dataType.simpleString() == "bigint"
    assert spark.table(target.name).schema["extra"].dataType.simpleString() == "struct<a:int,b:string>"
    assert spark.table(target.name).where("extra.b = 'x' AND extra.a IS NULL").count() == 1

    with pytest.raises(SchemaMismatchError, match=r'cast\("double"\)'):
        store(spark.sql("SELECT 4 AS id, 'much' AS total"), target, evolving)


def test_a_slice_of_whole_partitions_is_replaced_in_one_commit(spark: SparkSession, target: Target) -> None:
    store(
        orders(spark, (1, "de", 1.0), (2, "fr", 2.0), (3, "de", 3.0)),
        target,
        WriteOptions(partition_by=("country",)),
    )
    stored = store(orders(spark, (4, "de", 4.0)), target, by("country = 'de'"))
    assert rows(spark, target, "id") == [(2,), (4,)]
    assert [s.operation for s in stored.snapshots] == ["overwrite"]
    told = of(stored, spark)
    assert told["dagster/row_count"] == 2
    assert told["lineage_bridge/rows_written"] == 1
    assert told["lineage_bridge/added_records"] == 1
    assert told["lineage_bridge/deleted_records"] == 2
    # The preview is of the rows that were written.
    assert [record.data["id"] for record in told["lineage_bridge/preview"].records] == [4]


@pytest.mark.parametrize("condition", ["country = 'de'", "country = 'de' AND id % 2 = 1"])
def test_a_slice_within_files_is_replaced_at_one_moment_and_leaves_no_branch(
    spark: SparkSession, target: Target, condition: str
) -> None:
    store(
        orders(spark, (1, "de", 1.0), (2, "fr", 2.0), (3, "de", 3.0), (4, "de", 4.0)).coalesce(1),
        target,
        WriteOptions(),
    )
    stored = store(orders(spark, (5, "de", 5.0)), target, by(condition))
    assert rows(spark, target, "id") == ([(2,), (5,)] if "%" not in condition else [(2,), (4,), (5,)])
    assert stored.rows == 1
    assert list(load_table(spark, target.name).refs()) == ["main"]
    assert of(stored, spark)["dagster/row_count"] == spark.table(target.name).count()


@pytest.mark.parametrize("partition_by", [("country",), ()])
def test_a_row_outside_the_slice_fails_the_write_and_changes_nothing(
    spark: SparkSession, target: Target, partition_by: tuple[str, ...]
) -> None:
    store(orders(spark, (1, "de", 1.0)), target, WriteOptions(partition_by=partition_by))
    before = [s.snapshot_id for s in ancestors(spark, target.name)]
    with pytest.raises(LineageBridgeError, match="a row outside the slice"):
        store(orders(spark, (2, "de", 2.0), (3, "fr", 3.0)), target, by("country = 'de'"))
    assert [s.snapshot_id for s in ancestors(spark, target.name)] == before
    assert list(load_table(spark, target.name).refs()) == ["main"]


def test_rows_that_the_user_filters_out_are_never_asked_for_their_slice(
    spark: SparkSession, target: Target
) -> None:
    store(orders(spark, (1, "de", 1.0)), target, WriteOptions())
    left = orders(spark, (2, "de", 2.0), (3, "fr", 3.0))
    right = spark.sql("SELECT 2 AS id, true AS wanted UNION ALL SELECT 3, false")
    frame = left.join(right, "id").where("wanted").drop("wanted")
    assert store(frame, target, by("country = 'de'")).rows == 1
    assert rows(spark, target, "id") == [(2,)]


def test_slices_of_one_new_table_are_replaced_side_by_side(spark: SparkSession, target: Target) -> None:
    """As a backfill does, each partition in a run of its own."""

    def replace(country: str) -> int:
        made = WriteOptions(partition_by=("country",), write_mode="overwrite_slice")
        options = replace_fields(made, overwrite_filter=f"country = '{country}'")
        return sum(store(orders(spark, (i, country, 1.0)), target, options).rows for i in range(2))

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(replace, ("de", "fr", "es"))) == [2, 2, 2]
    assert rows(spark, target, "country", "id") == [("de", 1), ("es", 1), ("fr", 1)]


def test_a_commit_of_another_writer_to_the_same_slice_is_a_conflict_that_may_be_retried(
    spark: SparkSession, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(orders(spark, (1, "de", 1.0), (2, "fr", 2.0)).coalesce(1), target, WriteOptions())
    writer = Write.writer

    def late(self: Write, frame: DataFrame, name: str) -> Any:
        orders(spark, (9, "es", 9.0)).writeTo(target.name).append()
        return writer(self, frame, name)

    monkeypatch.setattr(Write, "writer", late)
    with pytest.raises(CommitConflictError, match="changed meanwhile"):
        store(orders(spark, (3, "de", 3.0)), target, by("country = 'de'"))
    monkeypatch.undo()
    assert rows(spark, target, "id") == [(1,), (2,), (9,)]
    assert list(load_table(spark, target.name).refs()) == ["main"]


@pytest.mark.parametrize("options", [WriteOptions(), by("country = 'de'", partition_by=("country",))])
def test_of_two_first_writes_at_once_one_replaces_the_other(
    spark: SparkSession, target: Target, options: WriteOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Write.writer

    def late(self: Write, frame: DataFrame, name: str) -> Any:
        orders(spark, (1, "de", 1.0)).writeTo(target.name).append()
        return writer(self, frame, name)

    monkeypatch.setattr(Write, "writer", late)
    store(orders(spark, (2, "de", 2.0)), target, options)
    assert rows(spark, target, "id") == [(2,)]


def test_a_commit_whose_outcome_the_catalog_did_not_say_is_looked_up(
    spark: SparkSession, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(orders(spark, (1, "de", 1.0)), target, WriteOptions())

    class Unsure:
        def __init__(self, writer: Any, commits_first: bool) -> None:
            self.writer, self.commits_first = writer, commits_first

        def append(self) -> None:
            if self.commits_first:
                self.writer.append()
            raise RuntimeError("org.apache.iceberg.exceptions.CommitStateUnknownException: timed out")

    writer = Write.writer
    for made in (True, False):
        monkeypatch.setattr(Write, "writer", lambda s, f, n, made=made: Unsure(writer(s, f, n), made))
        if made:
            assert store(orders(spark, (2, "fr", 2.0)), target, APPEND).rows == 1
        else:
            with pytest.raises(LineageBridgeError, match="did not say whether the commit"):
                store(orders(spark, (3, "fr", 2.0)), target, APPEND)
    assert rows(spark, target, "id") == [(1,), (2,)]


def test_a_commit_that_can_not_be_looked_up_is_no_reason_to_write_again(
    spark: SparkSession, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> Any:
        raise RuntimeError("the catalog did not answer")

    store(orders(spark, (1, "de", 1.0)), target, APPEND)
    monkeypatch.setattr(Write, "snapshots", away)
    with pytest.raises(LineageBridgeError, match=r"was made, and .* can't be asked .* did not answer"):
        store(orders(spark, (2, "de", 1.0)), target, APPEND)

    def unsure(*_: Any) -> Any:
        raise RuntimeError("org.apache.iceberg.exceptions.CommitStateUnknownException: timed out")

    monkeypatch.setattr(Write, "writer", unsure)
    with pytest.raises(LineageBridgeError, match=r"may have been made, and the catalog can't be asked"):
        store(orders(spark, (3, "de", 1.0)), target, APPEND)


def test_iceberg_s_retries_running_out_is_said_with_the_property_to_raise() -> None:
    target = Target("glue", "db", "t")
    error = commits.explain(RuntimeError("org.apache.iceberg.exceptions.CommitFailedException: x"), target)
    assert isinstance(error, CommitConflictError)
    assert "commit.retry.num-retries" in str(error)
    mine = ZeroDivisionError("in a UDF")
    assert commits.explain(mine, target) is mine


def test_metadata_tells_of_the_table_and_of_the_commit(spark: SparkSession, target: Target) -> None:
    store(orders(spark, (1, "de", 1.0)), target, APPEND)
    frame = spark.sql(
        "SELECT 2 AS id, repeat('x', 500) AS country, 1.0D AS total UNION ALL SELECT 3, 'b', 2.0D"
    ).coalesce(1)
    stored = store(frame, target, APPEND, Write("run-1"))
    told = of(stored, spark)
    assert told["dagster/row_count"] == 3
    assert told["lineage_bridge/rows_written"] == 2
    assert told["lineage_bridge/operation"] == "append"
    assert told["lineage_bridge/snapshot_id"] == str(next(ancestors(spark, target.name)).snapshot_id)
    assert told["lineage_bridge/committed_at"].value > 1_700_000_000
    assert told["dagster/uri"].startswith("s3://")
    assert told["dagster/table_name"] == f"{target.database}.orders.v1"
    assert all(
        len(str(v)) <= 80 for record in told["lineage_bridge/preview"].records for v in record.data.values()
    )
    assert "lineage_bridge/preview" not in of(stored, spark, preview_rows=0)
    assert next(ancestors(spark, target.name)).summary["dagster-run-id"] == "run-1"


def test_the_preview_is_of_any_values_and_the_same_on_every_machine(
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
        (record,) = preview(frame, 5).records
    finally:
        monkeypatch.undo()
        time.tzset()
    assert record.data == {
        "no_number": "nan",
        "at": "2026-01-01T12:00:00.000Z",
        "nested": '{"at":"2026-01-01T12:00:00.000Z","ids":[1,2]}',
        "counts": '{"k":1}',
        "raw": "2 bytes",
        "wall": "2026-01-01 12:00:00",
    }


def test_rows_deleted_without_a_rewrite_are_not_counted(spark: SparkSession, target: Target) -> None:
    store(orders(spark, (1, "de", 1.0), (2, "fr", 2.0)).coalesce(1), target, WriteOptions())
    spark.sql(f"ALTER TABLE {target.name} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    spark.sql(f"DELETE FROM {target.name} WHERE id = 1")  # noqa: S608
    told = of(store(orders(spark, (3, "es", 3.0)), target, APPEND), spark)
    assert told["dagster/row_count"] == 2


def test_what_is_not_there_is_said_with_what_is(spark: SparkSession, target: Target) -> None:
    frame = orders(spark, (1, "de", 1.0))
    with pytest.raises(ConfigurationError, match=r"names nope, which is no column[^>]*> The columns are id"):
        store(frame, target, WriteOptions(partition_by=("days(nope)",)))
    with pytest.raises(ConfigurationError, match="no partition transform"):
        store(frame, target, WriteOptions(partition_by=("weeks(id)",)))
    with pytest.raises(ConfigurationError, match=r"overwrite_filter of .* is no condition"):
        store(frame, target, by("land = 'de'"))
    with pytest.raises(LineageBridgeError, match=r"Column nothing .* has no type"):
        store(spark.sql("SELECT null AS nothing"), target, WriteOptions())
    store(frame, target, WriteOptions())
    with pytest.raises(LineageBridgeError, match=r"Column country .* has no type"):
        store(frame.withColumn("country", F.lit(None)), target, WriteOptions())


def test_names_in_another_case_are_the_same_columns_and_partitions(
    spark: SparkSession, target: Target
) -> None:
    options = WriteOptions(partition_by=("country",))
    store(orders(spark, (1, "de", 1.0)), target, options)
    spark.sql(f"ALTER TABLE {target.name} WRITE ORDERED BY id")
    store(spark.sql("SELECT 2 AS ID, 'fr' AS COUNTRY, 2.0D AS Total"), target, options)
    assert is_sorted(spark, target.name)
    assert rows(spark, target) == [(2, "fr", 2.0)]
    # Iceberg can't leave out a column that a table was ever sorted by.
    with pytest.raises(LineageBridgeError, match="was once sorted by a column"):
        store(spark.sql("SELECT 'fr' AS country"), target, WriteOptions())
    assert rows(spark, target) == [(2, "fr", 2.0)]


def test_an_expression_holds_a_partition_as_a_whole(spark: SparkSession, target: Target) -> None:
    expr = "id > 1 AND country = 'de'"
    slice_ = slice_of(StaticPartitionsDefinition(["true", "false"]), ["false"], expr, "orders")
    options = WriteOptions(write_mode="overwrite_slice", partition_expr=expr)
    store(orders(spark, (0, "de", 1.0), (5, "fr", 1.0)), target, options, slice_=slice_)
    with pytest.raises(LineageBridgeError, match="outside the slice"):
        store(orders(spark, (5, "de", 1.0)), target, options, slice_=slice_)
    assert rows(spark, target, "id") == [(0,), (5,)]


def test_a_glue_table_that_is_not_iceberg_is_left_alone(
    spark: SparkSession, target: Target, spark_aws: Any
) -> None:
    glue = spark_aws.client("glue", "us-east-1")
    glue.create_database(DatabaseInput={"Name": target.database})
    glue.create_table(
        DatabaseName=target.database,
        TableInput={"Name": target.table, "Parameters": {"classification": "csv"}, "StorageDescriptor": {}},
    )
    with pytest.raises(LineageBridgeError, match="is no Iceberg table"):
        store(orders(spark, (1, "de", 1.0)), target, WriteOptions())
