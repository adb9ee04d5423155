"""Random Protobuf messages with values, by the language guide for proto3."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    same,
)

_UNSIGNED = st.integers(0, 2**32 - 1)
_POSITIVE = st.integers(0, 2**63 - 1)
_SCALARS: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "double": (st.floats(), 0.0),
    "float": (st.floats(width=32), 0.0),
    "bool": (st.booleans(), False),
    "string": (TEXTS, ""),
    "bytes": (BYTES, b""),
    **dict.fromkeys(("int32", "sint32", "sfixed32"), (INT, 0)),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), (LONG, 0)),
    **dict.fromkeys(("uint32", "fixed32"), (_UNSIGNED, 0)),
    **dict.fromkeys(("uint64", "fixed64"), (_POSITIVE, 0)),
}
_KEYS = ["string", "int32", "sint64", "fixed32", "bool", "uint64"]
_SYMBOLS = {0: "NONE", 1: "ONE", -5: "MINUS_FIVE", 3: "THREE"}
_ENUM = "enum E { NONE = 0; ONE = 1; MINUS_FIVE = -5; THREE = 3; }"


@dataclass(frozen=True)
class Member:
    """Members of a message.

    Attributes:
        text: their declaration, with `{f}` for the name, `{n}` for the number and `{m}` for the next one.
        values: pairs of what is set, by name (nothing if it is left out), and what the column must hold.
        declared: a message of its own that it needs.
    """

    text: str
    values: st.SearchStrategy[tuple[dict[str, Any], Any]]
    declared: str = field(default="")


def _set(pair: tuple[Any, Any]) -> tuple[dict[str, Any], Any]:
    return {"{f}": pair[0]}, pair[1]


def _scalar(name: str) -> Kind:
    if name == "E":
        # Numbers without a name are kept, as their text.
        numbers = st.sampled_from([*_SYMBOLS, 77])
        return Kind("E", numbers.map(lambda number: (number, _SYMBOLS.get(number, str(number)))), "E")
    return Kind(name, same(_SCALARS[name][0]), name)


def _seconds(micros: int) -> dict[str, int]:
    return {"seconds": micros // 1_000_000, "nanos": micros % 1_000_000 * 1000}


#: Messages that are columns of another type.
_KNOWN = [
    Kind(
        "google.protobuf.Timestamp",
        MICROS.map(lambda micros: (_seconds(micros), instant(micros))),
        "timestamp",
    ),
    Kind(
        "google.type.Date",
        DATES.map(lambda day: ({"year": day.year, "month": day.month, "day": day.day}, day)),
        "date",
    ),
    *(
        Kind(
            f"google.protobuf.{name}Value", kind.values.map(lambda pair: ({"value": pair[0]}, pair[1])), name
        )
        for name, kind in {
            "Double": _scalar("double"),
            "Float": _scalar("float"),
            "Int64": _scalar("int64"),
            "UInt64": _scalar("uint64"),
            "Int32": _scalar("int32"),
            "UInt32": _scalar("uint32"),
            "Bool": _scalar("bool"),
            "String": _scalar("string"),
            "Bytes": _scalar("bytes"),
        }.items()
    ),
]
_VALUES = st.one_of(st.sampled_from([*_SCALARS, "E"]).map(_scalar), st.sampled_from(_KNOWN))


@st.composite
def _singular(draw: st.DrawFn) -> Member:
    """A field that is always there, as proto3 has them."""
    kind = _scalar(draw(st.sampled_from([*_SCALARS, "E"])))
    default = "NONE" if kind.name == "E" else _SCALARS[kind.name][1]
    values = st.one_of(st.just(({}, default)), kind.values.map(_set))
    return Member(f"{kind.schema} {{f}} = {{n}};", values)


@st.composite
def _optional(draw: st.DrawFn) -> Member:
    kind = draw(_VALUES)
    return Member(
        f"optional {kind.schema} {{f}} = {{n}};", st.one_of(st.just(({}, None)), kind.values.map(_set))
    )


@st.composite
def _repeated(draw: st.DrawFn) -> Member:
    kind = draw(_VALUES)
    values = st.lists(kind.values, max_size=3).map(
        lambda pairs: ({"{f}": [a for a, _ in pairs]}, [b for _, b in pairs])
    )
    return Member(f"repeated {kind.schema} {{f}} = {{n}};", values)


@st.composite
def _map(draw: st.DrawFn) -> Member:
    key, kind = draw(st.sampled_from(_KEYS)), draw(_VALUES)
    values = st.dictionaries(_SCALARS[key][0], kind.values, max_size=3).map(
        lambda found: (
            {"{f}": {k: a for k, (a, _) in found.items()}},
            [(k, b) for k, (_, b) in found.items()],
        )
    )
    return Member(f"map<{key}, {kind.schema}> {{f}} = {{n}};", values)


@st.composite
def _oneof(draw: st.DrawFn) -> Member:
    first, second = draw(_VALUES), draw(_VALUES)
    values = st.one_of(
        st.just(({}, None)),
        first.values.map(lambda pair: ({"{f}_a": pair[0]}, {"{f}_a": pair[1], "{f}_b": None})),
        second.values.map(lambda pair: ({"{f}_b": pair[0]}, {"{f}_a": None, "{f}_b": pair[1]})),
    )
    return Member(
        f"oneof {{f}} {{{{ {first.schema} {{f}}_a = {{n}}; {second.schema} {{f}}_b = {{m}}; }}}}", values
    )


@st.composite
def _message(draw: st.DrawFn) -> Member:
    """A message of two fields, and lists of it."""
    one, two = (_scalar(draw(st.sampled_from(list(_SCALARS)))) for _ in range(2))
    declared = f"message M{{f}} {{{{ {one.schema} x = 1; optional {two.schema} y = 2; }}}}"
    rows = st.tuples(one.values, st.one_of(st.none(), two.values)).map(
        lambda row: (
            {"x": row[0][0], **({"y": row[1][0]} if row[1] else {})},
            {"x": row[0][1], "y": row[1][1] if row[1] else None},
        )
    )
    if draw(st.booleans()):
        values = st.lists(rows, max_size=3).map(
            lambda pairs: ({"{f}": [a for a, _ in pairs]}, [b for _, b in pairs])
        )
        return Member("repeated M{f} {f} = {n};", values, declared)
    return Member("M{f} {f} = {n};", st.one_of(st.just(({}, None)), rows.map(_set)), declared)


MEMBERS = st.one_of(_singular(), _optional(), _repeated(), _map(), _oneof(), _message())


@dataclass(frozen=True)
class Messages:
    """A schema, what is set in each message of it, and the expected rows."""

    text: str
    rows: list[dict[str, Any]]
    expected: list[dict[str, Any]]


def _named(value: Any, name: str) -> Any:
    return {key.replace("{f}", name): each for key, each in value.items()}


@st.composite
def messages(draw: st.DrawFn, fields: int, rows: int) -> Messages:
    """A schema of so many fields, and so many messages."""
    members = {f"f{number}": draw(MEMBERS) for number in range(fields)}
    lines = [
        member.text.format(f=name, n=2 * number + 1, m=2 * number + 2)
        for number, (name, member) in enumerate(members.items())
    ]
    others = [member.declared.format(f=name) for name, member in members.items() if member.declared]
    imports = "".join(
        f'import "{name}.proto";'
        for name in ("google/protobuf/timestamp", "google/protobuf/wrappers", "google/type/date")
    )
    text = f'syntax = "proto3"; {imports} message Row {{ {" ".join(lines)} }} {" ".join(others)} {_ENUM}'
    given, expected = [], []
    for _ in range(rows):
        drawn = {name: draw(member.values) for name, member in members.items()}
        given.append({k: v for name, (found, _) in drawn.items() for k, v in _named(found, name).items()})
        expected.append(
            {
                name: _named(column, name) if isinstance(column, dict) else column
                for name, (_, column) in drawn.items()
            }
        )
    return Messages(text, given, expected)
