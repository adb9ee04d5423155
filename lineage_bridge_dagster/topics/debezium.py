"""Debezium's values: envelopes, and records that `ExtractNewRecordState` has flattened.

An envelope has the row in its field `after`, and what happened to it in `op`. A flattened record is the row,
with what happened in a field of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pyiceberg.types import StructType

AFTER, OP = "after", "op"
#: Fields of a flattened record: whether its row was deleted, which becomes no column, and the operation.
DELETED, FLAT_OP = "__deleted", "__op"


class Shape(StrEnum):
    """How a value holds its row."""

    ENVELOPE = "envelope"
    FLATTENED = "flattened"


def shape_of(fields: Mapping[str, bool]) -> Shape | None:
    """The shape of values with these fields; None if they are not Debezium's.

    Args:
        fields: name -> whether it is a record.
    """
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
        f"The values of topic {topic} are no Debezium envelopes: they have neither op and after nor "
        f"{DELETED}.",
        "Set mode: upsert for rows as they are; for flattened records, set "
        "delete.tombstone.handling.mode: rewrite in ExtractNewRecordState.",
    )
