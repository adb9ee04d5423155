"""Records become values, or the reason why they cannot be decoded."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.decoder import decoder_for
from lineage_bridge_dagster_tests.spark.decoding.results import Header, decode, errors
from lineage_bridge_dagster_tests.spark.records import (
    ORDER_V1,
    ORDERS,
    order_v1,
    order_v2,
    payload,
    subject,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]


def test_each_version_is_decoded_as_the_latest(spark: SparkSession) -> None:
    assert decode(spark, ORDERS, order_v1(1), order_v2(2, 250), None) == [
        ({"id": 1, "cents": None, "item": "item 1"}, None),
        ({"id": 2, "cents": 250, "item": None}, None),
        (None, None),
    ]


def test_payload_that_names_no_version_has_an_error(spark: SparkSession) -> None:
    strange = [
        payload(99, ORDER_V1, {"id": 3, "item": "x"}),
        b"\0\xff\xff\xff\xff\2\2a",
        b'{"id": 1}',
        b"\0\0\0",
        b"",
        b"\1\0\0\0\7ab",
    ]
    assert errors(decode(spark, ORDERS, *strange)) == [
        "its schema id 99 is not registered under subject orders.v1-value",
        "its schema id 4294967295 is not registered under subject orders.v1-value",
        "it begins with 0x7B22696422, not with a zero byte and a schema id of four bytes",
        "it begins with 0x000000, not with a zero byte and a schema id of four bytes",
        "it is empty",
        "it begins with 0x0100000007, not with a zero byte and a schema id of four bytes",
    ]


def test_bytes_that_do_not_match_their_schema_have_an_error(spark: SparkSession) -> None:
    whole = order_v1(1)
    corrupt = [whole[:5], whole[:-1], whole + b"\0", whole + whole[5:], whole[:5] + b"\2\xff\xff"]
    # Strings that claim to have one and two gigabytes, and a negative length.
    corrupt += [whole[:6] + length for length in (b"\xfe\xff\xff\xff\x07", b"\xfe\xff\xff\xff\x0f", b"\x01")]
    found = errors(decode(spark, ORDERS, *corrupt))
    assert found == ["its bytes do not match the Avro schema of id 7"] * len(corrupt)


def test_array_that_claims_a_billion_elements_has_an_error(spark: SparkSession) -> None:
    schema: Any = {"type": "array", "items": "null"}
    found = decode(spark, subject("o", (3, schema)), b"\0\0\0\0\3" + b"\xfe\xff\xff\xff\x07\0")
    assert errors(found) == ["its bytes do not match the Avro schema of id 3"]


def test_filter_on_errors_does_not_decode_twice(spark: SparkSession) -> None:
    records = spark.createDataFrame([(order_v1(1),), (b"",)], "value binary")
    for schemas, decoding in (
        (subject("o", (7, ORDER_V1)), "from_avro("),
        (SubjectSchemas("o", (RegisteredSchema(7, '{"properties": {"a": {}}}', "JSON"),)), ".invoke("),
    ):
        frame = decoder_for(schemas).decode(records, "value").where("_value_error IS NULL").select("_value.*")
        plan: Any = frame
        assert plan._jdf.queryExecution().optimizedPlan().toString().count(decoding) == 1


def test_record_of_nulls_is_a_value(spark: SparkSession) -> None:
    optional = {"type": ["null", "string"], "default": None}
    schema = {"type": "record", "name": "O", "fields": [{"name": n, **optional} for n in ("a", "b")]}
    empty = payload(3, schema, {"a": None, "b": None})
    found = decode(spark, subject("o", (3, schema)), empty, empty[:6])
    assert found[0] == ({"a": None, "b": None}, None)
    assert found[1][1] == "its bytes do not match the Avro schema of id 3"


def test_record_of_ten_megabytes_is_a_value(spark: SparkSession) -> None:
    text = "x" * 10_000_000
    ((value, error),) = decode(spark, ORDERS, payload(7, ORDER_V1, {"id": 1, "item": text}))
    assert (error, value["item"] == text) == (None, True)


def test_key_that_is_no_record_is_one_value(spark: SparkSession) -> None:
    schema: Any = {"type": "string"}
    schemas = subject("k", (3, schema))
    assert decode(spark, schemas, payload(3, schema, "a"), side="key") == [("a", None)]
    assert not decoder_for(schemas).is_record


def test_schema_is_named_by_a_header(spark: SparkSession) -> None:
    guid = uuid.UUID("89791762-2336-4186-9674-299b90a802e2")
    schemas = SubjectSchemas("o", (RegisteredSchema(7, json.dumps(ORDER_V1), guid=str(guid)),))
    body = order_v1(1)[5:]
    name = "__value_schema_id"
    headers: list[list[Header] | None] = [
        [("trace", b"a"), (name, b"\1" + guid.bytes)],
        [(name, b"\0\0\0\0\7")],
        # The last header of the name counts.
        [(name, b"\1" + bytes(16)), (name, b"\1" + guid.bytes)],
        [(name, b"\1" + bytes(16))],
        # A key's header says nothing of the value.
        [("__key_schema_id", b"\1" + bytes(16))],
        None,
    ]
    payloads = [body, body, body, body, order_v1(1), order_v1(1)]
    found = decode(spark, schemas, *payloads, headers=headers)
    assert [value for value, _ in found] == [{"id": 1, "item": "item 1"}] * 3 + [None] + [
        {"id": 1, "item": "item 1"}
    ] * 2
    assert errors(found)[3] == (
        "its header __value_schema_id names the schema 0x00000000000000000000000000000000, which is not "
        "registered under subject o"
    )


def test_topic_without_a_schema_keeps_its_bytes(spark: SparkSession) -> None:
    decoder = decoder_for(SubjectSchemas("none"))
    assert (decoder.type, decoder.is_record) == (None, False)
    assert decode(spark, SubjectSchemas("none"), b"plain", None) == [(b"plain", None), (None, None)]
