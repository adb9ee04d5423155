"""Debezium's values: envelopes, and records that `ExtractNewRecordState` has flattened.

An envelope has the row in its field `after`, and what happened to it in `op`. A flattened record is the row,
with what happened in a field of its own.

A value that did not change and that the database did not send (PostgreSQL's TOAST, Oracle's LOBs) is a
placeholder, in the form of its column's type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from pyiceberg.types import StructType

from lineage_bridge_dagster.json_text import json_value

BEFORE, AFTER, OP = "before", "after", "op"
#: Fields of a flattened record: whether its row was deleted, which becomes no column, and the operation.
DELETED, FLAT_OP = "__deleted", "__op"
#: Debezium's default of `unavailable.value.placeholder`.
PLACEHOLDER = "__debezium_unavailable_value"
#: The placeholders of PostGIS's types, whose bytes do not depend on the setting.
GEOMETRIES = (
    bytes.fromhex("0101000020e6100000000000fc83d797c1000000fc83d797c1"),
    bytes.fromhex("0101000020e61000000c21e7fdff7f66401842cefbff7f5640"),
)
#: The record of a table's rows, by Debezium's naming of schemas.
_ROW = re.compile(r"(?:^|\.)(?:Value|Envelope)$")
_FIRST_MESSAGE = re.compile(r"\bmessage\s+(\w+)")


class Shape(StrEnum):
    """How a value holds its row."""

    ENVELOPE = "envelope"
    FLATTENED = "flattened"


def shape_of(fields: Mapping[str, bool]) -> Shape | None:
    """The shape of values with these fields, which may be records; None if they are not Debezium's."""
    if fields.get(AFTER) and OP in fields:
        return Shape.ENVELOPE
    return Shape.FLATTENED if DELETED in fields or FLAT_OP in fields else None


def row_of(value: StructType) -> StructType | None:
    """The columns of the rows; None if the values are not Debezium's."""
    shape = shape_of({each.name: isinstance(each.field_type, StructType) for each in value.fields})
    if shape is Shape.ENVELOPE:
        after = next(each.field_type for each in value.fields if each.name == AFTER)
        return after if isinstance(after, StructType) else None
    if shape is Shape.FLATTENED:
        return StructType(*(each for each in value.fields if each.name != DELETED))
    return None


def not_debezium(topic: str) -> tuple[str, str]:
    """The message and the hint of the error of a topic whose values are not Debezium's."""
    return (
        f"The values of topic {topic} are not Debezium envelopes: they have neither op and after nor "
        f"{DELETED}.",
        "Set mode: upsert for rows as they are; for flattened records, set "
        "delete.tombstone.handling.mode: rewrite in ExtractNewRecordState.",
    )


def placeholder(text: str) -> bytes:
    """The bytes of Debezium's `unavailable.value.placeholder`.

    >>> placeholder("hex:2d2d"), placeholder("--"), placeholder("hex")
    (b'--', b'--', b'hex')

    Raises:
        ValueError: what follows `hex:` is not hexadecimal.
    """
    return bytes.fromhex(text.removeprefix("hex:")) if text.startswith("hex:") else text.encode()


def is_debeziums(text: str) -> bool:
    """Whether a schema has the name that Debezium gives the schema of a table's rows, flattened or not."""
    try:
        schema = json_value(text)
    except ValueError:
        found = _FIRST_MESSAGE.search(text)
        return bool(found and _ROW.search(found[1]))
    names = (
        [schema.get(each) for each in ("connect.name", "name", "title")] if isinstance(schema, dict) else []
    )
    return any(isinstance(name, str) and _ROW.search(name) for name in names)
