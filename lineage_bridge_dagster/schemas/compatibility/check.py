"""A subject's rules for a new version, by its compatibility level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lineage_bridge_dagster.schemas.avro_tree import AvroNode
from lineage_bridge_dagster.schemas.compatibility.avro_resolution import avro_violations
from lineage_bridge_dagster.schemas.compatibility.avro_rules import parse_avro
from lineage_bridge_dagster.schemas.compatibility.json_diff import json_violations
from lineage_bridge_dagster.schemas.compatibility.json_shapes import json_shape
from lineage_bridge_dagster.schemas.compatibility.protobuf_diff import protobuf_violations
from lineage_bridge_dagster.schemas.compatibility.protobuf_types import ProtobufTypes
from lineage_bridge_dagster.schemas.compatibility.violation import (
    INVALID_SCHEMA,
    OTHER_TYPE,
    CompatibilityVerdict,
    InvalidSchema,
    Violation,
)
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.protobuf_files import InvalidProtobufError, descriptors
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, PROTOBUF, RegisteredSchema

_TRANSITIVE = "_TRANSITIVE"
_DIRECTIONS = ("NONE", "BACKWARD", "FORWARD", "FULL")


def check(
    level: str,
    schema_type: str,
    new: str,
    old_versions: Sequence[RegisteredSchema] = (),
    references: Sequence[tuple[str, str]] = (),
    *,
    lenient: bool = False,
) -> CompatibilityVerdict:
    """Judge whether a subject takes a new version.

    A version is compared with the latest one, and under a transitive level with all, the latest first; the
    first that it does not fit decides.

    Args:
        level: `NONE`, `BACKWARD`, `FORWARD`, `FULL`, or one of the last three with `_TRANSITIVE`.
        schema_type: `AVRO`, `JSON` or `PROTOBUF`.
        old_versions: The versions so far, oldest first.
        references: The schemas that the version uses: name -> text, those that others need first.
        lenient: Whether the subject's compatibility policy is `LENIENT`; it concerns JSON Schemas only.

    Raises:
        SchemaError: It cannot be told: the level is unknown, a version so far is not a valid schema, a
            reference is missing, or a schema is nested too deeply.
    """
    direction = level.removesuffix(_TRANSITIVE)
    if direction not in _DIRECTIONS:
        raise SchemaError(
            f"{level!r} is not a compatibility level.", hint=f"Take one of {', '.join(_DIRECTIONS)}."
        )
    schema = RegisteredSchema(0, new, schema_type, references=tuple(references))
    try:
        _validate(schema)
    except InvalidSchema as error:
        found = Violation(INVALID_SCHEMA, "", f"it is not a valid schema: {error}", error.column)
        return CompatibilityVerdict(level, (found,))
    versions = old_versions if level.endswith(_TRANSITIVE) else old_versions[-1:]
    for old in reversed(versions if direction != "NONE" else ()):
        violations = tuple(
            each._replace(version=old.version)
            for each in _violations(direction, schema, old, lenient=lenient)
        )
        if violations:
            return CompatibilityVerdict(level, violations)
    return CompatibilityVerdict(level)


def unreadable(
    reader: RegisteredSchema, writer: RegisteredSchema, *, lenient: bool = False
) -> list[Violation]:
    """What of the records of one schema a reader with another does not read, by the rules of `check`.

    Raises:
        SchemaError: One of them is not a valid schema.
    """
    if reader.type != writer.type:
        return [
            Violation(
                OTHER_TYPE, "", f"its type is {reader.type}, and that of an earlier version {writer.type}"
            )
        ]
    try:
        if reader.type == AVRO:
            return avro_violations(*(_avro(each) for each in (reader, writer)))
        if reader.type == JSON:
            return json_violations(*(json_shape(each) for each in (reader, writer)), lenient=lenient)
        if reader.type == PROTOBUF:
            return protobuf_violations(*(ProtobufTypes.of(each) for each in (reader, writer)))
    except InvalidSchema as error:
        raise SchemaError(
            f"A version of the subject is not a valid schema: {error}.",
            hint="Correct the schema in the Schema Registry.",
        ) from error
    return []


def _violations(
    direction: str, new: RegisteredSchema, old: RegisteredSchema, *, lenient: bool
) -> Iterator[Violation]:
    if direction in ("BACKWARD", "FULL") or new.type != old.type:
        yield from unreadable(new, old, lenient=lenient)
    if direction in ("FORWARD", "FULL") and new.type == old.type:
        yield from (each._replace(forward=True) for each in unreadable(old, new, lenient=lenient))


def _validate(schema: RegisteredSchema) -> None:
    """Parse a new schema as strictly as the registry.

    Raises:
        InvalidSchema: The registry does not take it.
    """
    if schema.type == AVRO:
        parse_avro(schema.text, [text for _, text in schema.references])
    if schema.type == JSON:
        json_shape(schema)
    if schema.type == PROTOBUF:
        try:
            descriptors(schema)
        except InvalidProtobufError as error:
            raise InvalidSchema(error.message) from error


def _avro(schema: RegisteredSchema) -> AvroNode:
    return parse_avro(schema.text, [text for _, text in schema.references], validate_defaults=False)
