"""The fields of JSON Schemas are those of the mapping that creates tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.schema_fields import (
    MAX_COLUMNS,
    column_types,
    columns_of,
    exceeds_limits,
    fields_of,
)
from lineage_bridge_dagster.confluent.graph.type_mapping import Match, compare, compare_columns
from lineage_bridge_dagster.lineage.nodes import Field

STRING, INTEGER, NULL = ({"type": each} for each in ("string", "integer", "null"))
ROW = {"type": "object", "properties": {"id": STRING, "n": INTEGER}}
FIELDS = [{"name": "id", "type": "string"}, {"name": "n", "type": "integer"}]


def of(document: Any, kind: str = "JSON") -> Schema:
    text = document if isinstance(document, str) else json.dumps(document)
    return Schema(subject="o-value", version=1, id=1, schema_type=kind, text=text)


@pytest.mark.parametrize(
    "document",
    [
        ROW,
        {"allOf": [{"type": "object", "properties": {"id": STRING}}, {"properties": {"n": INTEGER}}]},
        {"$ref": "#/definitions/Order", "definitions": {"Order": ROW}},
        {"$ref": "#/$defs/Order", "$defs": {"Order": {"$ref": "#/$defs/Row"}, "Row": ROW}},
        {"oneOf": [NULL, ROW]},
        {"anyOf": [{"$ref": "#/d/Row"}, NULL], "d": {"Row": ROW}},
        {**ROW, "anyOf": [{"required": ["id"]}, {"required": ["n"]}]},
        {"type": "object", "properties": {"id": STRING}, "oneOf": [{"properties": {"n": INTEGER}}]},
        {"allOf": [ROW, {"properties": {"n": {"minimum": 1}}}]},
        {**ROW, "type": ["object", "null"]},
        # What is registered elsewhere is not here; the rest is.
        {**ROW, "allOf": [{"$ref": "base.json"}]},
    ],
)
def test_fields_of_the_root(document: Any) -> None:
    assert fields_of(of(document)) == FIELDS
    assert column_types(of(document)) == {"id": "string", "n": "long"}
    assert columns_of(of(document)) == FIELDS
    assert not exceeds_limits(of(document))


@pytest.mark.parametrize("document", [STRING, {"type": "array", "items": ROW}, {}, [], "{", True])
def test_what_is_no_object_has_no_fields(document: Any) -> None:
    assert (fields_of(of(document)), columns_of(of(document)), column_types(of(document))) == ([], [], {})


@pytest.mark.parametrize(
    ("schema", "glue", "match"),
    [
        ({**INTEGER, "anyOf": [{"minimum": 10}, {"multipleOf": 2}]}, "bigint", Match.SAME),
        ({**INTEGER, "anyOf": [{"minimum": 10}, {"multipleOf": 2}]}, "string", Match.DIFFERENT),
        ({**STRING, "oneOf": [{"format": "date"}, {"format": "date-time"}]}, "string", Match.SAME),
        ({"allOf": [INTEGER, {"minimum": 1}]}, "bigint", Match.SAME),
        ({"allOf": [ROW, {"required": ["id"]}]}, "struct<id:string,n:bigint>", Match.SAME),
        ({**ROW, "anyOf": [{"required": ["id"]}, {"required": ["n"]}]}, "string", Match.DIFFERENT),
        ({"oneOf": [STRING, INTEGER]}, "string", Match.UNKNOWN),
        ({"$ref": "elsewhere.json"}, "string", Match.UNKNOWN),
        ({"$ref": "#"}, "string", Match.UNKNOWN),
    ],
)
def test_types_of_columns(schema: Any, glue: str, match: Match) -> None:
    document = of({"properties": {"f": schema, "g": INTEGER}})
    fields = [Field(each["name"], each["type"]) for each in fields_of(document)]
    found = compare_columns(fields, [Field("f", glue), Field("g", "bigint")], column_types(document))
    assert [each.match for each in found] == [match, Match.SAME]


@pytest.mark.parametrize(
    ("schema", "spelled"),
    [
        ({**STRING, "anyOf": [{"format": "date"}, {"format": "date-time"}]}, "string"),
        ({**INTEGER, "allOf": [{"minimum": 1}]}, "integer"),
        ({"oneOf": [NULL, {"$ref": "#/d/Row"}]}, "Row"),
        ({"type": "array", "items": {"$ref": "#/d/Row"}}, "array<Row>"),
        ({"oneOf": [NULL, {"type": "array", "items": {"$ref": "#/d/Row"}}]}, "array<Row>"),
        ({"allOf": [{"$ref": "#/d/Row"}]}, "object"),
        ({"oneOf": [STRING, {"$ref": "#/d/Row"}]}, "union<string,Row>"),
        ({"type": ["string", "integer", "null"]}, "union<string,integer>"),
        ({"type": "object"}, "object"),
        ({}, "unknown"),
        (
            {
                "type": "array",
                "connect.type": "map",
                "items": {"properties": {"key": INTEGER, "value": STRING}},
            },
            "map<integer,string>",
        ),
    ],
)
def test_types_in_the_words_of_the_schema(schema: Any, spelled: str) -> None:
    assert fields_of(of({"properties": {"f": schema}, "d": {"Row": ROW}}))[0]["type"] == spelled


def test_nested_columns_are_those_of_the_table() -> None:
    document = {
        "allOf": [{"properties": {"to": {"$ref": "#/d/Row"}}}],
        "properties": {
            "lines": {"oneOf": [NULL, {"type": "array", "items": {"allOf": [{"$ref": "#/d/Row"}]}}]},
            "tags": {"type": "object", "additionalProperties": {"$ref": "#/d/Row"}},
        },
        "d": {"Row": ROW},
    }
    found = [each["name"] for each in columns_of(of(document))]
    assert found == ["lines", "lines.element.id", "lines.element.n", "tags", "tags.value.id", "tags.value.n",
                     "to", "to.id", "to.n"]  # fmt: skip


def diamond(levels: int) -> Any:
    definitions: dict[str, Any] = {f"L{levels}": STRING}
    for n in range(levels):
        below = {"$ref": f"#/d/L{n + 1}"}
        definitions[f"L{n}"] = {"properties": {"l": below, "r": below}}
    return {"properties": {"id": INTEGER, "f": {"$ref": "#/d/L0"}}, "d": definitions}


@pytest.mark.parametrize(
    ("kind", "document", "fields"),
    [
        ("JSON", diamond(40), ["id", "f"]),
        ("JSON", '{"properties": {"a": ' * 300 + "{}" + "}}" * 300, ["a"]),
        ("JSON", '{"properties": {"a": ' * 3000 + "{}" + "}}" * 3000, []),
        ("JSON", '{"properties": {"a": ' + '{"oneOf": [' * 400 + "{}" + "]}" * 400 + "}}", ["a"]),
        ("AVRO", '{"type": "array", "items": ' * 3000 + '"int"' + "}" * 3000, []),
    ],
)
def test_schema_that_exceeds_the_limits_has_the_fields_that_could_be_read(
    kind: str, document: Any, fields: list[str]
) -> None:
    schema = of(document, kind)
    assert [each["name"] for each in fields_of(schema)] == fields
    assert len(columns_of(schema)) <= MAX_COLUMNS
    assert all(
        compare(each, "date") in (Match.UNKNOWN, Match.DIFFERENT) for each in column_types(schema).values()
    )
    assert exceeds_limits(schema)


def test_oneofs_in_oneofs_of_a_protobuf_file_end() -> None:
    text = "message M { int32 id = 1; " + "oneof a { " * 3000 + "}" * 3000 + " }"
    assert fields_of(of(text, "PROTOBUF"))[0] == {"name": "id", "type": "int32"}
