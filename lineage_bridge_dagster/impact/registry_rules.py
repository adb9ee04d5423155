"""What Schema Registry says to a new version, and what an old reader makes of its records. Pure.

Sources: the specification of Avro, "Schema Resolution"; the specification of Protobuf, by which unknown and
missing fields are no error; JSON Schema, whose properties may be absent unless they are required.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.impact.schema_diff import SchemaField, fields_of
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.schemas.types import joined


class Problem(NamedTuple):
    """Why a schema does not fit another one.

    Attributes:
        column: The field that decides; None if it is the whole record.
        reason: Why, in one clause.
    """

    column: str | None
    reason: str


#: The type in which Avro writes values -> what readers may have instead. Logical types are not resolved.
_AVRO_READERS: Mapping[str, frozenset[str]] = {
    "int": frozenset({"int", "long", "float", "double"}),
    "long": frozenset({"long", "float", "double"}),
    "float": frozenset({"float", "double"}),
    "string": frozenset({"string", "binary"}),
    "binary": frozenset({"string", "binary"}),
}
_UNDERLYING = {"timestamp": "long", "timestamptz": "long", "date": "int"}


def rejection(subject: SubjectSchemas, new: RegisteredSchema, mode: str) -> Problem | None:
    """Why a subject does not take a new version; None if it does, or if its rules are not known.

    The rules of Avro are those of its schema resolution. Of other formats, only the schemas' type is
    compared: a change within one is a gap.
    """
    versions = subject.versions if mode.endswith("_TRANSITIVE") else subject.versions[-1:]
    direction = mode.removesuffix("_TRANSITIVE")
    for old in reversed(versions if direction != "NONE" else ()):
        if old.type != new.type:
            return Problem(None, f"it is of {new.type}, and version {old.version} of {old.type}")
        pairs = {"BACKWARD": [(new, old)], "FORWARD": [(old, new)], "FULL": [(new, old), (old, new)]}
        for reader, writer in pairs.get(direction, ()) if new.type == AVRO else ():
            if (problem := unreadable(reader, writer)) is not None:
                return problem._replace(reason=f"{mode}, version {old.version}: {problem.reason}")
    return None


def unreadable(reader: RegisteredSchema, writer: RegisteredSchema) -> Problem | None:
    """Why a reader with one schema cannot read what is written with another of its format; None if it can."""
    resolve = {AVRO: _avro_resolves, JSON: _json_resolves}.get(reader.type)
    if resolve is None:
        return None
    if reader.type == AVRO and (names := _other_names(reader.text, writer.text)):
        return Problem(None, f"records are named {names[1]}, and the reader knows {names[0]}")
    try:
        return _unread_field(fields_of(reader), fields_of(writer), resolve, reader.type == AVRO)
    except LineageBridgeError:
        return None  # A gap, which whoever compares the two finds.


def _unread_field(
    read: Mapping[str, SchemaField],
    written: Mapping[str, SchemaField],
    resolves: Callable[[str, str], bool],
    by_default: bool,
) -> Problem | None:
    """The first field that cannot be read.

    Args:
        read: The reader's fields.
        written: The writer's.
        resolves: Whether a type that is written can be read as another.
        by_default: Whether a missing field needs a default; it may otherwise be null.
    """
    missing: set[str] = set()
    for name, field in read.items():
        outer = name.rpartition(".")[0]
        names = [name, *(joined(outer, alias) for alias in sorted(field.aliases))]
        found = next((written[each] for each in names if each in written), None)
        if found is None:
            inside = any(name.startswith(f"{outer}.") for outer in missing)
            missing.add(name)
            if not inside and not (field.default if by_default else field.nullable):
                return Problem(
                    name, f"{name} no longer arrives, and the reader's schema has no default for it"
                )
        elif found.nullable and not field.nullable:
            return Problem(name, f"{name} may be null, which the reader's schema does not know")
        elif found.symbols - field.symbols and field.symbols and not field.any_symbol:
            unknown = ", ".join(sorted(found.symbols - field.symbols))
            return Problem(name, f"{name} may be {unknown}, which the reader's enum has not")
        elif not resolves(found.type, field.type):
            return Problem(name, f"{name} is written as {found.type}, and read as {field.type}")
    return None


def _avro_resolves(written: str, read: str) -> bool:
    if written == read or (written.startswith("decimal") and read.startswith("decimal")):
        return True
    for outer in ("list<", "map<string, "):
        if written.startswith(outer) and read.startswith(outer):
            return _avro_resolves(written[len(outer) : -1], read[len(outer) : -1])
    if read.startswith("union<"):
        return written in read.removeprefix("union<").removesuffix(">").split(", ")
    source, target = (_UNDERLYING.get(kind, kind) for kind in (written, read))
    return target in _AVRO_READERS.get(source, frozenset({source}))


def _json_resolves(written: str, read: str) -> bool:
    return written == read or (written, read) == ("long", "double")


def _other_names(reader: str, writer: str) -> tuple[str, str] | None:
    """The names of two Avro records, if the reader's is not the writer's; namespaces do not count."""
    old, new = json.loads(reader), json.loads(writer)
    if not all(isinstance(each, Mapping) and "fields" in each for each in (old, new)):
        return None
    names = [_simple(each["name"]) for each in (old, new)]
    known = {names[0], *(_simple(alias) for alias in old.get("aliases", ()))}
    return None if names[1] in known else (names[0], names[1])


def _simple(name: Any) -> str:
    return str(name).rpartition(".")[2]
