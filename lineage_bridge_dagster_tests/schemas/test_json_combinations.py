"""All keywords of a JSON Schema apply to a value, and those that only constrain change no type.

Sources: "Understanding JSON Schema" (combining, conditionals, references), the test suite of JSON Schema
(allOf, anyOf, oneOf, ref), and the tests of Connect's `JsonSchemaData`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.schemas.columns import own_type
from lineage_bridge_dagster.schemas.json_nodes import JsonNode
from lineage_bridge_dagster.schemas.json_schema import json_node
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster.schemas.types import spelled

STRING, INTEGER, NUMBER, NULL = ({"type": each} for each in ("string", "integer", "number", "null"))
ROW = {"type": "object", "properties": {"a": STRING, "b": INTEGER}}
CONNECT = "org.apache.kafka.connect.data."
INT32 = {"type": "integer", "connect.type": "int32"}
LATEST = "https://json-schema.org/draft/2020-12/schema"


def of(schema: Any) -> RegisteredSchema:
    return RegisteredSchema(1, json.dumps(schema), "JSON")


def columns(schema: Any) -> str:
    return spelled(own_type(of(schema)))


def field(schema: Any, **root: Any) -> str:
    """The type of a property `f`."""
    found = columns({"type": "object", "properties": {"f": schema}, **root})
    return found.removeprefix("struct<f: ").removesuffix(">")


CONSTRAINTS = [
    {"required": ["a"]},
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"allOf": [{"required": ["a"]}, {"minProperties": 1}]},
    {"not": {"required": ["b"]}},
    {"not": {"properties": {"c": STRING}}},
    {"if": {"properties": {"a": {"const": "x"}}}, "then": {"required": ["b"]}, "else": {"maxProperties": 1}},
    {"if": {"properties": {"c": STRING}}, "then": {"properties": {"a": {"minLength": 3}}}},
    {"then": {"properties": {"c": STRING}}},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"properties": {"b": {"minimum": 1}}}}},
    {"dependencies": {"a": ["b"]}},
    {"propertyNames": {"pattern": "^[a-z]$"}},
    {"additionalProperties": False},
    {"unevaluatedProperties": False},
    {"patternProperties": {"^x-": STRING}},
    {"const": {"a": "x"}},
    {"enum": [{"a": "x"}, {"a": "y"}]},
    {"anyOf": [{"properties": {"a": {"minLength": 1}}}, {"properties": {"b": {"minimum": 1}}}]},
    {"oneOf": [{"properties": {"a": {"const": "x"}}}, {"properties": {"a": {"enum": ["y", "z"]}}}]},
    {"allOf": [{"if": {"required": ["a"]}, "then": {"required": ["b"]}}, True, {}]},
    {"anyOf": [{"anyOf": [{"required": ["a"]}]}, {"allOf": [{"required": ["b"]}]}]},
    {"$comment": "c", "title": "T", "description": "d", "examples": [{}], "default": {}},
    {"allOf": [{"type": "object"}], "anyOf": [{"required": ["a"]}], "oneOf": [{"required": ["b"]}]},
    {"allOf": [{"$ref": "#/definitions/Check"}]},
    {"anyOf": [{"$ref": "#/definitions/Check"}, {"required": ["b"]}]},
]


@pytest.mark.parametrize("more", CONSTRAINTS)
def test_what_only_constrains_changes_no_column(more: dict[str, Any]) -> None:
    definitions = {"Check": {"required": ["a"]}}
    assert columns({**ROW, **more, "definitions": definitions}) == "struct<a: string, b: long>"
    nested = {"definitions": definitions}
    assert field({**ROW, **more}, **nested) == "struct<a: string, b: long>"
    optional = {**ROW, **more, "type": ["object", "null"]}
    assert field(optional, **nested) == "struct<a: string, b: long>"
    assert field({"type": "array", "items": {**ROW, **more}}, **nested) == "list<struct<a: string, b: long>>"
    assert field({"oneOf": [NULL, {**ROW, **more}]}, **nested) == "struct<a: string, b: long>"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({**STRING, "anyOf": [{"format": "date"}, {"format": "date-time"}]}, "string"),
        ({**STRING, "oneOf": [{"pattern": "^A"}, {"maxLength": 0}]}, "string"),
        ({**STRING, "anyOf": [{"const": "x"}, {"minLength": 3}]}, "string"),
        ({**STRING, "anyOf": [STRING, {"format": "ipv4"}]}, "string"),
        ({**STRING, "not": {"const": "x"}}, "string"),
        ({**STRING, "if": {"minLength": 3}, "then": {"pattern": "x"}}, "string"),
        ({**STRING, "contentMediaType": "application/json", "contentSchema": ROW}, "string"),
        ({"type": ["string", "null"], "anyOf": [{"format": "uuid"}, {"maxLength": 3}]}, "string"),
        ({"type": ["string", "null"], "enum": ["a", None]}, "string"),
        ({**INTEGER, "anyOf": [{"minimum": 10}, {"multipleOf": 2}]}, "long"),
        ({**INTEGER, "oneOf": [{"enum": [1, 2]}, {"minimum": 10}]}, "long"),
        ({**INTEGER, "allOf": [{"minimum": 1}, {"maximum": 9}]}, "long"),
        ({**INTEGER, "enum": [1, 2]}, "long"),
        ({**NUMBER, "enum": [1, 2]}, "double"),
        ({**NUMBER, "const": 1}, "double"),
        ({**INT32, "allOf": [{"minimum": 1}]}, "int"),
        ({"allOf": [INT32, {"minimum": 1}]}, "int"),
        ({"allOf": [{"minimum": 1}, INT32]}, "int"),
        ({"allOf": [{**INT32, "title": f"{CONNECT}Date"}, {"minimum": 1}]}, "date"),
        ({"oneOf": [NULL, INT32], "description": "d"}, "int"),
        ({"oneOf": [NULL, INT32], "connect.index": 3}, "int"),
        ({"allOf": [NUMBER, INTEGER]}, "long"),
        ({"allOf": [NUMBER], "oneOf": [INTEGER, {"type": "number", "minimum": 9}]}, "double"),
        ({**NUMBER, "oneOf": [INTEGER]}, "long"),
        ({"type": ["string", "integer"], "anyOf": [STRING, {**STRING, "minLength": 2}]}, "string"),
        ({"type": ["string", "integer"], "allOf": [{"type": ["integer", "boolean"]}]}, "long"),
        (
            {"type": ["string", "integer"], "anyOf": [{"minLength": 3}, {"minimum": 3}]},
            "struct<connect_union_field_0: string, connect_union_field_1: long>",
        ),
        (
            {"type": ["string", "integer"],
             "oneOf": [{**STRING, "title": "name"}, {**INTEGER, "title": "number"}]},
            "struct<connect_union_field_0: string, connect_union_field_1: long>",
        ),
        # Alternatives that the type rules out are none.
        ({**STRING, "oneOf": [STRING, INTEGER]}, "string"),
        ({"type": "boolean", "anyOf": [{"const": True}, {"const": False}]}, "boolean"),
        ({"type": "array", "items": STRING, "anyOf": [{"minItems": 1}, {"contains": {"const": "x"}}]},
         "list<string>"),
        ({"type": "array", "items": STRING, "allOf": [{"items": {"minLength": 1}}]}, "list<string>"),
        ({"type": "array", "allOf": [{"items": ROW}], "uniqueItems": True},
         "list<struct<a: string, b: long>>"),
        ({"allOf": [{"type": "array", "items": {"properties": {"a": STRING}}},
                    {"items": {"properties": {"b": INTEGER}}}]},
         "list<struct<a: string, b: long>>"),
        ({"type": "array", "prefixItems": [STRING], "items": STRING}, "list<string>"),
        ({"type": "array", "prefixItems": [INTEGER], "items": NUMBER}, "list<double>"),
        ({"type": "array", "items": ROW, "contains": {"required": ["b"]}},
         "list<struct<a: string, b: long>>"),
        ({"type": "object", "additionalProperties": INTEGER, "minProperties": 1}, "map<string, long>"),
        ({"type": "object", "additionalProperties": INTEGER, "propertyNames": {"pattern": "x"}},
         "map<string, long>"),
        ({"type": "object", "additionalProperties": INTEGER, "anyOf": [{"required": ["a"]}]},
         "map<string, long>"),
        ({"allOf": [{"type": "object", "additionalProperties": {}},
                    {"additionalProperties": {"type": "integer"}}]},
         "map<string, long>"),
        ({"allOf": [{"additionalProperties": INTEGER}, {"additionalProperties": {"minimum": 1}}]},
         "map<string, long>"),
        ({"type": "object", "additionalProperties": INTEGER, "patternProperties": {"^n": NUMBER}},
         "map<string, double>"),
    ],
)  # fmt: skip
def test_type_of_a_value_with_several_keywords(schema: Any, expected: str) -> None:
    assert field(schema) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        # Properties of all parts, the object's own first.
        ({"allOf": [{"properties": {"b": STRING}}], "properties": {"a": STRING}}, "a: string, b: string"),
        ({"allOf": [ROW, {"allOf": [{"properties": {"c": STRING}}]}]}, "a: string, b: long, c: string"),
        ({"allOf": [{"properties": {"a": NUMBER}}, {"properties": {"a": INTEGER}}]}, "a: long"),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"a": ROW}}]},
         "a: struct<a: string, b: long>"),
        ({"allOf": [{"properties": {"a": {"properties": {"x": STRING}}}},
                    {"properties": {"a": {"properties": {"y": STRING}, "required": ["x"]}}}]},
         "a: struct<x: string, y: string>"),
        ({"allOf": [{"properties": {"a": {"type": ["string", "null"]}}}, {"properties": {"a": STRING}}]},
         "a: string"),
        # Those of alternatives beside own ones, as in Connect's collectPropertySchemas.
        ({**ROW, "anyOf": [{"properties": {"c": STRING}}, {"properties": {"d": NUMBER}}]},
         "a: string, b: long, c: string, d: double"),
        ({**ROW, "oneOf": [{"required": ["b"]}, {"properties": {"c": STRING}, "required": ["c"]}]},
         "a: string, b: long, c: string"),
        ({**ROW, "oneOf": [{"$ref": "#/definitions/C"}, {"$ref": "#/definitions/D"}],
          "definitions": {"C": {"type": "object", "properties": {"c": STRING}},
                          "D": {"type": "object", "properties": {"d": STRING}}}},
         "a: string, b: long, c: string, d: string"),
        ({**ROW, "oneOf": [{"properties": {"a": {"const": "x"}, "c": STRING}},
                           {"properties": {"a": {"const": "y"}, "c": STRING}}]},
         "a: string, b: long, c: string"),
        ({**ROW, "oneOf": [{"properties": {"c": INTEGER}}, {"properties": {"c": NUMBER}}]},
         "a: string, b: long, c: double"),
        ({**ROW, "oneOf": [{"properties": {"c": STRING}}, {"properties": {"c": INTEGER}}]},
         "a: string, b: long, c: struct<connect_union_field_0: string, connect_union_field_1: long>"),
        ({**ROW, "anyOf": [{"oneOf": [{"properties": {"c": STRING}}, {"properties": {"d": STRING}}]},
                           {"properties": {"e": STRING}}]},
         "a: string, b: long, c: string, d: string, e: string"),
        ({"allOf": [{"$ref": "#/definitions/Base"},
                    {"oneOf": [{"properties": {"c": STRING}}, {"properties": {"d": STRING}}]}],
          "definitions": {"Base": ROW}},
         "a: string, b: long, c: string, d: string"),
        ({"oneOf": [{"properties": {"a": STRING}}, {"properties": {"b": STRING}}],
          "anyOf": [{"properties": {"c": STRING}}, {"required": ["a"]}]},
         "a: string, b: string, c: string"),
        ({**ROW, "anyOf": [{"properties": {"a": {"type": "string", "format": "x"}}}, NULL]},
         "a: string, b: long"),
        # Those of conditions: without a column, their values would be lost.
        ({**ROW, "if": {"required": ["a"]}, "then": {"properties": {"c": STRING}}},
         "a: string, b: long, c: string"),
        ({**ROW, "allOf": [{"if": {"required": [each]}, "then": {"properties": {f"{each}_of": ROW}}}
                           for each in "ab"]},
         "a: string, b: long, a_of: struct<a: string, b: long>, b_of: struct<a: string, b: long>"),
        ({**ROW, "if": {"required": ["a"]}, "then": {"properties": {"c": STRING}},
          "else": {"properties": {"c": INTEGER, "d": NUMBER}}},
         "a: string, b: long, c: struct<connect_union_field_0: string, connect_union_field_1: long>, "
         "d: double"),
        ({**ROW, "if": {"required": ["a"]}, "then": {"properties": {"c": STRING}},
          "else": {"if": {"required": ["b"]}, "then": {"properties": {"d": STRING}}}},
         "a: string, b: long, c: string, d: string"),
        # No two conditions need to agree.
        ({**ROW, "allOf": [{"if": {"properties": {"a": {"const": each}}}, "then": {"properties": {"c": kind}}}
                           for each, kind in (("x", STRING), ("y", INTEGER))]},
         "a: string, b: long, c: struct<connect_union_field_0: string, connect_union_field_1: long>"),
        ({**ROW, "properties": {"a": STRING, "c": {"type": "object"}},
          "allOf": [{"if": {"required": ["a"]}, "then": {"properties": {"c": {"properties": {"x": STRING}}}}},
                    {"if": {"required": ["b"]}, "then": {"properties": {"c": {"properties": {"x": ROW}}}}}]},
         "a: string, c: string"),
        ({**ROW, "dependentSchemas": {"a": {"properties": {"c": STRING}}}}, "a: string, b: long, c: string"),
        ({**ROW, "dependencies": {"a": {"properties": {"c": STRING}}, "b": ["a"]}},
         "a: string, b: long, c: string"),
        ({"properties": {"p": {"if": {"required": ["a"]}, "then": ROW}}}, "p: string"),
        # What an alternative says of a property whose type the object has does not bind the others.
        ({"properties": {"a": {"type": ["string", "integer"]}},
          "oneOf": [{"properties": {"a": STRING}}, {"required": ["x"]}]},
         "a: struct<connect_union_field_0: string, connect_union_field_1: long>"),
        ({"properties": {"a": {"type": ["string", "integer"]}},
          "oneOf": [{"properties": {"a": STRING}}, {"properties": {"a": {**STRING, "minLength": 1}}}]},
         "a: string"),
        # The keywords of an object that is an alternative itself.
        ({"properties": {"p": {"oneOf": [NULL, {**ROW, "anyOf": CONSTRAINTS[1]["anyOf"]}]}}},
         "p: struct<a: string, b: long>"),
        ({"properties": {"p": {"type": "object", "oneOf": [
            {"title": "x", "properties": {"a": STRING}}, {"title": "y", "properties": {"b": STRING}}]}}},
         "p: struct<connect_union_field_0: struct<a: string>, connect_union_field_1: struct<b: string>>"),
        ({"properties": {"p": {"required": ["id"], "oneOf": [
            {"title": "x", "properties": {"a": STRING}}, {"title": "y", "properties": {"b": STRING}}]}}},
         "p: struct<connect_union_field_0: struct<a: string>, connect_union_field_1: struct<b: string>>"),
        # Alternatives of the root, and of what is referred to.
        ({"oneOf": [{"title": "x", **ROW}, {"title": "y", "properties": {"c": STRING}}]},
         "connect_union_field_0: struct<a: string, b: long>, connect_union_field_1: struct<c: string>"),
        ({"properties": {"p": {"$ref": "#/d/U"}, "q": {"$ref": "#/d/T"}},
          "d": {"U": {"oneOf": [{"title": "x", "$ref": "#/d/R"},
                                {"title": "y", "properties": {"c": STRING}}]},
                "T": {"type": ["string", "boolean"]}, "R": ROW}},
         "p: struct<connect_union_field_0: struct<a: string, b: long>, "
         "connect_union_field_1: struct<c: string>>, "
         "q: struct<connect_union_field_0: string, connect_union_field_1: boolean>"),
        # References.
        ({"$ref": "#/definitions/R", "definitions": {"R": ROW}}, "a: string, b: long"),
        # A type that extends another one, with a property of that type, does not contain itself.
        ({"allOf": [{"$ref": "#/definitions/R"}], "properties": {"c": {"$ref": "#/definitions/R"}},
          "definitions": {"R": ROW}},
         "c: struct<a: string, b: long>, a: string, b: long"),
        ({"properties": {"p": {"allOf": [{"$ref": "#/definitions/R"},
                                         {"properties": {"c": {"$ref": "#/definitions/R"}}}]}},
          "definitions": {"R": ROW}},
         "p: struct<a: string, b: long, c: struct<a: string, b: long>>"),
        ({"allOf": [{"$ref": "#/definitions/R"}, {"$ref": "#/definitions/R"}], "definitions": {"R": ROW}},
         "a: string, b: long"),
        ({"$schema": LATEST, "$ref": "#/$defs/R", "properties": {"c": STRING}, "$defs": {"R": ROW}},
         "a: string, b: long, c: string"),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "$ref": "#/$defs/R",
          "allOf": [{"properties": {"c": STRING}}], "$defs": {"R": ROW}},
         "a: string, b: long, c: string"),
        ({"$schema": LATEST, "properties": {"p": {"$ref": "#/$defs/S", "maxLength": 5, "description": "d"}},
          "$defs": {"S": STRING}},
         "p: string"),
        ({"$schema": LATEST, "properties": {"p": {"$ref": "#/$defs/R", "required": ["a"]}},
          "$defs": {"R": ROW}},
         "p: struct<a: string, b: long>"),
        *(({"$schema": f"http://json-schema.org/draft-0{draft}/schema#", "$ref": "#/definitions/R",
            "properties": {"c": STRING}, "definitions": {"R": ROW}},
           "a: string, b: long") for draft in (4, 6, 7)),
    ],
)  # fmt: skip
def test_columns_of_an_object_with_several_keywords(schema: Any, expected: str) -> None:
    assert columns(schema) == f"struct<{expected}>"


def test_required_properties_add_up() -> None:
    schema = {
        "properties": dict.fromkeys("abcd", STRING),
        "required": ["a"],
        "allOf": [{"required": ["b"]}],
        "anyOf": [{"required": ["c"]}, {"required": ["c", "d"]}],
    }
    node = json_node(of(schema))
    assert [each.name for each in node.properties if each.required] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("schema", "nullable"),
    [
        ({"type": ["string", "null"]}, True),
        ({"oneOf": [NULL, STRING]}, True),
        ({**ROW, "type": ["object", "null"], "anyOf": [{"required": ["a"]}]}, True),
        ({"properties": {"a": STRING}, "anyOf": [NULL, {"required": ["a"]}]}, True),
        ({"enum": ["a", None]}, True),
        ({**STRING, "enum": ["a", None]}, False),
        ({"allOf": [{"type": ["string", "null"]}, STRING]}, False),
        ({"allOf": [{"type": ["string", "null"]}, {"minLength": 1}]}, True),
        ({**STRING, "oneOf": [NULL, {"minLength": 1}]}, False),
    ],
)
def test_null_is_what_all_keywords_permit(schema: Any, nullable: bool) -> None:
    assert json_node(of(schema)).nullable is nullable


def test_constants_of_references_and_parts_tell_alternatives_apart() -> None:
    schema = {
        "oneOf": [
            {"allOf": [{"$ref": "#/d/K"}], "properties": {"a": STRING}},
            {"properties": {"kind": {"allOf": [{"const": "z"}]}, "b": STRING}},
        ],
        "d": {"K": {"properties": {"kind": {"const": "k"}}}},
    }
    found = [each.node.constants for each in json_node(of(schema)).properties]
    assert found == [(("kind", "k"),), (("kind", "z"),)]


def test_connects_map_with_keys_that_are_no_strings() -> None:
    def entries(key: Any, value: Any) -> Any:
        inner = {"type": "object", "properties": {"key": key, "value": value}}
        return {"type": "array", "connect.type": "map", "items": inner}

    assert field(entries(INT32, ROW)) == "map<int, struct<a: string, b: long>>"
    assert field({"oneOf": [NULL, entries(ROW, STRING)]}) == "map<struct<a: string, b: long>, string>"
    assert field(entries(INTEGER, entries({"type": "boolean"}, STRING))) == (
        "map<long, map<boolean, string>>"
    )
    # Spark has no maps as keys.
    assert field(entries(entries(INTEGER, STRING), STRING)).startswith("list<struct<key: map<long")
    assert field({**entries(INT32, ROW), "connect.type": "array"}).startswith("list<struct<key: int")


def size(node: JsonNode) -> int:
    return 1 + sum(map(size, node.nodes()))


def test_size_and_height_count_all_levels() -> None:
    node = json_node(of({"properties": {"r": ROW, "l": {"type": "array", "items": ROW}}}))
    assert (node.size, node.height) == (size(node), 3) == (8, 3)
