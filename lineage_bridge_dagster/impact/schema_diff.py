"""Two versions of a registered schema -> what differs between their columns. Pure.

Fields are those of the table that a topic has in Flink and in Iceberg, so what changes no column is no
difference: documentation, namespaces, defaults, bounds, symbols of enums. A field with another name is one
gone and one new.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from google.protobuf.descriptor_pb2 import DescriptorProto
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.schemas.avro_tree import AvroNode, avro_tree
from lineage_bridge_dagster.schemas.columns import own_type
from lineage_bridge_dagster.schemas.compatibility.protobuf_types import SCALAR_KIND
from lineage_bridge_dagster.schemas.protobuf_files import all_messages, descriptors, record_message
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, PROTOBUF, RegisteredSchema
from lineage_bridge_dagster.schemas.types import MAX_DEPTH, Alternatives, joined, spelled

_MILLIS = ("timestamp-millis", "local-timestamp-millis", "time-millis")


class SchemaField(NamedTuple):
    """A field of a schema, at any level.

    Attributes:
        type: The type of its column, without those of its own fields.
        precision: What the type of the column does not tell: the digits of a time's seconds as `(3)`, the
            bytes of a fixed as `[16]`.
        nullable: Whether it may be null.
        default: Whether it has a default, so that older records need not have it.
        aliases: Other names by which a reader finds the field.
        wire: The numbers of a Protobuf field and of those around it, by which readers know it, as `3/1`;
            empty of other formats.
        wire_kind: How Protobuf writes the field.
        branches: Those of a union, which a table has as the fields of a row.
    """

    type: str
    precision: str = ""
    nullable: bool = True
    default: bool = False
    aliases: frozenset[str] = frozenset()
    wire: str = ""
    wire_kind: str = ""
    branches: frozenset[str] = frozenset()


def fields_of(schema: RegisteredSchema) -> dict[str, SchemaField]:
    """The fields of a schema by their dotted path; elements of lists and values of maps have no name.

    Raises:
        SchemaError: No table can have its columns.
    """
    kind = own_type(schema, message=record_message(schema))
    read = {AVRO: _avro_details, JSON: _json_details, PROTOBUF: _protobuf_details}.get(schema.type)
    details = read(schema) if read else {}
    # Each field of Protobuf has a default.
    other = SchemaField("", default=schema.type == PROTOBUF)
    found = dict(_fields(kind, "", details, other)) if isinstance(kind, StructType) else {}
    return found or {"": SchemaField(_spelled(kind), nullable=False)}


def schema_deltas(old: RegisteredSchema, new: RegisteredSchema) -> list[NodeDelta]:
    """What differs between the columns of two versions.

    Raises:
        SchemaError: No table can have the columns of one of them.
    """
    found = _deltas(fields_of(old), fields_of(new))
    return [replace(delta, column=delta.column or None) for delta in found]


def _deltas(before: Mapping[str, SchemaField], after: Mapping[str, SchemaField]) -> Iterator[NodeDelta]:
    wires = {new.wire for new in after.values()} - {""}
    one_sided = before.keys() ^ after.keys()
    for name in before.keys() & after.keys():
        one_sided |= {f"{name}.{each}" for each in before[name].branches ^ after[name].branches}
    for name, old in before.items():
        new = after.get(name)
        if new is None:
            if not _within(name, one_sided):
                found = NodeDelta(DeltaKind.REMOVED, name, "the field no longer arrives")
                outer = name.rpartition(".")[0]
                is_alias = any(joined(outer, alias) in after for alias in old.aliases)
                numbers = {old.wire}
                if wires and not old.wire:  # A oneof has no number of its own.
                    numbers = {each.wire for inner, each in before.items() if inner.startswith(f"{name}.")}
                yield replace(found, readable=is_alias or (bool(numbers) and numbers <= wires))
            continue
        if (old.type, old.precision) != (new.type, new.precision):
            kinds = (f"{old.type}{old.precision}", f"{new.type}{new.precision}")
            yield NodeDelta(DeltaKind.TYPE, name, f"{kinds[0]} becomes {kinds[1]}", old.type, new.type)
        if old.nullable != new.nullable:
            kind = DeltaKind.REQUIRED if old.nullable else DeltaKind.NULLABLE
            reason = f"the field may {'no longer' if old.nullable else 'now'} be null"
            yield NodeDelta(kind, name, reason, after=new.type, default=new.default)
    for name, new in after.items():
        if name not in before and not _within(name, one_sided):
            how = "optional" if new.nullable else "default" if new.default else "required"
            yield NodeDelta(
                DeltaKind.ADDED, name, _ADDED[how], after=new.type, nullable=new.nullable, default=new.default
            )


_ADDED = {
    "optional": "an optional field is added",
    "default": "a field with a default is added",
    "required": "a required field is added",
}


def _within(name: str, others: AbstractSet[str]) -> bool:
    """Whether a field is within one of others, which then tells all."""
    parts = name.split(".")
    return any(".".join(parts[:length]) in others for length in range(1, len(parts)))


def _fields(
    kind: StructType, path: str, details: Mapping[str, SchemaField], other: SchemaField
) -> Iterator[tuple[str, SchemaField]]:
    for each in kind.fields:
        name = joined(path, each.name)
        inner = _row_in(each.field_type)
        branches = (
            frozenset(of.name for of in inner.fields) if isinstance(inner, Alternatives) else frozenset()
        )
        detail = details.get(name, other)
        kind_name, nullable = _spelled(each.field_type), not each.required
        yield name, detail._replace(type=kind_name, nullable=nullable, branches=branches)
        if isinstance(inner, Alternatives):
            rows = ((branch.name, _row_in(branch.field_type)) for branch in inner.fields)
            for branch, row in rows:
                if row is not None:
                    yield from _fields(row, joined(name, branch), details, other)
        elif inner is not None:
            yield from _fields(inner, name, details, other)


def _row_in(kind: IcebergType) -> StructType | None:
    """The row whose fields a column of this type has; of a union, the row of its branches."""
    match kind:
        case StructType():
            return kind
        case ListType():
            return _row_in(kind.element_type)
        case MapType():
            return _row_in(kind.value_type)
    return None


def _spelled(kind: IcebergType) -> str:
    """A type, without the fields of rows in it."""
    match kind:
        case Alternatives():
            return f"union<{'|'.join(f'{each.name}: {_spelled(each.field_type)}' for each in kind.fields)}>"
        case StructType():
            return "struct"
        case ListType():
            return f"list<{_spelled(kind.element_type)}>"
        case MapType():
            return f"map<{spelled(kind.key_type)}, {_spelled(kind.value_type)}>"
    return spelled(kind)


def _avro_details(schema: RegisteredSchema) -> dict[str, SchemaField]:
    """What an Iceberg type does not tell of Avro's fields: defaults, aliases, digits of seconds."""
    found: dict[str, SchemaField] = {}

    def visit(node: AvroNode, path: str) -> AvroNode:
        """Visit a type, and return the one that tells logical types."""
        node = node.only
        if node.kind in ("array", "map"):
            return visit(node.inner[0], path)
        for each in node.fields:
            name = joined(path, each.name)
            inner = visit(each.type, name)
            digits = "(3)" if inner.logical in _MILLIS else "(6)" if "-micros" in inner.logical else ""
            if inner.kind == "fixed" and not inner.logical:
                digits = f"[{inner.schema.get('size')}]"
            aliases = frozenset(map(str, each.schema.get("aliases") or ()))
            found[name] = SchemaField("", digits, default="default" in each.schema, aliases=aliases)
        return node

    visit(avro_tree(schema.text), "")
    return found


def _json_details(schema: RegisteredSchema) -> dict[str, SchemaField]:
    """The defaults of a JSON schema's outer properties."""
    document = json.loads(schema.text)
    properties = document.get("properties", {}) if isinstance(document, Mapping) else {}
    return {
        str(name): SchemaField("", default=isinstance(each, Mapping) and "default" in each)
        for name, each in properties.items()
    }


def _protobuf_details(schema: RegisteredSchema) -> dict[str, SchemaField]:
    """The numbers of the fields of a Protobuf schema's record; each field has a default."""
    messages = all_messages(schema)
    found: dict[str, SchemaField] = {}

    def visit(message: DescriptorProto, path: str, wire: str, depth: int) -> None:
        for each in message.field:
            one_of = each.HasField("oneof_index") and not each.proto3_optional
            inside = joined(path, message.oneof_decl[each.oneof_index].name) if one_of else path
            name, number = joined(inside, each.name), f"{wire}/{each.number}" if wire else str(each.number)
            inner = messages.get(each.type_name)
            if inner is not None and inner.options.map_entry:
                kind, inner = "map", messages.get(inner.field[1].type_name)
            else:
                kind = SCALAR_KIND.get(each.type, "message")
            found[name] = SchemaField("", default=True, wire=number, wire_kind=kind)
            if inner is not None and depth < MAX_DEPTH:
                visit(inner, name, number, depth + 1)

    record = record_message(schema)
    first = next(iter(descriptors(schema).file[-1].message_type), None)
    root = messages.get(f".{record}") if record else first
    if root is not None:
        visit(root, "", "", 0)
    return found
