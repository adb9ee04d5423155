"""Avro schemas have the types of the Iceberg specification, as far as Spark writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.schemas.avro import avro_type
from lineage_bridge_dagster.schemas.errors import SchemaError

NO_FIELDS = "True where the record is set: it has no fields. Fields that it gains need a new column."


def spelled(schema: Any) -> str:
    """The type of a field `f`, without field ids."""
    record = {"type": "record", "name": "R", "namespace": "shop", "fields": [{"name": "f", "type": schema}]}
    kind, required = avro_type(json.dumps(record))
    assert required
    return str(kind).removeprefix("struct<0: f: ").removesuffix(">").replace("0: ", "")


def entries(name: str, key: Any = "int", **more: Any) -> dict[str, Any]:
    """An array of records with a key and a value."""
    fields = [{"name": "key", "type": key}, {"name": "value", "type": ["null", "string"]}]
    return {"type": "array", "items": {"type": "record", "name": name, "fields": fields, **more}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("boolean", "required boolean"),
        ("int", "required int"),
        ("long", "required long"),
        ("float", "required float"),
        ("double", "required double"),
        ("bytes", "required binary"),
        ("string", "required string"),
        ({"type": "string"}, "required string"),
        (["null", "string"], "optional string"),
        (["string", "null"], "optional string"),
        (["null"], "optional string"),
        ("null", "optional string"),
        (["long"], "required long"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "required string"),
        ({"type": "fixed", "name": "F", "size": 16}, "required binary"),
        ({"type": "array", "items": "long"}, "required list<long>"),
        ({"type": "array", "items": ["null", "long"]}, "required list<long>"),
        ({"type": "map", "values": ["null", "long"]}, "required map<string, long>"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}, "required decimal(10, 2)"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 10}, "required decimal(10, 0)"),
        (
            {"type": "fixed", "name": "D", "size": 9, "logicalType": "decimal", "precision": 20, "scale": 4},
            "required decimal(20, 4)",
        ),
        # Connect's default precision, and more than there are.
        ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}, "required decimal(38, 2)"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 38},
            "required decimal(38, 38)",
        ),
        # Decimals that are none to Avro: without a precision, a scale beyond it, a fixed of too few bytes.
        ({"type": "bytes", "logicalType": "decimal"}, "required binary"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 5}, "required binary"),
        (
            {"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 10},
            "required binary",
        ),
        ({"type": "record", "name": "Empty", "fields": []}, f"required boolean ({NO_FIELDS})"),
        (["null", {"type": "record", "name": "Empty", "fields": []}], f"optional boolean ({NO_FIELDS})"),
        ({"type": "int", "logicalType": "date"}, "required date"),
        ({"type": "int", "logicalType": "time-millis"}, "required int"),
        ({"type": "long", "logicalType": "time-micros"}, "required long"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "required timestamptz"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "required timestamptz"),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, "required timestamp"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "required timestamp"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, "required long"),
        # A logical type of another Avro type is ignored.
        ({"type": "string", "logicalType": "date"}, "required string"),
        ({"type": "string", "logicalType": "uuid"}, "required string"),
        (
            ["null", {"type": "long", "logicalType": "timestamp-millis"}],
            "optional timestamptz",
        ),
        ({"type": {"type": "array", "items": "string"}}, "required list<string>"),
        # Several types, numbers too: a row of alternatives, one of which is set.
        (["int", "long"], "required struct<int: optional int, long: optional long>"),
        (["null", "float", "double"], "optional struct<float: optional float, double: optional double>"),
        (["long", "double"], "required struct<long: optional long, double: optional double>"),
        (
            [{"type": "int", "logicalType": "date"}, "long"],
            "required struct<int: optional date, long: optional long>",
        ),
        (["null", "string", "int"], "optional struct<string: optional string, int: optional int>"),
        (
            ["string", {"type": "record", "name": "Card", "fields": [{"name": "n", "type": "int"}]}],
            "required struct<string: optional string, Card: optional struct<n: required int>>",
        ),
        # Alternatives of the same name in two namespaces.
        (
            [
                {"type": "enum", "name": "a.E", "symbols": ["X"]},
                {"type": "enum", "name": "E", "namespace": "b", "symbols": ["Y"]},
            ],
            "required struct<a.E: optional string, b.E: optional string>",
        ),
        # What Connect writes for a map whose keys are no text; of another namespace, it is a list.
        (entries("io.confluent.connect.avro.MapEntry"), "required map<int, string>"),
        (entries("Renamed", **{"connect.internal.type": "MapEntry"}), "required map<int, string>"),
        ({**entries("shop.Pair"), "logicalType": "map"}, "required map<int, string>"),
        (entries("shop.MapEntry"), "required list<struct<key: required int, value: optional string>>"),
        (
            entries("io.confluent.connect.avro.MapEntry", key={"type": "map", "values": "int"}),
            "required list<struct<key: required map<string, int>, value: optional string>>",
        ),
    ],
)
def test_type(schema: Any, expected: str) -> None:
    assert spelled(schema) == expected


def test_named_types_are_found_in_their_namespace() -> None:
    address = {"type": "record", "name": "Address", "fields": [{"name": "zip", "type": "string"}]}
    fields = [
        {"name": "home", "type": address, "doc": "Where they live."},
        {"name": "work", "type": ["null", "Address"]},
        {"name": "other", "type": "shop.Address"},
    ]
    record = {"type": "record", "name": "R", "namespace": "shop", "fields": fields}
    kind, _ = avro_type(json.dumps(record))
    assert str(kind).replace("0: ", "") == (
        "struct<home: required struct<zip: required string> (Where they live.), "
        "work: optional struct<zip: required string>, other: required struct<zip: required string>>"
    )


INNER = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # A name may come before its type, and a namespace of null is that of the record around it.
        (["Inner", INNER], "a: required struct<x: required int>, b: required struct<x: required int>"),
        (
            [{**INNER, "namespace": None}, ["null", "shop.Inner"]],
            "a: required struct<x: required int>, b: optional struct<x: required int>",
        ),
        # An empty one is none, for the types within it too.
        (
            [{**INNER, "namespace": ""}, ["null", "Inner"]],
            "a: required struct<x: required int>, b: optional struct<x: required int>",
        ),
        # Of two alternatives of one name, one has its namespace from the record.
        (
            ["int", [{**INNER, "name": "E"}, {**INNER, "name": "other.E"}]],
            "a: required int, b: required struct<shop.E: optional struct<x: required int>, "
            "other.E: optional struct<x: required int>>",
        ),
    ],
)
def test_names_are_resolved_as_apache_avro_does(fields: list[Any], expected: str) -> None:
    named = [{"name": name, "type": kind} for name, kind in zip("ab", fields, strict=True)]
    record = {"type": "record", "name": "R", "namespace": "shop", "fields": named}
    assert str(avro_type(json.dumps(record))[0]).replace("0: ", "") == f"struct<{expected}>"


def test_record_without_fields_that_is_the_whole_value_has_no_columns() -> None:
    assert [str(part) for part in avro_type('{"type": "record", "name": "E", "fields": []}')] == [
        "struct<>",
        "True",
    ]


def test_value_that_is_no_record_has_its_type() -> None:
    assert [str(part) for part in avro_type('["null", "long"]')] == ["long", "False"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            [{"name": "next", "type": ["null", "R"]}],
            r"Field next has the type shop\.R, which contains itself",
        ),
        (
            [{"name": "all", "type": {"type": "array", "items": {"type": "map", "values": "R"}}}],
            r"Field all\.element\.value has the type shop\.R, which contains itself",
        ),
        (
            [{"name": "a", "type": "int"}, {"name": "A", "type": "int"}],
            "Field A has the name of field a, but",
        ),
        ([{"name": "a", "type": "int"}, {"name": "a", "type": "int"}], "Field a is there twice"),
        (
            [
                {
                    "name": "d",
                    "type": {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 40},
                }
            ],
            "Field d is a decimal with 40 digits after the point; Iceberg's have at most 38",
        ),
        (
            [
                {
                    "name": "d",
                    "type": {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 127},
                }
            ],
            "Field d is a decimal with 127 digits after the point",
        ),
        (
            [{"name": "a", "type": "Missing"}],
            "Field a has the type Missing, which the schema does not define",
        ),
        ([{"name": "", "type": "int"}], "Field '' has a name that is empty"),
        ([{"name": "a", "type": {"type": "fixed", "name": "F"}}], "Field a is a fixed without a valid size"),
        ([{"name": "a", "type": {"type": "array"}}], "Field a is a schema without items"),
        ([{"name": "a"}], "Field a has no type"),
        ([{"type": "int"}], "The schema has a field without a name"),
    ],
)
def test_error_names_the_field(fields: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as raised:
        avro_type(json.dumps({"type": "record", "name": "R", "namespace": "shop", "fields": fields}))
    assert raised.value.hint


def test_error_names_the_field_that_is_nested_too_deep() -> None:
    schema: Any = "string"
    for _ in range(40):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match=r"Field f\.element.* is nested deeper than 32 levels"):
        spelled(schema)


@pytest.mark.parametrize("text", ["", "{", "[]{", '"rekord"', '{"type": "rekord"}', "5"])
def test_malformed_schema_is_an_error(text: str) -> None:
    with pytest.raises(SchemaError):
        avro_type(text)
