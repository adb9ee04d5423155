"""Rows merged by key."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.spark.commits import Target
from lineage_bridge_dagster.spark.iceberg_tables import ancestors
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.schemas import SchemaMismatchError
from lineage_bridge_dagster.spark.io.write import store
from lineage_bridge_dagster.spark.merge import MergeKeyError
from lineage_bridge_dagster_tests.spark_session import pyiceberg_properties

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

DDL = "`order.id` int, status string, deleted boolean"


@pytest.fixture
def target(database: str) -> Target:
    return Target("glue", database, "status.v1")


def options(**more: Any) -> WriteOptions:
    return WriteOptions(
        **{"write_mode": "merge", "join_cols": ("order.id",), "delete_column": "deleted", **more}
    )


def frame(spark: SparkSession, *rows: tuple[int | None, str | None, bool | None]) -> DataFrame:
    return spark.createDataFrame(list(rows), DDL)


def rows(spark: SparkSession, target: Target) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in spark.table(target.name).collect()}


def test_known_keys_are_replaced_new_ones_added_and_marked_ones_deleted(
    spark: SparkSession, target: Target, spark_catalog: CatalogSettings
) -> None:
    first = store(frame(spark, (1, "new", None), (2, "new", False), (3, "x", True)), target, options())
    assert (first.rows, rows(spark, target)) == (3, {(1, "new"), (2, "new")})
    spark.sql(f"ALTER TABLE {target.name} ADD COLUMN note string")
    spark.sql(f"UPDATE {target.name} SET note = 'kept'")  # noqa: S608

    stored = store(frame(spark, (1, "paid", False), (2, None, True), (4, "new", False)), target, options())
    # The delete column is never stored; a column of somebody else's keeps its value.
    assert rows(spark, target) == {(1, "paid", "kept"), (4, "new", None)}
    catalog = load_catalog("glue", **pyiceberg_properties(spark_catalog))
    read = catalog.load_table((target.database, target.table)).scan().to_arrow().to_pylist()
    assert {tuple(row.values()) for row in read} == rows(spark, target)
    assert stored.rows == 3
    assert stored.snapshots[0].snapshot_id == next(ancestors(spark, target.name)).snapshot_id


def test_the_same_merge_twice_changes_nothing(spark: SparkSession, target: Target) -> None:
    for _ in range(2):
        store(frame(spark, (1, "new", None), (2, "new", None)), target, options())
    assert rows(spark, target) == {(1, "new"), (2, "new")}


def test_a_key_that_comes_twice_is_refused_with_examples(spark: SparkSession, target: Target) -> None:
    twice = frame(spark, (7, "a", None), (7, "b", None), (8, "c", None))
    with pytest.raises(MergeKeyError, match=r"order.id=7 \(2 rows\)\. Nothing was written"):
        store(twice, target, options())
    assert rows(spark, target) == set()


def test_null_keys_are_refused_or_match_by_choice(spark: SparkSession, target: Target) -> None:
    with pytest.raises(MergeKeyError, match=r"1 of 2 rows .* null in order\.id"):
        store(frame(spark, (None, "a", None), (1, "b", None)), target, options())
    for status in ("a", "b"):
        store(frame(spark, (None, status, None)), target, options(null_keys="match"))
    assert rows(spark, target) == {(None, "b")}


def test_rows_that_can_differ_at_each_computation_are_computed_once(
    spark: SparkSession, target: Target
) -> None:
    counted = spark.sparkContext.accumulator(0)

    def count(batches: Any) -> Any:
        for batch in batches:
            counted.add(len(batch))
            yield batch

    store(frame(spark, (1, "old", None)), target, options())
    plain = frame(spark, (1, "a", None), (2, "b", None)).toDF("id", "status", "deleted")
    once = plain.mapInPandas(count, plain.schema).toDF("order.id", "status", "deleted")
    store(once, target, options())
    assert counted.value == 2


def test_columns_that_are_missing_or_of_another_type_are_named(spark: SparkSession, target: Target) -> None:
    store(frame(spark, (1, "new", None)), target, options())
    with pytest.raises(
        MergeKeyError, match=r"no column order_id, which join_cols names[^>]*> Its columns are"
    ):
        store(frame(spark, (1, "a", None)), target, options(join_cols=("order_id",)))
    with pytest.raises(MergeKeyError, match=r"delete_column status .* is string"):
        store(frame(spark, (1, "a", None)), target, options(delete_column="status"))
    with pytest.raises(SchemaMismatchError, match="column status: int"):
        store(spark.sql("SELECT 1 AS `order.id`, 2 AS status"), target, options(delete_column=""))


def test_all_rows_are_replaced_for_once_by_the_rules_of_the_merge(
    spark: SparkSession, target: Target
) -> None:
    store(frame(spark, (1, "new", None), (2, "new", None)), target, options())
    spark.sql(f"ALTER TABLE {target.name} ADD COLUMN note string")
    store(frame(spark, (3, "x", None), (4, "y", True)), target, options().whole())
    assert rows(spark, target) == {(3, "x", None)}
