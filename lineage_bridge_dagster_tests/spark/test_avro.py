"""Payloads in Confluent's wire format are decoded with their writer's schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.confluent.api.schema_registry import SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.avro import SubjectSchemas, decoded, fetch_schemas, unknown_id
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, failure, settings
from lineage_bridge_dagster_tests.spark.records import (
    ORDER_V1,
    ORDER_V2,
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


SUBJECT = "o/v 1-value"


def version(subject: str, number: int, schema_id: int, schema: Any, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "version": number, "id": schema_id, "schema": json.dumps(schema), **more}


@pytest.fixture
def fake() -> FakeConfluent:
    return FakeConfluent()


@pytest.fixture
def session(fake: FakeConfluent) -> Iterator[ConfluentSession]:
    with ConfluentSession(settings(max_attempts=1), fake.transport) as session:
        yield session


@pytest.fixture
def fetch(fake: FakeConfluent, session: ConfluentSession) -> Callable[..., SubjectSchemas]:
    return partial(fetch_schemas, SchemaRegistryClient(session, ""), "https://psrc-1.confluent.cloud/sr")


def test_all_versions_are_fetched_in_one_request(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    fake.routes["/sr/schemas"] = [version(SUBJECT, 1, 7, ORDER_V1), version(SUBJECT, 2, 9, ORDER_V2)]
    found = fetch(SUBJECT)
    assert sorted(found.writers) == [7, 9]
    assert found.reader == json.dumps(ORDER_V2)
    assert found.is_record
    assert len(fake.requests) == 1
    assert fetch(SUBJECT, known=found) == found
    assert len(fake.requests) == 2


def test_references_are_resolved_by_the_registry_once(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    references = [{"name": "Order", "subject": "o", "version": 1}]
    fake.routes["/sr/schemas"] = [version("a", 1, 7, ["Order"], references=references)]
    fake.routes["/sr/schemas/ids/7"] = {"schema": json.dumps(ORDER_V2)}
    found = fetch("a")
    assert found.reader == json.dumps(ORDER_V2)
    assert fake.requests[-1].url.params["format"] == "resolved"
    assert fetch("a", known=found) == found
    assert len(fake.requests_to("/ids/7")) == 1


def test_known_schema_deleted_since_is_kept(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    fake.routes["/sr/schemas"] = [version("a", 2, 9, ORDER_V2)]
    known = SubjectSchemas("a", {7: json.dumps(ORDER_V1)}, json.dumps(ORDER_V1))
    found = fetch("a", known=known)
    assert (sorted(found.writers), found.reader) == ([7, 9], json.dumps(ORDER_V2))


def test_missing_or_non_avro_subject_has_no_reader(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    fake.routes["/sr/schemas"] = [version("p", 1, 3, {}, schemaType="PROTOBUF")]
    assert fetch("none").reader is None
    assert fetch("p").reader is None


def test_rejected_key_names_its_variable(fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]) -> None:
    fake.routes["/sr/schemas"] = failure(401)
    with pytest.raises(LineageBridgeError, match="LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY"):
        fetch("a")
