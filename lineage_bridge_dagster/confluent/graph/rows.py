"""The row that Confluent's Flink makes of a registered schema. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from lineage_bridge_dagster.sql.columns.types import SqlType

AFTER = "after"
_BEFORE, _OP = "before", "op"
_LOGICAL = {"bytes": "binary", "timestamp-millis": "timestamptz", "timestamp-micros": "timestamptz"}


class RowField(NamedTuple):
    """A field.

    Attributes:
        name: Its name.
        type: Its type, as far as it decides which columns there are.
        spelled: Its type in the words of `type_mapping`, with `?` if it may be null.
        full_name: That of a union's member whose column has the simple name; else empty.
    """

    name: str
    type: SqlType | None
    spelled: str
    full_name: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """What a schema describes.

    Attributes:
        fields: The fields of a record or of a union of several types; none for another type.
        row: The fields of an envelope's `after`, if it is one of Debezium's.
        type: The type of the whole.
        spelled: The same in words, as in a field.
        name: The record's name, empty if it has none.
        full_name: The record's name with its namespace.
        ordered: Whether the schema tells the order of its fields.
        by_flink: Whether Flink registered it for a CREATE TABLE.
    """

    fields: tuple[RowField, ...] = ()
    row: tuple[RowField, ...] = ()
    type: SqlType | None = None
    spelled: str = ""
    name: str = ""
    full_name: str = ""
    ordered: bool = True
    by_flink: bool = False


def envelope(fields: Iterable[RowField]) -> tuple[RowField, ...]:
    """The fields of `after` if these are Debezium's envelope; none if they are not or `after` is unknown."""
    by_name = {field.name: field.type for field in fields}
    after = by_name.get(AFTER)
    if not {_BEFORE, AFTER, _OP} <= by_name.keys() or after is None or after.kind != "ROW":
        return ()
    return tuple(RowField(name, of, "") for name, of in after.parts)


def spelled(kind: str, nullable: bool) -> str:
    """A type as `RowField.spelled` has it."""
    return _LOGICAL.get(kind, kind) + ("?" if nullable else "")


def row_type(fields: Iterable[RowField]) -> SqlType:
    """The type of a row of these fields."""
    return SqlType("ROW", tuple((field.name, field.type) for field in fields))
