"""Random Avro schemas with values, by Avro's specification."""

from __future__ import annotations

import itertools
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
    instant,
    listed,
    local,
    mapped,
    same,
    scaled,
    structured,
)

#: Names of types are unique within a schema.
_numbers = itertools.count()


def _unique(word: str) -> str:
    # A full name: within a record, one without a namespace would be of the record's.
    return f"a.b.{word}{next(_numbers)}"


def _logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


_FLOATS = st.floats(width=32)
_MILLIS = MICROS.map(lambda micros: micros // 1000 * 1000)
_DAY = st.integers(0, 86_399_999)

_PRIMITIVES = [
    Kind("boolean", same(st.booleans()), "boolean"),
    Kind("int", same(INT), "int"),
    Kind("long", same(LONG), "long"),
    Kind("float", same(_FLOATS), "float"),
    Kind("double", same(st.floats()), "double"),
    Kind("bytes", same(BYTES), "bytes"),
    Kind("string", same(TEXTS), "string"),
]
_LOGICAL = [
    Kind(_logical("string", "uuid"), st.uuids().map(lambda value: (value, str(value))), "string"),
    Kind(_logical("int", "date"), same(DATES), "int"),
    Kind(_logical("int", "time-millis"), same(_DAY), "int"),
    Kind(_logical("long", "time-micros"), same(_DAY.map(lambda each: each * 1000)), "long"),
    Kind(_logical("long", "timestamp-millis"), same(_MILLIS.map(instant)), "long"),
    Kind(_logical("long", "timestamp-micros"), same(MICROS.map(instant)), "long"),
    Kind(_logical("long", "local-timestamp-millis"), same(_MILLIS.map(local)), "long"),
    Kind(_logical("long", "local-timestamp-micros"), same(MICROS.map(local)), "long"),
    # To be ignored: unknown, and of another type.
    Kind(_logical("string", "money"), same(TEXTS), "string"),
    Kind(_logical("string", "date"), same(TEXTS), "string"),
]


@st.composite
def _decimal(draw: st.DrawFn) -> Kind:
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    kind = _logical("bytes", "decimal", precision=precision, scale=scale)
    if draw(st.booleans()):
        kind |= {"type": "fixed", "name": _unique("Decimal"), "size": 16}
    return Kind(kind, same(scaled(precision, scale)), str(kind.get("name", "bytes")))


@st.composite
def _enum(draw: st.DrawFn) -> Kind:
    name = _unique("Enum")
    symbols = draw(
        st.lists(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True), min_size=1, unique=True)
    )
    return Kind({"type": "enum", "name": name, "symbols": symbols}, same(st.sampled_from(symbols)), name)


@st.composite
def _fixed(draw: st.DrawFn) -> Kind:
    size, name = draw(st.integers(1, 9)), _unique("Fixed")
    return Kind(
        {"type": "fixed", "name": name, "size": size}, same(st.binary(min_size=size, max_size=size)), name
    )


_LEAVES = st.one_of(st.sampled_from(_PRIMITIVES), st.sampled_from(_LOGICAL), _decimal(), _enum(), _fixed())


@st.composite
def _record(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    name = _unique("Record")
    kinds = {f"f{n}": draw(inner) for n in range(draw(st.integers(0, 3)))}
    schema = {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": kind.schema} for field, kind in kinds.items()],
    }
    return Kind(schema, structured(kinds) if kinds else st.just(({}, True)), name)


def _is_fixed(kind: Kind) -> bool:
    return isinstance(kind.schema, dict) and kind.schema["type"] == "fixed"


@st.composite
def _union(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    """A union of null and others, of which Avro allows one of each type, and any number of named ones."""
    kinds = {each.name: each for each in draw(st.lists(inner, min_size=1, max_size=3))}
    kinds = {name: each for name, each in kinds.items() if each.name != "union"}
    # Fixed types of the same size are refused.
    fixed = {each.schema["size"]: name for name, each in kinds.items() if _is_fixed(each)}
    kinds = {name: each for name, each in kinds.items() if not _is_fixed(each) or name in fixed.values()}
    if not kinds:
        kinds = {"long": _PRIMITIVES[2]}
    members: list[Any] = [kind.schema for kind in kinds.values()]
    if nullable := draw(st.booleans()) or len(members) == 1:
        members.insert(draw(st.integers(0, len(members))), "null")
    if len(kinds) == 1:
        # The name tells the encoder which of the types a value is of.
        name = next(iter(kinds))
        values = kinds[name].values.map(lambda pair: ((name, pair[0]), pair[1]))
    else:
        labels = {name: name.rpartition(".")[2] for name in kinds}
        values = st.one_of(
            *(
                kind.values.map(
                    lambda pair, name=name: (
                        (name, pair[0]),
                        {label: pair[1] if other == name else None for other, label in labels.items()},
                    )
                )
                for name, kind in kinds.items()
            )
        )
    if nullable:
        values = st.one_of(same(st.none()), values)
    return Kind(members, values, "union")


def _nested(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    return st.one_of(
        inner.map(lambda each: Kind({"type": "array", "items": each.schema}, listed(each), "array")),
        inner.map(lambda each: Kind({"type": "map", "values": each.schema}, mapped(each), "map")),
        _record(inner),
        _union(inner),
    )


KINDS = st.recursive(_LEAVES, _nested, max_leaves=4)
