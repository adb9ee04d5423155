"""Avro values of every type, serialized by fastavro, become the rows that the types promise."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.spark.decoding.decoder import decoder_for
from lineage_bridge_dagster_tests.spark.decoding.results import decode, errors
from lineage_bridge_dagster_tests.spark.records import payload, subject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": kind} for n, kind in fields]}


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


CARD = record(("number", "string"), name="Card")
EVERYTHING = record(
    ("b", "boolean"),
    ("i", "int"),
    ("l", "long"),
    ("f", "float"),
    ("d", "double"),
    ("raw", "bytes"),
    ("s", "string"),
    ("never", "null"),
    ("e", {"type": "enum", "name": "E", "symbols": ["X", "Y"]}),
    ("fixed", {"type": "fixed", "name": "F", "size": 3}),
    ("price", logical("bytes", "decimal", precision=10, scale=2)),
    ("id", logical("string", "uuid")),
    ("day", logical("int", "date")),
    ("at", logical("long", "timestamp-millis")),
    ("micros", logical("long", "timestamp-micros")),
    ("local", logical("long", "local-timestamp-micros")),
    ("clock", logical("int", "time-millis")),
    ("tags", {"type": "array", "items": ["null", "string"]}),
    ("counts", {"type": "map", "values": "long"}),
    ("cards", {"type": "array", "items": CARD}),
    ("paid", ["null", "string", "int", "Card"]),
    ("number", ["int", "long"]),
    ("ratio", ["null", "double", "float"]),
    ("gift", ["null", record(name="Gift")]),
)


@pytest.mark.usefixtures("compiled")
def test_value_of_every_type(spark: SparkSession) -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    naive = datetime(1969, 12, 31, 23, 59, 59, 999999)
    key = uuid.uuid4()
    value = {
        "b": True,
        "i": -1,
        "l": 2**63 - 1,
        "f": 0.5,
        "d": 1e300,
        "raw": b"\0\xff",
        "s": "é",
        "never": None,
        "e": "Y",
        "fixed": b"abc",
        "price": Decimal("-12.34"),
        "id": key,
        "day": date(1969, 7, 20),
        "at": at,
        "micros": at,
        "local": naive,
        "clock": datetime(2026, 1, 1, 1, 0).time(),
        "tags": ["a", None],
        "counts": {"x": 1},
        "cards": [{"number": "4"}],
        "paid": {"number": "5"},
        "number": 2**40,
        "ratio": ("float", 0.5),
        "gift": {},
    }
    schemas = subject("o", (3, EVERYTHING))
    ((found, error),) = decode(spark, schemas, payload(3, EVERYTHING, value))
    assert error is None
    moment = at.astimezone().replace(tzinfo=None)
    assert found == value | {
        "id": str(key),
        "at": moment,
        "micros": moment,
        "clock": 3_600_000,
        "paid": {"string": None, "int": None, "Card": {"number": "5"}},
        "number": {"int": None, "long": 2**40},
        "ratio": {"double": None, "float": 0.5},
        "gift": True,
    }


def test_versions_of_one_batch_have_the_type_that_holds_them_all(spark: SparkSession) -> None:
    inner_v1 = record(("a", "int"), ("gone", "string"), name="Inner")
    inner_v2 = record(("new", ["null", "string"]), ("a", "long"), name="Renamed")
    v1 = record(
        ("id", "int"), ("s", inner_v1), ("all", {"type": "array", "items": "Inner"}), ("old", "string")
    )
    v2 = record(
        ("by", {"type": "map", "values": "float"}),
        ("all", {"type": "array", "items": inner_v2}),
        ("s", ["null", "Renamed"]),
        ("id", ["null", "long"]),
    )
    v3 = record(("id", "int"), ("by", {"type": "map", "values": "double"}))
    schemas = subject("o", (1, v1), (2, v2), (3, v3))
    one, two = {"a": 1, "gone": "g"}, {"new": None, "a": 2**40}
    found = decode(
        spark,
        schemas,
        payload(1, v1, {"id": 1, "s": one, "all": [one], "old": "x"}),
        payload(2, v2, {"id": None, "s": None, "all": [two], "by": {"k": 0.5}}),
        payload(3, v3, {"id": 3, "by": {"k": 0.1}}),
    )
    # Fields in the order of the latest version, then those of the versions before it.
    first = {"new": None, "a": 1, "gone": "g"}
    second = {"new": None, "a": 2**40, "gone": None}
    assert found == [
        ({"id": 1, "by": None, "all": [first], "s": first, "old": "x"}, None),
        ({"id": None, "by": {"k": 0.5}, "all": [second], "s": None, "old": None}, None),
        ({"id": 3, "by": {"k": 0.1}, "all": None, "s": None, "old": None}, None),
    ]
    kind: Any = decoder_for(schemas).type
    assert kind.names == ["id", "by", "all", "s", "old"]


def test_record_of_a_version_that_disagrees_is_an_error(spark: SparkSession) -> None:
    v1, v2 = record(("a", "string")), record(("a", "int"))
    found = decode(
        spark, subject("o", (1, v1), (2, v2)), payload(1, v1, {"a": "x"}), payload(2, v2, {"a": 1})
    )
    assert found[1] == ({"a": 1}, None)
    assert errors(found)[0] == (
        "its schema id 1 does not agree with the latest version: "
        "Field a is string in the schema, and its column is int."
    )


def test_default_of_a_later_version_does_not_fill_older_records(spark: SparkSession) -> None:
    v1, v2 = record(("a", "int")), record(("a", "int"))
    v2["fields"].append({"name": "b", "type": "int", "default": 5})
    found = decode(spark, subject("o", (1, v1), (2, v2)), payload(1, v1, {"a": 1}))
    assert found == [({"a": 1, "b": None}, None)]


def test_alternatives_whose_names_have_dots(spark: SparkSession) -> None:
    enums = [{"type": "enum", "name": f"{space}.E", "symbols": [space]} for space in ("a", "b")]
    v1 = record(("id", ["string", *enums]))
    v2 = record(("n", ["null", "int"]), ("id", ["string", *enums]))
    found = decode(spark, subject("o", (1, v1), (2, v2)), payload(1, v1, {"id": ("b.E", "b")}))
    assert found == [({"n": None, "id": {"string": None, "a.E": None, "b.E": "b"}}, None)]


def test_array_of_doubles_keeps_all_digits(spark: SparkSession) -> None:
    doubles = {"type": "array", "items": "double"}
    schema = record(
        ("plain", doubles),
        ("nested", {"type": "array", "items": {"type": "map", "values": doubles}}),
        ("typed", {"type": "array", "items": {"type": "double"}}),
        ("optional", ["null", doubles]),
        ("rows", {"type": "array", "items": record(("a", doubles), name="Inner")}),
        ("again", "Inner"),
    )
    exact = [0.1, 1e300, -5e-324]
    row = {
        "plain": exact,
        "nested": [{"k": exact}],
        "typed": exact,
        "optional": exact,
        "rows": [{"a": exact}],
        "again": {"a": exact},
    }
    assert decode(spark, subject("s", (1, schema)), payload(1, schema, row)) == [(row, None)]


def test_records_without_fields_are_told_from_null(spark: SparkSession) -> None:
    empty = record(name="Empty")
    schema = record(
        ("one", empty), ("some", ["null", "Empty"]), ("all", {"type": "array", "items": ["null", "Empty"]})
    )
    schema["fields"].append({"name": "other", "type": ["Empty", "string"], "default": {}})
    payloads = [
        payload(1, schema, {"one": {}, "some": some, "all": [{}, None], "other": other})
        for some, other in (({}, "x"), (None, {}))
    ]
    found = decode(spark, subject("o", (1, schema)), *payloads)
    assert found == [
        ({"one": True, "some": True, "all": [True, None], "other": {"Empty": None, "string": "x"}}, None),
        ({"one": True, "some": None, "all": [True, None], "other": {"Empty": True, "string": None}}, None),
    ]
    alone = record(name="Empty")
    assert decode(spark, subject("o", (1, alone)), payload(1, alone, {})) == [({}, None)]


def test_value_that_avro_may_put_into_another_column_is_an_error(spark: SparkSession) -> None:
    left, right = ({"type": "fixed", "name": name, "size": 2} for name in ("a.Left", "a.Right"))
    confused = record(("first", right), ("either", {"type": "array", "items": [left, "a.Right"]}))
    clear = record(("first", right), ("either", {"type": "array", "items": ["null", "a.Right"]}))
    row = {"first": b"00", "either": [("a.Left", b"11"), ("a.Right", b"22")]}
    found = decode(
        spark,
        subject("o", (1, confused), (2, clear)),
        payload(1, confused, row),
        payload(2, clear, {"first": b"00", "either": [b"22"]}),
    )
    assert errors(found)[0] is not None
    assert found[1] == ({"first": b"00", "either": [b"22"]}, None)
    alone = decode(spark, subject("o", (1, confused)), payload(1, confused, row))
    assert errors(alone) == [
        "the Avro schema of id 1 has a union of fixed types of the same size, which Avro's reader in Spark "
        "confuses"
    ]


@pytest.mark.usefixtures("compiled")
def test_array_of_connects_entries_is_a_map_and_one_without_a_key_is_an_error(spark: SparkSession) -> None:
    entry = record(
        ("value", ["null", CARD]), ("key", ["null", "int"]), name="io.confluent.connect.avro.MapEntry"
    )
    schema = record(("m", ["null", {"type": "array", "items": entry}]), ("other", "int"))
    one, two = {"key": 1, "value": {"number": "4"}}, {"key": 2, "value": None}
    values = [[one, two], [], None, [one, one], [{**one, "key": None}]]
    found = decode(
        spark, subject("o", (1, schema)), *(payload(1, schema, {"m": each, "other": 5}) for each in values)
    )
    assert [value and value["m"] for value, _ in found] == [
        {1: {"number": "4"}, 2: None},
        {},
        None,
        None,
        None,
    ]
    assert all("its field m has a key twice" in str(each) for each in errors(found)[3:])
