"""What Spark decodes though no column can hold it is the error of its record, which names the field."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.framing import prefix_of
from lineage_bridge_dagster_tests.spark.decoding.results import decode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

BAD = b"\xff\xfe"


@dataclass(frozen=True)
class Case:
    """A field of a type, with bytes that are good and bytes that are not.

    Attributes:
        kind: the Avro schema.
        written: one with the same encoding that lets the bad value be written.
        good: a value, and what the column has.
        bad: a value of `written`.
        reason: what the error says of the field, after its name.
    """

    kind: Any
    written: Any
    good: tuple[Any, Any]
    bad: Any
    reason: str


def decimal(precision: int, scale: int = 0, **fixed: Any) -> dict[str, Any]:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    return {**kind, **({"type": "fixed", **fixed} if fixed else {})}


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": k} for n, k in fields.items()]}


def number(value: int, size: int = 0) -> bytes:
    return value.to_bytes(size or (value.bit_length() // 8 + 1), "big", signed=True)


UTF8 = "is not valid UTF-8"
TEXT = Case("string", "bytes", ("é", "é"), BAD, UTF8)
JAVA_TEXT = {"type": "string", "avro.java.string": "String"}
ONE_CENT = Decimal("0.01")

CASES = [
    TEXT,
    # Java's strings would be repaired.
    Case(JAVA_TEXT, "bytes", ("é", "é"), BAD, UTF8),
    # Surrogates, an overlong slash and a cut sequence are not UTF-8 either.
    Case("string", "bytes", ("\U0001f600", "\U0001f600"), b"\xed\xa0\x80", UTF8),
    Case("string", "bytes", ("/", "/"), b"\xc0\xaf", UTF8),
    Case("string", "bytes", ("", ""), b"a\xc3", UTF8),
    Case(["null", "string"], ["null", "bytes"], (None, None), BAD, UTF8),
    Case(
        ["null", "string", "int"],
        ["null", "bytes", "int"],
        (("int", 1), {"string": None, "int": 1}),
        BAD,
        ".string " + UTF8,
    ),
    Case(record("T", s="string"), record("T", s="bytes"), ({"s": "x"}, {"s": "x"}), {"s": BAD}, ".s " + UTF8),
    Case(
        {"type": "array", "items": "string"},
        {"type": "array", "items": "bytes"},
        (["é"], ["é"]),
        [b"a", BAD],
        ".element " + UTF8,
    ),
    Case(
        {"type": "array", "items": {"type": "map", "values": JAVA_TEXT}},
        {"type": "array", "items": {"type": "map", "values": "bytes"}},
        ([{"k": "v"}], [{"k": "v"}]),
        [{"k": BAD}],
        ".element " + UTF8,
    ),
    Case(
        {"type": "array", "items": record("L", sku="string", price=decimal(4, 2))},
        {"type": "array", "items": record("L", sku="bytes", price="bytes")},
        ([{"sku": "a", "price": ONE_CENT}], [{"sku": "a", "price": ONE_CENT}]),
        [{"sku": b"a", "price": number(10**4)}],
        ".element is not valid UTF-8 or is not a decimal(4,2)",
    ),
    # Decimals: of 64 bits and more, whose low bits are a number that fits.
    Case(decimal(9, 2), "bytes", (ONE_CENT, ONE_CENT), number(2**64 - 1), " is not a decimal(9,2)"),
    Case(decimal(9, 2), "bytes", (-ONE_CENT, -ONE_CENT), number(10**9), " is not a decimal(9,2)"),
    Case(decimal(18), "bytes", (Decimal(10**18 - 1),) * 2, number(-(2**64) + 5), " is not a decimal(18,0)"),
    Case(decimal(20, 2), "bytes", (ONE_CENT, ONE_CENT), number(10**20), " is not a decimal(20,2)"),
    Case(
        decimal(9, 2, name="D", size=12),
        {"type": "fixed", "name": "D", "size": 12},
        (ONE_CENT, ONE_CENT),
        number(2**64 - 1, 12),
        " is not a decimal(9,2)",
    ),
    Case(
        ["null", decimal(4, 2)],
        ["null", "bytes"],
        (Decimal("99.99"), Decimal("99.99")),
        number(2**64),
        " is not a decimal(4,2)",
    ),
    Case(
        {"type": "map", "values": ["null", decimal(4, 2)]},
        {"type": "map", "values": ["null", "bytes"]},
        ({"k": None}, {"k": None}),
        {"k": number(2**64)},
        ".value is not a decimal(4,2)",
    ),
    Case(
        ["string", decimal(4, 2)],
        ["string", "bytes"],
        ("x", {"string": "x", "bytes": None}),
        number(2**64),
        ".bytes is not a decimal(4,2)",
    ),
    # Connect's default precision.
    Case(decimal(64, 2), "bytes", (ONE_CENT, ONE_CENT), number(10**38), ""),
    # A map has the encoding of an array of pairs.
    Case(
        {"type": "map", "values": "string"},
        {"type": "array", "items": record("P", k="bytes", v="bytes")},
        ({"k": "v"}, {"k": "v"}),
        [{"k": BAD, "v": b"v"}],
        ".key " + UTF8,
    ),
    # An alternative that the union does not have.
    Case(["int", "long"], ["int", "long", "boolean"], (5, {"int": 5, "long": None}), True, " has none of"),
    Case({"type": "enum", "name": "E", "symbols": ["X"]}, "int", ("X", "X"), 7, ""),
]


def written(number_: int, kind: Any, value: Any) -> bytes:
    body = io.BytesIO()
    schema = record(f"R{number_}", **{f"f{number_}": kind})
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), {f"f{number_}": value})
    return prefix_of(number_) + body.getvalue()


def test_avro(spark: SparkSession) -> None:
    versions = tuple(
        RegisteredSchema(n, json.dumps(record(f"R{n}", **{f"f{n}": case.kind})))
        for n, case in enumerate(CASES)
    )
    good = [written(n, case.kind, case.good[0]) for n, case in enumerate(CASES)]
    bad = [written(n, case.written, case.bad) for n, case in enumerate(CASES)]
    found = decode(spark, SubjectSchemas("s", versions), *good, *bad)
    for n, (case, (value, error)) in enumerate(zip(CASES, found[: len(CASES)], strict=True)):
        assert error is None, (case, error)
        assert {name: each for name, each in value.items() if each is not None} == (
            {} if case.good[1] is None else {f"f{n}": case.good[1]}
        ), case
    for n, (case, (value, error)) in enumerate(zip(CASES, found[len(CASES) :], strict=True)):
        reason = case.reason if case.reason.startswith((".", " ")) else f" {case.reason}"
        start = f"its field f{n}{reason}" if case.reason else "its bytes do not match the Avro schema of id"
        assert value is None, (case, value)
        assert str(error).startswith(start), (case, error)
