"""JSON Schemas of every draft have the types that Connect and Flink give them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.schemas.columns import own_type
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.json_schema import json_node
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster.schemas.types import spelled


def of(schema: Any, *references: tuple[str, Any]) -> RegisteredSchema:
    texts = tuple((name, json.dumps(text)) for name, text in references)
    return RegisteredSchema(1, json.dumps(schema), "JSON", references=texts)


def field(schema: Any, *references: tuple[str, Any], **root: Any) -> str:
    """The type of a property `f`."""
    found = own_type(of({"type": "object", "properties": {"f": schema}, **root}, *references))
    return spelled(found).removeprefix("struct<f: ").removesuffix(">")


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}
CONNECT = "org.apache.kafka.connect.data."


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date-time"}, "string"),
        ({"type": "integer"}, "long"),
        ({"type": "number"}, "double"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "null"}, "string"),
        ({"type": ["string", "null"]}, "string"),
        ({"type": ["integer", "number"]}, "double"),
        ({"type": "integer", "connect.type": "int8"}, "int"),
        ({"type": "integer", "connect.type": "int32"}, "int"),
        ({"type": "integer", "connect.type": "int64"}, "long"),
        ({"type": "number", "connect.type": "int64"}, "long"),
        ({"type": "number", "connect.type": "float32"}, "float"),
        ({"type": "string", "connect.type": "bytes"}, "binary"),
        ({"type": "integer", "connect.type": "int32", "title": f"{CONNECT}Date"}, "date"),
        ({"type": "integer", "connect.type": "int32", "title": f"{CONNECT}Time"}, "int"),
        ({"type": "integer", "connect.type": "int64", "title": f"{CONNECT}Timestamp"}, "timestamptz"),
        (
            {"type": "number", "title": f"{CONNECT}Timestamp", "flink.type": "timestamp"},
            "timestamp",
        ),
        ({"type": "number", "connect.type": "int64", "flink.type": "timestamp"}, "timestamp"),
        (
            {
                "type": "string",
                "connect.type": "bytes",
                "title": f"{CONNECT}Decimal",
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
            },
            "decimal(10,2)",
        ),
        # Connect's default precision is more than there is.
        (
            {
                "type": "number",
                "connect.type": "bytes",
                "title": f"{CONNECT}Decimal",
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "64"},
            },
            "decimal(38,2)",
        ),
        # A title of one's own is not a type.
        ({"type": "integer", "title": "Date"}, "long"),
        ({"enum": ["a", "b"]}, "string"),
        ({"enum": [1, 2]}, "long"),
        ({"enum": ["a", 1]}, "string"),
        ({"const": True}, "boolean"),
        (OBJECT, "struct<a: string>"),
        ({"properties": {"a": {"type": "string"}}}, "struct<a: string>"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map<string, long>"),
        (
            {"type": "object", "connect.type": "map", "additionalProperties": OBJECT},
            "map<string, struct<a: string>>",
        ),
        ({"type": "object"}, "string"),
        ({"type": "object", "additionalProperties": True}, "string"),
        ({}, "string"),
        (True, "string"),
        ({"type": "array", "items": {"type": "integer"}}, "list<long>"),
        ({"type": "array"}, "list<string>"),
        ({"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}, "list<string>"),
        ({"type": "array", "prefixItems": [{"type": "integer"}]}, "list<string>"),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, "long"),
        ({"anyOf": [OBJECT, {"type": "null"}]}, "struct<a: string>"),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "struct<connect_union_field_0: string, connect_union_field_1: long>",
        ),
        (
            {"oneOf": [{"type": "null"}, {"title": "card", **OBJECT}, {"title": "iban", "type": "string"}]},
            "struct<connect_union_field_0: struct<a: string>, connect_union_field_1: string>",
        ),
        (
            {"type": ["string", "integer", "null"]},
            "struct<connect_union_field_0: string, connect_union_field_1: long>",
        ),
        (
            {"allOf": [OBJECT, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}]},
            "struct<a: string, b: long>",
        ),
        (
            {
                "type": "object",
                "properties": {
                    "z": {"type": "string", "connect.index": 0},
                    "a": {"type": "string", "connect.index": 1},
                },
            },
            "struct<z: string, a: string>",
        ),
    ],
)
def test_type(schema: Any, expected: str) -> None:
    assert field(schema) == expected


def test_required_properties_that_cannot_be_null_are_required() -> None:
    properties = {name: {"type": "string"} for name in "ab"} | {"c": {"type": ["string", "null"]}}
    found: Any = own_type(of({"type": "object", "properties": properties, "required": ["a", "c"]}))
    assert [each.required for each in found.fields] == [True, False, False]


def test_descriptions_are_docs() -> None:
    found: Any = own_type(of({"properties": {"a": {"type": "string", "description": "A letter."}}}))
    assert found.fields[0].doc == "A letter."


@pytest.mark.parametrize(
    ("reference", "root"),
    [
        ("#/definitions/Money", {"definitions": {"Money": OBJECT}}),
        ("#/$defs/a~1b", {"$defs": {"a/b": OBJECT}}),
        ("#/definitions/A%20B", {"definitions": {"A B": OBJECT}}),
        ("#money", {"$defs": {"Money": {"$anchor": "money", **OBJECT}}}),
        ("#money", {"definitions": {"Money": {"$id": "#money", **OBJECT}}}),
        ("money.json", {"$id": "http://shop/order.json", "$defs": {"M": {"$id": "money.json", **OBJECT}}}),
        ("http://shop/money.json", {"$defs": {"M": {"$id": "http://shop/money.json", **OBJECT}}}),
        ("#/definitions/Money", {"id": "http://shop/order.json", "definitions": {"Money": OBJECT}}),
    ],
)
def test_references_within_a_schema(reference: str, root: Any) -> None:
    assert field({"$ref": reference}, **root) == "struct<a: string>"


@pytest.mark.parametrize(
    ("reference", "documents", "root"),
    [
        ("money.json", [("money.json", OBJECT)], {}),
        ("money.json#/definitions/M", [("money.json", {"definitions": {"M": OBJECT}})], {}),
        # The name of a reference is relative to no base.
        ("money.json", [("money.json", OBJECT)], {"$id": "http://shop/order.json"}),
        ("http://shop/money.json", [("money.json", {"$id": "http://shop/money.json", **OBJECT})], {}),
        # A reference's own references.
        ("a.json", [("a.json", {"$ref": "b.json"}), ("b.json", OBJECT)], {}),
        ("a.json", [("a.json", {"$ref": "#/$defs/X", "$defs": {"X": OBJECT}})], {}),
    ],
)
def test_references_to_other_schemas(reference: str, documents: Any, root: Any) -> None:
    assert field({"$ref": reference}, *documents, **root) == "struct<a: string>"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "#"}, "Field f has the type #, which contains itself"),
        (
            {"type": "array", "items": {"$ref": "#/definitions/Tree"}},
            r"Field f\.element\.next has the type #/definitions/Tree, which contains itself",
        ),
        (
            {"$ref": "money.json"},
            r"Field f refers to money\.json, which is not among",
        ),
        (
            {"$ref": "#/definitions/Missing"},
            "Field f refers to #/definitions/Missing, where",
        ),
        ({"$ref": "#missing"}, "Field f refers to the anchor #missing"),
        (
            {"properties": {"a": {"type": "string"}, "A": {"type": "string"}}},
            r"Field f\.A has the name of field f\.a, but for its case",
        ),
    ],
)
def test_error_names_the_field(schema: Any, message: str) -> None:
    tree = {"properties": {"next": {"$ref": "#/definitions/Tree"}}}
    with pytest.raises(SchemaError, match=message) as raised:
        field(schema, definitions={"Tree": tree})
    assert raised.value.hint


@pytest.mark.parametrize("text", ["", "{", "[1]", "5", '"a"', '{"properties": 5}'])
def test_malformed_schema_is_an_error(text: str) -> None:
    with pytest.raises(SchemaError):
        json_node(RegisteredSchema(1, text, "JSON"))


def test_alternatives_of_an_older_table_are_named_by_titles_that_no_other_one_has() -> None:
    schema = {
        "oneOf": [
            {"title": "money", "type": "string"},
            {"title": "Money", "type": "number"},
            {"title": "note", "type": "boolean"},
        ]
    }
    found = own_type(RegisteredSchema(1, json.dumps(schema), "JSON", first_format=True))
    assert spelled(found) == (
        "struct<connect_union_field_0: string, connect_union_field_1: double, note: boolean>"
    )
