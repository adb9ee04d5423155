"""The tables of Confluent's pages "CREATE TABLE" and "Handle multiple event types", and their like."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.inferred_tables import inferred_table
from lineage_bridge_dagster.confluent.graph.subjects import SubjectIndex
from lineage_bridge_dagster.sql.columns.tables import HIDDEN, Registered
from lineage_bridge_dagster.sql.columns.types import SqlType

Json = Any


def record(*fields: str | tuple[str, Json], name: str = "TestRecord", **more: Json) -> Json:
    """An Avro record; a field's type is `string` unless given."""
    typed = [(field, "string") if isinstance(field, str) else field for field in fields]
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": kind} for field, kind in typed],
        **more,
    }


def properties(*names: str, **more: Json) -> Json:
    """A JSON Schema of an object; its properties are strings unless given."""
    own = {name: {"type": "string"} for name in names} | more.pop("properties", {})
    return {"type": "object", "properties": own, **more}


def table(schemas: dict[str, Json], topic: str = "t", **options: str) -> Registered | None:
    """The table of a topic. A subject's schema is a text of Protobuf, or JSON, else a document of Avro."""
    registered = []
    for number, (subject, document) in enumerate(schemas.items()):
        kind, references = "AVRO", []
        if isinstance(document, tuple):
            document, *references = document
        if isinstance(document, str) and "message" in document:
            kind, text = "PROTOBUF", document
        else:
            if isinstance(document, dict) and document.keys() & {"properties", "oneOf", "$schema"}:
                kind = "JSON"
            text = json.dumps(document)
        registered.append(
            Schema.model_validate(
                {
                    "subject": subject,
                    "version": 1,
                    "id": number,
                    "schemaType": kind,
                    "schema": text,
                    "references": [{"name": n, "subject": s, "version": 1} for n, s in references],
                }
            )
        )
    index = SubjectIndex.of(registered)
    given = {key.replace("__", "."): value for key, value in options.items()}
    return inferred_table(topic, index.schemas_of(topic, {}), index.by_subject.get, given)


def star(found: Registered | None) -> list[str] | None:
    return None if found is None else [column.name for column in found.columns if column.how != HIDDEN]


def spelled(of: SqlType | None) -> str:
    if of is None:
        return "?"
    inner = ",".join(f"{name}:{spelled(part)}" if name else spelled(part) for name, part in of.parts)
    return f"{of.kind}<{inner}>" if inner else of.kind


ENVELOPE = record(
    ("before", ["null", record(("id", "int"), "name", "email", name="Value")]),
    ("after", ["null", "Value"]),
    ("source", record("version", "connector", ("ts_ms", "long"), "db", name="Source")),
    "op",
    ("ts_ms", ["null", "long"]),
    name="Customer",
    namespace="io.debezium.data",
)
JSON_ENVELOPE = properties(
    "op",
    properties={
        "before": {"oneOf": [{"type": "null"}, properties("id", "name")]},
        "after": {"oneOf": [{"type": "null"}, properties("id", "name")]},
        "source": properties("db"),
    },
    title="shop.public.customers.Envelope",
)
PROTO_ENVELOPE = """syntax = "proto3"; package a;
message Envelope {
  Value before = 1; Value after = 2; Source source = 3; string op = 4; int64 ts_ms = 5;
  message Value { int32 id = 1; string name = 2; }
  message Source { string db = 1; }
}"""
USER = record(("uid", "int"), "name", name="User")
ADDRESS = record("zip_code", name="Address")
PURCHASE = "message Purchase { string item = 1; double amount = 2; string customer_id = 3;"
PAGEVIEW = "message Pageview { string url = 1; bool is_special = 2; string customer_id = 3; }"
I_S = record(("i", "int"), "s")

TABLES: list[tuple[str, dict[str, Json], list[str] | None]] = [
    ("no schema at all", {}, None),
    ("a record without a key schema has a raw key", {"t-value": I_S}, ["key", "i", "s"]),
    ("an atomic key", {"t-key": "int", "t-value": I_S}, ["key", "i", "s"]),
    ("a raw key of the name of a field", {"t-value": record(("i", "int"), "key")}, ["key_key", "i", "key"]),
    (
        "an atomic key of the name of a field",
        {"t-key": "string", "t-value": record(("i", "int"), "key")},
        ["key_key", "i", "key"],
    ),
    (
        "a record key beside the value",
        {"t-key": record(("uid", "int")), "t-value": record("name", "zip_code")},
        ["uid", "name", "zip_code"],
    ),
    (
        "a key that the value contains",
        {"t-key": record(("uid", "int")), "t-value": record(("uid", "int"), "name", "zip_code")},
        ["uid", "name", "zip_code"],
    ),
    (
        "a key whose field has another type in the value",
        {"t-key": record(("uid", "int")), "t-value": record(("uid", "long"), "name")},
        ["key_uid", "uid", "name"],
    ),
    (
        "a key whose field may be null in the value",
        {"t-key": record(("uid", "int")), "t-value": record(("uid", ["null", "int"]), "name")},
        ["key_uid", "uid", "name"],
    ),
    (
        "a key that the value contains in part",
        {"t-key": record("a", "b"), "t-value": record("a", "c")},
        ["key_a", "key_b", "a", "c"],
    ),
    (
        "defaults and documentation are not part of a type",
        {"t-key": record(("id", {"type": "int", "connect.default": 0})), "t-value": record(("id", "int"))},
        ["id"],
    ),
    ("a union of primitives", {"t-value": ["int", "string"]}, ["key", "int", "string"]),
    ("a union with records", {"t-value": ["string", USER, ADDRESS]}, ["key", "string", "User", "Address"]),
    ("a union of one record and null", {"t-value": ["null", USER]}, ["key", "uid", "name"]),
    (
        "members of one simple name",
        {"t-value": [{**USER, "namespace": "org.a"}, {**USER, "namespace": "org.b"}]},
        ["key", "org_a_User", "org_b_User"],
    ),
    (
        "a member with a namespace",
        {"t-value": ["int", {**USER, "namespace": "org.a"}]},
        ["key", "int", "User"],
    ),
    ("a union of containers", {"t-value": [{"type": "map", "values": "int"}, "int"]}, ["key", "map", "int"]),
    ("an atomic value", {"t-value": "string"}, ["key", "val"]),
    ("an array as value", {"t-value": {"type": "array", "items": "int"}}, ["key", "val"]),
    ("Debezium's envelope in Avro", {"t-value": ENVELOPE}, ["key", "id", "name", "email"]),
    (
        "Debezium's envelope with its key",
        {"t-key": record(("id", "int"), name="Key"), "t-value": ENVELOPE},
        ["id", "name", "email"],
    ),
    ("Debezium's envelope in JSON Schema", {"t-value": JSON_ENVELOPE}, ["key", "id", "name"]),
    ("Debezium's envelope in Protobuf", {"t-value": PROTO_ENVELOPE}, ["key", "id", "name"]),
    (
        "before and after alone are not an envelope",
        {"t-value": record(("before", USER), ("after", "User"))},
        ["key", "before", "after"],
    ),
    (
        "an envelope whose after is not a record",
        {"t-value": record("before", "after", "op")},
        ["key", "before", "after", "op"],
    ),
    (
        "JSON Schema: properties by name",
        {"t-value": properties("url", "is_special", "customer_id")},
        ["key", "customer_id", "is_special", "url"],
    ),
    (
        "JSON Schema: properties by Connect's index",
        {
            "t-value": properties(
                properties={
                    "b": {"type": "string", "connect.index": 1},
                    "c": {"type": "string", "connect.index": 0},
                }
            )
        },
        ["key", "c", "b"],
    ),
    (
        "JSON Schema: a union",
        {"t-value": {"oneOf": [properties("item", title="Order"), properties("url", title="Shipment")]}},
        ["key", "connect_union_field_0", "connect_union_field_1"],
    ),
    (
        "JSON Schema: a key",
        {"t-key": properties("k", required=["k"]), "t-value": properties("k", "v", required=["k"])},
        ["k", "v"],
    ),
    (
        "Protobuf: several messages",
        {"t-value": f'syntax = "proto3"; {PURCHASE} }} {PAGEVIEW}'},
        ["key", "Purchase", "Pageview"],
    ),
    (
        "Protobuf: messages that use each other",
        {"t-value": f'syntax = "proto3"; {PURCHASE} Pageview pageview = 4; }} {PAGEVIEW}'},
        ["key", "Purchase", "Pageview"],
    ),
    (
        "Protobuf: a message within the message",
        {"t-value": f'syntax = "proto3"; {PURCHASE} Pageview pageview = 4; {PAGEVIEW} }}'},
        ["key", "item", "amount", "customer_id", "pageview"],
    ),
    (
        "Protobuf: a oneof is one column, the last",
        {
            "t-value": "message E { oneof action { string a = 1; int32 b = 2; } string id = 3; "
            "enum S { X = 0; } }"
        },
        ["key", "id", "action"],
    ),
    (
        "Protobuf: fields with options",
        {
            "t-value": 'syntax = "proto3"; message Row { optional string a = 1 [(confluent.field_meta) = '
            '{ params: [ { key: "flink.maxLength", value: "3" } ] }]; int32 b = 2; }'
        },
        ["key", "a", "b"],
    ),
    (
        "Avro that Flink registered, without key",
        {"t-value": record("a", name="t_value", namespace="org.apache.flink.avro.generated.record")},
        ["a"],
    ),
    (
        "Protobuf that Flink registered, without key",
        {"t-value": "package io.confluent.protobuf.generated; message Row { optional string a = 1; }"},
        ["a"],
    ),
    (
        "JSON Schema that Flink registered, without key",
        {"t-value": properties(properties={"a": {"type": "string", "connect.index": 0}}, title="Record")},
        ["a"],
    ),
    (
        "several subjects of one topic",
        {"t-com.acme.A": record("a", name="com.acme.A"), "t-com.acme.B": record("b", name="com.acme.B")},
        None,
    ),
    ("a schema that is none", {"t-value": {"fields": 5}}, None),
]


@pytest.mark.parametrize(("schemas", "expected"), [case[1:] for case in TABLES], ids=[c[0] for c in TABLES])
def test_star_has_the_columns_of_the_documentation(
    schemas: dict[str, Json], expected: list[str] | None
) -> None:
    assert star(table(schemas)) == expected


EVENTS = {
    "com.acme.Order": record("id", name="Order", namespace="com.acme"),
    "com.acme.Paid": record("at", name="Paid", namespace="com.acme"),
    "com.acme.OrderKey": record("k", name="OrderKey", namespace="com.acme"),
    ":.dev:t-value": record("d"),
}
OPTIONS: list[tuple[str, dict[str, Json], dict[str, str], list[str] | None]] = [
    (
        "subjects by their names",
        EVENTS,
        {
            "value__format": "avro-registry",
            "value__avro-registry__subject-names": "com.acme.Order;com.acme.Paid",
        },
        ["key", "Order", "Paid"],
    ),
    ("one subject", EVENTS, {"value__avro-registry__subject-names": "com.acme.Order"}, ["key", "id"]),
    (
        "subjects of key and value",
        EVENTS,
        {
            "key__format": "avro-registry",
            "key__avro-registry__subject-names": "com.acme.OrderKey",
            "value__avro-registry__subject-names": "com.acme.Order; com.acme.Paid",
        },
        ["k", "Order", "Paid"],
    ),
    ("a context", EVENTS, {"value__avro-registry__schema-context": ".dev"}, ["key", "d"]),
    ("raw values", {"t-key": "string", "t-value": I_S}, {"value__format": "raw"}, ["key", "val"]),
    ("raw keys", {"t-key": record("k"), "t-value": I_S}, {"key__format": "raw"}, ["key", "i", "s"]),
    ("a prefix", {"t-key": record("k"), "t-value": I_S}, {"key__fields-prefix": "k_"}, ["k_k", "i", "s"]),
    (
        "an envelope as it is",
        {"t-value": ENVELOPE},
        {"value__format": "avro-registry"},
        ["key", "before", "after", "source", "op", "ts_ms"],
    ),
    (
        "an envelope's row",
        {"t-value": ENVELOPE},
        {"value__format": "avro-debezium-registry"},
        ["key", "id", "name", "email"],
    ),
]


@pytest.mark.parametrize(
    ("schemas", "options", "expected"), [case[1:] for case in OPTIONS], ids=[case[0] for case in OPTIONS]
)
def test_options_change_the_columns(
    schemas: dict[str, Json], options: dict[str, str], expected: list[str] | None
) -> None:
    assert star(table(schemas, **options)) == expected


def test_types_tell_which_columns_rows_and_collections_have() -> None:
    nested = record(
        ("customer", ["null", record("name", ("tags", {"type": "array", "items": "string"}), name="C")]),
        ("lines", {"type": "array", "items": record("sku", name="Line")}),
        ("other", "Line"),
        ("counts", {"type": "map", "values": "Line"}),
        ("either", ["int", "string"]),
        ("elsewhere", "com.acme.Missing"),
        ("self", "TestRecord"),
    )
    found = table({"t-value": nested})
    assert found is not None
    types = {column.name: spelled(column.type) for column in found.columns[1:]}
    # Flink refuses a type that contains itself.
    assert types.pop("self").endswith(",self:?>")
    assert types == {
        "customer": "ROW<name:SCALAR,tags:ARRAY<SCALAR>>",
        "lines": "ARRAY<ROW<sku:SCALAR>>",
        "other": "ROW<sku:SCALAR>",
        "counts": "MAP<KEY:SCALAR,VALUE:ROW<sku:SCALAR>>",
        "either": "ROW<int:SCALAR,string:SCALAR>",
        "elsewhere": "?",
    }


def test_references_are_followed() -> None:
    avro = {
        "a": record("item", name="io.a.Purchase"),
        "b": record("url", name="io.a.Pageview"),
        "t-value": (["io.a.Purchase", "io.a.Pageview"], ("io.a.Purchase", "a"), ("io.a.Pageview", "b")),
    }
    found = table(avro)
    assert found is not None
    assert star(found) == ["key", "Purchase", "Pageview"]
    assert spelled(found.columns[2].type) == "ROW<url:SCALAR>"
    # Documented with the namespace, too.
    assert [column.name for column in found.columns if column.how == HIDDEN] == [
        "io.a.Purchase",
        "io.a.Pageview",
    ]
    proto = {
        "a": f"package io.p; {PAGEVIEW}",
        "t-value": (
            'package io.p; import "pageview.proto"; message E { oneof action { Pageview pageview = 1; } }',
            ("pageview.proto", "a"),
        ),
    }
    found = table(proto)
    assert found is not None
    assert star(found) == ["key", "action"]
    assert "pageview:ROW<url" in spelled(found.columns[1].type)


def test_an_unknown_part_of_a_json_schema_leaves_the_rest_known() -> None:
    inner = {"a": properties("x"), "b": {"$ref": "not-here.json"}, "c": {"$ref": "#"}}
    indexed = {name: {**of, "connect.index": at} for at, (name, of) in enumerate(inner.items())}
    found = table({"t-value": properties(properties=indexed)})
    assert found is not None
    types = {column.name: spelled(column.type) for column in found.columns[1:]}
    assert types == {"a": "ROW<x:SCALAR>", "b": "?", "c": "?"}
    assert found.ordered


def test_only_connects_index_orders_properties() -> None:
    indexed = properties(properties={"a": {"type": "string", "connect.index": 0}})
    found = [table({"t-value": document}) for document in (properties("a"), indexed)]
    assert [each.ordered for each in found if each is not None] == [False, True]


def test_diamonds_of_named_types_end() -> None:
    levels = [
        record(("l", f"L{n + 1}"), ("r", f"L{n + 1}"), name=f"L{n}") if n < 60 else record("x", name="L60")
        for n in range(60, -1, -1)
    ]
    references = [(f"L{n}", f"s{n}") for n in range(1, 61)]
    schemas = {f"s{60 - i}": level for i, level in enumerate(levels[:-1])}
    assert star(table({**schemas, "t-value": (levels[-1], *references)})) == ["key", "l", "r"]
    messages = "".join(f"message L{n} {{ L{n + 1} l = 1; L{n + 1} r = 2; }}" for n in range(60))
    proto = f"{messages} message L60 {{ string x = 1; }}"
    assert star(table({"t-value": proto})) == ["key", *(f"L{n}" for n in range(61))]
