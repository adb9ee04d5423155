"""Protobuf's values as those of columns: of scalars, enums, Google's messages and Confluent's decimal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestamptzType,
)

from lineage_bridge_dagster.schemas import types

#: A Protobuf value -> the value of its column: a struct is a dictionary, a map a list of pairs, a time its
#: microseconds since 1970, a date its days since 1970.
Convert = Callable[[Any], Any]

_MAX_LONG = 2**63 - 1
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class ProtobufColumn:
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
SCALARS = {
    **dict.fromkeys((_F.TYPE_INT32, _F.TYPE_SINT32, _F.TYPE_SFIXED32), ProtobufColumn(IntegerType(), _same)),
    **dict.fromkeys((_F.TYPE_INT64, _F.TYPE_SINT64, _F.TYPE_SFIXED64), ProtobufColumn(LongType(), _same)),
    **dict.fromkeys((_F.TYPE_UINT32, _F.TYPE_FIXED32), ProtobufColumn(LongType(), _same)),
    **dict.fromkeys((_F.TYPE_UINT64, _F.TYPE_FIXED64), ProtobufColumn(LongType(), _unsigned)),
    _F.TYPE_DOUBLE: ProtobufColumn(DoubleType(), _same),
    _F.TYPE_FLOAT: ProtobufColumn(FloatType(), _same),
    _F.TYPE_BOOL: ProtobufColumn(BooleanType(), _same),
    _F.TYPE_STRING: ProtobufColumn(StringType(), _same),
    _F.TYPE_BYTES: ProtobufColumn(BinaryType(), _same),
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


_JSON = ProtobufColumn(StringType(), lambda message: json_format.MessageToJson(message, indent=None))
MESSAGES = {
    "google.protobuf.Timestamp": ProtobufColumn(TimestamptzType(), _micros),
    "google.type.Date": ProtobufColumn(DateType(), _day),
    "google.type.TimeOfDay": ProtobufColumn(LongType(), _clock),
    "google.protobuf.Struct": _JSON,
    "google.protobuf.Value": _JSON,
    "google.protobuf.ListValue": _JSON,
}
WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}


def enum_column(field: FieldDescriptor) -> ProtobufColumn:
    names = {number: each.name for number, each in field.enum_type.values_by_number.items()}
    return ProtobufColumn(StringType(), lambda number: names.get(number) or str(number))


#: Types that are encoded alike, so that one version's numbers can be read as another's.
_VARINTS = {_F.TYPE_INT32, _F.TYPE_INT64, _F.TYPE_UINT32, _F.TYPE_UINT64, _F.TYPE_BOOL, _F.TYPE_ENUM}


def read_as(field: FieldDescriptor, later: FieldDescriptor, path: str) -> ProtobufColumn | None:
    """A field's values as those of the later version's field; None if they are what they are.

    Protobuf's guide ("Updating A Message Type"): integers, booleans and enums read each other's bytes, and so
    do text and bytes as long as these are UTF-8.
    """
    if field.type == later.type:
        return None
    if {field.type, later.type} <= _VARINTS:
        if later.type == _F.TYPE_ENUM:
            named = enum_column(later).convert
            return ProtobufColumn(StringType(), lambda number: named(int(number)))
        if later.type == _F.TYPE_BOOL:
            return ProtobufColumn(BooleanType(), bool)
        if field.type in (_F.TYPE_ENUM, _F.TYPE_BOOL):
            return ProtobufColumn(SCALARS[later.type].type, int)
    if field.type == _F.TYPE_STRING and later.type == _F.TYPE_BYTES:
        text = text_column(path).convert
        return ProtobufColumn(BinaryType(), lambda value: text(value).encode())
    if field.type == _F.TYPE_BYTES and later.type == _F.TYPE_STRING:
        return ProtobufColumn(StringType(), lambda value: _decoded(value, path))
    return None


def _decoded(value: bytes, path: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"its field {path} is not valid UTF-8") from error


def text_column(path: str) -> ProtobufColumn:
    def convert(value: str | bytes) -> str:
        # Syntaxes other than proto3 need not demand UTF-8: other bytes come as they are.
        if isinstance(value, bytes):
            raise ValueError(f"its field {path} is not valid UTF-8")  # noqa: TRY004
        return value

    return ProtobufColumn(StringType(), convert)


def decimal_column(precision: int, scale: int, path: str) -> ProtobufColumn:
    kind = types.decimal(precision, scale, path)
    precision = kind.precision

    def convert(message: Any) -> Decimal:
        unscaled = int.from_bytes(message.value, "big", signed=True)
        value = Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -message.scale))
        digits = len(str(abs(unscaled))) + max(0, scale - message.scale)
        if message.scale > scale or digits > precision:
            raise ValueError(f"its field {path} is {value}, which is not a decimal({precision},{scale})")
        return value

    return ProtobufColumn(kind, convert)
