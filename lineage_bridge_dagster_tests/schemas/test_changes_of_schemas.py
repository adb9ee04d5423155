"""What each change of a registered schema does to a table: for each format, the changes that people make.

A registry accepts more, by its compatibility mode, than Iceberg's specification lets a table follow: fields
come and go, and types become wider; all else is an error that names the field and both types.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.types import StructType

from lineage_bridge_dagster.schemas.columns import columns_of, value_type
from lineage_bridge_dagster.schemas.errors import EvolutionError
from lineage_bridge_dagster.schemas.evolution import AddColumn, Change, WidenColumn, plan_evolution
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, PROTOBUF, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.schemas.types import spelled


def columns(*texts: str, kind: str) -> StructType:
    schemas = tuple(RegisteredSchema(n, text, kind) for n, text in enumerate(texts, 1))
    return columns_of(SubjectSchemas("s", schemas), "value")


def outcome(kind: str, before: str, after: str) -> str:
    """The changes of a table when a version follows another: as text, or the error's."""
    try:
        changes = plan_evolution(columns(before, kind=kind), columns(before, after, kind=kind))
    except EvolutionError as error:
        return error.message
    return "; ".join(map(told, changes)) or "nothing"


def told(change: Change) -> str:
    name = ".".join(change.path)
    match change:
        case AddColumn():
            return f"+ {name} {spelled(change.type)}"
        case WidenColumn():
            return f"{name} {spelled(change.before)} -> {spelled(change.type)}"
    return repr(change)


def refused(name: str, wanted: str, column: str) -> str:
    return f"Field {name} is {wanted} in the schema, and its column is {column}."


def avro(*fields: tuple[str, Any], **more: Any) -> str:
    listed = [{"name": name, "type": kind, **more.get(name, {})} for name, kind in fields]
    return json.dumps({"type": "record", "name": "R", "fields": listed})


def enum(*symbols: str) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols)}


def record(*fields: tuple[str, Any], name: str = "Inner") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": kind} for n, kind in fields]}


def number(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def listed(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def mapped(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


NULLABLE = ["null", "int"]
INNER, WIDER = record(("a", "int")), record(("a", "long"), ("b", ["null", "string"]))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Optional fields come and go.
        ([("a", "int")], [("a", "int"), ("b", NULLABLE)], "+ b int"),
        ([("a", "int"), ("b", NULLABLE)], [("a", "int")], "nothing"),
        ([("a", "int")], [("a", NULLABLE)], "nothing"),
        ([("a", NULLABLE)], [("a", "int")], "nothing"),
        ([("a", "int"), ("b", "string")], [("b", "string"), ("a", "int")], "nothing"),
        # Avro's promotions.
        ([("a", "int")], [("a", "long")], "a int -> long"),
        ([("a", "long")], [("a", "int")], "nothing"),
        ([("a", "float")], [("a", "double")], "a float -> double"),
        ([("a", "int")], [("a", "float")], refused("a", "float", "int")),
        ([("a", "long")], [("a", "double")], refused("a", "double", "long")),
        ([("a", "string")], [("a", "bytes")], refused("a", "binary", "string")),
        ([("a", "bytes")], [("a", "string")], refused("a", "string", "binary")),
        # Logical types.
        ([("a", number(9, 2))], [("a", number(18, 2))], "a decimal(9,2) -> decimal(18,2)"),
        ([("a", number(18, 2))], [("a", number(9, 2))], "nothing"),
        ([("a", number(9, 2))], [("a", number(9, 3))], refused("a", "decimal(9,3)", "decimal(9,2)")),
        (
            [("a", "int")],
            [("a", {"type": "int", "logicalType": "date"})],
            refused("a", "date", "int"),
        ),
        # Symbols are values of a string.
        ([("a", enum("X"))], [("a", enum("X", "Y"))], "nothing"),
        ([("a", enum("X", "Y"))], [("a", enum("Y"))], "nothing"),
        ([("a", enum("X"))], [("a", "string")], "nothing"),
        # Unions.
        ([("a", ["int", "string"])], [("a", ["int", "string", "boolean"])], "+ a.boolean boolean"),
        ([("a", ["int", "string", "boolean"])], [("a", ["int", "string"])], "nothing"),
        ([("a", "int")], [("a", ["int", "long"])], refused("a", "struct<int: int, long: long>", "int")),
        (
            [("a", ["null", "string"])],
            [("a", ["null", "string", "int"])],
            refused("a", "struct<string: string, int: int>", "string"),
        ),
        # Nested.
        ([("a", INNER)], [("a", WIDER)], "a.a int -> long; + a.b string"),
        ([("a", WIDER)], [("a", INNER)], "nothing"),
        ([("a", listed("int"))], [("a", listed("long"))], "a.element int -> long"),
        ([("a", listed(INNER))], [("a", listed(WIDER))], "a.element.a int -> long; + a.element.b string"),
        ([("a", mapped("float"))], [("a", mapped("double"))], "a.value float -> double"),
        ([("a", mapped(INNER))], [("a", mapped(WIDER))], "a.value.a int -> long; + a.value.b string"),
        ([("a", listed("int"))], [("a", listed("string"))], refused("a.element", "string", "int")),
        ([("a", listed("int"))], [("a", mapped("int"))], refused("a", "map<string, int>", "list<int>")),
        ([("a", INNER)], [("a", "string")], refused("a", "string", "struct<a: int>")),
        # A field by another name is another column.
        ([("a", "int")], [("b", "int")], "+ b int"),
    ],
)
def test_avro(before: Any, after: Any, expected: str) -> None:
    assert outcome(AVRO, avro(*before), avro(*after)) == expected


def test_alias_of_an_avro_field_is_no_rename() -> None:
    after = avro(("b", "int"), b={"aliases": ["a"]})
    assert outcome(AVRO, avro(("a", "int")), after) == "+ b int"


def json_schema(**properties: Any) -> str:
    return json.dumps({"type": "object", "properties": properties})


TEXT, WHOLE, REAL = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def connect(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    return {**schema, "connect.type": kind}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": WHOLE}, {"a": WHOLE, "b": TEXT}, "+ b string"),
        ({"a": WHOLE, "b": TEXT}, {"a": WHOLE}, "nothing"),
        ({"a": WHOLE}, {"a": {"oneOf": [{"type": "null"}, WHOLE]}}, "nothing"),
        ({"a": connect(WHOLE, "int32")}, {"a": WHOLE}, "a int -> long"),
        ({"a": connect(REAL, "float32")}, {"a": REAL}, "a float -> double"),
        ({"a": WHOLE}, {"a": REAL}, refused("a", "double", "long")),
        ({"a": WHOLE}, {"a": TEXT}, refused("a", "string", "long")),
        ({"a": {"enum": ["x"]}}, {"a": {"enum": ["x", "y"]}}, "nothing"),
        ({"a": TEXT}, {"a": {**TEXT, "format": "date"}}, "nothing"),
        ({"a": {"items": WHOLE}}, {"a": {"items": REAL}}, refused("a.element", "double", "long")),
        (
            {"a": {"properties": {"x": WHOLE}}},
            {"a": {"properties": {"x": WHOLE, "y": TEXT}}},
            "+ a.y string",
        ),
        (
            {"a": {"additionalProperties": {"properties": {"x": WHOLE}}}},
            {"a": {"additionalProperties": {"properties": {"x": WHOLE, "y": TEXT}}}},
            "+ a.value.y string",
        ),
        (
            {"a": {"oneOf": [WHOLE, TEXT]}},
            {"a": {"oneOf": [WHOLE, TEXT, {"type": "boolean"}]}},
            "+ a.connect_union_field_2 boolean",
        ),
        (
            {"a": TEXT},
            {"a": {"oneOf": [TEXT, WHOLE]}},
            refused("a", "struct<connect_union_field_0: string, connect_union_field_1: long>", "string"),
        ),
    ],
)
def test_json_schema(before: Any, after: Any, expected: str) -> None:
    assert outcome(JSON, json_schema(**before), json_schema(**after)) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("int32 a = 1;", "int32 a = 1; string b = 2;", "+ b string"),
        ("int32 a = 1; string b = 2;", "int32 a = 1; reserved 2;", "nothing"),
        ("int32 a = 1;", "optional int32 a = 1;", "nothing"),
        ("int32 a = 1;", "int64 a = 1;", "a int -> long"),
        ("int64 a = 1;", "int32 a = 1;", "nothing"),
        ("float a = 1;", "double a = 1;", "a float -> double"),
        ("string a = 1;", "bytes a = 1;", refused("a", "binary", "string")),
        ("int32 a = 1;", "repeated int32 a = 1;", refused("a", "list<int>", "int")),
        ("E a = 1; enum E { X = 0; }", "E a = 1; enum E { X = 0; Y = 1; }", "nothing"),
        ("M a = 1; message M { int32 x = 1; }", "M a = 1; message M { int64 x = 1; bool y = 2; }",
         "a.x int -> long; + a.y boolean"),
        ("repeated float a = 1;", "repeated double a = 1;", "a.element float -> double"),
        ("map<string, int32> a = 1;", "map<string, int64> a = 1;", "a.value int -> long"),
        ("map<int32, int32> a = 1;", "map<int64, int32> a = 1;", refused("a.key", "long", "int")),
        ("oneof u { int32 a = 1; }", "oneof u { int32 a = 1; string b = 2; }", "+ u.b string"),
        # The number stays, the name does not: to Protobuf the same field.
        ("int32 a = 1;", "int32 b = 1;", "+ b int"),
    ],
)  # fmt: skip
def test_protobuf(before: str, after: str, expected: str) -> None:
    texts = (f'syntax = "proto3"; message R {{ {body} }}' for body in (before, after))
    assert outcome(PROTOBUF, *texts) == expected


def test_type_that_changed_and_changed_back_costs_the_records_in_between() -> None:
    texts = [avro(("a", kind)) for kind in ("int", "string", "long")]
    found = value_type(
        SubjectSchemas("s", tuple(RegisteredSchema(n, text) for n, text in enumerate(texts, 1)))
    )
    assert found is not None
    assert (spelled(found.type), set(found.versions)) == ("struct<a: long>", {1, 3})
    assert found.errors == {2: refused("a", "string", "long")}
    table = columns(texts[0], kind=AVRO)
    assert [*map(told, plan_evolution(table, columns(*texts, kind=AVRO)))] == ["a int -> long"]
