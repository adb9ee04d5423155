"""A schema that is too deep or too large is an error of its own, and soon found, in every format."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.columns import own_type, value_type
from lineage_bridge_dagster.schemas.errors import LimitError
from lineage_bridge_dagster.schemas.schemas import PROTOBUF, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.schemas.types import spelled

#: Levels of references, each twice to the next.
LEVELS = 28


def own(text: Any, kind: str) -> str:
    body = text if isinstance(text, str) else json.dumps(text)
    return spelled(own_type(RegisteredSchema(1, body, kind)))


def diamond(shape: Any, levels: int = LEVELS, leaf: Any = None) -> dict[str, Any]:
    """A JSON Schema of levels that refer twice to the next; `shape` makes one of two references."""
    names = [f"L{n}" for n in range(levels)]
    definitions = {name: shape({"$ref": f"#/d/{below}"}) for name, below in pairwise(names)}
    definitions[names[-1]] = leaf or {"properties": {"a": {"type": "string"}}}
    return {"type": "object", "properties": {"f": {"$ref": "#/d/L0"}}, "d": definitions}


@pytest.mark.parametrize(
    "shape",
    [
        lambda below: {"allOf": [below, dict(below)]},
        lambda below: {"allOf": [{"allOf": [below]}, {"allOf": [dict(below)]}]},
        lambda below: {"anyOf": [below, dict(below)]},
        lambda below: {"allOf": [below, {"minProperties": 1}], "anyOf": [dict(below), {"required": ["a"]}]},
    ],
)
def test_references_that_multiply_without_fields_cost_nothing(shape: Any) -> None:
    assert own(diamond(shape), "JSON") == "struct<f: struct<a: string>>"


@pytest.mark.parametrize(
    "shape",
    [
        lambda below: {"properties": {"l": below, "r": dict(below)}},
        lambda below: {"properties": {"l": {"type": "array", "items": below}, "r": dict(below)}},
        lambda below: {"additionalProperties": {"properties": {"l": below, "r": dict(below)}}},
        lambda below: {"allOf": [{"properties": {"l": below}}, {"properties": {"r": dict(below)}}]},
        lambda below: {"oneOf": [{"title": "l", "properties": {"x": below}},
                                 {"title": "r", "properties": {"y": dict(below)}}]},
        lambda below: {"anyOf": [{"type": "array", "items": below}, {"properties": {"y": dict(below)}}]},
    ],
)  # fmt: skip
def test_references_that_multiply_fields_are_an_error(shape: Any) -> None:
    with pytest.raises(LimitError) as raised:
        own(diamond(shape, 20), "JSON")
    assert raised.value.hint


def test_choices_side_by_side_do_not_multiply() -> None:
    choice = [{"properties": {f"p{n}": {"type": "string"}}} for n in range(10)]
    schema = {"allOf": [{"oneOf": [dict(each) for each in choice]} for _ in range(40)]}
    assert own(schema, "JSON").count("string") == 10
    either = [{"anyOf": [{"type": "string", "minLength": n}, {"type": "integer"}]} for n in range(60)]
    assert own({"properties": {"a": {"allOf": either}}}, "JSON") == (
        "struct<a: struct<connect_union_field_0: string, connect_union_field_1: long>>"
    )
    tags = [{"anyOf": [{"items": {"type": "string", "minLength": n}}, {"maxItems": n}]} for n in range(60)]
    assert own({"properties": {"a": {"type": "array", "allOf": tags}}}, "JSON") == "struct<a: list<string>>"
    checks = [{"anyOf": [{"minimum": n}, {"multipleOf": n}]} for n in range(1, 60)]
    assert own({"properties": {"a": {"type": "integer", "allOf": checks}}}, "JSON") == "struct<a: long>"


@pytest.mark.parametrize("levels", [types.MAX_DEPTH + 2, 100, 400, 490, 100_000])
@pytest.mark.parametrize(
    ("kind", "opening", "middle", "closing"),
    [
        ("JSON", '{"properties": {"a": ', '{"type": "string"}', "}}"),
        ("JSON", '{"items": ', '{"type": "string"}', "}"),
        ("JSON", '{"additionalProperties": ', '{"type": "string"}', "}"),
        ("JSON", '{"oneOf": [{"type": "null"}, ', '{"type": "string"}', "]}"),
        ("AVRO", '{"type": "array", "items": ', '"string"', "}"),
        ("AVRO", '{"type": "map", "values": ', '"string"', "}"),
        ("AVRO", '{"type": "array", "items": ["null", ', '"string"', "]}"),
    ],
)
def test_deep_nesting_is_an_error(kind: str, opening: str, middle: str, closing: str, levels: int) -> None:
    with pytest.raises(LimitError, match="deeper than"):
        own(opening * levels + middle + closing * levels, kind)


@pytest.mark.parametrize("word", ["allOf", "type"])
def test_nesting_that_adds_no_level_may_be_deep(word: str) -> None:
    opening, middle, closing, kind = '{"allOf": [', '{"type": "string"}', "]}", "JSON"
    if word == "type":
        opening, middle, closing, kind = '{"type": ', '"string"', "}", "AVRO"
    assert own(opening * 200 + middle + closing * 200, kind) == "string"


def test_avro_types_that_are_used_twice_on_each_level_are_an_error() -> None:
    schema: Any = {"type": "record", "name": "R0", "fields": [{"name": "a", "type": "string"}]}
    for n in range(1, LEVELS):
        fields = [{"name": "l", "type": schema}, {"name": "r", "type": ["null", f"R{n - 1}"]}]
        schema = {"type": "record", "name": f"R{n}", "fields": fields}
    with pytest.raises(LimitError, match="counting a type wherever it is used"):
        own(schema, "AVRO")


@pytest.mark.parametrize("inside", ["M{} l = 1; M{} r = 2;", "oneof o {{ M{} l = 1; M{} r = 2; }}",
                                    "repeated M{} l = 1; map<string, M{}> r = 2;"])  # fmt: skip
def test_protobuf_messages_that_are_used_twice_on_each_level_are_an_error(inside: str) -> None:
    levels = 15
    messages = [f"message M{n} {{ {inside.format(n + 1, n + 1)} }}" for n in range(levels)]
    text = 'syntax = "proto3"; package p; ' + " ".join(messages) + f" message M{levels} {{ string a = 1; }}"
    with pytest.raises(LimitError, match="counting a type wherever it is used"):
        own(text, "PROTOBUF")


def test_chain_of_protobuf_messages_is_an_error() -> None:
    messages = " ".join(f"message M{n} {{ M{n + 1} m = 1; }}" for n in range(600))
    with pytest.raises(LimitError, match="deeper than"):
        own(f'syntax = "proto3"; {messages} message M600 {{ string a = 1; }}', "PROTOBUF")


def test_fields_that_a_protobuf_message_gained_count_for_each_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(types, "MAX_FIELDS", 15)
    bodies = ["", "", "", "", " ".join(f"string f{n} = {n + 1};" for n in range(10))]
    schemas = tuple(
        RegisteredSchema(
            id_, f'syntax = "proto3"; message M {{ G g = 1; }} message G {{ {body} }} // {id_}', PROTOBUF
        )
        for id_, body in enumerate(bodies)
    )
    found = value_type(SubjectSchemas("s-value", schemas))
    assert found is not None
    assert (found.errors, found.promoted) == ({}, {0, 1, 2, 3})


def test_large_schema_without_repetition_is_no_error() -> None:
    row = {"type": "object", "properties": {f"c{n}": {"type": "integer"} for n in range(100)}}
    schema = {
        "type": "object",
        "properties": {f"r{n}": {"$ref": "#/d/R"} for n in range(90)},
        "d": {"R": row},
    }
    assert own(schema, "JSON").count("long") == 9000
