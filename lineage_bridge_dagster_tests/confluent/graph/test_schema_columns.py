from __future__ import annotations

import json
from typing import Any

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.schema_fields import MAX_COLUMNS, columns_of


def columns(text: Any, kind: str = "AVRO") -> list[tuple[str, str, str]]:
    body = text if isinstance(text, str) else json.dumps(text)
    schema = Schema(subject="orders-value", version=1, id=1, schema_type=kind, text=body)
    return [(row["name"], row["type"], row.get("comment", "")) for row in columns_of(schema)]


LINE = {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]}
ADDRESS = {
    "type": "record",
    "name": "Address",
    "fields": [{"name": "city", "type": "string", "doc": "As  the\ncarrier spells it"}],
}


def test_nested_avro_fields_follow_their_record_with_doc_strings() -> None:
    record = {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long", "doc": "The key"},
            {"name": "to", "type": ["null", ADDRESS], "doc": "Where to"},
            {"name": "from", "type": "Address"},
            {"name": "lines", "type": {"type": "array", "items": LINE}},
            {"name": "by_kind", "type": {"type": "map", "values": "Line"}},
            {"name": "either", "type": ["string", ADDRESS]},
        ],
    }
    assert columns(record) == [
        ("id", "long", "The key"),
        ("to", "record<city:string>", "Where to"),
        ("to.city", "string", "As the carrier spells it"),
        ("from", "Address", ""),
        ("from.city", "string", "As the carrier spells it"),
        ("lines", "array<record<sku:string>>", ""),
        ("lines.element.sku", "string", ""),
        ("by_kind", "map<string,Line>", ""),
        ("by_kind.value.sku", "string", ""),
        ("either", "union<string,record<city:string>>", ""),
    ]


def test_a_name_is_that_of_its_namespace_in_every_form_of_its_use() -> None:
    a, b = ({"type": "record", "name": f"{of}.T", "fields": [{"name": of, "type": "int"}]} for of in "ab")
    kinds = [a, b, "a.T", {"type": "b.T"}, {"type": "array", "items": {"type": "a.T"}}, "T"]
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(kinds)]
    found = columns({"type": "record", "name": "R", "fields": fields})
    assert [name for name, _, _ in found if "." in name] == ["f0.a", "f1.b", "f2.a", "f3.b", "f4.element.a"]


def test_an_error_is_a_record_and_a_type_may_be_wrapped() -> None:
    error = {"type": "error", "name": "E", "fields": [{"name": "code", "type": "int"}]}
    record = {"type": {"type": "record", "name": "R", "fields": [{"name": "e", "type": {"type": error}}]}}
    assert columns(record) == [("e", "record<code:int>", ""), ("e.code", "int", "")]


def test_recursive_record_terminates() -> None:
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "value", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
    }
    found = columns(node)
    assert found[:4] == [
        ("value", "int", ""),
        ("next", "Node", ""),
        ("next.value", "int", ""),
        ("next.next", "Node", ""),
    ]
    assert len(found) < 30


def test_json_schema_properties_have_their_descriptions() -> None:
    document = {
        "properties": {
            "id": {"type": "integer", "description": "The key"},
            "to": {"type": "object", "properties": {"city": {"type": "string", "title": "City"}}},
            "lines": {"type": "array", "items": {"properties": {"sku": {"type": "string"}}}},
        }
    }
    assert columns(document, "JSON") == [
        ("id", "integer", "The key"),
        ("to", "object", ""),
        ("to.city", "string", "City"),
        ("lines", "array<object>", ""),
        ("lines.element.sku", "string", ""),
    ]


def test_protobuf_shows_its_first_message() -> None:
    assert columns("message Order { int64 id = 1; string note = 2; }", "PROTOBUF") == [
        ("id", "int64", ""),
        ("note", "string", ""),
    ]


def test_invalid_schema_has_no_columns() -> None:
    for text in ("{", "[]", '"string"', '{"type": "record"}', '{"fields": [1, {"name": null}]}'):
        assert columns(text) == []
        assert columns(text, "JSON") == []


def test_huge_schema_is_truncated() -> None:
    record = {
        "type": "record",
        "name": "R",
        "fields": [{"name": f"f{i}", "type": "int"} for i in range(9999)],
    }
    assert len(columns(record)) == MAX_COLUMNS
