"""The row that Confluent's Flink makes of a registered schema, read here of a Protobuf one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph import protobuf_text
from lineage_bridge_dagster.confluent.graph.protobuf_text import Message, ProtoField
from lineage_bridge_dagster.confluent.graph.schema_fields import message_of
from lineage_bridge_dagster.sql.columns.types import SCALAR, SqlType, array_of

AFTER = "after"
_BEFORE, _OP = "before", "op"
_LOGICAL = {"bytes": "binary", "timestamp-millis": "timestamptz", "timestamp-micros": "timestamptz"}


class RowField(NamedTuple):
    """A field.

    Attributes:
        type: Its type, as far as it decides which columns there are.
        spelled: Its type in the words of `type_mapping`, with `?` if it may be null.
        full_name: That of a union's member whose column has the simple name; else empty.
    """

    name: str
    type: SqlType | None
    spelled: str
    full_name: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """What a schema describes.

    Attributes:
        fields: The fields of a record or of a union of several types; none for another type.
        row: The fields of an envelope's `after`, if it is one of Debezium's.
        type: The type of the whole.
        spell: Tells the same in words, as in a field.
        full_name: The record's name with its namespace.
        ordered: Whether the schema tells the order of its fields.
        by_flink: Whether Flink registered it for a CREATE TABLE.
    """

    fields: tuple[RowField, ...] = ()
    row: tuple[RowField, ...] = ()
    type: SqlType | None = None
    spell: Callable[[], str] = str
    name: str = ""
    full_name: str = ""
    ordered: bool = True
    by_flink: bool = False


def envelope(fields: Iterable[RowField]) -> tuple[RowField, ...]:
    """The fields of `after` if these are Debezium's envelope; none if they are not or `after` is unknown."""
    by_name = {field.name: field.type for field in fields}
    after = by_name.get(AFTER)
    if not {_BEFORE, AFTER, _OP} <= by_name.keys() or after is None or after.kind != "ROW":
        return ()
    return tuple(RowField(name, of, "") for name, of in after.parts)


@lru_cache(maxsize=256)
def spelled(kind: str, nullable: bool) -> str:
    """A type as `RowField.spelled` has it."""
    return _LOGICAL.get(kind, kind) + ("?" if nullable else "")


def row_type(fields: Iterable[RowField]) -> SqlType:
    """The type of a row of these fields."""
    return SqlType("ROW", tuple((field.name, field.type) for field in fields))


_SCALAR_MESSAGES = ("google.protobuf.", "google.type.", "confluent.type.Decimal")
_PROTO_SCALARS = frozenset(
    {
        *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64"),
        *("sfixed32", "sfixed64", "bool", "string", "bytes"),
    }
)


class ProtobufRow:
    """Reads one schema, with those that it imports, directly or not."""

    def __init__(self, schema: Schema, referenced: Iterable[protobuf_text.File]) -> None:
        self._schema = schema
        self._file = protobuf_text.parsed(schema.text)
        self._messages = {
            message.full_name: message for file in (*referenced, self._file) for message in file.all()
        }
        self._enums = protobuf_text.enums(schema.text)
        self._types: dict[str, SqlType | None] = {}

    def read(self) -> Row | None:
        """The fields of its message, or a column for each of several; None if it has none."""
        first = message_of(self._schema)
        if first is None:
            return None
        fields = self._fields(first)
        after = next((each for each in first.fields if each.name == AFTER), None)
        found = self._message(after.type, first.full_name) if after and envelope(fields) else None
        row = self._fields(found) if found else ()
        named = first is not self._file.messages[0]
        if len(self._file.messages) > 1 and not named and not row:
            fields = tuple(
                RowField(one.name, self._row(one), f"{one.full_name}?", one.full_name)
                for one in self._file.messages
            )
        by_flink = self._file.package == "io.confluent.protobuf.generated"
        kind = row_type(fields)
        return Row(fields, row, kind, lambda: first.full_name, first.name, first.full_name, by_flink=by_flink)

    def _fields(self, message: Message) -> tuple[RowField, ...]:
        """A message's fields, those of a oneof last."""
        ordered = sorted(message.fields, key=lambda field: bool(field.parts))
        return tuple(self._field(field, message.full_name) for field in ordered)

    def _field(self, field: ProtoField, scope: str) -> RowField:
        from lineage_bridge_dagster.schemas.protobuf import declared_type

        declared = declared_type(field.type.removeprefix("."))
        nullable = field.label == "optional" or bool(field.parts)
        nullable = nullable or (field.label != "repeated" and field.type not in _PROTO_SCALARS)
        name = str(declared) if declared and field.label != "repeated" else str(field)
        return RowField(field.name, self._type(field, scope), spelled(name, nullable))

    def _type(self, field: ProtoField, scope: str) -> SqlType | None:
        if field.parts:
            return row_type(self._field(part, scope) for part in field.parts)
        kind = field.type
        if kind.startswith("map<"):
            key, _, value = kind[4:-1].partition(",")
            return SqlType("MAP", (("KEY", self._single(key, scope)), ("VALUE", self._single(value, scope))))
        single = self._single(kind, scope)
        return array_of(single) if field.label == "repeated" else single

    def _single(self, name: str, scope: str) -> SqlType | None:
        known = name.removeprefix(".")
        if known in _PROTO_SCALARS or known.startswith(_SCALAR_MESSAGES):
            return SCALAR
        if (message := self._message(name, scope)) is not None:
            return self._row(message)
        return SCALAR if known.rpartition(".")[2] in self._enums else None

    def _message(self, name: str, scope: str) -> Message | None:
        """The message of that name, which is looked up from the innermost scope outwards."""
        if name.startswith("."):
            return self._messages.get(name[1:])
        while scope:
            if (found := self._messages.get(f"{scope}.{name}")) is not None:
                return found
            scope = scope.rpartition(".")[0]
        return self._messages.get(name)

    def _row(self, message: Message) -> SqlType | None:
        name = message.full_name
        if name not in self._types:
            self._types[name] = None
            self._types[name] = row_type(self._fields(message))
        return self._types[name]
