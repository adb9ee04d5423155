"""Names that Spark and Iceberg tell apart differently: columns by case, and names of partition fields."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.write import table_state, write_frame
from lineage_bridge_dagster_tests.spark.io.conftest import APPEND

pytestmark = [pytest.mark.spark, pytest.mark.both_sessions]

BY_DAY = ("country", "days(ts)")


def names(spark: SparkSession, table: TableName) -> list[str]:
    """The names of the partition fields, as the data files have them."""
    return spark.table(f"{table.sql}.files").schema["partition"].dataType.names  # type: ignore[union-attr]


def test_partition_field_gets_a_name_that_no_column_has(any_spark: SparkSession, table: TableName) -> None:
    spark = any_spark
    frame = spark.sql("SELECT 'de' AS country, TIMESTAMP '2026-01-02 03:04:05' AS ts, 'x' AS ts_day")
    options = WriteOptions(write_mode="append", partition_by=BY_DAY)
    for _ in range(2):
        write_frame(frame, table, options)
    assert names(spark, table) == ["country", "ts_day_2"]
    assert spark.table(table.sql).count() == 2

    # Other columns, which replace the table's, keep the partitioning.
    write_frame(frame.selectExpr("*", "1 AS n"), table, WriteOptions(partition_by=BY_DAY))
    state = table_state(spark, table)
    assert state is not None
    assert [str(field) for field in state.partition_by] == ["country", "day(ts)"]
    write_frame(frame.selectExpr("*", "2 AS n"), table, WriteOptions(partition_by=BY_DAY))
    assert [tuple(row) for row in spark.table(table.sql).select("ts_day", "n").collect()] == [("x", 2)]


def test_names_that_differ_only_by_case_are_paired_or_refused(
    any_spark: SparkSession, table: TableName
) -> None:
    spark = any_spark

    def write(query: str, options: WriteOptions = APPEND) -> None:
        write_frame(spark.sql(query), table, options)

    refused = "differ only by case"
    for query in ("SELECT 1 AS Id, 2 AS id", "SELECT named_struct('a', 1, 'A', 2) AS s"):
        with pytest.raises(LineageBridgeError, match=refused):
            write(query)
    merge: dict[str, Any] = {"write_mode": "merge", "join_cols": ("Id",)}
    write("SELECT 1 AS id, named_struct('a', 1) AS s, array(named_struct('q', 1)) AS l")
    write("SELECT 2 AS ID, named_struct('A', 2) AS S, array(named_struct('Q', 2)) AS L")
    write("SELECT 1 AS Id, named_struct('A', 9) AS S", WriteOptions(**merge))
    for query in ("SELECT 3 AS id, 4 AS ID", "SELECT 3 AS id, named_struct('a', 1, 'A', 2) AS s"):
        for options in (
            APPEND,
            WriteOptions(**merge),
            WriteOptions(),
            WriteOptions("append", schema_update_mode="update"),
        ):
            with pytest.raises(LineageBridgeError, match=refused):
                write(query, options)
    found = spark.table(table.sql).selectExpr("id", "s.a", "l[0].q").collect()
    assert sorted(tuple(row) for row in found) == [(1, 9, 1), (2, 2, 2)]

    # Rows alone are replaced: the table keeps its names, and its types where the frame has none.
    write("SELECT 5 AS ID, named_struct('A', 3) AS S, array() AS L", WriteOptions())
    found = spark.table(table.sql)
    assert found.schema.simpleString() == "struct<id:int,s:struct<a:int>,l:array<struct<q:int>>>"
    assert [tuple(row) for row in found.selectExpr("id", "s.a", "size(l)").collect()] == [(5, 3, 0)]
