"""What an old reader makes of records that are written with a new schema. Pure.

Sources: the specification of Avro, "Schema Resolution"; the specification of Protobuf, by which unknown and
missing fields are no error; JSON Schema, whose properties may be absent unless they are required.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.impact.schema_diff import SchemaField, fields_of
from lineage_bridge_dagster.schemas import compatibility
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, RegisteredSchema


class Problem(NamedTuple):
    """Why a schema does not fit another one.

    Attributes:
        column: The field that decides; None if it is the whole record.
        reason: Why, in one clause.
    """

    column: str | None
    reason: str


def unreadable(reader: RegisteredSchema, writer: RegisteredSchema) -> Problem | None:
    """Why a reader with one schema cannot read what is written with another of its format; None if it can."""
    try:
        if reader.type == AVRO:
            found = compatibility.unreadable(reader, writer)
            return Problem(found[0].column or None, found[0].message) if found else None
        if reader.type == JSON:
            return _unread_property(fields_of(reader), fields_of(writer))
    except LineageBridgeError:
        pass  # A gap, which whoever compares the two finds.
    return None


def _unread_property(read: Mapping[str, SchemaField], written: Mapping[str, SchemaField]) -> Problem | None:
    """The first property that cannot be read. One that is missing may be null, unless it is required."""
    missing: set[str] = set()
    for name, field in read.items():
        found = written.get(name)
        if found is None:
            outer = name.rpartition(".")[0]
            missing.add(name)
            if outer not in missing and not field.nullable:
                return Problem(name, f"{name} no longer arrives, and the reader's schema requires it")
        elif found.nullable and not field.nullable:
            return Problem(name, f"{name} may be null, which the reader's schema does not know")
        elif found.type != field.type and (found.type, field.type) != ("long", "double"):
            return Problem(name, f"{name} is written as {found.type}, and read as {field.type}")
    return None
