"""JSON records become rows by their schema; a value of another type is an error that names the field."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.decoder import decoder_for
from lineage_bridge_dagster.spark.decoding.framing import prefix_of
from lineage_bridge_dagster_tests.spark.decoding.results import decode, errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

CONNECT = "org.apache.kafka.connect.data."
CARD = {
    "title": "card",
    "type": "object",
    "properties": {"number": {"type": "string"}, "cvc": {"type": "integer"}},
    "required": ["number"],
}
IBAN = {
    "title": "iban",
    "type": "object",
    "properties": {"kind": {"const": "iban"}, "number": {"type": "string"}},
}
#: What is paid by none of the alternatives.
NOTHING: dict[str, Any] = dict.fromkeys(f"connect_union_field_{number}" for number in range(3))


def schemas(*versions: Any) -> SubjectSchemas:
    registered = (RegisteredSchema(n, json.dumps(each), "JSON") for n, each in enumerate(versions, 1))
    return SubjectSchemas("o-value", tuple(registered))


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def framed(value: Any, schema_id: int = 1) -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return prefix_of(schema_id) + body


def decimal(kind: str) -> dict[str, Any]:
    parameters = {"scale": "2", "connect.decimal.precision": "10"}
    return {
        "type": kind,
        "connect.type": "bytes",
        "title": f"{CONNECT}Decimal",
        "connect.parameters": parameters,
    }


EVERYTHING = of(
    s={"type": "string"},
    i={"type": "integer", "connect.type": "int32"},
    l={"type": "integer"},
    d={"type": "number"},
    f={"type": "number", "connect.type": "float32"},
    b={"type": "boolean"},
    raw={"type": "string", "connect.type": "bytes"},
    day={"type": "integer", "title": f"{CONNECT}Date"},
    at={"type": "integer", "title": f"{CONNECT}Timestamp"},
    local={"type": "integer", "title": f"{CONNECT}Timestamp", "flink.type": "timestamp"},
    price=decimal("number"),
    cost=decimal("string"),
    inner=of(a={"type": "string"}, n={"type": ["null", "integer"]}),
    tags={"type": "array", "items": {"type": "string"}},
    counts={"type": "object", "additionalProperties": {"type": "integer"}},
    names={"type": "object", "additionalProperties": {"type": "string"}},
    items={"type": "array", "items": of(sku={"type": "string"})},
    any={},
    paid={"oneOf": [{"type": "null"}, CARD, IBAN, {"title": "cash", "type": "number"}]},
)
VALUE = {
    "s": 'é "quoted" \\',
    "i": 1,
    "l": 2**62,
    "d": 1.5,
    "f": 0.5,
    "b": False,
    "raw": base64.b64encode(b"\0\xff").decode(),
    "day": -165,
    "at": 1767323045678,
    "local": -1,
    "price": -12.34,
    "cost": base64.b64encode((-1234).to_bytes(2, "big", signed=True)).decode(),
    "inner": {"a": "x", "n": None, "unknown": 1},
    "tags": ["a", None],
    "counts": {"k": 1},
    "names": {"k": "v"},
    "items": [{"sku": "1"}, {}],
    "any": {"deep": [1, "x", None]},
    "paid": {"number": "4", "cvc": 1},
    "unknown": {"s": 1},
}
NULLS = dict.fromkeys(EVERYTHING["properties"])
#: Ten megabytes.
LONG = "x" * 10_000_000
WRONG = {
    '{"s": 5}': "its field s is bigint where the JSON Schema of id 1 has a string",
    '{"s": {"a": 1}}': "its field s is object<a: bigint> where the JSON Schema of id 1 has a string",
    '{"l": "5"}': "its field l is string where the JSON Schema of id 1 has an integer",
    '{"d": "NaN"}': "its field d is string where the JSON Schema of id 1 has an integer or a number",
    '{"b": "true"}': "its field b is string where the JSON Schema of id 1 has a boolean",
    '{"b": 1}': "its field b is bigint where the JSON Schema of id 1 has a boolean",
    '{"inner": {"a": 1}}': "its field inner.a is bigint where the JSON Schema of id 1 has a string",
    '{"inner": []}': "its field inner is array<void> where the JSON Schema of id 1 has an object",
    '{"tags": "a"}': "its field tags is string where the JSON Schema of id 1 has an array",
    '{"cost": 1}': "its field cost is bigint where the JSON Schema of id 1 has a string",
    "[]": "it is array<void> where the JSON Schema of id 1 has an object",
    "5": "it is bigint where the JSON Schema of id 1 has an object",
    '"x"': "it is string where the JSON Schema of id 1 has an object",
}
REST = [
    "null",
    '{"price": "1.00"}',
    '{"tags": [1]}',
    '{"counts": {"k": "v"}}',
    '{"names": {"k": 1}}',
    '{"items": [{"sku": 1}]}',
    '{"i": 3000000000}',
    '{"l": 99999999999999999999}',
    '{"d": 1e999}',
    '{"f": 1e300}',
    '{"price": 1.234}',
    '{"price": 123456789012}',
    '{"raw": "%"}',
    '{"s": "x"} {"s": "y"}',
    '{"s": "x"} x',
    '{"s": "x"}, {"s": "y"}',
    '{"s": "x"}],"x":[{"s": "y"}',
]
BROKEN = ["{", "", " ", "{'s': 'x'}", '{"d": NaN}', '{"l": 01}', "// x\n{}"]


INVALID = framed(b'{"s": "\xff\xfe"}')
#: Payload -> its value and its error.
Decoded = Mapping[bytes | None, tuple[Any, str | None]]


@pytest.fixture(scope="module")
def everything(spark: SparkSession) -> Decoded:
    """What becomes of all records here of the schema of every type, by one plan."""
    payloads = [framed(VALUE), framed({}), framed(NULLS), None, framed({"s": LONG}), INVALID]
    payloads += [framed(text.encode()) for text in (*WRONG, *REST, *BROKEN)]
    return dict(zip(payloads, decode(spark, schemas(EVERYTHING), *payloads), strict=True))


def test_value_of_every_type(everything: Decoded) -> None:
    found, error = everything[framed(VALUE)]
    assert error is None
    at = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC).astimezone().replace(tzinfo=None)
    known = {name: each for name, each in VALUE.items() if name != "unknown"}
    assert found == known | {
        "raw": b"\0\xff",
        "day": date(1969, 7, 20),
        "at": at,
        "local": datetime(1969, 12, 31, 23, 59, 59, 999000),
        "price": Decimal("-12.34"),
        "cost": Decimal("-12.34"),
        "inner": {"a": "x", "n": None},
        "items": [{"sku": "1"}, {"sku": None}],
        "any": '{"deep":[1,"x",null]}',
        "paid": {**NOTHING, "connect_union_field_0": {"number": "4", "cvc": 1}},
    }


def test_absent_and_null_properties_are_null(everything: Decoded) -> None:
    found = [everything[payload] for payload in (framed({}), framed(NULLS), None)]
    assert found == [(NULLS, None), (NULLS, None), (None, None)]


def test_alternatives_are_told_by_type_constants_and_required_properties(spark: SparkSession) -> None:
    payloads = [framed({"paid": paid}) for paid in ({"kind": "iban", "number": "D"}, 2.5, {"number": "4"})]
    wrong = [framed({"paid": paid}) for paid in ("x", [1], {"other": 1}, {"number": 4})]
    found = decode(spark, schemas(of(paid=EVERYTHING["properties"]["paid"])), *payloads, *wrong)
    assert [value and value["paid"] for value, _ in found] == [
        NOTHING | {"connect_union_field_1": {"kind": "iban", "number": "D"}},
        NOTHING | {"connect_union_field_2": 2.5},
        NOTHING | {"connect_union_field_0": {"number": "4", "cvc": None}},
    ] + [None] * 4
    assert all(errors(found)[3:])


def test_value_of_another_type_is_an_error_that_names_the_field(everything: Decoded) -> None:
    wrong, rest, broken = (
        errors([everything[framed(text.encode())] for text in texts]) for texts in (WRONG, REST, BROKEN)
    )
    assert wrong == list(WRONG.values())
    assert all(rest)
    assert all(broken)
    assert broken[:3] == ["it is not JSON", "its JSON is empty", "its JSON is empty"]
    assert errors([everything[INVALID]]) == ["its JSON is not valid UTF-8"]


def test_versions_of_one_batch_have_the_type_that_holds_them_all(spark: SparkSession) -> None:
    v1 = of(id={"type": "integer", "connect.type": "int32"}, gone={"type": "string"})
    v2 = of(id={"type": "integer"}, new={"type": "array", "items": of(a={"type": "string"})})
    found = decode(
        spark, schemas(v1, v2), framed({"id": 1, "gone": "x"}), framed({"id": 2**40, "new": [{"a": "y"}]}, 2)
    )
    assert found == [
        ({"id": 1, "new": None, "gone": "x"}, None),
        ({"id": 2**40, "new": [{"a": "y"}], "gone": None}, None),
    ]
    kind: Any = decoder_for(schemas(v1, v2)).type
    assert kind.names == ["id", "new", "gone"]


def test_value_that_is_no_object(spark: SparkSession) -> None:
    subject = schemas({"type": ["string", "null"]})
    assert decode(spark, subject, framed("a"), framed(None), framed(5))[:2] == [("a", None), (None, None)]
    assert not decoder_for(subject).is_record


def test_record_of_ten_megabytes_is_a_value(everything: Decoded) -> None:
    value, error = everything[framed({"s": LONG})]
    assert (error, value["s"] == LONG) == (None, True)


def test_property_names_of_any_characters(spark: SparkSession) -> None:
    names = ["a.b", "c d", "e'f", 'g"h', "i`j", "é"]
    subject = schemas(of(**{name: {"type": "string"} for name in names}))
    value = {name: name for name in names}
    found = decode(spark, subject, framed(value), *(framed(value | {name: 1}) for name in names))
    assert found[0] == (value, None)
    assert all(errors(found)[1:])


def test_decimal_that_its_bytes_do_not_hold_is_the_error_of_its_record(spark: SparkSession) -> None:
    def cost(data: bytes) -> bytes:
        return framed({"cost": base64.b64encode(data).decode()})

    most, more = ((10**10 + change).to_bytes(5, "big") for change in (-1, 0))
    payloads = [cost(most), cost(more), cost(b""), cost(b"\1" * 70), framed({}), framed({"cost": None})]
    payloads += [framed({"cost": "a"}), framed({"cost": "!!"})]
    found = decode(spark, schemas(of(cost={"anyOf": [{"type": "null"}, decimal("string")]})), *payloads)
    assert [value for value, _ in found if value] == [
        {"cost": Decimal("99999999.99")},
        {"cost": None},
        {"cost": None},
    ]
    assert [bool(error) for error in errors(found)] == [False, *[True] * 3, False, False, True, True]


def test_decimal_of_all_digits_is_read_and_one_of_more_is_an_error(spark: SparkSession) -> None:
    kind = decimal("number")
    kind["connect.parameters"] = {"scale": "14", "connect.decimal.precision": "33"}
    texts = ["-6434005167799693179.69267412434944", "6434005167799693179", "0.5", "0.123456789012345"]
    found = decode(spark, schemas(of(a=kind)), *(framed(b'{"a": %s}' % text.encode()) for text in texts))
    assert [value and value["a"] for value, _ in found] == [*map(Decimal, texts[:3]), None]
    assert [bool(error) for error in errors(found)] == [False, False, False, True]


@pytest.mark.parametrize(("more", "most"), [({}, 2**63 // 1000), ({"flink.type": "timestamp"}, 10**15 - 1)])
def test_time_that_no_column_holds_is_the_error_of_its_record(
    spark: SparkSession, more: dict[str, str], most: int
) -> None:
    at = {"type": "integer", "title": "org.apache.kafka.connect.data.Timestamp", **more}
    kind = of(at=at, all={"type": "array", "items": at}, either={"oneOf": [at, {"type": "string"}]})
    values = [0, most + 1, -most - 1, 2**63 - 1, -(2**63)]
    payloads = [framed(each) for at in values for each in ({"at": at}, {"either": at}, {"all": [at]})]
    found = decode(spark, schemas(kind), *payloads)
    assert [bool(error) for error in errors(found)] == [False] * 3 + [True] * 12


def test_decimal_that_would_be_rounded_is_an_error_however_small_its_last_digits_are(
    spark: SparkSession,
) -> None:
    texts = ["1.5", "1.50000000000", "15e-1", "123.45e2", "1.5000000001", "1e-300", "0.001", "1.23456e2"]
    payloads = (framed(b'{"a": %s}' % text.encode()) for text in texts)
    found = decode(spark, schemas(of(a=decimal("number"))), *payloads)
    wanted = [*map(Decimal, ["1.50", "1.50", "1.50", "12345.00"]), *[None] * 4]
    assert [value and value["a"] for value, _ in found] == wanted
