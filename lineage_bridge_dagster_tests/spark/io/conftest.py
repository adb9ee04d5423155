"""The table and the rows that tests of writes share."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.options import WriteOptions

APPEND = WriteOptions(write_mode="append")


@pytest.fixture
def table(database: str) -> TableName:
    return TableName("glue", database, "orders.v1")


def orders(spark: SparkSession, *rows: tuple[int, str, float]) -> DataFrame:
    return spark.createDataFrame(list(rows), "id int, country string, total double")
