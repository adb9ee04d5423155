"""What readers with an old schema make of new records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.impact.change import SchemaChange
from lineage_bridge_dagster.impact.old_readers import reader_deltas
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster_tests.impact.conftest import Judge, avro, world

MILLIS, MICROS = ({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("millis", "micros"))
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}


def found(old: str, new: str, kind: str = "AVRO") -> list[str]:
    schemas = (RegisteredSchema(1, text, kind) for text in (old, new))
    return [f"{each.kind} {each.column}" for each in reader_deltas(*schemas)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (MILLIS, MICROS, ["misread x"]),
        (MICROS, "long", []),
        (MONEY, {**MONEY, "precision": 12}, []),
        (MONEY, {**MONEY, "scale": 3}, ["misread x"]),
        ("long", "int", []),
        ("int", "long", ["unresolved x"]),
    ],
)
def test_avro_resolves_numbers_whatever_they_count(before: Any, after: Any, expected: list[str]) -> None:
    assert found(avro(x=before), avro(x=after)) == expected


def proto(fields: str) -> str:
    return f'syntax = "proto3"; package shop; message Order {{ string id = 1; {fields} }}'


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("string note = 2;", "string note = 3;", ["renumbered note"]),
        ("string note = 2;", "string remark = 2;", []),
        ("string a = 2; string b = 3;", "string a = 3; string b = 2;", ["misread a", "misread b"]),
        ("string a = 2; string b = 3;", "string b = 2;", ["misread a", "renumbered b"]),
        ("string note = 2;", "", []),
        ("string note = 2;", "oneof contact { string note = 2; }", []),
        ("int32 qty = 2;", "int64 qty = 2;", []),
        ("int32 qty = 2;", "sint32 qty = 2;", ["misread qty"]),
        ("int32 qty = 2;", "string qty = 2;", ["unseen qty"]),
        ("message I { int32 n = 1; } I i = 2;", "message I { int32 n = 5; } I i = 2;", ["renumbered i.n"]),
    ],
)
def test_protobuf_knows_fields_by_their_numbers(before: str, after: str, expected: list[str]) -> None:
    assert found(proto(before), proto(after), "PROTOBUF") == expected


def test_json_properties_may_be_absent_unless_they_are_required() -> None:
    def of(kind: str, required: list[str]) -> str:
        properties = {"id": {"type": "string"}, "n": {"type": kind}}
        return json.dumps({"type": "object", "properties": properties, "required": required})

    assert found(of("integer", ["id"]), of("number", ["id"]), "JSON") == ["unresolved n"]
    assert found(of("number", ["id"]), of("integer", ["id"]), "JSON") == []
    assert found(of("number", ["id", "n"]), of("number", ["id"]), "JSON") == ["unresolved n"]


SQL = {"s": "INSERT INTO sink SELECT id, note FROM orders"}


@pytest.mark.parametrize(
    ("after", "topic", "sink", "table"),
    [
        ("string note = 3;", "loses_data", "loses_data", ""),
        ("string remark = 2;", "loses_data", "", "breaks"),
        ("oneof contact { string note = 2; }", "loses_data", "", "breaks"),
        ("", "loses_data", "loses_data", "breaks"),
    ],
)
def test_a_table_goes_by_names_and_a_statement_by_numbers(
    judge: Judge, after: str, topic: str, sink: str, table: str
) -> None:
    before = world(
        {"sink": avro(id="string", note="string?")}, statements=SQL, tableflow={"orders": "APPEND"}
    )
    subject = {
        "subject": "orders-value",
        "type": "PROTOBUF",
        "version": 1,
        "schema": proto("string note = 2;"),
    }
    before = {**before, "topics": ["orders", "sink"], "schemas": [*before["schemas"], subject]}
    judged = judge(before, SchemaChange("orders-value", proto(after), "PROTOBUF"))
    nodes = ("topic : orders", "topic : sink", "glue : lake.orders")
    assert [judged.get(node, ("", None))[0] for node in nodes] == [topic, sink, table]


def test_a_statement_passes_on_numbers_of_another_unit(judge: Judge) -> None:
    before = world(
        {"orders": avro(id="string", note=MILLIS), "sink": avro(id="string", note=MILLIS)}, statements=SQL
    )
    judged = judge(before, SchemaChange("orders-value", avro(id="string", note=MICROS)))
    assert judged["topic : orders"] == ("changes_type", "note")
    assert judged["statement : s"] == ("changes_meaning", "note")
    assert judged["topic : sink"] == ("changes_meaning", "note")


@pytest.mark.parametrize(
    ("title", "column", "expected"),
    [
        ("Sale", "id", {}),
        (
            "Order",
            "total",
            {
                "topic : orders": ("loses_data", "connect_union_field_0.id"),
                "statement : s": ("loses_data", "id"),
                "topic : sink": ("loses_data", "id"),
            },
        ),
    ],
)
def test_the_alternatives_of_a_json_schema_go_by_their_place_and_not_by_their_titles(
    judge: Judge, title: str, column: str, expected: dict[str, Any]
) -> None:
    def text(title: str, column: str) -> str:
        order = {"title": title, "type": "object", "properties": {column: {"type": "string"}}}
        refund = {"title": "Refund", "type": "object", "properties": {"reason": {"type": "string"}}}
        return json.dumps({"oneOf": [order, refund]})

    statement = {"s": "INSERT INTO sink SELECT connect_union_field_0.id FROM orders"}
    before = world({"sink": avro(id="string?"), "orders": ""}, statements=statement)
    before["schemas"][1] |= {"type": "JSON", "schema": text("Order", "id")}
    assert judge(before, SchemaChange("orders-value", text(title, column), "JSON")) == expected
