"""Protobuf schemas are compiled with their imports; messages have the types of Connect and Flink."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.timestamp_pb2 import Timestamp

from lineage_bridge_dagster.schemas.columns import own_type
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.protobuf import message_reader
from lineage_bridge_dagster.schemas.protobuf_files import compiled
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster.schemas.types import spelled

IMPORTS = "".join(
    f'import "{name}.proto";'
    for name in (
        "google/protobuf/timestamp", "google/protobuf/wrappers", "google/protobuf/struct",
        "google/protobuf/duration", "google/protobuf/empty", "google/type/date", "google/type/timeofday",
        "google/type/money", "confluent/meta", "confluent/type/decimal",
    )
)  # fmt: skip
DECIMAL = (
    'confluent.type.Decimal f = 1 [(confluent.field_meta) = {params: [{key: "precision", value: "10"}, '
    '{key: "scale", value: "2"}]}];'
)


def of(body: str, *references: tuple[str, str], syntax: str = "proto3") -> RegisteredSchema:
    text = f'syntax = "{syntax}"; package shop; {IMPORTS} {body}'
    return RegisteredSchema(1, text, "PROTOBUF", references=references)


def field(statement: str) -> str:
    """The type of a message's field."""
    others = "enum E { A = 0; B = 1; } message I { int32 a = 1; }"
    kind = own_type(of(f"message M {{\n{statement}\n}} {others}"))
    return str(kind).replace("0: ", "").removeprefix("struct<").removesuffix(">")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("int32 f = 1;", "f: required int"),
        ("sint32 f = 1;", "f: required int"),
        ("sfixed32 f = 1;", "f: required int"),
        ("uint32 f = 1;", "f: required long"),
        ("fixed32 f = 1;", "f: required long"),
        ("int64 f = 1;", "f: required long"),
        ("uint64 f = 1;", "f: required long"),
        ("double f = 1;", "f: required double"),
        ("float f = 1;", "f: required float"),
        ("bool f = 1;", "f: required boolean"),
        ("string f = 1;", "f: required string"),
        ("bytes f = 1;", "f: required binary"),
        ("E f = 1;", "f: required string"),
        ("optional int32 f = 1;", "f: optional int"),
        ("optional int32 __f = 1;", "__f: optional int"),
        ("I f = 1;", "f: optional struct<a: required int>"),
        ("repeated string f = 1;", "f: optional list<string>"),
        ("repeated I f = 1;", "f: optional list<struct<a: required int>>"),
        ("map<string, int64> f = 1;", "f: optional map<string, long>"),
        ("map<int32, I> f = 1;", "f: optional map<int, struct<a: required int>>"),
        ("google.protobuf.Timestamp f = 1;", "f: optional timestamptz"),
        ("google.protobuf.Int64Value f = 1;", "f: optional long"),
        ("google.protobuf.StringValue f = 1;", "f: optional string"),
        ("google.protobuf.Struct f = 1;", "f: optional string"),
        ("google.protobuf.Value f = 1;", "f: optional string"),
        (
            "google.protobuf.Duration f = 1;",
            "f: optional struct<seconds: required long (",
        ),
        ("google.protobuf.Empty f = 1;", "f: optional boolean"),
        ("google.type.Date f = 1;", "f: optional date"),
        ("google.type.TimeOfDay f = 1;", "f: optional long"),
        (
            "google.type.Money f = 1;",
            "f: optional struct<currency_code: required string (The three-letter currency code defined in "
            "ISO 4217.), units",
        ),
        (DECIMAL, "f: optional decimal(10, 2)"),
        (
            "confluent.type.Decimal f = 1;",
            "f: optional struct<value: required binary, precision: required long, scale: required int>",
        ),
        (
            "int32 id = 1; oneof paid { string iban = 2; I card = 3; }",
            "id: required int, paid: optional struct<iban: optional string, "
            "card: optional struct<a: required int>>",
        ),
        ("// The id.\n int32 id = 1;", "id: required int (The id.)"),
    ],
)
def test_type(statement: str, expected: str) -> None:
    assert field(statement).startswith(expected)


#: As Flink writes it: Confluent's options without their import, in a package that hides their name.
FLINK = """syntax = "proto3"; package io.confluent.protobuf.generated;
import "google/protobuf/timestamp.proto"; import "confluent/type/decimal.proto";
message Row {
  repeated MapEntry m = 1 [(confluent.field_meta) = {doc: "Prices."}];
  NullsRepeatedWrapper nulls = 2 [(confluent.field_meta) = {params: [{key: "flink.wrapped", value: "true"}]}];
  google.protobuf.Timestamp at = 3 [(confluent.field_meta) = {
    params: [{key: "flink.type", value: "timestamp"}]}];
  confluent.type.Decimal price = 4 [(confluent.field_meta) = {
    params: [{value: "5", key: "precision"}, {value: "1", key: "scale"}]}];
  repeated PairEntry pairs = 5;
  message MapEntry { optional string key = 1; optional int64 value = 2; }
  message NullsRepeatedWrapper {
    repeated ElementWrapper value = 1 [(confluent.field_meta) = {
      params: [{key: "flink.wrapped", value: "true"}]}];
    message ElementWrapper { repeated ValueEntry value = 1; }
    message ValueEntry { int64 key = 1; bool value = 2; }
  }
  message PairEntry { MapEntry key = 1; string value = 2; }
}"""


def test_schema_of_flink() -> None:
    schema = RegisteredSchema(1, FLINK, "PROTOBUF")
    pairs = "pairs: list<struct<key: struct<key: string, value: long>, value: string>>"
    assert spelled(own_type(schema)) == (
        "struct<m: map<string, long>, nulls: list<map<long, boolean>>, at: timestamp, "
        f"price: decimal(5,1), {pairs}>"
    )
    assert spelled(own_type(replace(schema, first_format=True))) == (
        "struct<m: list<struct<key: string, value: long>>, "
        "nulls: struct<value: list<struct<value: list<struct<key: long, value: boolean>>>>>, "
        f"at: timestamptz, price: decimal(5,1), {pairs}>"
    )


def test_values_of_a_schema_of_flink() -> None:
    schema = RegisteredSchema(1, FLINK, "PROTOBUF")
    reader, row = message_reader(compiled(schema)), message("io.confluent.protobuf.generated.Row", schema)
    empty = {"m": [], "nulls": None, "at": None, "price": None, "pairs": []}
    assert reader.read(b"\0") == empty
    row.m.add(key="a", value=1)
    row.m.add(key="b")
    row.nulls.value.add().value.add(key=7, value=True)
    row.at.seconds = 1
    assert reader.read(b"\0" + row.SerializeToString()) == {
        **empty, "m": [("a", 1), ("b", None)], "nulls": [[(7, True)]], "at": 1_000_000
    }  # fmt: skip
    row.m.add(value=3)
    with pytest.raises(ValueError, match="its field m has an entry without a key"):
        reader.read(b"\0" + row.SerializeToString())


def test_fields_of_proto2_are_optional_unless_required() -> None:
    body = "message M { optional int32 a = 1; required int32 b = 2; }"
    kind: Any = own_type(of(body, syntax="proto2"))
    assert spelled(kind) == "struct<a: int, b: int>"


def test_imports_are_the_references() -> None:
    references = (
        (
            "shop/money.proto",
            'syntax = "proto3"; package x; import "cents.proto"; message Money { Cents c = 1; }',
        ),
        ("cents.proto", 'syntax = "proto3"; package x; message Cents { int64 n = 1; }'),
    )
    text = 'syntax = "proto3"; import "shop/money.proto"; message M { x.Money f = 1; }'
    kind = own_type(RegisteredSchema(1, text, "PROTOBUF", references=references))
    assert spelled(kind) == "struct<f: struct<c: struct<n: long>>>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('syntax = "proto3"; mesage M {}', r"not a Protobuf schema: registered_schema.proto:1:\d+: Expected"),
        ('syntax = "proto3"; import "x.proto"; message M {}', "x.proto: File not found"),
        ("", "has no message"),
        ('syntax = "proto3"; enum E { A = 0; }', "has no message"),
        ('syntax = "proto3"; message M { M next = 1; }', "Field next has the type M, which contains itself"),
        (
            'syntax = "proto3"; message M { map<string, I> f = 1; } message I { repeated M all = 1; }',
            r"Field f\.value\.all\.element has the type M, which contains itself",
        ),
        (
            'syntax = "proto3"; message M { int32 a = 1; int32 A = 2; }',
            "Field A has the name of field a, but for its case",
        ),
    ],
)
def test_error_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as raised:
        own_type(RegisteredSchema(1, text, "PROTOBUF"))
    assert raised.value.hint


def test_reference_cannot_leave_its_folder() -> None:
    with pytest.raises(SchemaError, match=r"'\.\./x\.proto' is not a file name"):
        compiled(RegisteredSchema(1, "", "PROTOBUF", references=(("../x.proto", ""),)))


ORDER = of(
    "message Order {"
    " int64 id = 1; uint64 big = 2; E e = 3; optional string note = 4; repeated I items = 5;"
    " map<string, double> prices = 6; oneof paid { string iban = 7; I card = 8; }"
    " google.protobuf.Timestamp at = 9; google.protobuf.Int32Value count = 10; google.type.Date day = 11;"
    " google.protobuf.Struct extra = 12; google.protobuf.Empty gift = 13; bytes raw = 14;"
    f" {DECIMAL.replace('f = 1', 'price = 15')} google.type.TimeOfDay clock = 16; I inner = 17;"
    "} message I { int32 a = 1; } message Other { message Deep { int32 a = 1; } } enum E { A = 0; B = 1; }"
)


def message(name: str, schema: RegisteredSchema = ORDER) -> Any:
    """An empty message, of a class of its own."""
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(compiled(schema)).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()


def test_value_of_every_type() -> None:
    order = message("shop.Order")
    order.id, order.big, order.e, order.note, order.raw = -1, 2**63 - 1, 1, "", b"\0\xff"
    order.items.add().a = 5
    order.items.add()
    order.prices["k"] = 0.5
    order.card.a = 7
    order.at.seconds, order.at.nanos = -1, 999_999_999
    order.count.value = 0
    order.day.year, order.day.month, order.day.day = 1969, 7, 20
    order.extra["x"] = [1, "y"]
    order.gift.SetInParent()
    order.price.value, order.price.scale = (-1234).to_bytes(2, "big", signed=True), 2
    order.clock.hours = 1
    assert message_reader(compiled(ORDER)).read(b"\0" + order.SerializeToString()) == {
        "id": -1,
        "big": 2**63 - 1,
        "e": "B",
        "note": "",
        "items": [{"a": 5}, {"a": 0}],
        "prices": [("k", 0.5)],
        "paid": {"card": {"a": 7}},
        "at": -1,
        "count": 0,
        "day": -165,
        "extra": '{"x": [1.0, "y"]}',
        "gift": True,
        "raw": b"\0\xff",
        "price": Decimal("-12.34"),
        "clock": 3_600_000_000,
        "inner": None,
    }


def test_empty_message_has_defaults_and_nulls() -> None:
    value = message_reader(compiled(ORDER)).read(b"\0")
    empty = {"id": 0, "big": 0, "e": "A", "items": [], "prices": [], "raw": b""}
    assert value == dict.fromkeys(value) | empty


def test_unknown_fields_and_values_of_enums() -> None:
    wider = of("message Order { int64 id = 1; int32 e = 3; string new = 99; }")
    order = message("shop.Order", wider)
    order.id, order.e, order.new = 1, 5, "x"
    value = message_reader(compiled(ORDER)).read(b"\0" + order.SerializeToString())
    assert (value["id"], value["e"]) == (1, "5")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "it ends within the indexes of its message"),
        (b"\x80", "it ends within the indexes of its message"),
        (b"\x02\x02", r"its message is shop\.I, and the table is of shop\.Order, the first of the schema"),
        (b"\x04\x04\x00", r"its message is shop\.Other\.Deep, and"),
        (b"\x02\x40", r"its message is that of the indexes \[32\], which the schema does not have"),
        (b"\x01", "it does not begin with the indexes of its message"),
        (b"\0\x08", r"its bytes are not shop\.Order"),
        (b"\0\x22\x05ab", r"its bytes are not shop\.Order"),
        # A string that is not UTF-8.
        (b"\0\x22\x02\xff\xfe", r"its bytes are not shop\.Order"),
        (b"\0\x10" + b"\xff" * 9 + b"\x01", "18446744073709551615 is over 9223372036854775807"),
        # 12.345 where a decimal(10,2) is due.
        (
            b"\0\x7a\x06\x0a\x02\x30\x39\x18\x03",
            r"its field price is 12\.345, which is not a decimal\(10,2\)",
        ),
    ],
)
def test_body_that_is_no_value_has_a_reason(body: bytes, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        message_reader(compiled(ORDER)).read(body)


@pytest.mark.parametrize(
    ("declared", "body"),
    [
        ("optional string f = 1;", b"\x0a\x02\xff\xfe"),
        ("repeated string f = 1;", b"\x0a\x01a\x0a\x02\xff\xfe"),
        ("map<string, int32> f = 1;", b"\x0a\x06\x0a\x02\xff\xfe\x10\x01"),
        ("map<int32, string> f = 1;", b"\x0a\x06\x08\x01\x12\x02\xff\xfe"),
        ("oneof u { string f = 1; }", b"\x0a\x02\xff\xfe"),
        # A surrogate.
        ("optional string f = 1;", b"\x0a\x03\xed\xa0\x80"),
    ],
)
def test_text_of_proto2_that_is_no_utf8_has_a_reason(declared: str, body: bytes) -> None:
    reader = message_reader(compiled(of(f"message M {{ {declared} }}", syntax="proto2")))
    with pytest.raises(ValueError, match=r"(its field (u\.)?f\S*|a key of a map in it) is not valid UTF-8"):
        reader.read(b"\0" + body)


def test_decimal_of_connects_default_precision_has_all_digits_that_there_are() -> None:
    wide = DECIMAL.replace('"10"', '"64"')
    reader = message_reader(compiled(of(f"message M {{ {wide} }}")))
    assert spelled(reader.type) == "struct<f: decimal(38,2)>"
    unscaled = (10**38).to_bytes(17, "big", signed=True)
    with pytest.raises(ValueError, match=r"which is not a decimal\(38,2\)"):
        reader.read(b"\0\x0a\x15\x0a\x11" + unscaled + b"\x18\x02")


@pytest.mark.parametrize("seconds", [2**63 - 1, -(2**63), 10**13])
def test_time_that_no_column_holds_has_a_reason(seconds: int) -> None:
    reader = message_reader(compiled(of("message M { google.protobuf.Timestamp at = 1; }")))
    time = Timestamp(seconds=seconds).SerializeToString()
    with pytest.raises(ValueError, match=f"{seconds} seconds are beyond what a timestamp holds"):
        reader.read(b"\0\x0a" + bytes([len(time)]) + time)


@pytest.mark.parametrize(
    ("name", "indexes", "columns"),
    [
        ("", b"\0", "struct<a: int>"),
        ("shop.First", b"\0", "struct<a: int>"),
        ("shop.Second", b"\x02\x02", "struct<first: struct<a: int>>"),
        ("shop.Second.Deep", b"\x04\x02\x00", "struct<b: int>"),
        ("shop.Second.Deep.Deeper", b"\x06\x02\x00\x02", "struct<c: map<string, int>>"),
    ],
)
def test_message_is_the_one_that_is_named(name: str, indexes: bytes, columns: str) -> None:
    schema = of(
        "message First { int32 a = 1; } message Second { First first = 1; message Deep { int32 b = 1;"
        " message Other { int32 x = 1; } message Deeper { map<string, int32> c = 1; } } }"
    )
    reader = message_reader(compiled(schema), name)
    assert spelled(reader.type) == columns
    assert reader.read(indexes) is not None
    other = b"\x02\x02" if indexes != b"\x02\x02" else b"\0"
    with pytest.raises(ValueError, match=r"its message is shop\.\w+, and the table is of shop\."):
        reader.read(other)


def test_message_that_the_schema_does_not_have_is_an_error() -> None:
    with pytest.raises(SchemaError, match=r"has no message Order\.") as raised:
        own_type(of("message A { message B {} map<string, B> c = 1; }"), message="Order")
    assert raised.value.hint == "It has shop.A, shop.A.B: name one of them in full as protobuf_message."


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("map<string, confluent.type.Decimal> f = 1", "map<string, decimal(10,2)>"),
        ("map<int32, confluent.type.Decimal> f = 1", "map<int, decimal(10,2)>"),
        ("repeated confluent.type.Decimal f = 1", "list<decimal(10,2)>"),
    ],
)
def test_decimal_within_a_container_has_the_parameters_of_its_field(declared: str, value: str) -> None:
    statement = DECIMAL.replace("confluent.type.Decimal f = 1", declared)
    schema = of(f"message M {{ {statement} }}")
    reader = message_reader(compiled(schema))
    assert spelled(reader.type) == f"struct<f: {value}>"
    found, cents = message("shop.M", schema), (-1234).to_bytes(2, "big", signed=True)
    one = found.f.add() if "repeated" in declared else found.f["k" if "string" in declared else 1]
    one.value, one.scale = cents, 2
    (read,) = reader.read(b"\0" + found.SerializeToString())["f"]
    assert (read if "repeated" in declared else read[1]) == Decimal("-12.34")


def test_indexes_of_the_first_message_in_full() -> None:
    assert message_reader(compiled(ORDER)).read(b"\x02\x00\x08\x05")["id"] == 5
