"""Payloads in Confluent's wire format are decoded with their writer's schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.decoding.avro import decoded, unknown_id
from lineage_bridge_dagster.topics.schemas import SubjectSchemas
from lineage_bridge_dagster_tests.spark.records import (
    ORDER_V1,
    ORDERS,
    order_v1,
    order_v2,
    payload,
    subject,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

with_spark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def frame(spark: SparkSession, *values: bytes | None) -> DataFrame:
    return spark.createDataFrame([(i, value) for i, value in enumerate(values)], "n int, value binary")


class TestDecoding:
    pytestmark = with_spark

    def test_each_version_is_decoded_as_the_latest(self, spark: SparkSession) -> None:
        records = frame(spark, order_v1(1), order_v2(2, 250), None)
        rows = records.select("n", decoded(records.value, ORDERS).alias("v")).orderBy("n").collect()
        assert [row.v and row.v.asDict() for row in rows] == [
            {"id": 1, "cents": None, "item": "item 1"},
            {"id": 2, "cents": 250, "item": None},
            None,
        ]

    def test_unknown_schema_ids_are_null_and_countable(self, spark: SparkSession) -> None:
        strange = payload(99, ORDER_V1, {"id": 3, "item": "x"})
        records = frame(spark, order_v1(1), strange, b"{}", b"", b"\x01\x00\x00\x00\x07ab", None)
        rows = (
            records.select(
                "n", decoded(records.value, ORDERS).alias("v"), unknown_id(records.value, ORDERS).alias("u")
            )
            .orderBy("n")
            .collect()
        )
        assert [row.v is not None for row in rows] == [True, False, False, False, False, False]
        assert [row.u for row in rows] == [False, True, True, True, True, False]

    def test_corrupt_bytes_fail_the_query(self, spark: SparkSession) -> None:
        records = frame(spark, order_v1(1)[:5] + b"\x02\xff\xff")
        with pytest.raises(Exception, match=r"(?i)malformed"):
            records.select(decoded(records.value, ORDERS)).collect()

    def test_corrupt_bytes_are_null_unlike_a_record_of_nulls(self, spark: SparkSession) -> None:
        optional = {"type": ["null", "string"], "default": None}
        schema = {"type": "record", "name": "O", "fields": [{"name": n, **optional} for n in ("a", "b")]}
        empty = payload(3, schema, {"a": None, "b": None})
        records = frame(spark, empty, empty[:5] + b"\x09\xff", empty[:6])
        value = decoded(records.value, subject("o", (3, schema)), corrupt="PERMISSIVE")
        rows = records.select("n", value.alias("v")).orderBy("n").collect()
        assert rows[0].v.asDict() == {"a": None, "b": None}
        assert [row.v for row in rows[1:]] == [None, None]

    def test_error_names_a_subject_without_avro_schema(self, spark: SparkSession) -> None:
        with pytest.raises(LineageBridgeError, match="json-value"):
            decoded(frame(spark).value, SubjectSchemas("json-value"))
