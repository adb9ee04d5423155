"""A registered schema -> the row that Confluent's Flink makes of it: its fields, with their types. Pure.

Sources: Confluent's pages "CREATE TABLE" (inferred tables), "Data type mappings" and "Handle multiple event
types". An Avro union of several types is a row of its members, named as they are, or by their full name with
underscores where two have one name; one in JSON Schema is a row of `connect_union_field_0`, ...; a Protobuf
`oneof` is a row, after the other fields. Properties in JSON Schema stand by `connect.index`, else by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
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
from lineage_bridge_dagster.confluent.graph.schema_fields import avro_type, document_of, record_name
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.sql.columns.types import SCALAR, SqlType, array_of

Lookup = Callable[[str], Schema | None]
"""A subject -> its latest schema."""

#: Maximum schemas that one refers to, directly or through others.
_MAX_REFERENCES = 100
_UNION = "connect_union_field_"


def row_of(schema: Schema, lookup: Lookup) -> Row | None:
    """Read a schema; None if it tells no columns: it is malformed, or of anything."""
    others = list(referenced(schema, lookup))
    try:
        match schema.schema_type.upper():
            case "AVRO":
                return _Avro(schema, [document_of(one.text) for _, one in others]).read()
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


class _Avro:
    def __init__(self, schema: Schema, referenced: Iterable[Any]) -> None:
        self._document = document_of(schema.text)
        self._referenced = tuple(referenced)
        self._full_name = record_name(schema)
        self._types: dict[int, SqlType | None] = {}
        self._rows: dict[int, tuple[RowField, ...]] = {}

    def read(self) -> Row | None:
        members = self._members(self._document)
        if not members:
            return None
        if len(members) > 1:
            fields = self._union(members)
            return Row(fields, type=row_type(fields))
        only = self._resolved(members[0])
        nullable = isinstance(self._document, list) and len(self._document) > 1
        full = self._full_name
        fields, kind = self._fields(only), self._type(only)
        if not fields and (kind is None or kind.kind == "ROW"):
            return None
        return Row(
            fields,
            self._after(only),
            kind,
            lambda: spelled(avro_type(only), nullable),
            full.rpartition(".")[2],
            full,
            by_flink=full.startswith("org.apache.flink.avro.generated.record"),
        )

    @cached_property
    def _named(self) -> dict[str, Any]:
        """The named types in the documents, under their simple and their full names."""
        named: dict[str, Any] = {}
        for document in (*self._referenced, self._document):
            waiting = [(document, "")]
            while waiting:
                kind, namespace = waiting.pop()
                if isinstance(kind, list):
                    waiting.extend((each, namespace) for each in kind)
                elif isinstance(kind, dict):
                    name = str(kind.get("name") or "")
                    namespace = name.rpartition(".")[0] or str(kind.get("namespace") or namespace)
                    if name and kind.get("type") in ("record", "error", "enum", "fixed"):
                        simple = name.rpartition(".")[2]
                        named.setdefault(simple, kind)
                        named[f"{namespace}.{simple}"] = kind
                    inner = [kind.get("type"), kind.get("items"), kind.get("values")]
                    inner += [field.get("type") for field in _field_list(kind)]
                    waiting.extend((each, namespace) for each in inner if isinstance(each, list | dict))
        return named

    def _resolved(self, kind: Any) -> Any:
        """What a name stands for; `{"type": {...}}` and a union of one type and null as that type."""
        for _ in range(10):
            if isinstance(kind, str):
                if kind in _PRIMITIVES:
                    return kind
                return self._named.get(kind, self._named.get(kind.rpartition(".")[2], kind))
            if isinstance(kind, list) and len(members := self._members(kind)) == 1:
                kind = members[0]
            elif isinstance(kind, dict) and isinstance(kind.get("type"), list | dict):
                kind = kind["type"]
            else:
                break
        return kind

    def _members(self, kind: Any) -> list[Any]:
        """The types of a union, without null; of any other, itself."""
        if isinstance(kind, list):
            return [each for each in kind if each != "null"]
        return [kind] if isinstance(kind, str | dict) and kind else []

    def _union(self, members: list[Any]) -> tuple[RowField, ...]:
        resolved = [self._resolved(member) for member in members]
        names = [_names_of(member) for member in resolved]
        count = Counter(simple for simple, _ in names)
        return tuple(
            RowField(
                simple if count[simple] == 1 else full.replace(".", "_"),
                self._type(member),
                spelled(avro_type(member), True),
                full if count[simple] == 1 else "",
            )
            for member, (simple, full) in zip(resolved, names, strict=True)
        )

    def _fields(self, record: Any) -> tuple[RowField, ...]:
        if not isinstance(record, dict) or record.get("type") not in ("record", "error"):
            return ()
        if id(record) not in self._rows:
            self._rows[id(record)] = self._new_fields(record)
        return self._rows[id(record)]

    def _new_fields(self, record: Any) -> tuple[RowField, ...]:
        return tuple(
            self._field(str(field["name"]), field.get("type"))
            for field in _field_list(record)
            if field.get("name") is not None
        )

    def _field(self, name: str, kind: Any) -> RowField:
        nullable = isinstance(kind, list) and "null" in kind
        # Most fields are of a primitive type that may be null.
        only = kind[kind[0] == "null"] if nullable and len(kind) == 2 else kind
        if isinstance(only, str) and only in _PRIMITIVES:
            return RowField(name, SCALAR, spelled(only, nullable))
        return RowField(name, self._type(kind), spelled(avro_type(kind), nullable))

    def _after(self, record: Any) -> tuple[RowField, ...]:
        """The fields of an envelope's `after`, with their types in words, to compare the key's with."""
        if not envelope(self._fields(record)):
            return ()
        after = next(field for field in _field_list(record) if field.get("name") == AFTER)
        return self._fields(self._resolved(after.get("type")))

    def _type(self, kind: Any) -> SqlType | None:
        """A type; a record that contains itself is unknown there."""
        kind = self._resolved(kind)
        if isinstance(kind, str):
            return SCALAR if kind in _PRIMITIVES or kind in ("enum", "fixed") else None
        if id(kind) not in self._types:
            self._types[id(kind)] = None
            self._types[id(kind)] = self._new_type(kind)
        return self._types[id(kind)]

    def _new_type(self, kind: Any) -> SqlType | None:
        if isinstance(kind, list):
            return row_type(self._union(self._members(kind)))
        match kind.get("type") if isinstance(kind, dict) else None:
            case "record" | "error":
                return row_type(self._fields(kind))
            case "array":
                element = self._type(kind.get("items"))
                entry = self._resolved(kind.get("items"))
                is_map = isinstance(entry, dict) and (
                    entry.get("connect.internal.type") == "MapEntry" or entry.get("name") == "MapEntry"
                )
                if is_map and element is not None and len(element.parts) == 2:
                    parts = [of for _, of in element.parts]
                    return SqlType("MAP", (("KEY", parts[0]), ("VALUE", parts[1])))
                return array_of(element)
            case "map":
                return SqlType("MAP", (("KEY", SCALAR), ("VALUE", self._type(kind.get("values")))))
            case str():
                return SCALAR
        return None


#: No named type has the name of one of these.
_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


def _field_list(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    fields = record.get("fields")
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []


def _names_of(member: Any) -> tuple[str, str]:
    """The simple and the full name of a union's member; that of a type without one is its type."""
    if not isinstance(member, dict):
        simple = str(member).rpartition(".")[2]
        return simple, str(member)
    name = str(member.get("name") or member.get("type"))
    namespace = str(member.get("namespace") or "")
    simple = name.rpartition(".")[2]
    return simple, name if "." in name or not namespace else f"{namespace}.{simple}"


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
                f"{_UNION}{number}" if union else each.name,
                of(each.node),
                spelled(str(each.node.kind), union or each.node.nullable or not each.required),
            )
            for number, each in enumerate(node.properties)
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
