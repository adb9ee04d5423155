"""Records of older versions are read as the latest has them, by the rules of each format."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool

from lineage_bridge_dagster.schemas.columns import value_type
from lineage_bridge_dagster.schemas.protobuf_files import descriptors
from lineage_bridge_dagster.schemas.schemas import JSON, PROTOBUF, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.framing import prefix_of
from lineage_bridge_dagster_tests.spark.decoding.results import decode, errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": k} for n, k in fields.items()]}


def listed(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def mapped(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


#: What the Avro specification's "Schema Resolution" permits: the older type, the later one, a value, and what
#: the column has.
AVRO_CASES: list[tuple[Any, Any, Any, Any]] = [
    ("int", "float", 1, 1.0),
    ("int", "double", -7, -7.0),
    ("int", "long", 1, 1),
    ("long", "float", 2**40, float(2**40)),
    ("long", "double", 2**53, float(2**53)),
    ("float", "double", 0.5, 0.5),
    ("bytes", "string", "ab é".encode(), "ab é"),
    ("string", "bytes", "é", "é".encode()),
    ("int", ["null", "double"], 1, 1.0),
    (["null", "int"], "double", None, None),
    # A union that has the older type, or one that it is promoted to.
    (["null", "string"], ["null", "string", "int"], "q", {"string": "q", "int": None}),
    ("int", ["null", "string", "long"], 5, {"string": None, "long": 5}),
    ("int", ["int", "long"], 5, {"int": 5, "long": None}),
    ("long", ["string", "float", "double"], 5, {"string": None, "float": 5.0, "double": None}),
    ("bytes", ["int", "string"], b"a", {"int": None, "string": "a"}),
    (["string", "int"], ["boolean", "string", "int"], 3, {"boolean": None, "string": None, "int": 3}),
    (listed("int"), ["null", listed("double"), "string"], [1], {"array": [1.0], "string": None}),
    # Within others.
    (listed("int"), listed("double"), [1, 2], [1.0, 2.0]),
    (
        listed(["null", "string"]),
        listed(["null", "string", "int"]),
        ["a", None],
        [{"string": "a", "int": None}, None],
    ),
    (mapped("bytes"), mapped("string"), {"k": b"v"}, {"k": "v"}),
    (
        record("R18", a="int", gone="string"),
        record("R18", a="double", new=["null", "int"]),
        {"a": 1, "gone": "g"},
        {"a": 1.0, "new": None, "gone": "g"},
    ),
    (
        record("R19", a="int"),
        ["null", record("R19", a="double"), "string"],
        {"a": 1},
        {"R19": {"a": 1.0}, "string": None},
    ),
    # A record without fields that gains some.
    (["null", record("R20")], ["null", record("R20", by=["null", "string"])], {}, {"by": None}),
    (["null", record("R21")], ["null", record("R21", by=["null", "string"])], None, None),
]


def avro(side: int, cases: list[tuple[Any, Any, Any, Any]]) -> RegisteredSchema:
    fields = {f"f{n}": case[side] for n, case in enumerate(cases)}
    if side == 0:
        fields["gone"] = "int"
    return RegisteredSchema(side + 1, json.dumps(record("Row", **fields)))


def avro_payload(schema: RegisteredSchema, row: dict[str, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(json.loads(schema.text)), row)
    return prefix_of(schema.id) + body.getvalue()


def test_avro(spark: SparkSession) -> None:
    older, later = avro(0, AVRO_CASES), avro(1, AVRO_CASES)
    row = {f"f{n}": case[2] for n, case in enumerate(AVRO_CASES)} | {"gone": 9}
    bad = row | {"f6": b"\xff"}
    found = decode(
        spark, SubjectSchemas("s", (older, later)), avro_payload(older, row), avro_payload(older, bad)
    )
    value, error = found[0]
    assert error is None
    assert value["gone"] == 9
    for n, (before, after, _, expected) in enumerate(AVRO_CASES):
        assert value[f"f{n}"] == expected, (before, after)
    assert errors(found)[1] == "its field f6 is not valid UTF-8"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("double", "int"),
        ("boolean", "int"),
        ("string", "int"),
        ("boolean", record("R", a="int")),
        (["int", "string"], "int"),
        (record("R", a="int"), [record("S", a="double"), record("T", b="int")]),
    ],
)
def test_avro_that_is_not_promoted(before: Any, after: Any) -> None:
    cases = [(before, after, None, None)]
    found = value_type(SubjectSchemas("s", (avro(0, cases), avro(1, cases))))
    assert found is not None
    assert set(found.errors) == {1}


TEXT, WHOLE, REAL = {"type": "string"}, {"type": "integer"}, {"type": "number"}
NULL: dict[str, Any] = {"type": "null"}


def connect(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    return {**schema, "connect.type": kind}


def properties(**found: Any) -> dict[str, Any]:
    return {"type": "object", "properties": found}


#: What the Schema Registry takes as BACKWARD compatible: each old value is a value of the new type.
JSON_CASES: list[tuple[Any, Any, Any, Any]] = [
    (WHOLE, REAL, 1, 1.0),
    (connect(WHOLE, "int32"), REAL, 7, 7.0),
    (connect(WHOLE, "int32"), connect(REAL, "float32"), 7, 7.0),
    (WHOLE, {"oneOf": [NULL, REAL]}, 1, 1.0),
    (TEXT, {"oneOf": [TEXT, WHOLE]}, "q", {"connect_union_field_0": "q", "connect_union_field_1": None}),
    (
        WHOLE,
        {"anyOf": [TEXT, REAL]},
        3,
        {"connect_union_field_0": None, "connect_union_field_1": 3.0},
    ),
    (
        TEXT,
        {"type": ["string", "boolean"]},
        "q",
        {"connect_union_field_0": "q", "connect_union_field_1": None},
    ),
    (WHOLE, {}, 5, "5"),
    (properties(a=WHOLE), {}, {"a": 1}, '{"a":1}'),
    ({"type": "array", "items": WHOLE}, {"type": "array", "items": REAL}, [1], [1.0]),
    (
        {"type": "object", "additionalProperties": WHOLE},
        {"type": "object", "additionalProperties": REAL},
        {"k": 1},
        {"k": 1.0},
    ),
    (
        properties(a=WHOLE, gone=TEXT),
        properties(a=REAL, new=TEXT),
        {"a": 1, "gone": "g"},
        {"a": 1.0, "new": None, "gone": "g"},
    ),
    (
        {"type": "array", "items": properties(a=WHOLE)},
        {"type": "array", "items": properties(a=REAL, new=TEXT)},
        [{"a": 1}],
        [{"a": 1.0, "new": None}],
    ),
]


def json_schema(side: int, cases: list[tuple[Any, Any, Any, Any]]) -> RegisteredSchema:
    fields = {f"f{n}": case[side] for n, case in enumerate(cases)}
    if side == 0:
        fields["gone"] = WHOLE
    return RegisteredSchema(side + 1, json.dumps(properties(**fields)), JSON)


def test_json(spark: SparkSession) -> None:
    older, later = json_schema(0, JSON_CASES), json_schema(1, JSON_CASES)
    row = {f"f{n}": case[2] for n, case in enumerate(JSON_CASES)} | {"gone": 9}
    ((value, error),) = decode(
        spark, SubjectSchemas("s", (older, later)), prefix_of(1) + json.dumps(row).encode()
    )
    assert error is None
    assert value["gone"] == 9
    for n, (before, after, _, expected) in enumerate(JSON_CASES):
        assert value[f"f{n}"] == expected, (before, after)


#: What Protobuf's guide has under "Updating A Message Type".
PROTOBUF_CASES: list[tuple[str, str, Any, Any]] = [
    ("E f = 1;", "int32 f = 1;", 1, 1),
    ("int32 f = 1;", "E f = 1;", 1, "B"),
    ("E f = 1;", "int64 f = 1;", 7, 7),
    ("bool f = 1;", "int32 f = 1;", True, 1),
    ("uint64 f = 1;", "bool f = 1;", 2, True),
    ("repeated E f = 1;", "repeated int32 f = 1;", [1, 0], [1, 0]),
    ("map<string, E> f = 1;", "map<string, int32> f = 1;", {"k": 1}, {"k": 1}),
    ("string f = 1;", "bytes f = 1;", "é", "é".encode()),
    ("bytes f = 1;", "string f = 1;", "é".encode(), "é"),
    ("string f = 1;", "repeated string f = 1;", "a", ["a"]),
    ("optional int32 f = 1;", "repeated int32 f = 1;", 3, [3]),
    ("Empty f = 1;", "Grown f = 1;", {}, {"by": None}),
    ("repeated Empty f = 1;", "repeated Grown f = 1;", [{}], [{"by": None}]),
    (
        "oneof u { Empty f = 1; Empty g = 2; }",
        "oneof u { Grown f = 1; Empty g = 2; }",
        {},
        {"f": {"by": None}, "g": None},
    ),
    (
        "Inner f = 1; message Inner { E a = 1; string gone = 2; }",
        "Inner f = 1; message Inner { int32 a = 1; string new = 3; }",
        {"a": 1, "gone": "g"},
        {"a": 1, "new": None, "gone": "g"},
    ),
]


def protobuf(side: int) -> RegisteredSchema:
    fields = "".join(
        f"M{n} m{n} = {n + 1}; message M{n} {{ {case[side]} }} " for n, case in enumerate(PROTOBUF_CASES)
    )
    others = "enum E { A = 0; B = 1; } message Empty {} message Grown { string by = 1; }"
    gone = "int32 gone = 99;" if side == 0 else ""
    return RegisteredSchema(
        side + 1, f'syntax = "proto3"; message Row {{ {fields}{gone} }} {others}', PROTOBUF
    )


def test_protobuf(spark: SparkSession) -> None:
    older, later = protobuf(0), protobuf(1)
    pool = DescriptorPool()
    for file in descriptors(older).file:
        pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("Row"))
    row = {f"m{n}": {"f": case[2]} for n, case in enumerate(PROTOBUF_CASES)}
    bad = {**row, "m8": {"f": b"\xff"}}
    payloads = [prefix_of(1) + b"\0" + kind(**each, gone=9).SerializeToString() for each in (row, bad)]
    found = decode(spark, SubjectSchemas("s", (older, later)), *payloads)
    value, error = found[0]
    assert error is None
    assert value["gone"] == 9
    for n, (before, after, _, expected) in enumerate(PROTOBUF_CASES):
        inner = value[f"m{n}"]
        assert inner.get("u", inner.get("f")) == expected, (before, after)
    assert errors(found)[1] == "its field m8.f is not valid UTF-8 (schema id 1)"
