"""Comparing fields of a schema with the columns in Glue of their topic's table.

Sources: Confluent's page "Schemas with Tableflow" for which fields become columns; `topics.avro` for their
types in a table that Spark writes, and for other formats `column_types`; the appendix on Avro of the Iceberg
specification for the types that Spark lacks; Iceberg's `IcebergToGlueConverter` for the spelling in Glue
(`string` for `time` and `uuid`, one type for both timestamps). Where writers differ, each spelling matches. A
type in none of these is unknown, never a mismatch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from lineage_bridge_dagster.lineage.nodes import Field

#: Iceberg's types that have another name in Glue, or that Avro calls otherwise.
_IN_GLUE = {"long": "bigint", "timestamptz": "timestamp", "timestamp": "timestamp", "binary": "binary"}
#: What writers make of a type that Spark lacks, in Glue and in a table's own metadata.
_BY_OTHERS = {
    "fixed": {"fixed"},
    "uuid": {"string", "uuid"},
    "time-millis": {"string", "time"},
    "time-micros": {"string", "time"},
}


@cache
def glue_types() -> Mapping[str, frozenset[str]]:
    """Avro's or Iceberg's type -> the possible types of its column in Glue; nested ones by part."""
    # Loading a project compares nothing, and must not import PyIceberg.
    from lineage_bridge_dagster.schemas.avro import DECLARED, LOGICAL, PRIMITIVES

    found = {name: set(others) for name, others in _BY_OTHERS.items()}
    logical = [(name, kind) for (_, name), kind in LOGICAL.items()]
    for name, kind in (*PRIMITIVES.items(), *DECLARED.items(), *logical):
        found.setdefault(name, set()).add(_IN_GLUE.get(str(kind), str(kind)))
    for name, kind_in_glue in _IN_GLUE.items():
        found.setdefault(name, set()).add(kind_in_glue)
    return {name: frozenset(several) for name, several in found.items()}


#: Other spellings in Glue: Hive's, and those of engines that distinguish timestamps.
_SYNONYMS = {
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
    """Result of comparing a field with its column."""

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
    """A parsed type: `decimal(10,2)`, `array<long>`, `record<a:int,b:string>`."""

    name: str
    arguments: tuple[str, ...] = ()
    parts: tuple[tuple[str, _Type], ...] = ()

    def __str__(self) -> str:
        inner = ",".join(f"{label}:{part}" if label else str(part) for label, part in self.parts)
        arguments = f"({','.join(self.arguments)})" if self.arguments else ""
        return f"{self.name}{arguments}{f'<{inner}>' if inner else ''}"


def compare_columns(
    fields: Iterable[Field], columns: Iterable[Field], column_types: Mapping[str, str] | None = None
) -> list[ColumnMatch]:
    """Compare each field of a topic's value schema with the column of its name.

    Extra columns are ignored: the key's fields and Tableflow's metadata become columns too. Names are
    compared in lower case, as Glue stores them. If the values are Debezium's and the table has their rows,
    the fields are those of the rows.

    Args:
        fields: with types as `avro_type` spells them.
        columns: as in Glue.
        column_types: field -> type, as `column_types` returns them; None for Avro, whose fields tell them.

    Returns:
        Nothing if the rows are those of envelopes, and it is not known what fields they have.
    """
    found = {column.name.lower(): column.type for column in columns}
    wanted = [
        (field.name, field.type, field.type if column_types is None else column_types.get(field.name, ""))
        for field in fields
    ]
    matches = []
    for name, shown, kind in _of_rows(wanted, found):
        column = found.get(name.lower())
        if column is None:
            match = Match.MISSING
        else:
            match = compare(kind, column) if kind and column else Match.UNKNOWN
        matches.append(ColumnMatch(name, shown, column or "", match))
    return matches


def _of_rows(
    fields: list[tuple[str, str, str]], columns: Mapping[str, str]
) -> Iterable[tuple[str, str, str]]:
    """The fields that the rows of a table have: their names, their types as shown, and as compared."""
    from lineage_bridge_dagster.schemas.debezium import AFTER, DELETED, OP

    kinds = {name: kind for name, _, kind in fields}
    if not {AFTER, OP} <= kinds.keys() or {AFTER, OP} & columns.keys():
        return [each for each in fields if each[0] != DELETED or DELETED in columns]
    # An Avro envelope declares the row in the first of its two fields, and names it in the other.
    rows = (_parsed(kinds.get(name, "")) for name in (AFTER, "before"))
    row = next((each for each in rows if each and each.name == "record" and each.parts), _Type(""))
    return [(name, str(part), str(part)) for name, part in row.parts]


def compare(avro: str, glue: str) -> Match:
    """Compare the type of an Avro field with that of its Glue column.

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
    name = _SYNONYMS.get(column.name, column.name)
    match schema.name:
        case "decimal":
            if name != "decimal":
                return Match.DIFFERENT
            if "?" in schema.arguments or not column.arguments:
                return Match.UNKNOWN
            return _is(_in_iceberg(schema.arguments) == column.arguments)
        case "array" if name == "map" and (entry := _entry(schema)):
            return _compare(entry, column)
        case "array" | "map":
            if name != schema.name:
                return Match.DIFFERENT
            if not schema.parts or len(schema.parts) != len(column.parts):
                return Match.UNKNOWN
            return _worst(_compare(s, c) for (_, s), (_, c) in zip(schema.parts, column.parts, strict=True))
        case "record":
            if name == "boolean" and not schema.parts:
                return Match.SAME  # what a record without fields becomes within another
            if name != "struct":
                return Match.DIFFERENT
            if not schema.parts or not column.parts:
                return Match.UNKNOWN
            inner = dict(column.parts)
            return _worst(
                _compare(part, inner[label.lower()]) if label.lower() in inner else Match.DIFFERENT
                for label, part in schema.parts
            )
    expected = glue_types().get(schema.name)
    return Match.UNKNOWN if expected is None else _is(name in expected)


def _in_iceberg(decimal: tuple[str, ...]) -> tuple[str, ...]:
    """Precision and scale as a column has them, whose digits are limited."""
    from lineage_bridge_dagster.schemas.types import MAX_PRECISION

    precision, *scale = decimal
    return (str(min(int(precision), MAX_PRECISION)) if precision.isdecimal() else precision, *scale)


def _entry(array: _Type) -> _Type | None:
    """The map that an array of keys and values stands for; None for any other array."""
    record = array.parts[0][1] if array.parts else array
    parts = dict(record.parts)
    found = record.name == "record" and parts.keys() == {"key", "value"}
    return _Type("map", parts=(("", parts["key"]), ("", parts["value"]))) if found else None


def _is(same: bool) -> Match:
    return Match.SAME if same else Match.DIFFERENT


def _worst(matches: Iterable[Match]) -> Match:
    found = set(matches)
    return next(match for match in (Match.DIFFERENT, Match.UNKNOWN, Match.SAME) if match in found)


def _parsed(text: str) -> _Type | None:
    """Parse a type; None if it is malformed."""
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
        # A field's name may contain dots and dollar signs; its type follows the first colon.
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
