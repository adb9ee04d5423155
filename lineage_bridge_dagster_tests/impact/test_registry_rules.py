"""Which versions a subject takes, and which records an old reader reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.impact.registry_rules import rejection, unreadable
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster_tests.impact.conftest import avro

OLD = {"id": "string", "qty": "int", "note": "string?"}
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}


def schema(text: str, version: int = 1) -> RegisteredSchema:
    return RegisteredSchema(version, text, version=version)


@pytest.mark.parametrize(
    ("new", "backward", "forward"),
    [
        ({**OLD, "new": "string?"}, "", ""),
        ({**OLD, "new": "string"}, "new", ""),
        ({"id": "string", "note": "string?"}, "", "qty"),
        ({"id": "string", "qty": "int"}, "", ""),
        ({**OLD, "qty": "long"}, "", "qty"),
        ({**OLD, "qty": "string"}, "qty", "qty"),
        ({**OLD, "id": "bytes"}, "", ""),
        ({**OLD, "qty": "int?"}, "", "qty"),
        ({**OLD, "note": "string"}, "note", ""),
        ({**OLD, "qty": ["int", "string"]}, "", "qty"),
        (dict(reversed(OLD.items())), "", ""),
    ],
)
def test_the_rules_of_avro(new: dict[str, Any], backward: str, forward: str) -> None:
    subject, version = SubjectSchemas("s", (schema(avro(**OLD)),)), schema(avro(**new), 2)
    for mode, expected in (
        ("BACKWARD", backward),
        ("FORWARD", forward),
        ("FULL", backward or forward),
        ("NONE", ""),
    ):
        problem = rejection(subject, version, mode)
        assert (problem.column if problem else "") == expected, mode


@pytest.mark.parametrize(
    ("before", "after", "reads"),
    [
        (ENUM, {**ENUM, "symbols": ["A"]}, True),
        (ENUM, {**ENUM, "symbols": ["A", "B", "C"]}, False),
        ({**ENUM, "default": "A"}, {**ENUM, "symbols": ["A", "B", "C"]}, True),
        ({"type": "array", "items": "long"}, {"type": "array", "items": "int"}, True),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "long"}, False),
    ],
)
def test_an_old_reader_resolves_nested_types(before: Any, after: Any, reads: bool) -> None:
    assert (unreadable(schema(avro(x=before)), schema(avro(x=after))) is None) is reads


def test_a_transitive_mode_asks_all_versions() -> None:
    versions = (schema(avro(id="string"), 1), schema(avro(id="string", x=("string", "")), 2))
    subject, new = SubjectSchemas("s", versions), schema(avro(id="string", x="string"), 3)
    assert rejection(subject, new, "BACKWARD") is None
    problem = rejection(subject, new, "BACKWARD_TRANSITIVE")
    assert problem is not None
    assert problem.column == "x"
    assert "version 1" in problem.reason


def test_names_and_aliases_of_records_and_fields() -> None:
    old = json.loads(avro(cust_id="string"))
    renamed = {**old, "name": "Other"}
    moved = {**old, "namespace": "com.acme"}
    aliased = {**old, "fields": [{"name": "customer", "type": "string", "aliases": ["cust_id"]}]}
    texts = {name: schema(json.dumps(each)) for name, each in locals().items() if isinstance(each, dict)}
    assert unreadable(texts["old"], texts["renamed"]) is not None
    assert unreadable(texts["old"], texts["moved"]) is None
    assert unreadable(texts["aliased"], texts["old"]) is None
    assert unreadable(texts["old"], texts["aliased"]) is not None


def test_other_formats() -> None:
    def of(kind: str, required: list[str]) -> RegisteredSchema:
        properties = {"id": {"type": "string"}, "n": {"type": kind}}
        text = json.dumps({"type": "object", "properties": properties, "required": required})
        return RegisteredSchema(1, text, "JSON")

    assert unreadable(of("integer", ["id"]), of("number", ["id"])) is not None
    assert unreadable(of("number", ["id"]), of("integer", ["id"])) is None
    assert unreadable(of("number", ["id", "n"]), of("number", ["id"])) is not None
    proto = RegisteredSchema(2, 'syntax = "proto3"; message M { string id = 1; }', "PROTOBUF")
    problem = rejection(SubjectSchemas("s", (of("number", []),)), proto, "BACKWARD")
    assert problem is not None
    assert problem.column is None
