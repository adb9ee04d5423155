"""A registered schema -> the record that Kafka Connect's converters make of it.

A union of several types is a struct of its alternatives, and a Protobuf `oneof` one that is named
`<oneof>_<n>` (Confluent's `ProtobufData`); the sources of its fields are those of the message. Wrappers,
timestamps and maps are leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from pyiceberg.types import IcebergType, ListType, StructType

from lineage_bridge_dagster.confluent.connectors.columns.records import RecordNode, anything, leaf, struct
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.schemas.columns import own_type
from lineage_bridge_dagster.schemas.protobuf_files import all_messages, descriptors
from lineage_bridge_dagster.schemas.schemas import PROTOBUF, RegisteredSchema
from lineage_bridge_dagster.schemas.types import MAX_DEPTH

#: Packages whose messages Connect has types of its own for.
_TYPES = (".google.protobuf.", ".google.type.", ".confluent.type.")


def schema_tree(schema: RegisteredSchema | None, base: str) -> RecordNode:
    """The tree of a schema, each leaf made of the field of its own path under a name.

    A record without a schema, or with one that is not understood, may have any fields.

    Args:
        base: The name of the whole key or value, such as `topic:orders.value`.
    """
    if schema is None:
        return anything(base)
    try:
        return _protobuf(schema, base) if schema.type == PROTOBUF else _node(own_type(schema), base)
    except LineageBridgeError:
        return anything(base)


def _node(kind: IcebergType, name: str) -> RecordNode:
    match kind:
        case StructType():
            return struct({each.name: _node(each.field_type, f"{name}.{each.name}") for each in kind.fields})
        case ListType():
            return replace(_node(kind.element_type, name), array=True)
    return leaf(name)


def _protobuf(schema: RegisteredSchema, base: str) -> RecordNode:
    first = descriptors(schema).file[-1].message_type
    return _message(first[0], base, all_messages(schema), 0) if first else anything(base)


def _message(message: Any, name: str, messages: Mapping[str, Any], depth: int) -> RecordNode:
    if depth > MAX_DEPTH:
        return leaf(name)
    fields: dict[str, RecordNode] = {}
    for each in message.field:
        node = _field(each, f"{name}.{each.name}", messages, depth)
        if each.HasField("oneof_index") and not each.proto3_optional:
            union = f"{message.oneof_decl[each.oneof_index].name}_{each.oneof_index}"
            inner = fields.get(union, struct({}))
            fields[union] = inner.with_field((each.name,), node)
        else:
            fields[each.name] = node
    return struct(fields)


def _field(field: FieldDescriptorProto, name: str, messages: Mapping[str, Any], depth: int) -> RecordNode:
    repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
    kind = messages.get(field.type_name) if field.type_name else None
    if kind is None or field.type_name.startswith(_TYPES) or not hasattr(kind, "field"):
        return replace(leaf(name), array=repeated)
    if kind.options.map_entry:
        return leaf(name)
    return replace(_message(kind, name, messages, depth + 1), array=repeated)
