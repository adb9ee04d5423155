"""Protobuf messages -> Iceberg types and values.

The table is of the schema's first message. Sources: Confluent's page on data types for Flink and Connect's
Protobuf converter for messages, wrappers (optional values), `google.type.Date`, `confluent.type.Decimal`
with `precision` and `scale` in its field's parameters, and a `oneof` as a row of nullable alternatives, named
after it. An unsigned 32-bit number is a long; one of 64 bits is, too, and an error beyond it. An enum is the
name of its value; a value without a name is its number. A message without fields is a boolean that is true
where it is set, as no file has a row without columns. `google.protobuf.Struct` and `Value` are JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

from google.protobuf import descriptor_pb2, json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from lineage_bridge_dagster.topics import types
from lineage_bridge_dagster.topics.errors import SchemaError
from lineage_bridge_dagster.topics.types import joined

#: A Protobuf value -> the value of its column: a struct is a dictionary, a map a list of pairs, a time its
#: microseconds since 1970, a date its days since 1970.
Convert = Callable[[Any], Any]

_MAX_LONG = 2**63 - 1
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Column:
    """A type, and how its values are found."""

    type: IcebergType
    convert: Convert


def _same(value: Any) -> Any:
    return value


def _unsigned(value: int) -> int:
    if value > _MAX_LONG:
        raise ValueError(f"{value} is over {_MAX_LONG}, the most that a long holds")
    return value


_F = FieldDescriptor
_SCALARS = {
    **dict.fromkeys((_F.TYPE_INT32, _F.TYPE_SINT32, _F.TYPE_SFIXED32), Column(IntegerType(), _same)),
    **dict.fromkeys((_F.TYPE_INT64, _F.TYPE_SINT64, _F.TYPE_SFIXED64), Column(LongType(), _same)),
    **dict.fromkeys((_F.TYPE_UINT32, _F.TYPE_FIXED32), Column(LongType(), _same)),
    **dict.fromkeys((_F.TYPE_UINT64, _F.TYPE_FIXED64), Column(LongType(), _unsigned)),
    _F.TYPE_DOUBLE: Column(DoubleType(), _same),
    _F.TYPE_FLOAT: Column(FloatType(), _same),
    _F.TYPE_BOOL: Column(BooleanType(), _same),
    _F.TYPE_STRING: Column(StringType(), _same),
    _F.TYPE_BYTES: Column(BinaryType(), _same),
}


def _day(message: Any) -> int:
    return date(message.year, message.month, message.day).toordinal() - _EPOCH


def _micros(message: Any) -> int:
    found = int(message.seconds) * 1_000_000 + int(message.nanos) // 1000
    if not -_MAX_LONG <= found <= _MAX_LONG:
        raise ValueError(f"{message.seconds} seconds are beyond what a timestamp holds")
    return found


def _clock(message: Any) -> int:
    seconds = (message.hours * 60 + message.minutes) * 60 + message.seconds
    return int(seconds) * 1_000_000 + int(message.nanos) // 1000


_JSON = Column(StringType(), lambda message: json_format.MessageToJson(message, indent=None))
_MESSAGES = {
    "google.protobuf.Timestamp": Column(TimestamptzType(), _micros),
    "google.type.Date": Column(DateType(), _day),
    "google.type.TimeOfDay": Column(LongType(), _clock),
    "google.protobuf.Struct": _JSON,
    "google.protobuf.Value": _JSON,
    "google.protobuf.ListValue": _JSON,
}
_WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}


class MessageReader:
    """Reads the first message of a compiled schema.

    Args:
        files: a serialized `FileDescriptorSet`, as `compiled` returns it.

    Raises:
        SchemaError: the schema has no message, or a field cannot be a column.
    """

    def __init__(self, files: bytes) -> None:
        found = FileDescriptorSet.FromString(files)
        self._pool = DescriptorPool()
        for file in found.file:
            self._pool.Add(file)
        own = found.file[-1]
        if not own.message_type:
            raise SchemaError("The Protobuf schema has no message.", hint="Register one that has.")
        self._file = self._pool.FindFileByName(own.name)
        self._docs = dict(_comments(found))
        name = own.message_type[0].name
        self._descriptor = self._file.message_types_by_name[name]
        self._class = message_factory.GetMessageClass(self._descriptor)
        self._enclosing: list[str] = []
        self._column = self._message(self._descriptor, "")

    @property
    def type(self) -> IcebergType:
        """The type of the message's values."""
        return self._column.type

    def read(self, body: bytes) -> Any:
        """The value of a body: the indexes of its message, then the message.

        Raises:
            ValueError: it is of another message, or malformed, or a value is out of its type's range.
        """
        start = 1
        if not body or body[0]:
            indexes, start = _indexes(body)
            if indexes != [0]:
                raise ValueError(
                    f"its message is {self._named(indexes)}, and the table is of "
                    f"{self._descriptor.full_name}, the first of the schema"
                )
        try:
            message = self._class.FromString(body[start:])
        except Exception as error:  # DecodeError, which is no ValueError; what it says differs by version.
            raise ValueError(f"its bytes are no {self._descriptor.full_name}") from error
        try:
            return self._column.convert(message)
        except UnicodeDecodeError as error:
            raise ValueError("a key of a map in it is not valid UTF-8") from error

    def _named(self, indexes: list[int]) -> str:
        try:
            found = list(self._file.message_types_by_name.values())[indexes[0]]
            for index in indexes[1:]:
                found = found.nested_types[index]
        except IndexError:
            return f"that of the indexes {indexes}, which the schema does not have"
        return str(found.full_name)

    def _message(self, descriptor: Descriptor, path: str) -> Column:
        name = descriptor.full_name
        if name in _MESSAGES:
            return _MESSAGES[name]
        if name in self._enclosing:
            raise types.recursive(path, name)
        types.check_depth(self._enclosing, path)
        if name in _WRAPPERS:
            inner = _SCALARS[descriptor.fields_by_name["value"].type].convert
            return Column(
                _SCALARS[descriptor.fields_by_name["value"].type].type, lambda message: inner(message.value)
            )
        if not descriptor.fields:
            return Column(BooleanType(), lambda _: True)
        self._enclosing.append(name)
        columns: list[NestedField] = []
        converts: list[tuple[str, Convert]] = []
        unions: set[str] = set()
        optional = _optional(descriptor)
        for each in descriptor.fields:
            union = _oneof(each, optional)
            if union is None:
                column = self._field(each, joined(path, each.name))
                required = not each.has_presence and not each.is_repeated
                columns.append(types.field(each.name, column.type, required=required, doc=self._doc(each)))
                converts.append((each.name, _getter(each, column.convert)))
            elif union.name not in unions:
                unions.add(union.name)
                column = self._union(union, joined(path, union.name))
                columns.append(types.field(union.name, column.type, doc=self._docs.get(union.full_name, "")))
                converts.append((union.name, column.convert))
        self._enclosing.pop()
        struct = types.struct(columns, path)
        return Column(struct, lambda message: {name: convert(message) for name, convert in converts})

    def _union(self, union: Any, path: str) -> Column:
        fields, converts = [], {}
        for each in union.fields:
            column = self._field(each, joined(path, each.name))
            fields.append(types.field(each.name, column.type, doc=self._doc(each)))
            converts[each.name] = column.convert
        name = union.name

        def convert(message: Any) -> Any:
            chosen = message.WhichOneof(name)
            return chosen and {chosen: converts[chosen](getattr(message, chosen))}

        return Column(types.struct(fields, path), convert)

    def _field(self, field: FieldDescriptor, path: str) -> Column:
        """A field's type, and the conversion of what `getattr` returns for it."""
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            key = self._single(entry.fields_by_name["key"], joined(path, "key"))
            value = self._single(entry.fields_by_name["value"], joined(path, "value"))
            convert_key, convert_value = key.convert, value.convert
            kind = types.mapping(value.type, key=key.type, value_required=True)
            return Column(kind, lambda found: [(convert_key(k), convert_value(v)) for k, v in found.items()])
        if not field.is_repeated:
            return self._single(field, path)
        element = self._single(field, joined(path, "element"))
        convert = element.convert
        return Column(
            types.listing(element.type, element_required=True),
            lambda found: [convert(each) for each in found],
        )

    def _single(self, field: FieldDescriptor, path: str) -> Column:
        if field.type == _F.TYPE_ENUM:
            names = {number: each.name for number, each in field.enum_type.values_by_number.items()}
            return Column(StringType(), lambda number: names.get(number) or str(number))
        if field.type == _F.TYPE_STRING:
            return _text(path)
        if field.message_type is None:
            return _SCALARS[field.type]
        if field.message_type.full_name == "confluent.type.Decimal":
            meta = self._meta(field)
            parameters = dict(meta.params) if meta else {}
            if "scale" in parameters:
                precision = int(parameters.get("precision", types.MAX_PRECISION))
                return _decimal(precision, int(parameters["scale"]), path)
        return self._message(field.message_type, path)

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

    Args:
        name: of a scalar type, or the full name of a message of Google's.

    >>> str(declared_type("fixed32")), str(declared_type("google.protobuf.BoolValue")), declared_type("Order")
    ('long', 'boolean', None)
    """
    if name in _WRAPPERS:
        name = name.rpartition(".")[2].removesuffix("Value").lower()
    number = descriptor_pb2.FieldDescriptorProto.Type.DESCRIPTOR.values_by_name.get(f"TYPE_{name.upper()}")
    found = _MESSAGES.get(name) or (_SCALARS.get(number.number) if number and name.islower() else None)
    return found.type if found else None


@lru_cache(maxsize=1000)
def message_reader(files: bytes) -> MessageReader:
    """The reader of a compiled schema; a process makes it once."""
    return MessageReader(files)


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


def _decimal(precision: int, scale: int, path: str) -> Column:
    kind = types.decimal(precision, scale, path)
    precision = kind.precision

    def convert(message: Any) -> Decimal:
        unscaled = int.from_bytes(message.value, "big", signed=True)
        value = Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -message.scale))
        digits = len(str(abs(unscaled))) + max(0, scale - message.scale)
        if message.scale > scale or digits > precision:
            raise ValueError(f"its field {path} is {value}, which is no decimal({precision},{scale})")
        return value

    return Column(kind, convert)


def _text(path: str) -> Column:
    def convert(value: str | bytes) -> str:
        # Syntaxes other than proto3 need not demand UTF-8: other bytes come as they are.
        if isinstance(value, bytes):
            raise ValueError(f"its field {path} is not valid UTF-8")  # noqa: TRY004
        return value

    return Column(StringType(), convert)


def _indexes(body: bytes) -> tuple[list[int], int]:
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


def _comments(files: FileDescriptorSet) -> Iterator[tuple[str, str]]:
    """The full name of each field and oneof that has a comment, and the comment."""
    for file in files.file:
        found = {
            tuple(each.path): (each.leading_comments or each.trailing_comments)
            for each in file.source_code_info.location
        }
        for number, message in enumerate(file.message_type):
            prefix = f"{file.package}.{message.name}" if file.package else message.name
            yield from _commented(message, prefix, (4, number), found)


def _commented(
    message: descriptor_pb2.DescriptorProto,
    name: str,
    path: tuple[int, ...],
    found: dict[tuple[int, ...], str],
) -> Iterator[tuple[str, str]]:
    for number, field in enumerate(message.field):
        if comment := found.get((*path, 2, number)):
            yield f"{name}.{field.name}", comment
    for number, union in enumerate(message.oneof_decl):
        if comment := found.get((*path, 8, number)):
            yield f"{name}.{union.name}", comment
    for number, inner in enumerate(message.nested_type):
        yield from _commented(inner, f"{name}.{inner.name}", (*path, 3, number), found)
