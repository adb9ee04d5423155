"""Protobuf messages -> Iceberg types and values.

The table is of the schema's first message, or of the one that is named. Sources: Confluent's page on data
types for Flink and Connect's Protobuf converter for messages, wrappers (optional values), `google.type.Date`,
`confluent.type.Decimal` with `precision` and `scale` in the parameters of its field or map, and a `oneof` as
a row of nullable alternatives, named after it. As in both, repeated messages that have a `key` and a `value`
and whose name ends with `Entry` are a map; as Flink marks them in a field's parameters, a message that only
wraps what may be null is what it wraps, and a timestamp may be a local one. An unsigned 32-bit number is a
long, and so is one of 64 bits, and an error beyond it. An enum is the name of its value; a value without a
name is its number. A message without fields is a boolean that is true where it is set, as no file has a row
without columns. `google.protobuf.Struct` and `Value` are JSON text.
"""

from __future__ import annotations

from collections.abc import Container
from copy import copy
from functools import lru_cache
from typing import Any

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from pyiceberg.types import (
    BooleanType,
    IcebergType,
    NestedField,
    StructType,
    TimestampType,
)

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.protobuf_files import comments
from lineage_bridge_dagster.schemas.protobuf_values import (
    MESSAGES,
    SCALARS,
    WRAPPERS,
    Convert,
    ProtobufColumn,
    decimal_column,
    enum_column,
    read_as,
    text_column,
)
from lineage_bridge_dagster.schemas.types import joined


def message_indexes(body: bytes) -> tuple[list[int], int]:
    """The indexes of a body's message, outermost first, and where the message begins.

    Confluent's page on its wire format: the number of indexes and each index as a zigzag varint; a single
    zero byte stands for the first message.
    """
    count, at = _varint(body, 0)
    if count == 0:
        return [0], at
    indexes = []
    if not 0 < count <= len(body):
        raise ValueError("it does not begin with the indexes of its message")
    for _ in range(count):
        index, at = _varint(body, at)
        indexes.append(index)
    return indexes, at


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64 and at < len(body):
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise ValueError("it ends within the indexes of its message")


class MessageReader:
    """Reads a message of a compiled schema.

    Args:
        files: a serialized `FileDescriptorSet`, as `compiled` returns it.
        message: the message's full name; empty for the schema's first one.
        later: the message of a later version, whose types the fields get where Protobuf reads the one as the
            other; None for those of the schema.
        first_format: as of `RegisteredSchema`.

    Raises:
        SchemaError: the schema has no such message, or a field cannot be a column.
    """

    def __init__(
        self,
        files: bytes,
        message: str = "",
        later: MessageReader | None = None,
        *,
        first_format: bool = False,
    ) -> None:
        found = FileDescriptorSet.FromString(files)
        self._pool = DescriptorPool()
        for file in found.file:
            self._pool.Add(file)
        self._file = self._pool.FindFileByName(found.file[-1].name)
        self._docs = dict(comments(found))
        self._is_first = not message
        self._descriptor, self._indexes = self._find(message)
        self._enclosing: list[str] = []
        self._later = later
        self._first_format = first_format
        self._size = 0
        self._column = self._message(self._descriptor, "", later and later._descriptor)
        # After the depth was checked: each level of messages takes stack here.
        self._class = message_factory.GetMessageClass(self._descriptor)

    @property
    def type(self) -> IcebergType:
        """The type of the message's values."""
        return self._column.type

    def read(self, body: bytes) -> Any:
        """The value of a body: the indexes of its message, then the message.

        Raises:
            ValueError: it is of another message, or malformed, or a value is out of its type's range.
        """
        indexes, start = message_indexes(body) if not body or body[0] else ([0], 1)
        if indexes != self._indexes:
            is_first = ", the first of the schema" if self._is_first else ""
            raise ValueError(
                f"its message is {self._named(indexes)}, and the table is of "
                f"{self._descriptor.full_name}{is_first}"
            )
        try:
            message = self._class.FromString(body[start:])
        except Exception as error:  # DecodeError, which is not a ValueError; what it says differs by version.
            raise ValueError(f"its bytes are not {self._descriptor.full_name}") from error
        try:
            return self._column.convert(message)
        except UnicodeDecodeError as error:
            raise ValueError("a key of a map in it is not valid UTF-8") from error

    def _find(self, name: str) -> tuple[Descriptor, list[int]]:
        """The message of a name, or the first one, with its indexes."""
        messages = list(self._file.message_types_by_name.values())
        if not messages:
            raise SchemaError("The Protobuf schema has no message.", hint="Register one that has.")
        if not name:
            return messages[0], [0]
        places = {each.full_name: (each, [index]) for index, each in enumerate(messages)}
        waiting = list(places.values())
        while waiting:
            outer, indexes = waiting.pop()
            inner = {
                each.full_name: (each, [*indexes, index])
                for index, each in enumerate(outer.nested_types)
                if not each.GetOptions().map_entry
            }
            places |= inner
            waiting += inner.values()
        if name not in places:
            raise SchemaError(
                f"The Protobuf schema has no message {name}.",
                hint=f"It has {', '.join(places)}: name one of them in full as protobuf_message.",
            )
        return places[name]

    def _named(self, indexes: list[int]) -> str:
        try:
            found = list(self._file.message_types_by_name.values())[indexes[0]]
            for index in indexes[1:]:
                found = found.nested_types[index]
        except IndexError:
            return f"that of the indexes {indexes}, which the schema does not have"
        return str(found.full_name)

    def _message(self, descriptor: Descriptor, path: str, later: Descriptor | None) -> ProtobufColumn:
        name = descriptor.full_name
        if name in MESSAGES:
            return MESSAGES[name]
        if name in self._enclosing:
            raise types.recursive(path, name)
        types.check_depth(self._enclosing, path)
        if name in WRAPPERS:
            wrapped = self._single(descriptor.fields_by_name["value"], path)
            return ProtobufColumn(wrapped.type, lambda message: wrapped.convert(message.value))
        if not descriptor.fields:
            if later is not None and later.fields and self._later is not None:
                # It has gained fields, which it lacks. They count among this version's, and each older
                # version that is read as the later one counts its own.
                reader = copy(self._later)
                reader._size, reader._enclosing = self._size, list(self._enclosing)
                gained = reader._message(later, path, None).type
                self._size = reader._size
                return ProtobufColumn(types.relaxed(gained), lambda _: {})
            is_final = name == "google.protobuf.Empty"
            return ProtobufColumn(BooleanType() if is_final else types.NoFields(), lambda _: True)
        self._enclosing.append(name)
        columns: list[NestedField] = []
        converts: list[tuple[str, Convert]] = []
        unions: set[str] = set()
        optional = _optional(descriptor)
        for each in descriptor.fields:
            union = _oneof(each, optional)
            if union is None:
                column = self._field(each, joined(path, each.name), later)
                required = not each.has_presence and not each.is_repeated
                columns.append(types.field(each.name, column.type, required=required, doc=self._doc(each)))
                converts.append((each.name, _getter(each, column.convert)))
            elif union.name not in unions:
                unions.add(union.name)
                column = self._union(union, joined(path, union.name), later)
                columns.append(types.field(union.name, column.type, doc=self._docs.get(union.full_name, "")))
                converts.append((union.name, column.convert))
        self._enclosing.pop()
        struct = types.struct(columns, path)
        return ProtobufColumn(struct, lambda message: {name: convert(message) for name, convert in converts})

    def _union(self, union: Any, path: str, later: Descriptor | None) -> ProtobufColumn:
        fields, converts = [], {}
        for each in union.fields:
            column = self._field(each, joined(path, each.name), later)
            fields.append(types.field(each.name, column.type, doc=self._doc(each)))
            converts[each.name] = column.convert
        name = union.name

        def convert(message: Any) -> Any:
            chosen = message.WhichOneof(name)
            return chosen and {chosen: converts[chosen](getattr(message, chosen))}

        return ProtobufColumn(types.struct(fields, path), convert)

    def _field(self, field: FieldDescriptor, path: str, message: Descriptor | None) -> ProtobufColumn:
        """A field's type, and the conversion of what `getattr` returns for it.

        Args:
            message: the message of the later version that also has the field.
        """
        later = message and message.fields_by_name.get(field.name)
        if self._is_map(field):
            return self._map(field, path, later)
        if not field.is_repeated:
            column = self._single(field, path, later)
            if later is None or not later.is_repeated or later.type != field.type:
                return column
            single = column.convert
            return ProtobufColumn(
                types.listing(column.type, element_required=True), lambda found: [single(found)]
            )
        element = self._single(field, joined(path, "element"), later)
        convert = element.convert
        return ProtobufColumn(
            types.listing(element.type, element_required=True),
            lambda found: [convert(each) for each in found],
        )

    def _is_map(self, field: FieldDescriptor) -> bool:
        entry = field.message_type
        if entry is None or entry.GetOptions().map_entry:
            return entry is not None
        names = [each.name for each in entry.fields]
        is_entry = field.is_repeated and entry.name.endswith("Entry") and sorted(names) == ["key", "value"]
        key = entry.fields_by_name.get("key")
        return is_entry and not self._first_format and not key.is_repeated and key.message_type is None

    def _map(self, field: FieldDescriptor, path: str, later: FieldDescriptor | None) -> ProtobufColumn:
        entry = field.message_type
        of = later.message_type if later is not None and self._is_map(later) else entry
        key_field, value_field = entry.fields_by_name["key"], entry.fields_by_name["value"]
        key = self._single(key_field, joined(path, "key"))
        if not entry.GetOptions().map_entry:
            value = self._field(value_field, joined(path, "value"), of)
            get_key, get_value = _getter(key_field, key.convert), _getter(value_field, value.convert)

            def entries(found: Any) -> list[Any]:
                pairs = {get_key(each): get_value(each) for each in found}
                if None in pairs:
                    raise ValueError(f"its field {path} has an entry without a key")
                return list(pairs.items())

            return ProtobufColumn(types.mapping(value.type, key=key.type), entries)
        # The options of a map are those of its values.
        value = self._single(value_field, joined(path, "value"), of.fields_by_name["value"], field)
        convert_key, convert_value = key.convert, value.convert
        kind = types.mapping(value.type, key=key.type, value_required=True)
        return ProtobufColumn(
            kind, lambda found: [(convert_key(k), convert_value(v)) for k, v in found.items()]
        )

    def _single(
        self,
        field: FieldDescriptor,
        path: str,
        later: FieldDescriptor | None = None,
        options: FieldDescriptor | None = None,
    ) -> ProtobufColumn:
        """The type of a field's values, one by one.

        Args:
            later: the field of the later version.
            options: the field that has the options; the field itself by default.
        """
        self._size += 1
        types.check_size(self._size, path)
        if later is not None and (column := read_as(field, later, path)) is not None:
            return column
        if field.type == FieldDescriptor.TYPE_ENUM:
            return enum_column(field)
        if field.type == FieldDescriptor.TYPE_STRING:
            return text_column(path)
        if field.message_type is None:
            return SCALARS[field.type]
        meta = self._meta(options or field)
        parameters = dict(meta.params) if meta else {}
        name = field.message_type.full_name
        if name == "confluent.type.Decimal" and "scale" in parameters:
            precision = int(parameters.get("precision", types.MAX_PRECISION))
            return decimal_column(precision, int(parameters["scale"]), path)
        column = self._message(field.message_type, path, later and later.message_type)
        if self._first_format:
            return column
        if name in MESSAGES and parameters.get("flink.type") == "timestamp":
            return ProtobufColumn(TimestampType(), column.convert)
        if parameters.get("flink.wrapped") == "true" and isinstance(column.type, StructType):
            (wrapped, *others), convert = column.type.fields, column.convert
            if not others:
                return ProtobufColumn(wrapped.field_type, lambda found: convert(found)[wrapped.name])
        return column

    def _doc(self, field: FieldDescriptor) -> str:
        """What `(confluent.field_meta).doc` says of a field, else the comment at it."""
        meta = self._meta(field)
        return (str(meta.doc) if meta else "") or self._docs.get(field.full_name, "")

    def _meta(self, field: FieldDescriptor) -> Any:
        """The option `(confluent.field_meta)`; None if no file of the schema knows it."""
        try:
            meta = self._pool.FindExtensionByName("confluent.field_meta")
        except KeyError:
            return None
        options = message_factory.GetMessageClass(meta.containing_type).FromString(
            field.GetOptions().SerializeToString()
        )
        return options.Extensions[meta]


def declared_type(name: str) -> IcebergType | None:
    """The type of fields that are declared with a name, if no schema has to be read to know it.

    >>> str(declared_type("fixed32")), str(declared_type("google.protobuf.BoolValue")), declared_type("Order")
    ('long', 'boolean', None)
    """
    if name in WRAPPERS:
        name = name.rpartition(".")[2].removesuffix("Value").lower()
    number = descriptor_pb2.FieldDescriptorProto.Type.DESCRIPTOR.values_by_name.get(f"TYPE_{name.upper()}")
    found = MESSAGES.get(name) or (SCALARS.get(number.number) if number and name.islower() else None)
    return found.type if found else None


@lru_cache(maxsize=1000)
def message_reader(
    files: bytes, message: str = "", later: bytes = b"", *, first_format: bool = False
) -> MessageReader:
    """The reader of a compiled schema; a process makes it once.

    Args:
        message: the message's full name; empty for the first one.
        later: the later version whose types the fields get; empty for those of the schema.
        first_format: as of `RegisteredSchema`.
    """
    reader = message_reader(later, message, first_format=first_format) if later else None
    return MessageReader(files, message, reader, first_format=first_format)


def _getter(field: FieldDescriptor, convert: Convert) -> Convert:
    name = field.name
    if field.has_presence:
        return lambda message: convert(getattr(message, name)) if message.HasField(name) else None
    return lambda message: convert(getattr(message, name))


def _oneof(field: FieldDescriptor, optional: Container[str]) -> Any:
    """The field's oneof, unless it is the one that stands for the word `optional`."""
    return None if field.name in optional else field.containing_oneof


def _optional(descriptor: Descriptor) -> frozenset[str]:
    """The names of the fields that have the word `optional` in proto3.

    The names of their oneofs do not tell: `_a` for `a`, but `X_a` for `_a`.
    """
    found = descriptor_pb2.DescriptorProto()
    descriptor.CopyToProto(found)
    return frozenset(each.name for each in found.field if each.proto3_optional)
