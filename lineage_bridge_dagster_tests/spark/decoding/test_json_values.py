"""JSON values that the drafts and Connect permit are read, and those that they forbid are errors.

Sources: JSON Schema (numeric types: 1.0 is an integer from draft 6 on; `required`), Connect's
`JsonSchemaData` (maps as arrays of `key` and `value`, optional values as alternatives to null, decimals as
numbers or as the Base64 of their unscaled value), Kafka's `JsonConverterTest` (1.56 is `AJw=`), and RFC 8259
for numbers.
"""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster_tests.spark.decoding.results import decode
from lineage_bridge_dagster_tests.spark.decoding.test_json import CONNECT, decimal, framed, of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

STRING, INTEGER, NUMBER, NULL = ({"type": each} for each in ("string", "integer", "number", "null"))
INT32 = {"type": "integer", "connect.type": "int32"}
ROW = {**of(a=STRING), "required": ["a"]}


def entries(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "array", "connect.type": "map", "items": of(key=key, value=value)}


#: A schema; then the texts of records with their values, or with a part of their errors.
Cases = list[tuple[str, Any]]
NUMBERS = of(
    i=INT32, l=INTEGER, d=NUMBER, p=decimal("number"), a={"type": "array", "items": INTEGER},
    u={"oneOf": [INTEGER, STRING]}, n={"oneOf": [INTEGER, NUMBER, STRING]},
    w={"oneOf": [{"allOf": [decimal("number")], "title": "p"}, {**STRING, "title": "s"}]}, s=STRING,
)  # fmt: skip
_NUMBERS: Cases = [
    ('{"i": 1.0}', {"i": 1}),
    ('{"i": 1e3, "l": 1E+3, "d": 1e3}', {"i": 1000, "l": 1000, "d": 1000.0}),
    ('{"l": -0.0}', {"l": 0}),
    ('{"l": 120e-1}', {"l": 12}),
    ('{"l": 9223372036854775807.0}', {"l": 2**63 - 1}),
    ('{"l": 9223372036854775808.0}', "its field l"),
    ('{"i": 3e9}', "in an element, a number's range"),
    ('{"i": 1.5}', "its field i is decimal(2,1) where the JSON Schema of id 1 has an integer"),
    ('{"l": 1e-1}', "its field l is decimal(1,1)"),
    ('{"l": 1.00000000000000000000000000000000000000000000000001}', "its field l"),
    ('{"l": 1e400}', "its field l"),
    ('{"l": "1.0"}', "its field l is string"),
    ('{"a": [1.0, 2e0, 3]}', {"a": [1, 2, 3]}),
    ('{"a": [1.0, 2.5]}', "in an element"),
    # What only looks like a number is text.
    ('{"l": 1.0, "s": "1.0 \\" 1e3, [2.0]"}', {"l": 1, "s": '1.0 " 1e3, [2.0]'}),
    ('{"l": 1.0} {"l": 1}', "what follows"),
    ('{"d": -0.0}', {"d": -0.0}),
    ('{"d": -0.0, "p": 1e2}', {"d": -0.0, "p": Decimal("100.00")}),
    ('{"d": 2.0, "l": 3}', {"d": 2.0, "l": 3}),
    ('{"d": -0.0, "l": 3.0}', {"d": -0.0, "l": 3}),
    ('{"d": -0e3, "a": [1e1]}', {"d": -0.0, "a": [10]}),
    ('{"d": 0.0, "l": -0.0}', {"d": 0.0, "l": 0}),
    ('{"u": 1.0}', {"u": {"connect_union_field_0": 1, "connect_union_field_1": None}}),
    ('{"u": 1e2}', {"u": {"connect_union_field_0": 100, "connect_union_field_1": None}}),
    ('{"u": 1.5}', "does not match"),
    # A decimal is never rounded, however its number is written.
    ('{"p": 1.5}', {"p": Decimal("1.50")}),
    ('{"p": 15e-1}', {"p": Decimal("1.50")}),
    ('{"p": 1.5E1, "l": 2.0}', {"p": Decimal("15.00"), "l": 2}),
    ('{"p": 1.500000000000000000000000000000000000000000000000}', {"p": Decimal("1.50")}),
    ('{"p": 0E-10}', {"p": Decimal("0.00")}),
    ('{"p": -0e5}', {"p": Decimal("0.00")}),
    ('{"p": 99999999.99}', {"p": Decimal("99999999.99")}),
    ('{"p": 1.505}', "its field p is a number that a decimal(10,2) does not hold"),
    ('{"p": 1.50000000000000000000001}', "its field p"),
    ('{"p": 1.50000000000000000000000000000000000000000000001}', "its field p"),
    ('{"p": 1.5000000000000000000001e0}', "its field p"),
    ('{"p": 1e-400}', "its field p"),
    ('{"p": 100000000}', "its field p"),
    ('{"p": 1e8}', "its field p"),
    ('{"w": 1.25}', {"w": {"p": Decimal("1.25"), "s": None}}),
    ('{"w": 125e-2}', {"w": {"p": Decimal("1.25"), "s": None}}),
    ('{"w": 1.2500000000000000000001}', "does not match"),
]  # fmt: skip
REQUIRED = {
    **of(s=STRING, n={"type": ["null", "string"]}, c={"oneOf": [NULL, INT32]}, any={}, row=ROW,
         rows={"type": "array", "items": ROW}, map={"type": "object", "additionalProperties": ROW},
         obj={"type": "object"}, either={"oneOf": [NULL, ROW, INTEGER]}, o=STRING),
    "required": ["s", "n", "c", "any", "obj", "unknown"],
}  # fmt: skip
_REQUIRED: Cases = [
    # Connect reads what is optional as null, also where it is missing.
    ('{"s": "x", "obj": {}}', {"s": "x", "obj": "{}"}),
    ('{"s": "x", "n": null, "c": null, "any": null, "obj": {}}', {"s": "x", "obj": "{}"}),
    ('{"s": "", "obj": {}, "o": null}', {"s": "", "obj": "{}"}),
    ('{"obj": {}}', "its field s is missing or null, and the JSON Schema of id 1 requires it"),
    ('{"s": null, "obj": {}}', "its field s is missing or null"),
    ('{"s": "x"}', "its field obj is missing or null"),
    ('{"s": "x", "obj": null}', "its field obj is missing or null"),
    ('{"s": "x", "obj": {}, "row": null}', {"s": "x", "obj": "{}"}),
    ('{"s": "x", "obj": {}, "row": {}}', "its field row.a is missing or null"),
    ('{"s": "x", "obj": {}, "row": {"a": null}}', "its field row.a is missing or null"),
    ('{"s": "x", "obj": {}, "rows": [{"a": "y"}, {}]}', "in an element"),
    ('{"s": "x", "obj": {}, "map": {"k": {"a": null}}}', "in an element"),
    ('{"s": "x", "obj": {}, "map": {"k": {"a": "y"}}}', {"s": "x", "obj": "{}", "map": {"k": {"a": "y"}}}),
    ('{"s": "x", "obj": {}, "either": {}}', "does not match"),
    ("{}", "its field s is missing"),
    ("null", "does not match"),
]
MAPS = of(
    m=entries(INT32, STRING), o={"oneOf": [NULL, entries(STRING, INTEGER)]},
    deep=entries({"type": "boolean"}, entries(INTEGER, ROW)),
    u={"oneOf": [entries(INTEGER, INTEGER), STRING]},
)  # fmt: skip
_MAPS: Cases = [
    ('{"m": [{"key": 1, "value": "a"}, {"key": 2, "value": null}]}', {"m": {1: "a", 2: None}}),
    ('{"m": [{"value": "a", "key": 1, "more": 5}]}', {"m": {1: "a"}}),
    ('{"m": [{"key": 1.0, "value": "a"}]}', {"m": {1: "a"}}),
    ('{"m": []}', {"m": {}}),
    ('{"m": null}', {}),
    ('{"o": [{"key": "k", "value": 5}]}', {"o": {"k": 5}}),
    ('{"deep": [{"key": true, "value": [{"key": 7, "value": {"a": "x"}}]}]}',
     {"deep": {True: {7: {"a": "x"}}}}),
    ('{"u": [{"key": 1, "value": 2}]}',
     {"u": {"connect_union_field_0": {1: 2}, "connect_union_field_1": None}}),
    ('{"m": [{"key": 1, "value": "a"}, {"key": 1, "value": "b"}]}', "in an element"),
    ('{"m": [{"value": "a"}]}', "in an element"),
    ('{"m": [{"key": null, "value": "a"}]}', "in an element"),
    ('{"m": [null]}', "in an element"),
    ('{"m": [{"key": "1", "value": "a"}]}', "in an element"),
    ('{"m": [{"key": 1, "value": 2}]}', "in an element"),
    ('{"m": {"1": "a"}}', "its field m is object<`1`: string> where the JSON Schema of id 1 has an array"),
    ('{"deep": [{"key": true, "value": [{"key": 7, "value": {}}]}]}', "in an element"),
]  # fmt: skip


def unscaled(name: str, value: int, size: int = 17) -> str:
    """A record whose property is the Base64 of a number of some bytes."""
    return json.dumps({name: base64.b64encode(value.to_bytes(size, "big", signed=True)).decode()})


PRICE = decimal("number")
DECIMALS = of(
    p=PRICE, q={"oneOf": [NULL, PRICE]}, row=of(p=PRICE),
    wide={**PRICE, "connect.parameters": {"scale": "4"}},
    a={"type": "array", "items": PRICE}, m={"type": "object", "additionalProperties": PRICE},
    k=entries(PRICE, PRICE), l=INTEGER,
    u={"oneOf": [PRICE, {"type": "boolean"}]},
    i={"oneOf": [INTEGER, PRICE]}, s={"anyOf": [PRICE, STRING]},
    raw={"oneOf": [PRICE, {"type": "string", "connect.type": "bytes"}]}, c=decimal("string"),
    lists={"type": "array", "items": {"oneOf": [PRICE, {"type": "boolean"}]}},
)  # fmt: skip
_PRICE, _CENT = Decimal("1.56"), Decimal("-0.01")
_U, _BOTH = f"{CONNECT}Decimal", ("connect_union_field_0", "connect_union_field_1")
_DECIMALS: Cases = [
    # By `decimal.format`: a number (NUMERIC), or the Base64 of an unscaled big-endian number (BASE64).
    ('{"p": 1.56}', {"p": _PRICE}),
    ('{"p": "AJw="}', {"p": _PRICE}),
    ('{"p": "/w=="}', {"p": _CENT}),
    ('{"p": "AA=="}', {"p": Decimal("0.00")}),
    (unscaled("p", 156), {"p": _PRICE}),
    (unscaled("p", -1, 30), {"p": _CENT}),
    (unscaled("p", 10**10 - 1, 5), {"p": Decimal("99999999.99")}),
    (unscaled("p", 1 - 10**10, 5), {"p": Decimal("-99999999.99")}),
    (unscaled("wide", 10**38 - 1), {"wide": Decimal(f"{10**34 - 1}.9999")}),
    (unscaled("wide", -(10**38)), "its field wide is a string"),
    ('{"q": "AJw="}', {"q": _PRICE}),
    ('{"q": null, "p": null}', {}),
    ('{"row": {"p": "AJw="}}', {"row": {"p": _PRICE}}),
    ('{"a": ["AJw=", 1.56, null, "/w=="]}', {"a": [_PRICE, _PRICE, None, _CENT]}),
    ('{"m": {"x": "AJw=", "y": -1e-2}}', {"m": {"x": _PRICE, "y": _CENT}}),
    ('{"k": [{"key": "AJw=", "value": "/w=="}, {"key": 2, "value": null}]}',
     {"k": {_PRICE: _CENT, Decimal("2.00"): None}}),
    # The second reading, which other numbers need.
    ('{"p": "AJw=", "l": 1.0}', {"p": _PRICE, "l": 1}),
    ('{"p": "1E+5", "l": 2e0}', {"p": Decimal("-28631.75"), "l": 2}),
    # An alternative that is a string by its schema has the text, and a decimal has it where there is none.
    ('{"u": "AJw="}', {"u": {_U: _PRICE, _BOTH[1]: None}}),
    ('{"u": 1.56}', {"u": {_U: _PRICE, _BOTH[1]: None}}),
    ('{"u": true}', {"u": {_U: None, _BOTH[1]: True}}),
    ('{"u": "1.56"}', "does not match"),
    (unscaled("u", 10**10), "does not match"),
    ('{"i": "AJw="}', {"i": {_BOTH[0]: None, _U: _PRICE}}),
    ('{"i": 5}', {"i": {_BOTH[0]: 5, _U: None}}),
    ('{"s": "AJw="}', {"s": {_U: None, _BOTH[1]: "AJw="}}),
    ('{"s": 1.56}', {"s": {_U: _PRICE, _BOTH[1]: None}}),
    ('{"raw": "AJw="}', {"raw": {_U: None, _BOTH[1]: bytearray(b"\0\x9c")}}),
    ('{"lists": ["AJw=", false]}',
     {"lists": [{_U: _PRICE, _BOTH[1]: None}, {_U: None, _BOTH[1]: False}]}),
    ('{"lists": ["1.56"]}', "in an element"),
    # Text that is not Base64, or bytes that the column does not hold.
    ('{"p": "1.56"}', "its field p is a string that is not the Base64 of a decimal(10,2), as the JSON"),
    ('{"p": ""}', "its field p is a string"),
    ('{"p": "A"}', "its field p is a string"),
    ('{"p": "%%"}', "its field p is a string"),
    (unscaled("p", 10**10), "its field p is a string"),
    (unscaled("p", -(10**10)), "its field p is a string"),
    (unscaled("p", 2**64 + 5), "its field p is a string"),
    (unscaled("p", 1 - 2**64), "its field p is a string"),
    (unscaled("p", 156, 70), "its field p is a string"),
    ('{"p": 1.565}', "its field p is a number that a decimal(10,2) does not hold"),
    ('{"p": true}', "its field p is boolean where the JSON Schema of id 1 has an integer or a number or"),
    ('{"p": ["AJw="]}', "its field p is array<string>"),
    ('{"row": {"p": "x"}}', "its field row.p is a string"),
    (unscaled("c", 2**64 + 5), "its field c is a string"),
    ('{"c": 1.56}', "its field c is decimal(3,2) where the JSON Schema of id 1 has a string"),
    ('{"a": ["AJw=", "x"]}', "in an element"),
    ('{"m": {"x": "x"}}', "in an element"),
    ('{"k": [{"key": "AJw=", "value": 1}, {"key": 1.56, "value": 2}]}', "in an element"),
]  # fmt: skip
COMBINED = {
    "properties": {"id": STRING, "n": {**INTEGER, "anyOf": [{"minimum": 10}, {"multipleOf": 2}]}},
    "required": ["id"],
    "allOf": [{"properties": {"tags": {"type": "array", "items": STRING}}}, {"minProperties": 1}],
    "oneOf": [
        {"properties": {"card": STRING}, "required": ["card"]},
        {"properties": {"iban": STRING}, "required": ["iban"]},
    ],
}
_COMBINED: Cases = [
    ('{"id": "1", "card": "c", "n": 12}', {"id": "1", "card": "c", "n": 12}),
    ('{"id": "2", "iban": "i", "tags": ["x"]}', {"id": "2", "iban": "i", "tags": ["x"]}),
    ('{"card": "c"}', "its field id is missing or null"),
    ('{"id": "3", "iban": 5}', "its field iban is bigint"),
]
#: Strings that read like something else, and values of another type that Spark reads as strings.
LIKE_OTHERS = of(
    s=STRING, l=INTEGER, row=of(s=STRING, t=STRING), p=PRICE, **{'q"q': STRING, "\u00e9": STRING}
)
_LIKE_OTHERS: Cases = [
    *((json.dumps({"s": text, "row": {"t": text}}), {"s": text, "row": {"s": None, "t": text}})
      for text in ("5", "-1.50", "1e3", "true", "false", "null", "[1]", '{"a": 1}', '"Infinity"', '"s":5',
                   "007", "2026-01-01", "", " 5", "\\", "\u20ac5")),
    ('{"s": 5}', "its field s is bigint"),
    ('{"s" : -1.5e3}', "its field s is"),
    ('{"s":\n1e999}', "its field s is"),
    ('{"s": true}', "its field s is boolean"),
    ('{"s": false}', "its field s is boolean"),
    ('{"s":[1]}', "its field s is array<bigint>"),
    ('{"s":{"s":"x"}}', "its field s is object<s: string>"),
    ('{"\\u0073": 5}', "its field s is bigint"),
    ('{"\\u0073": "5"}', {"s": "5"}),
    ('{"row": {"s": "5", "t": 5}}', "its field row.t is bigint"),
    ('{"s": "5", "row": {"s": 5}}', "its field row.s is bigint"),
    ('{"s": "5", "unknown": {"s": 5}}', {"s": "5"}),
    ('{"s": "x", "s": 5}', "it is not JSON"),
    ('{"s": "5", "l": 1.0}', {"s": "5", "l": 1}),
    ('{"q\\"q": 5}', "is bigint"),
    ('{"q\\"q": "5", "\u00e9": "5"}', {'q"q': "5", "\u00e9": "5"}),
    ('{"\u00e9": 5}', "is bigint"),
    # What only looks like a number with an exponent is text, and a decimal beside it is read all the same.
    ('{"s": "7d9e920a0", "p": 1.5}', {"s": "7d9e920a0", "p": Decimal("1.50")}),
    ('{"s": "7d9e920a0", "p": 15e-1, "l": 1e9999999999}', "its field l"),
]  # fmt: skip
CARD = {
    **of(method={**STRING, "const": "card"}, number=STRING, limit=NUMBER),
    "required": ["method", "number"],
    "title": "card",
}
IBAN = {**of(number=STRING, days=INTEGER, by=of(n=STRING)), "required": ["number"], "title": "iban"}
NOTE = {**of(note={"type": ["null", "string"]}), "required": ["note"], "title": "note"}
UNIONS = of(
    pay={"oneOf": [IBAN, CARD]}, opt={"oneOf": [NULL, CARD, NOTE]}, row=of(pay={"anyOf": [CARD, IBAN]}),
    id={"oneOf": [STRING, INTEGER, {"type": "boolean"}]}, x={"oneOf": [NUMBER, STRING]},
    small={"oneOf": [INT32, STRING]}, l=INTEGER, differ={"oneOf": [of(a=STRING), of(a=INTEGER, b=STRING)]},
    cased={"oneOf": [{**of(A=STRING), "required": ["A"]}, {**of(a=STRING), "required": ["a"]}]},
    mixed={"oneOf": [STRING, IBAN]},
)  # fmt: skip


def one(label: str, value: Any, *others: str) -> dict[str, Any]:
    """A row of alternatives, one of which is there."""
    return {label: value, **dict.fromkeys(others)}


def card(number: str, limit: float | None = None) -> dict[str, Any]:
    return {"method": "card", "number": number, "limit": limit}


def iban(number: str, days: int | None = None, by: Any = None) -> dict[str, Any]:
    return {"number": number, "days": days, "by": by}


_ID = ("connect_union_field_0", "connect_union_field_1", "connect_union_field_2")
_UNIONS: Cases = [
    ('{"pay": {"method": "card", "number": "42"}}', {"pay": one("card", card("42"), "iban")}),
    ('{"pay": {"number": "42", "method": "cash", "days": 3}}', {"pay": one("iban", iban("42", 3), "card")}),
    ('{"pay": {"number": "x", "by": {"n": "5"}}}', {"pay": one("iban", iban("x", by={"n": "5"}), "card")}),
    ('{"pay": {"method": "card", "number": "4", "limit": 1}}', {"pay": one("card", card("4", 1.0), "iban")}),
    # A property of another alternative is of no account, whatever it has.
    ('{"pay": {"method": "card", "number": "4", "days": "x"}}', {"pay": one("card", card("4"), "iban")}),
    ('{"pay": {"method": 5, "number": "4"}}', {"pay": one("iban", iban("4"), "card")}),
    ('{"pay": {"method": "card", "number": "4", "limit": 1e400}}',
     {"pay": one("iban", iban("4"), "card")}),
    ('{"pay": {"number": "x", "days": 3.0}, "l": 7.0}', {"l": 7, "pay": one("iban", iban("x", 3), "card")}),
    ('{"pay": null, "row": {"pay": null}}', {"row": {"pay": None}}),
    ('{"pay": {}}', "does not match"),
    ('{"pay": {"method": "card"}}', "does not match"),
    ('{"pay": {"method": "card", "number": null}}', "does not match"),
    ('{"pay": {"number": 42}}', "does not match"),
    ('{"pay": "42"}', "does not match"),
    ('{"pay": [{"number": "42"}]}', "does not match"),
    ('{"row": {"pay": {"number": "4"}}}', {"row": {"pay": one("iban", iban("4"), "card")}}),
    ('{"opt": {"note": null}}', {"opt": one("note", {"note": None}, "card")}),
    ('{"opt": {"note": "n"}}', {"opt": one("note", {"note": "n"}, "card")}),
    ('{"opt": {"method": "card", "number": "4"}}', {"opt": one("card", card("4"), "note")}),
    ('{"opt": {"method": "card", "number": "4", "note": 5}}', {"opt": one("card", card("4"), "note")}),
    ('{"opt": {}}', "does not match"),
    ('{"id": "5"}', {"id": one(_ID[0], "5", *_ID[1:])}),
    ('{"id": 5}', {"id": one(_ID[1], 5, _ID[0], _ID[2])}),
    ('{"id": 5.0}', {"id": one(_ID[1], 5, _ID[0], _ID[2])}),
    ('{"id": false}', {"id": one(_ID[2], False, *_ID[:2])}),
    ('{"id": 9223372036854775808}', "does not match"),
    ('{"id": 1.5}', "does not match"),
    ('{"id": [1]}', "does not match"),
    ('{"x": 1}', {"x": one(_ID[0], 1.0, _ID[1])}),
    ('{"x": 1.25, "l": 2.0}', {"l": 2, "x": one(_ID[0], 1.25, _ID[1])}),
    ('{"x": 12345678901234567890123456789012345678901234.5}',
     {"x": one(_ID[0], 1.2345678901234568e43, _ID[1])}),
    ('{"x": 1e400}', "does not match"),
    ('{"x": "1e400"}', {"x": one(_ID[1], "1e400", _ID[0])}),
    ('{"small": 2147483648}', "does not match"),
    ('{"small": 2147483647}', {"small": one(_ID[0], 2147483647, _ID[1])}),
    ('{"differ": {"a": 1, "b": "x"}}', {"differ": one(_ID[1], {"a": 1, "b": "x"}, _ID[0])}),
    ('{"cased": {"a": "x"}}', {"cased": one(_ID[1], {"a": "x"}, _ID[0])}),
    ('{"mixed": {"number": "x"}}', {"mixed": one("iban", iban("x"), _ID[0])}),
    ('{"mixed": "5", "pay": {"number": "5"}}',
     {"mixed": one(_ID[0], "5", "iban"), "pay": one("iban", iban("5"), "card")}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "cases"),
    [
        (LIKE_OTHERS, _LIKE_OTHERS),
        (NUMBERS, _NUMBERS),
        (REQUIRED, _REQUIRED),
        (MAPS, _MAPS),
        (DECIMALS, _DECIMALS),
        (COMBINED, _COMBINED),
        (UNIONS, _UNIONS),
    ],
    ids=["like_others", "numbers", "required", "maps", "decimals", "combined", "unions"],
)
def test_each_record_has_its_value_or_its_error(spark: SparkSession, schema: Any, cases: Cases) -> None:
    subject = SubjectSchemas("o-value", (RegisteredSchema(1, json.dumps(schema), "JSON", first_format=True),))
    found = decode(spark, subject, *(framed(text.encode()) for text, _ in cases))
    wrong = []
    for (text, expected), (value, error) in zip(cases, found, strict=True):
        given = {name: each for name, each in (value or {}).items() if each is not None}
        as_expected = (
            expected in (error or "") if isinstance(expected, str) else shown(given) == shown(expected)
        )
        if not as_expected or bool(value) == bool(error):
            wrong.append(f"{text}: {given} {error}, not {expected}")
    assert not wrong, "\n".join(wrong)


def shown(value: Any) -> str:
    """A value in words, whatever the order of its fields; those of maps are rows. Zero has its sign."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{name!r}: {shown(each)}" for name, each in value.items())) + "}"
    return repr(value)
