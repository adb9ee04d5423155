"""The types of columns that the fields of JSON Schemas and Protobuf messages have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.schema_fields import column_types, fields_of
from lineage_bridge_dagster.confluent.graph.type_mapping import Match, compare, compare_columns
from lineage_bridge_dagster.lineage.nodes import Field
from lineage_bridge_dagster.schemas.columns import own_type
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema

_CONNECT = "org.apache.kafka.connect.data."


def schema(kind: str, text: str) -> Schema:
    return Schema(subject="t-value", version=1, id=1, schema_type=kind, text=text)


def json_schema(**properties: Any) -> str:
    return json.dumps({"type": "object", "properties": properties})


JSON_TEXT = json_schema(
    id={"type": "integer"},
    count={"oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32"}]},
    price={"type": "number"},
    cost={
        "type": "number",
        "title": f"{_CONNECT}Decimal",
        "connect.type": "bytes",
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "9"},
    },
    data={"type": "string", "connect.type": "bytes"},
    at={"type": "integer", "title": f"{_CONNECT}Timestamp"},
    clock={"type": "integer", "title": f"{_CONNECT}Time"},
    lines={"type": "array", "items": {"type": "object", "properties": {"Sku": {"type": "string"}}}},
    tags={"type": "object", "additionalProperties": {"type": "boolean"}},
    any={"type": "object"},
)
PROTO_TEXT = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/timeofday.proto";
message Order {
  uint32 id = 1;
  repeated sint64 lines = 2;
  map<string, int32> tags = 3;
  Status status = 4;
  google.protobuf.Timestamp at = 5;
  google.protobuf.BoolValue paid = 6;
  google.type.TimeOfDay clock = 7;
  oneof payment { string iban = 8; bytes token = 9; }
}
enum Status { NEW = 0; }
"""


@pytest.mark.parametrize(("kind", "text"), [("JSON", JSON_TEXT), ("PROTOBUF", PROTO_TEXT)])
def test_types_are_those_of_the_table_that_the_schema_makes(kind: str, text: str) -> None:
    """Each column that a load would create is the same, and another one is not."""
    types = column_types(schema(kind, text))
    table = own_type(RegisteredSchema(1, text, kind))
    columns = [Field(each.name, _in_glue(str(each.field_type))) for each in table.fields]  # type: ignore[attr-defined]
    fields = [Field(each["name"], each["type"]) for each in fields_of(schema(kind, text))]
    matches = compare_columns(fields, columns, types)
    assert {each.name: each.match for each in matches} == dict.fromkeys(types, Match.SAME)
    assert len(matches) == len(columns)
    wrong = [Field(each.name, "tinyint") for each in columns]
    assert {each.match for each in compare_columns(fields, wrong, types)} == {Match.DIFFERENT}


def _in_glue(kind: str) -> str:
    """An Iceberg type as Glue has it: `struct<1: a: optional long>`."""
    for before, after in (
        ("optional ", ""), ("required ", ""), ("long", "bigint"), ("timestamptz", "timestamp"),
        ("list<", "array<"), (" ", ""),
    ):  # fmt: skip
        kind = kind.replace(before, after)
    return kind.replace("0:", "").lower()


def test_times_may_be_numbers_or_texts() -> None:
    types = {**column_types(schema("JSON", JSON_TEXT)), **column_types(schema("PROTOBUF", PROTO_TEXT))}
    assert compare(types["clock"], "string") is Match.SAME
    assert compare(types["clock"], "bigint") is Match.SAME


@pytest.mark.parametrize(
    ("kind", "text", "field"),
    [
        ("JSON", json_schema(a={"oneOf": [{"type": "string"}, {"type": "integer"}]}), "a"),
        ("JSON", json_schema(a={"$ref": "elsewhere.json"}), "a"),
        ("JSON", "[", "a"),
        ("PROTOBUF", 'syntax = "proto3"; message M { other.Money a = 1; }', "a"),
        ("PROTOBUF", 'syntax = "proto3"; message M { Inner a = 1; message Inner { int32 b = 1; } }', "a"),
        ("AVRO", json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}), "a"),
    ],
)
def test_what_is_not_known_is_never_a_mismatch(kind: str, text: str, field: str) -> None:
    found = column_types(schema(kind, text)).get(field, "")
    assert compare(found, "binary") is Match.UNKNOWN
