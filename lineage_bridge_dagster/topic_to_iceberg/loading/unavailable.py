"""Values that Debezium did not get from its database: those of columns that an update did not change.

A placeholder stands for them. A table by key keeps the value that it has. Everywhere else they become nulls,
which are counted.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.schemas import debezium

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

#: The struct of booleans that are true where a value was not available, by its path in `_value`.
UNAVAILABLE = "_unavailable"
_IMAGES = (debezium.BEFORE, debezium.AFTER)


def with_unavailable(frame: DataFrame, placeholder: bytes) -> DataFrame:
    """Records with null for each placeholder in `_value`, and with `_unavailable`, if any field can have one.

    Args:
        frame: the records, in whose `_value` envelopes may still be whole.
        placeholder: the bytes of Debezium's `unavailable.value.placeholder`.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    kind = frame.schema["_value"].dataType
    if not isinstance(kind, StructType):
        return frame
    is_nested = {each.name: isinstance(each.dataType, StructType) for each in kind.fields}
    images = _IMAGES if debezium.shape_of(is_nested) is debezium.Shape.ENVELOPE else ()
    flags: dict[str, Column] = {}
    row = _replaced(F.col("_value"), kind, placeholder, flags, images)
    if not flags:
        return frame
    return frame.withColumns(
        {"_value": row, UNAVAILABLE: F.struct(*(flag.alias(name) for name, flag in flags.items()))}
    )


def kept_fields(frame: DataFrame) -> tuple[str, ...]:
    """The fields of `_value` that may be unavailable, without those in an envelope that is still whole."""
    return tuple(name for name in _names(frame, UNAVAILABLE) if name in _names(frame, "_value"))


def number(frame: DataFrame) -> Column:
    """How many of a record's values are unavailable."""
    from pyspark.sql import functions as F

    total = F.lit(0)
    for name in _names(frame, UNAVAILABLE):
        total = total + F.col(quoted(UNAVAILABLE, name)).cast("int")
    return total


def _names(frame: DataFrame, column: str) -> Sequence[str]:
    """The fields of a column, if it is there and a struct."""
    from pyspark.sql.types import StructType

    kind = next((each.dataType for each in frame.schema if each.name == column), None)
    return kind.names if isinstance(kind, StructType) else ()


def _replaced(
    value: Column,
    kind: StructType,
    placeholder: bytes,
    flags: dict[str, Column],
    images: tuple[str, ...],
    prefix: str = "",
) -> Column:
    """The struct with null for each placeholder; adds a flag for each field that can have one."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    fields = []
    for each in kind.fields:
        inner, name = value.getField(each.name), f"{prefix}{each.name}"
        if each.name in images and isinstance(each.dataType, StructType):
            inner = _replaced(inner, each.dataType, placeholder, flags, (), f"{name}.")
        elif (found := _is_placeholder(inner, each.dataType, placeholder)) is not None:
            flags[name] = F.coalesce(found, F.lit(False))
            inner = F.when(~flags[name], inner)
        fields.append(inner.alias(each.name))
    return F.when(value.isNotNull(), F.struct(*fields))


def _is_placeholder(value: Column, kind: DataType, placeholder: bytes) -> Column | None:
    """Whether a value is the placeholder in the form of its type; None if the type has none."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as t

    text = placeholder.decode(errors="replace")
    match kind:
        case t.StringType():
            return value.isin(*dict.fromkeys(_texts(placeholder)))
        case t.BinaryType():
            return value == F.lit(placeholder)
        case t.ArrayType(elementType=t.StringType()):
            # Java's `UUID.nameUUIDFromBytes`.
            named = uuid.UUID(bytes=hashlib.md5(placeholder, usedforsecurity=False).digest(), version=3)
            return (value == F.array(F.lit(text))) | (value == F.array(F.lit(str(named))))
        case t.ArrayType(elementType=t.BinaryType()):
            return value == F.array(F.lit(placeholder))
        case t.ArrayType(elementType=t.IntegerType() | t.LongType() as element):
            # Java's bytes have signs.
            octets = [F.lit(each - 256 if each > 127 else each).cast(element) for each in placeholder]
            return value == F.array(*octets)
        case t.MapType(keyType=t.StringType(), valueType=t.StringType()):
            keys, values = F.map_keys(value), F.map_values(value)
            return (keys == F.array(F.lit(text))) & (values == F.array(F.lit(text)))
        case t.StructType() if {"wkb", "srid"} <= set(kind.names):
            return value.getField("wkb").isin(*(F.lit(each) for each in debezium.GEOMETRIES))
    return None


def _texts(placeholder: bytes) -> Iterator[str]:
    """The placeholder as text: plain, of bytes by `binary.handling.mode`, of an hstore as JSON."""
    text = placeholder.decode(errors="replace")
    yield text
    yield base64.b64encode(placeholder).decode()
    yield base64.urlsafe_b64encode(placeholder).decode()
    yield placeholder.hex()
    yield f'{{"{text}":"{text}"}}'
