"""The columns of a topic's table: what the records of all versions of its schemas hold.

Confluent's page "Schemas with Tableflow": the table has the latest version's fields, and those of the key
besides; a key or a value without a schema is a column of bytes. A topic still has records of older versions,
so fields that only those have follow, and a field has the widest of its types. Versions that do not agree
(compatibility mode NONE) cost their records, never the table: each such record is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pyiceberg import types as iceberg
from pyiceberg.schema import Schema, assign_fresh_schema_ids

from lineage_bridge_dagster.schemas import debezium, types
from lineage_bridge_dagster.schemas.avro import avro_type
from lineage_bridge_dagster.schemas.errors import EvolutionError, SchemaError
from lineage_bridge_dagster.schemas.evolution import merged, promoted
from lineage_bridge_dagster.schemas.json_promotion import promoted_node
from lineage_bridge_dagster.schemas.json_schema import json_node
from lineage_bridge_dagster.schemas.protobuf import message_reader
from lineage_bridge_dagster.schemas.protobuf_files import compiled
from lineage_bridge_dagster.schemas.schemas import (
    AVRO,
    JSON,
    PROTOBUF,
    Mode,
    RegisteredSchema,
    SubjectSchemas,
)

_METADATA: Mapping[str, iceberg.IcebergType] = {
    "topic": iceberg.StringType(),
    "partition": iceberg.IntegerType(),
    "headers": iceberg.MapType(0, iceberg.StringType(), 0, iceberg.BinaryType(), value_required=False),
    "leader-epoch": iceberg.IntegerType(),
    "offset": iceberg.LongType(),
    "timestamp": iceberg.TimestamptzType(),
    "timestamp-type": iceberg.StringType(),
    "raw-key": iceberg.BinaryType(),
    "raw-value": iceberg.BinaryType(),
}
_RAW = ("raw-key", "raw-value")


@dataclass(frozen=True)
class ValueType:
    """The type of a subject's keys or values.

    Attributes:
        type: holds the values of all versions that agree with the latest.
        versions: schema id -> the version's own type.
        promoted: the ids of those whose records are read as those of the latest.
        errors: schema id -> why its records cannot be read, for all other versions.
    """

    type: iceberg.IcebergType
    versions: Mapping[int, iceberg.IcebergType]
    errors: Mapping[int, str]
    promoted: frozenset[int] = frozenset()

    @property
    def is_record(self) -> bool:
        """Whether its fields become columns."""
        return isinstance(self.type, iceberg.StructType)


@lru_cache(maxsize=1000)
def value_type(subject: SubjectSchemas) -> ValueType | None:
    """The type of a subject's keys or values; None without a schema.

    Raises:
        SchemaError: the latest version cannot be a table.
    """
    latest = subject.latest
    if latest is None:
        return None
    try:
        found = own_type(latest, message=subject.message)
    except SchemaError as error:
        raise SchemaError(
            f"{error.message} This is schema id {latest.id}, the latest of subject {subject.subject}.",
            hint=error.hint,
        ) from error
    versions, errors, read_as_latest = {latest.id: found}, {}, set()
    for schema in reversed(subject.versions[:-1]):
        if schema.type != latest.type:
            errors[schema.id] = f"It is a schema of {schema.type}, and the latest is one of {latest.type}."
            continue
        try:
            own = own_type(schema, message=subject.message)
            both = merged(found, own)
            types.check_paths(types.paths(both))
        except (EvolutionError, SchemaError) as error:
            try:
                own = own_type(schema, latest, subject.message)
                both = promoted(found, own) if schema.type == AVRO else merged(found, own)
                types.check_paths(types.paths(both))
            except (EvolutionError, SchemaError):
                errors[schema.id] = error.message
                continue
            read_as_latest.add(schema.id)
        found, versions[schema.id] = both, own
    return ValueType(found, versions, errors, frozenset(read_as_latest))


def own_type(
    schema: RegisteredSchema, reader: RegisteredSchema | None = None, message: str = ""
) -> iceberg.IcebergType:
    """The type of the values that are written with a schema.

    Args:
        reader: a later version; the type is then that of its values, if its format's rules let it read the
            older ones, with the fields that only these have.
        message: the full name of a Protobuf message; empty for the schema's first.

    Raises:
        EvolutionError: the reader does not read all values.
        SchemaError: no table can hold them.
    """
    if schema.type == AVRO:
        return avro_type(schema.text, entries=schema.first_format)[0]
    if schema.type == JSON:
        node = json_node(schema)
        return (promoted_node(json_node(reader), node) if reader else node).type()
    if schema.type == PROTOBUF:
        later = compiled(reader) if reader else b""
        return message_reader(compiled(schema), message, later, first_format=schema.first_format).type
    raise SchemaError(
        f"{schema.type} is not a known type of schema; use {AVRO}, {JSON} or {PROTOBUF}.",
        hint="Register a schema of one of these types.",
    )


@lru_cache(maxsize=1000)
def table_schema(
    key: SubjectSchemas,
    value: SubjectSchemas,
    mode: Mode = "append",
    *,
    portable: bool = False,
    raw: bool = True,
) -> Schema:
    """The columns of a new table: those of `row_columns`, and Tableflow's metadata.

    All are optional, but for those that identify a row of a table by key, if no key can lack one of them.

    `portable` and `raw` are those of `metadata_columns`.

    Raises:
        SchemaError: as `row_columns`, a field has the name of a metadata column, or two fields have the same
            dotted name.
    """
    columns, metadata = row_columns(key, value, mode), metadata_columns(portable=portable, raw=raw)
    reserved = {each.name.lower() for each in metadata}
    for each in columns.fields:
        if each.name.lower() in reserved:
            raise SchemaError.at(
                each.name,
                "has the name of a metadata column",
                f"Set metadata_names: {'tableflow' if portable else 'portable'} in a new table, or rename it "
                "in a new topic.",
            )
    identifying: set[str] = set()
    if mode != "append" and not optional_key_fields(key):
        names = (each.name for each in columns_of(key, "key").fields)
        identifying = {metadata_name("partition", portable), *names}
    found = (
        types.field(each.name, each.field_type, required=each.name in identifying, doc=each.doc or "")
        for each in (*columns.fields, *metadata)
    )
    struct = iceberg.StructType(*found)
    types.check_paths(types.paths(struct))
    return assign_fresh_schema_ids(Schema(*struct.fields))


def row_columns(key: SubjectSchemas, value: SubjectSchemas, mode: Mode = "append") -> iceberg.StructType:
    """The table's columns without the metadata: those of the key, then those of the value.

    All are optional at every level: a tombstone has no value, and records of other versions lack fields. A
    name that key and value share is one column: the value's, or the key's in a table by key.

    Raises:
        SchemaError: a latest version cannot be a table, or mode `debezium` finds no values of Debezium.
    """
    keys, values = columns_of(key, "key"), columns_of(value, "value")
    if mode == "debezium":
        row = debezium.row_of(values)
        if row is None:
            message, hint = debezium.not_debezium(value.subject.removesuffix("-value"))
            raise SchemaError(message, hint=hint)
        values = row
    # The position of the first, the type of the last.
    ordered = (*keys.fields, *values.fields, *(keys.fields if mode != "append" else ()))
    return types.struct({each.name: each for each in ordered}.values(), "")


def optional_key_fields(key: SubjectSchemas) -> frozenset[str]:
    """The fields of a record's key that may be null: rows are not identified by the key then."""
    found = value_type(key)
    if found is None or not isinstance(found.type, iceberg.StructType):
        return frozenset()
    return frozenset(each.name for each in found.type.fields if not each.required)


def metadata_name(name: str, portable: bool) -> str:
    """The name of a metadata column such as `raw-key`."""
    return f"cflt_metadata_{name.replace('-', '_')}" if portable else f"$${name}"


def metadata_columns(*, portable: bool, raw: bool) -> tuple[iceberg.NestedField, ...]:
    """Tableflow's metadata columns, in their order.

    Args:
        portable: whether they have portable names.
        raw: whether the bytes of key and value are among them.
    """
    kinds = {name: kind for name, kind in _METADATA.items() if raw or name not in _RAW}
    return tuple(types.field(metadata_name(name, portable), kind) for name, kind in kinds.items())


def columns_of(subject: SubjectSchemas, side: str) -> iceberg.StructType:
    """The columns of a key or a value: its fields, or one that is named after its side.

    Raises:
        SchemaError: the latest version cannot be a table.
    """
    found = value_type(subject)
    kind = types.relaxed(found.type) if found else iceberg.BinaryType()
    return kind if isinstance(kind, iceberg.StructType) else iceberg.StructType(types.field(side, kind))
