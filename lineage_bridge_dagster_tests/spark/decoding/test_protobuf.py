"""Protobuf records, serialized by Google's library, become the rows that their types promise."""

from __future__ import annotations

import uuid
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from lineage_bridge_dagster.schemas.protobuf_files import compiled
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.decoder import decoder_for
from lineage_bridge_dagster.spark.decoding.framing import prefix_of
from lineage_bridge_dagster_tests.spark.decoding.results import Header, decode, errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

GUID = uuid.UUID("89791762-2336-4186-9674-299b90a802e2")


def version(number: int, body: str, **more: Any) -> RegisteredSchema:
    imports = ("google/protobuf/timestamp", "google/type/date", "confluent/meta", "confluent/type/decimal")
    listed = " ".join(f'import "{name}.proto";' for name in imports)
    return RegisteredSchema(number, f'syntax = "proto3"; {listed} {body}', "PROTOBUF", number, **more)


V1 = version(
    1,
    "message Order { int32 id = 1; string gone = 2; repeated Item items = 3; }message Item { int32 a = 1; }",
)
V2 = version(
    2,
    "message Order { int64 id = 1; repeated Item items = 3; map<string, Item> by = 4;"
    " oneof paid { string iban = 5; int64 card = 6; }"
    " google.protobuf.Timestamp at = 7; google.type.Date day = 8; confluent.type.Decimal price = 9"
    ' [(confluent.field_meta) = {params: [{key: "precision", value: "10"}, {key: "scale", value: "2"}]}]; }'
    "message Item { int64 a = 1; string b = 2; } message Other {}",
    guid=str(GUID),
)
SCHEMAS = SubjectSchemas("o-value", (V1, V2))


def order(schema: RegisteredSchema) -> Any:
    """An empty order, of a class of its own."""
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(compiled(schema)).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Order"))()


def framed(schema: RegisteredSchema, message: Any) -> bytes:
    return prefix_of(schema.id) + b"\0" + bytes(message.SerializeToString())


def test_versions_of_one_batch_have_the_type_that_holds_them_all(spark: SparkSession) -> None:
    one, two = order(V1), order(V2)
    one.id, one.gone = 1, "x"
    one.items.add().a = 5
    two.id, two.card = 2**40, 7
    two.items.add().b = "y"
    two.by["k"].a = 3
    two.at.seconds, two.at.nanos = 1, 500_000
    two.day.year, two.day.month, two.day.day = 1969, 7, 20
    two.price.value, two.price.scale = b"\xfb\x2e", 2
    found = decode(spark, SCHEMAS, framed(V1, one), framed(V2, two), None)
    assert errors(found) == [None] * 3
    at = found[1][0].pop("at")
    assert (at.minute, at.second, at.microsecond) == (0, 1, 500)
    assert found[1][0] == {
        "id": 2**40,
        "items": [{"a": 0, "b": "y"}],
        "by": {"k": {"a": 3, "b": ""}},
        "paid": {"iban": None, "card": 7},
        "day": date(1969, 7, 20),
        "price": Decimal("-12.34"),
        "gone": None,
    }
    nothing = dict.fromkeys(("by", "paid", "at", "day", "price"))
    assert found[0][0] == {"id": 1, "items": [{"a": 5, "b": None}], "gone": "x", **nothing}
    assert found[2][0] is None
    kind: Any = decoder_for(SCHEMAS).type
    assert kind.names == ["id", "items", "by", "paid", "at", "day", "price", "gone"]


def test_record_that_is_no_value_has_an_error(spark: SparkSession) -> None:
    start = prefix_of(2)
    payloads = [start, start + b"\0\x08", start + b"\x02\x04", prefix_of(9) + b"\0", b"{}", b""]
    assert errors(decode(spark, SCHEMAS, *payloads)) == [
        "it ends within the indexes of its message (schema id 2)",
        "its bytes are not Order (schema id 2)",
        "its message is Other, and the table is of Order, the first of the schema (schema id 2)",
        "its schema id 9 is not registered under subject o-value",
        "it begins with 0x7B7D, not with a zero byte and a schema id of four bytes",
        "it is empty",
    ]


def test_version_that_disagrees_with_the_latest_is_an_error(spark: SparkSession) -> None:
    text = version(1, "message Order { string id = 1; }")
    found = decode(spark, SubjectSchemas("o", (text, V2)), framed(text, order(text)), framed(V2, order(V2)))
    assert errors(found)[0] == (
        "its schema id 1 does not agree with the latest version: "
        "Field id is string in the schema, and its column is long."
    )
    assert found[1][0]["id"] == 0


def test_message_is_named_by_a_header(spark: SparkSession) -> None:
    message = order(V2)
    message.id = 5
    name, body = "__value_schema_id", bytes(message.SerializeToString())
    headers: list[list[Header] | None] = [
        [(name, b"\1" + GUID.bytes + b"\0")],
        [(name, b"\1" + GUID.bytes + b"\x02\x04")],
    ]
    found = decode(spark, SCHEMAS, body, body, headers=headers)
    assert found[0][0]["id"] == 5
    assert "its message is Other" in str(errors(found)[1])


def test_record_of_ten_megabytes_is_a_value(spark: SparkSession) -> None:
    message = order(V1)
    message.gone = "x" * 10_000_000
    ((value, error),) = decode(spark, SCHEMAS, framed(V1, message))
    assert (error, len(value["gone"])) == (None, 10_000_000)
