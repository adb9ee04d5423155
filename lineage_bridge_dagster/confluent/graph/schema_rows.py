"""A registered schema -> the row that Confluent's Flink makes of it: its fields, with their types. Pure.

Sources: Confluent's pages "CREATE TABLE" (inferred tables), "Data type mappings" and "Handle multiple event
types". An Avro union of several types is a row of its members, named as they are, or by their full name with
underscores where two have one name; one in JSON Schema is a row of `connect_union_field_0`, ...; a Protobuf
`oneof` is a row, after the other fields. Properties in JSON Schema stand by `connect.index`, else by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph import protobuf_text
from lineage_bridge_dagster.confluent.graph.rows import (
    AFTER,
    ProtobufRow,
    Row,
    RowField,
    envelope,
    row_type,
    spelled,
)
from lineage_bridge_dagster.confluent.graph.schema_fields import avro_word, document_of, record_name
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.schemas.avro_tree import PRIMITIVE_KINDS, AvroNode, avro_tree, avro_trees
from lineage_bridge_dagster.sql.columns.types import SCALAR, SqlType, array_of

Lookup = Callable[[str], Schema | None]
"""A subject -> its latest schema."""

#: Maximum schemas that one refers to, directly or through others.
_MAX_REFERENCES = 100


def row_of(schema: Schema, lookup: Lookup) -> Row | None:
    """Read a schema; None if it tells no columns: it is malformed, or of anything."""
    others = list(referenced(schema, lookup))
    try:
        match schema.schema_type.upper():
            case "AVRO":
                trees = avro_trees([*(one.text for _, one in others), schema.text]) if others else ()
                return _AvroRow().read(trees[-1] if trees else avro_tree(schema.text))
            case "JSON":
                return _json(schema, [(name, one.text) for name, one in others])
            case "PROTOBUF":
                return ProtobufRow(schema, [protobuf_text.parsed(one.text) for _, one in others]).read()
    except RecursionError:
        # Flink refuses types that are nested so deeply.
        return None
    return None


def referenced(schema: Schema, lookup: Lookup) -> Iterator[tuple[str, Schema]]:
    """The schemas that one refers to, each with the name by which it is imported."""
    seen: set[str] = set()
    waiting = list(schema.references)
    while waiting and len(seen) < _MAX_REFERENCES:
        reference = waiting.pop()
        found = lookup(reference.subject) if reference.name not in seen else None
        seen.add(reference.name)
        if found is not None:
            yield reference.name, found
            waiting.extend(found.references)


class _AvroRow:
    """The row of one schema; a type has the same fields wherever it is used."""

    def __init__(self) -> None:
        self._types: dict[AvroNode, SqlType | None] = {}
        self._rows: dict[AvroNode, tuple[RowField, ...]] = {}

    def read(self, root: AvroNode) -> Row | None:
        """The row of a schema; None if it tells no columns."""
        root = root.resolved
        members = root.present if root.kind == "union" else [root]
        if len(members) != 1:
            fields = self._union(members)
            return Row(fields, type=row_type(fields)) if members else None
        only = members[0].only
        fields, kind = self._fields(only), self._type(only)
        if not fields and (kind is None or kind.kind == "ROW"):
            return None
        after = next((each.type.only for each in only.fields if each.name == AFTER), None)
        return Row(
            fields,
            # These spell out their types, which the key's fields are compared with.
            self._fields(after) if envelope(fields) and after is not None else (),
            kind,
            lambda: spelled(avro_word(only), root.nullable),
            only.label if only.name else "",
            only.name,
            by_flink=only.name.startswith("org.apache.flink.avro.generated.record"),
        )

    def _union(self, members: Sequence[AvroNode]) -> tuple[RowField, ...]:
        resolved = [member.resolved for member in members]
        count = Counter(member.label for member in resolved)
        return tuple(
            RowField(
                each.label if count[each.label] == 1 else (each.name or each.kind).replace(".", "_"),
                self._type(each),
                spelled(avro_word(each), True),
                (each.name or each.kind) if count[each.label] == 1 else "",
            )
            for each in resolved
        )

    def _fields(self, record: AvroNode) -> tuple[RowField, ...]:
        if record not in self._rows:
            self._rows[record] = tuple(
                RowField(
                    name,
                    SCALAR if node.plain else self._type(node),
                    spelled(node.plain or avro_word(node), node.nullable),
                )
                for name, node, _ in record.fields
                if name
            )
        return self._rows[record]

    def _type(self, node: AvroNode) -> SqlType | None:
        """A type; a record that contains itself is unknown there."""
        node = node.only
        if node.kind in _SCALARS:
            return SCALAR
        if node not in self._types:
            self._types[node] = None
            self._types[node] = self._nested(node)
        return self._types[node]

    def _nested(self, node: AvroNode) -> SqlType | None:
        match node.kind:
            case "record":
                return row_type(self._fields(node))
            case "union":
                return row_type(self._union(node.present)) if node.present else SCALAR
            case "map":
                return SqlType("MAP", (("KEY", SCALAR), ("VALUE", self._type(node.inner[0]))))
            case "array":
                if entry := node.entry:
                    key, value = map(self._type, entry)
                    return SqlType("MAP", (("KEY", key), ("VALUE", value)))
                return array_of(self._type(node.inner[0]))
        return None


_SCALARS = PRIMITIVE_KINDS | {"enum", "fixed"}


def _json(schema: Schema, referenced: list[tuple[str, str]]) -> Row | None:
    from lineage_bridge_dagster.schemas.json_nodes import JsonKind, JsonNode
    from lineage_bridge_dagster.schemas.json_schema import json_node
    from lineage_bridge_dagster.schemas.schemas import JSON, RegisteredSchema

    def of(node: JsonNode) -> SqlType | None:
        match node.kind:
            case JsonKind.OBJECT | JsonKind.UNION:
                return row_type(fields(node))
            case JsonKind.ARRAY:
                return array_of(of(node.inner) if node.inner else None)
            case JsonKind.MAP:
                return SqlType("MAP", (("KEY", SCALAR), ("VALUE", of(node.inner) if node.inner else None)))
            case JsonKind.ANY | JsonKind.UNKNOWN:
                return None
        return SCALAR

    def fields(node: JsonNode) -> tuple[RowField, ...]:
        union = node.kind is JsonKind.UNION
        found = tuple(
            RowField(
                each.name,
                of(each.node),
                spelled(str(each.node.kind), union or each.node.nullable or not each.required),
            )
            for each in node.properties
        )
        return found if union or has_indexes else _by_name(found)

    has_indexes = "connect.index" in schema.text
    document = document_of(schema.text)
    errors: list[LineageBridgeError] = []
    try:
        # A part that is not understood, or is missing, is still a column.
        node = json_node(RegisteredSchema(0, schema.text, JSON, references=tuple(referenced)), errors.append)
    except LineageBridgeError:
        return None
    own = fields(node)
    if not own and node.kind in (JsonKind.ANY, JsonKind.UNKNOWN, JsonKind.OBJECT):
        return None
    ordered = node.kind is JsonKind.UNION or _is_indexed(document)
    title = record_name(schema)
    after = next((each.node for each in node.properties if each.name == AFTER), None)
    return Row(
        own,
        fields(after) if envelope(own) and after is not None else (),
        of(node),
        lambda: spelled(str(node.kind), node.nullable),
        title,
        title,
        ordered=ordered,
        by_flink=ordered and title == "Record" and node.kind is JsonKind.OBJECT,
    )


def _by_name(fields: Iterable[RowField]) -> tuple[RowField, ...]:
    return tuple(sorted(fields, key=lambda field: field.name))


def _is_indexed(document: Any) -> bool:
    """Whether a document's properties have an order, as those have that Connect and Flink register."""
    properties = document.get("properties") if isinstance(document, dict) else None
    return isinstance(properties, dict) and all(
        isinstance(each, dict) and "connect.index" in each for each in properties.values()
    )
