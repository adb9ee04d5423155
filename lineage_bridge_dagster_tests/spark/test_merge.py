"""Rows merged by key."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.write import write_frame
from lineage_bridge_dagster.spark.merge import MergeKeyError
from lineage_bridge_dagster.spark.mismatch import SchemaMismatchError
from lineage_bridge_dagster_tests.spark_session import pyiceberg_properties

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

DDL = "`order.id` int, status string, deleted boolean"


@pytest.fixture
def table(database: str) -> TableName:
    return TableName("glue", database, "status.v1")


def options(**more: Any) -> WriteOptions:
    return WriteOptions(
        **{"write_mode": "merge", "join_cols": ("order.id",), "delete_column": "deleted", **more}
    )


def frame(spark: SparkSession, *rows: tuple[int | None, str | None, bool | None]) -> DataFrame:
    return spark.createDataFrame(list(rows), DDL)


def rows(spark: SparkSession, table: TableName) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in spark.table(table.sql).collect()}


def test_known_keys_are_replaced_new_ones_added_and_marked_ones_deleted(
    spark: SparkSession, table: TableName, spark_catalog: CatalogSettings
) -> None:
    first = write_frame(frame(spark, (1, "new", None), (2, "new", False), (3, "x", True)), table, options())
    assert (first.rows, rows(spark, table)) == (3, {(1, "new"), (2, "new")})
    spark.sql(f"ALTER TABLE {table.sql} ADD COLUMN note string")
    spark.sql(f"UPDATE {table.sql} SET note = 'kept'")  # noqa: S608

    result = write_frame(
        frame(spark, (1, "paid", False), (2, None, True), (4, "new", False)), table, options()
    )
    # The delete column is not stored; another writer's column keeps its value.
    assert rows(spark, table) == {(1, "paid", "kept"), (4, "new", None)}
    catalog = load_catalog("glue", **pyiceberg_properties(spark_catalog))
    read = catalog.load_table((table.database, table.table)).scan().to_arrow().to_pylist()
    assert {tuple(row.values()) for row in read} == rows(spark, table)
    assert result.rows == 3
    assert result.snapshots[0].snapshot_id == next(ancestors(spark, table)).snapshot_id


def test_duplicate_key_is_refused_with_examples(spark: SparkSession, table: TableName) -> None:
    duplicates = frame(spark, (7, "a", None), (7, "b", None), (8, "c", None))
    with pytest.raises(MergeKeyError, match=r"order.id=7 \(2 rows\)\. Nothing was written"):
        write_frame(duplicates, table, options())
    assert rows(spark, table) == set()


def test_null_keys_are_refused_unless_they_may_match(spark: SparkSession, table: TableName) -> None:
    with pytest.raises(MergeKeyError, match=r"1 of 2 rows .* null in order\.id"):
        write_frame(frame(spark, (None, "a", None), (1, "b", None)), table, options())
    for status in ("a", "b"):
        write_frame(frame(spark, (None, status, None)), table, options(null_keys="match"))
    assert rows(spark, table) == {(None, "b")}


def test_nondeterministic_rows_are_computed_once(spark: SparkSession, table: TableName) -> None:
    computed = spark.sparkContext.accumulator(0)

    def count(batches: Any) -> Any:
        for batch in batches:
            computed.add(len(batch))
            yield batch

    write_frame(frame(spark, (1, "old", None)), table, options())
    plain = frame(spark, (1, "a", None), (2, "b", None)).toDF("id", "status", "deleted")
    counted = plain.mapInPandas(count, plain.schema).toDF("order.id", "status", "deleted")
    write_frame(counted, table, options())
    assert computed.value == 2


def test_columns_that_are_missing_or_of_another_type_are_named(spark: SparkSession, table: TableName) -> None:
    write_frame(frame(spark, (1, "new", None)), table, options())
    with pytest.raises(
        MergeKeyError, match=r"no column order_id, which join_cols names[^>]*> Its columns are"
    ):
        write_frame(frame(spark, (1, "a", None)), table, options(join_cols=("order_id",)))
    with pytest.raises(MergeKeyError, match=r"delete_column status .* is string"):
        write_frame(frame(spark, (1, "a", None)), table, options(delete_column="status"))
    with pytest.raises(SchemaMismatchError, match="column status: int"):
        write_frame(spark.sql("SELECT 1 AS `order.id`, 2 AS status"), table, options(delete_column=""))


def test_full_refresh_replaces_all_rows_by_the_rules_of_the_merge(
    spark: SparkSession, table: TableName
) -> None:
    write_frame(frame(spark, (1, "new", None), (2, "new", None)), table, options())
    spark.sql(f"ALTER TABLE {table.sql} ADD COLUMN note string")
    write_frame(frame(spark, (3, "x", None), (4, "y", True)), table, options().full_refresh())
    assert rows(spark, table) == {(3, "x", None)}
