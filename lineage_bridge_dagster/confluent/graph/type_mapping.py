"""How a field of an Avro schema shows as a column in Glue, in the table that Tableflow makes. Pure.

Sources of the facts: Confluent's page "Schemas with Tableflow" for which fields become columns; the Iceberg
specification's appendix on Avro for the type that each becomes; Iceberg's `IcebergToGlueConverter` for how
Glue spells that type (it has no word for `time` and `uuid` and says `string`, and one for both timestamps).
Where writers are known to differ, every spelling counts. What is in none of these is unknown, never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

#: Avro type or logical type -> what its column may be called in Glue. Types with parts are compared by part.
GLUE_TYPES: Mapping[str, frozenset[str]] = {
    "boolean": frozenset({"boolean"}),
    "int": frozenset({"int"}),
    "long": frozenset({"bigint"}),
    "float": frozenset({"float"}),
    "double": frozenset({"double"}),
    "bytes": frozenset({"binary"}),
    "fixed": frozenset({"binary", "fixed"}),
    "string": frozenset({"string"}),
    "enum": frozenset({"string"}),
    "uuid": frozenset({"string", "uuid"}),
    "date": frozenset({"date"}),
    # Iceberg has a time of day, which Glue calls a string; Spark has none and keeps the number.
    "time-millis": frozenset({"string", "time", "int"}),
    "time-micros": frozenset({"string", "time", "bigint"}),
    "timestamp-millis": frozenset({"timestamp"}),
    "timestamp-micros": frozenset({"timestamp"}),
    "local-timestamp-millis": frozenset({"timestamp"}),
    "local-timestamp-micros": frozenset({"timestamp"}),
}

#: Other spellings in Glue: Hive's, and those of engines that tell the timestamps apart.
_SAME = {
    "integer": "int",
    "long": "bigint",
    "timestamptz": "timestamp",
    "timestamp_ntz": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp with time zone": "timestamp",
    "timestamp with local time zone": "timestamp",
}

_NAME = re.compile(r"[^<>(),]+")


class Match(StrEnum):
    """How a field and its column go together."""

    SAME = "same"
    DIFFERENT = "different"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """One field of the schema: its type there, the column's type in Glue, and whether they agree."""

    name: str
    schema_type: str
    column_type: str
    match: Match


@dataclass(frozen=True, slots=True)
class _Type:
    """A type in words: `decimal(10,2)`, `array<long>`, `record<a:int,b:string>`."""

    name: str
    arguments: tuple[str, ...] = ()
    parts: tuple[tuple[str, _Type], ...] = ()


def compare_columns(
    fields: Iterable[Mapping[str, object]],
    columns: Iterable[Mapping[str, object]],
    schema_type: str = "AVRO",
) -> list[ColumnMatch]:
    """Each field of a topic's value schema with the column that it should have become.

    Columns that no field stands behind are no fault: the key's fields and Tableflow's metadata are columns
    too. Names are compared as Glue keeps them, in lower case.

    Args:
        fields: `[{name, type}]`, types in words.
        columns: `[{name, type}]`, as Glue gives them.
        schema_type: AVRO, JSON or PROTOBUF; of the latter two only the names are compared.
    """
    held = {str(column.get("name") or "").lower(): str(column.get("type") or "") for column in columns}
    found = []
    for field in fields:
        name, kind = str(field.get("name") or ""), str(field.get("type") or "")
        column = held.get(name.lower())
        if column is None:
            match = Match.MISSING
        elif schema_type.upper() != "AVRO" or not column:
            match = Match.UNKNOWN
        else:
            match = compare(kind, column)
        found.append(ColumnMatch(name, kind, column or "", match))
    return found


def compare(avro: str, glue: str) -> Match:
    """Whether a Glue column of type `glue` is what an Avro field of type `avro` becomes.

    >>> str(compare("array<long>", "array<bigint>")), str(compare("long", "int"))
    ('same', 'different')
    >>> str(compare("com.shop.Address", "struct<street:string>"))
    'unknown'
    """
    schema, column = _parsed(avro), _parsed(glue.lower())
    if schema is None or column is None:
        return Match.UNKNOWN
    return _compare(schema, column)


def _compare(schema: _Type, column: _Type) -> Match:
    held = _SAME.get(column.name, column.name)
    match schema.name:
        case "decimal":
            if held != "decimal":
                return Match.DIFFERENT
            if "?" in schema.arguments or not column.arguments:
                return Match.UNKNOWN
            return _is(schema.arguments == column.arguments)
        case "array" | "map":
            if held != schema.name:
                return Match.DIFFERENT
            if not schema.parts or len(schema.parts) != len(column.parts):
                return Match.UNKNOWN
            return _worst(_compare(s, c) for (_, s), (_, c) in zip(schema.parts, column.parts, strict=True))
        case "record":
            if held != "struct":
                return Match.DIFFERENT
            if not schema.parts or not column.parts:
                return Match.UNKNOWN
            inner = dict(column.parts)
            return _worst(
                _compare(part, inner[name.lower()]) if name.lower() in inner else Match.DIFFERENT
                for name, part in schema.parts
            )
    wanted = GLUE_TYPES.get(schema.name)
    return Match.UNKNOWN if wanted is None else _is(held in wanted)


def _is(same: bool) -> Match:
    return Match.SAME if same else Match.DIFFERENT


def _worst(matches: Iterable[Match]) -> Match:
    found = set(matches)
    return next(match for match in (Match.DIFFERENT, Match.UNKNOWN, Match.SAME) if match in found)


def _parsed(text: str) -> _Type | None:
    """A type in words, taken apart; None when it is not well formed."""
    try:
        found, rest = _type(text.strip())
    except RecursionError:
        return None
    return found if not rest else None


def _type(text: str) -> tuple[_Type | None, str]:
    named = _NAME.match(text)
    if named is None:
        return None, text
    name, rest = named.group().strip(), text[named.end() :]
    if rest.startswith("("):
        inside, closed, rest = rest[1:].partition(")")
        if not closed:
            return None, text
        return _Type(name, tuple(part.strip() for part in inside.split(","))), rest
    if not rest.startswith("<"):
        return _Type(name), rest
    parts: list[tuple[str, _Type]] = []
    while rest[:1] in ("<", ","):
        # A field's name may hold a dot or a dollar; its type begins behind the first colon.
        label, colon, behind = rest[1:].partition(":")
        if not colon or not _NAME.fullmatch(label):
            label, behind = "", rest[1:]
        part, rest = _type(behind)
        if part is None:
            return None, text
        parts.append((label.strip(), part))
    if not rest.startswith(">"):
        return None, text
    return _Type(name, parts=tuple(parts)), rest[1:]
