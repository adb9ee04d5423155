"""Partition fields in the syntax of Iceberg's DDL."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StringType, StructType, TimestampType

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.partitioning import parse


def test_partition_by_takes_the_syntax_of_iceberg_ddl() -> None:
    schema = StructType().add("ts", TimestampType()).add("a.b", StringType())
    schema = schema.add("s", StructType().add("at", TimestampType()))
    fields = parse(["days(ts)", "Bucket(16, ts)", "truncate(2, `a.b`)", "ts", "hour(s.at)"], schema, "t")
    assert [str(field) for field in fields] == [
        "day(ts)",
        "bucket(16, ts)",
        "truncate(2, a.b)",
        "ts",
        "hour(s.at)",
    ]
    assert fields[2].ddl == "truncate(2, `a.b`)"
    for wrong in ("bucket(ts)", "weeks(ts)", "day(3, ts)", "nope"):
        with pytest.raises(ConfigurationError, match=r"partition_by of t"):
            parse([wrong], schema, "t")
