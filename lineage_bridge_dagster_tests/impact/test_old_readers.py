"""Which records an old reader reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.impact.old_readers import unreadable
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster_tests.impact.conftest import avro

ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}


def schema(text: str, version: int = 1) -> RegisteredSchema:
    return RegisteredSchema(version, text, version=version)


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
