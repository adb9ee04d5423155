"""What a reader with an old schema makes of records that are written with a new one. Pure.

Sources: Avro's schema resolution, which does not know logical types, so a number of another unit or scale is
read all the same; Protobuf's guide ("Updating A Message Type"), by which fields are told by their numbers, a
field that is written in another wire type is unknown to the reader, and unknown and missing fields are no
error; JSON Schema, whose properties may be absent unless they are required.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.schema_diff import SchemaField, fields_of
from lineage_bridge_dagster.schemas import compatibility
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, PROTOBUF, RegisteredSchema
from lineage_bridge_dagster.schemas.types import joined

#: A kind of Protobuf's fields -> its type on the wire.
_WIRE_TYPES = {
    "number": "varint",
    "signed number": "varint",
    "fixed32": "I32",
    "float": "I32",
    "fixed64": "I64",
    "double": "I64",
    "text": "LEN",
    "message": "LEN",
    "map": "LEN",
}
_SCALE = re.compile(r"decimal\(\d+,\s*(\d+)\)")

Fields = Mapping[str, SchemaField]


def reader_deltas(old: RegisteredSchema, new: RegisteredSchema) -> Iterator[NodeDelta]:
    """What a reader with the old schema does not get right of records that are written with the new one.

    Args:
        old: What it reads with.
        new: What is written with. A schema that is not understood gives nothing: see `schema_deltas`.
    """
    if old.type != new.type:
        yield NodeDelta(DeltaKind.UNREADABLE, None, f"records are {new.type} now, and not {old.type}")
        return
    try:
        if old.type == AVRO and (found := compatibility.unreadable(old, new)):
            yield NodeDelta(DeltaKind.UNRESOLVED, found[0].column or None, found[0].message)
            return
        compare = {AVRO: _avro, JSON: _json, PROTOBUF: _protobuf}[old.type]
        yield from compare(fields_of(old), fields_of(new))
    except LineageBridgeError:
        return


def _avro(read: Fields, written: Fields) -> Iterator[NodeDelta]:
    """Values that are read as other values."""
    for name, old in read.items():
        outer = name.rpartition(".")[0]
        names = (name, *(joined(outer, alias) for alias in sorted(old.aliases)))
        new = next((written[each] for each in names if each in written), None)
        if new is not None and _unit(old) != _unit(new) and "" not in (_unit(old), _unit(new)):
            kinds = (f"{new.type}{new.precision}", f"{old.type}{old.precision}")
            yield NodeDelta(
                DeltaKind.MISREAD, name, f"{name} is written as {kinds[0]}, and read as {kinds[1]}"
            )


def _unit(field: SchemaField) -> str:
    """What a number counts: the scale of a decimal, the digits of a time's seconds; empty of other fields."""
    scale = _SCALE.fullmatch(field.type)
    return f"10^-{scale[1]}" if scale else field.precision if field.precision.startswith("(") else ""


def _json(read: Fields, written: Fields) -> Iterator[NodeDelta]:
    """The first property that cannot be read. One that is missing may be null, unless it is required."""
    missing: set[str] = set()
    for name, field in read.items():
        reason = ""
        found = written.get(name)
        if found is None:
            if name.rpartition(".")[0] not in missing and not field.nullable:
                reason = f"{name} no longer arrives, and the reader's schema requires it"
            missing.add(name)
        elif found.nullable and not field.nullable:
            reason = f"{name} may be null, which the reader's schema does not know"
        elif found.type != field.type and (found.type, field.type) != ("long", "double"):
            reason = f"{name} is written as {found.type}, and read as {field.type}"
        if reason:
            yield NodeDelta(DeltaKind.UNRESOLVED, name, reason)
            return


def _protobuf(read: Fields, written: Fields) -> Iterator[NodeDelta]:
    """Fields by their numbers: those that are gone, and those that another field or type has taken."""
    by_wire = {each.wire: (name, each) for name, each in written.items()}
    for name, old in read.items():
        if not old.wire:
            continue
        found, new = by_wire.get(old.wire, ("", None))
        kinds = (old.wire_kind, new.wire_kind) if new is not None else ("", "")
        if new is None:
            outer = old.wire.rpartition("/")[0]
            if name in written and (not outer or outer in by_wire):
                number = written[name].wire.rpartition("/")[2]
                yield NodeDelta(DeltaKind.RENUMBERED, name, f"{name} has the number {number} now")
        elif _WIRE_TYPES.get(kinds[0]) != _WIRE_TYPES.get(kinds[1]):
            yield NodeDelta(
                DeltaKind.UNSEEN, name, f"{found} is a {kinds[1]} on the wire, and read as a {kinds[0]}"
            )
        elif kinds[0] != kinds[1] and _WIRE_TYPES.get(kinds[0]) == "LEN":
            yield NodeDelta(DeltaKind.UNRESOLVED, name, f"{found} is a {kinds[1]}, and read as a {kinds[0]}")
        elif kinds[0] != kinds[1] or (found != name and found in read):
            yield NodeDelta(DeltaKind.MISREAD, name, f"{found} is read as {name}")
