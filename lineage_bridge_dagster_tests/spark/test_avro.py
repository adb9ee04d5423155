"""Payloads in Confluent's wire format become values, each read with the schema it was written with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.avro import SubjectSchemas, decoded, fetch_schemas, unknown_id
from lineage_bridge_dagster_tests.spark.records import ORDER_V1, ORDER_V2, ORDERS, order_v1, order_v2, payload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

with_spark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def frame(spark: SparkSession, *values: bytes | None) -> DataFrame:
    return spark.createDataFrame([(i, value) for i, value in enumerate(values)], "n int, value binary")


class TestDecoding:
    pytestmark = with_spark

    def test_each_version_is_read_as_the_latest(self, spark: SparkSession) -> None:
        records = frame(spark, order_v1(1), order_v2(2, 250), None)
        rows = records.select("n", decoded(records.value, ORDERS).alias("v")).orderBy("n").collect()
        assert [row.v and row.v.asDict() for row in rows] == [
            {"id": 1, "cents": None, "item": "item 1"},
            {"id": 2, "cents": 250, "item": None},
            None,
        ]

    def test_ids_that_are_not_the_subjects_are_null_and_can_be_counted(self, spark: SparkSession) -> None:
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

    def test_bytes_that_are_not_of_their_schema_fail_the_query(self, spark: SparkSession) -> None:
        records = frame(spark, order_v1(1)[:5] + b"\x02\xff\xff")
        with pytest.raises(Exception, match=r"(?i)malformed"):
            records.select(decoded(records.value, ORDERS)).collect()

    def test_a_subject_without_avro_is_named(self, spark: SparkSession) -> None:
        with pytest.raises(LineageBridgeError, match="json-value"):
            decoded(frame(spark).value, SubjectSchemas("json-value"))


def registry(subjects: dict[str, list[dict[str, Any]]], seen: list[httpx.Request]) -> httpx.Client:
    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if "Basic" not in request.headers.get("authorization", ""):
            return httpx.Response(401, json={"error_code": 401, "message": "Unauthorized"})
        parts = request.url.raw_path.decode().partition("?")[0].removeprefix("/sr/").split("/")
        if parts[0] == "schemas":
            return httpx.Response(200, json={"schema": json.dumps(ORDER_V2)})
        versions = subjects.get(httpx.URL(f"http://x/{parts[1]}").path[1:])
        if versions is None:
            return httpx.Response(404, json={"error_code": 40401, "message": "Subject not found."})
        if len(parts) == 3:
            return httpx.Response(200, json=[version["version"] for version in versions])
        return httpx.Response(200, json=versions[int(parts[3]) - 1])

    return httpx.Client(transport=httpx.MockTransport(answer))


KEY = Credential(key="k", secret="s")  # type: ignore[arg-type]


def version(number: int, schema_id: int, schema: Any, **more: Any) -> dict[str, Any]:
    return {"version": number, "id": schema_id, "schema": json.dumps(schema), **more}


def test_all_versions_are_fetched_and_known_ones_not_again() -> None:
    seen: list[httpx.Request] = []
    client = registry({"o/v 1-value": [version(1, 7, ORDER_V1), version(2, 9, ORDER_V2)]}, seen)
    found = fetch_schemas("http://r/sr", "o/v 1-value", KEY, client=client)
    assert sorted(found.writers) == [7, 9]
    assert found.reader == json.dumps(ORDER_V2)
    assert found.is_record
    asked = len(seen)
    assert fetch_schemas("http://r/sr", "o/v 1-value", KEY, client=client, known=found) is found
    assert len(seen) == asked + 1


def test_references_are_put_in_by_the_registry() -> None:
    seen: list[httpx.Request] = []
    refers = version(1, 7, ["Order"], references=[{"name": "Order", "subject": "o", "version": 1}])
    found = fetch_schemas("http://r/sr", "a", KEY, client=registry({"a": [refers]}, seen))
    assert found.reader == json.dumps(ORDER_V2)
    assert seen[-1].url.params["format"] == "resolved"


def test_a_subject_that_is_not_there_or_not_avro_has_no_reader() -> None:
    client = registry({"p": [version(1, 3, {}, schemaType="PROTOBUF")]}, [])
    assert fetch_schemas("http://r/sr", "none", KEY, client=client).reader is None
    assert fetch_schemas("http://r/sr", "p", KEY, client=client).reader is None


def test_a_refused_key_names_its_variable() -> None:
    with pytest.raises(LineageBridgeError, match="LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY"):
        fetch_schemas("http://r/sr", "a", None, client=registry({}, []))
