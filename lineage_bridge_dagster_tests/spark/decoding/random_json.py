"""Random JSON Schemas with values, by the drafts and by Connect's converter."""

from __future__ import annotations

import base64
import itertools
import json
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from lineage_bridge_dagster_tests.spark.decoding.random_values import (
    BYTES,
    DATES,
    INT,
    LONG,
    MICROS,
    TEXTS,
    Kind,
    days,
    instant,
    listed,
    local,
    mapped,
    same,
    scaled,
    structured,
)

_CONNECT = "org.apache.kafka.connect.data."
#: Names that are hard to find: with dots, quotes, brackets, spaces and backslashes.
_NAMES = ["a", "a.b", "it's", 'a "b"', "[0]", "a b", "a\\b", "$", "ö", "`x`", "9"]
_numbers = itertools.count()

_DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
_SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
_MILLIS = MICROS.map(lambda micros: micros // 1000)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unscaled(value: Decimal) -> str:
    sign, numbers, _ = value.as_tuple()
    digits = int("".join(map(str, numbers))) * (-1 if sign else 1)
    return _base64(digits.to_bytes((digits.bit_length() + 8) // 8, "big", signed=True))


_LEAVES = [
    Kind({"type": "string"}, same(TEXTS), "string"),
    Kind({"type": "string", "format": "date-time"}, same(TEXTS), "string"),
    Kind({"type": "string", "enum": ["x", "y"]}, same(st.sampled_from("xy")), "string"),
    Kind({"enum": ["x", "y", ""]}, same(st.sampled_from(["x", "y", ""])), "string"),
    Kind({"type": "integer"}, same(LONG), "integer"),
    Kind({"type": "integer", "connect.type": "int32"}, same(INT), "integer"),
    Kind({"type": "integer", "connect.type": "int8"}, same(st.integers(-128, 127)), "integer"),
    Kind({"type": "number"}, same(_DOUBLES), "number"),
    Kind({"type": "number"}, LONG.map(lambda value: (value, float(value))), "number"),
    Kind({"type": "number", "connect.type": "float32"}, same(_SINGLES), "number"),
    Kind({"type": "boolean"}, same(st.booleans()), "boolean"),
    Kind(
        {"type": "string", "connect.type": "bytes"}, BYTES.map(lambda data: (_base64(data), data)), "string"
    ),
    Kind(
        {"type": "integer", "title": f"{_CONNECT}Date", "connect.type": "int32"},
        DATES.map(lambda day: (days(day), day)),
        "integer",
    ),
    Kind(
        {"type": "integer", "title": f"{_CONNECT}Timestamp", "connect.type": "int64"},
        _MILLIS.map(lambda millis: (millis, instant(millis * 1000))),
        "integer",
    ),
    Kind(
        {"type": "number", "title": f"{_CONNECT}Timestamp", "flink.type": "timestamp"},
        _MILLIS.map(lambda millis: (millis, local(millis * 1000))),
        "integer",
    ),
    Kind({"type": "integer", "title": f"{_CONNECT}Time"}, same(st.integers(0, 86_399_999)), "integer"),
]


@st.composite
def _decimal(draw: st.DrawFn) -> Kind:
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    schema = {
        "title": f"{_CONNECT}Decimal",
        "connect.type": "bytes",
        "connect.parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
    }
    if draw(st.booleans()):
        return Kind({"type": "number", **schema}, same(scaled(precision, scale)), "number")
    values = scaled(precision, scale).map(lambda value: (_unscaled(value), value))
    # Connect writes it for a number, too; alternatives that take numbers or text do not tell it from theirs.
    word, name = draw(st.sampled_from([("string", "string"), ("number", "any")]))
    return Kind({"type": word, **schema}, values, name)


@st.composite
def _object(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3, unique=True))
    kinds = {name: draw(inner) for name in names}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: kind.schema for name, kind in kinds.items()},
    }
    if draw(st.booleans()):
        schema["required"] = names
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    if draw(st.booleans()):
        schema = {"allOf": [schema]}
    return Kind(schema, structured(kinds), "object")


@st.composite
def _optional(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    kind = draw(inner)
    values = st.one_of(same(st.none()), kind.values)
    word = draw(st.sampled_from(["oneOf", "anyOf", "type"]))
    if word == "type" and isinstance(kind.schema.get("type"), str) and "enum" not in kind.schema:
        return Kind({**kind.schema, "type": ["null", kind.schema["type"]]}, values, kind.name)
    choices = [{"type": "null"}, kind.schema]
    return Kind({"anyOf" if word == "type" else word: choices}, values, kind.name)


@st.composite
def _union(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    """Alternatives that differ in the kind of their values."""
    kinds = list({each.name: each for each in draw(st.lists(inner, min_size=2, max_size=3))}.values())
    names = {each.name for each in kinds}
    if len(kinds) < 2 or {"integer", "number"} <= names or not names.isdisjoint({"union", "any"}):
        return kinds[0]
    if any(_nullable(each.schema) for each in kinds):
        return kinds[0]
    labels = [f"connect_union_field_{number}" for number in range(len(kinds))]
    values = st.one_of(
        *(
            kind.values.map(
                lambda pair, chosen=label: (
                    pair[0],
                    {each: pair[1] if each == chosen else None for each in labels},
                )
            )
            for kind, label in zip(kinds, labels, strict=True)
        )
    )
    return Kind({draw(st.sampled_from(["oneOf", "anyOf"])): [kind.schema for kind in kinds]}, values, "union")


def _nullable(schema: dict[str, Any]) -> bool:
    return "null" in json.dumps(schema.get("type")) or "oneOf" in schema or "anyOf" in schema


def _nested(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    return st.one_of(
        inner.map(lambda each: Kind({"type": "array", "items": each.schema}, listed(each), "array")),
        inner.map(
            lambda each: Kind({"type": "object", "additionalProperties": each.schema}, mapped(each), "object")
        ),
        _object(inner),
        _optional(inner),
        _union(inner),
    )


KINDS = st.recursive(st.one_of(st.sampled_from(_LEAVES), _decimal()), _nested, max_leaves=4)


def written(value: Any, *, ascii_only: bool) -> str:
    """A value as text in JSON; decimals with all of their digits."""
    if isinstance(value, dict):
        items = (
            f"{json.dumps(name)} : {written(each, ascii_only=ascii_only)}" for name, each in value.items()
        )
        return "{\n" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(each, ascii_only=ascii_only) for each in value) + "]"
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=ascii_only)
