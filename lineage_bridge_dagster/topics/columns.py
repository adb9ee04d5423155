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

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import BinaryType, IcebergType, StructType

from lineage_bridge_dagster.topics import types
from lineage_bridge_dagster.topics.avro import avro_type
from lineage_bridge_dagster.topics.errors import EvolutionError, SchemaError
from lineage_bridge_dagster.topics.evolution import merged
from lineage_bridge_dagster.topics.json_schema import json_node
from lineage_bridge_dagster.topics.protobuf import message_reader
from lineage_bridge_dagster.topics.protobuf_files import compiled
from lineage_bridge_dagster.topics.schemas import AVRO, JSON, PROTOBUF, RegisteredSchema, SubjectSchemas


@dataclass(frozen=True)
class ValueType:
    """The type of a subject's keys or values.

    Attributes:
        type: holds the values of all versions that agree with the latest.
        versions: schema id -> the version's own type.
        errors: schema id -> why its records cannot be read, for all other versions.
    """

    type: IcebergType
    versions: Mapping[int, IcebergType]
    errors: Mapping[int, str]

    @property
    def is_record(self) -> bool:
        """Whether its fields become columns."""
        return isinstance(self.type, StructType)


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
        found = own_type(latest)
    except SchemaError as error:
        raise SchemaError(
            f"{error.message} This is schema id {latest.id}, the latest of subject {subject.subject}.",
            hint=error.hint,
        ) from error
    versions, errors = {latest.id: found}, {}
    for schema in reversed(subject.versions[:-1]):
        if schema.type != latest.type:
            errors[schema.id] = f"It is a schema of {schema.type}, and the latest is one of {latest.type}."
            continue
        try:
            own = own_type(schema)
            found = merged(found, own)
        except (EvolutionError, SchemaError) as error:
            errors[schema.id] = error.message
        else:
            versions[schema.id] = own
    return ValueType(found, versions, errors)


def own_type(schema: RegisteredSchema) -> IcebergType:
    """The type of the values that are written with a schema.

    Raises:
        SchemaError: no table can hold them.
    """
    if schema.type == AVRO:
        return avro_type(schema.text)[0]
    if schema.type == JSON:
        return json_node(schema).type()
    if schema.type == PROTOBUF:
        return message_reader(compiled(schema)).type
    raise SchemaError(
        f"{schema.type} is no type of schemas that is known: {AVRO}, {JSON}, {PROTOBUF} are.",
        hint="Register a schema of one of these types.",
    )


def table_schema(key: SubjectSchemas, value: SubjectSchemas) -> Schema:
    """The table's columns but for the metadata: those of the key, then those of the value.

    All are optional at every level: a tombstone has no value, and records of other versions lack fields. A
    name that key and value share is one column, with the value's type.

    Raises:
        SchemaError: a latest version cannot be a table.
    """
    fields = [*columns_of(key, "key").fields, *columns_of(value, "value").fields]
    # The position of the first, the type of the last.
    by_name = {each.name: each for each in fields}
    struct = types.struct(by_name.values(), "")
    return assign_fresh_schema_ids(Schema(*struct.fields))


def columns_of(subject: SubjectSchemas, side: str) -> StructType:
    """The columns of a key or a value: its fields, or one that is named after its side.

    Raises:
        SchemaError: the latest version cannot be a table.
    """
    found = value_type(subject)
    kind = types.relaxed(found.type) if found else BinaryType()
    return kind if isinstance(kind, StructType) else StructType(types.field(side, kind))
