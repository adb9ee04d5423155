"""What Spark decodes though no column can hold it: text that is not UTF-8, decimals of too many digits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyiceberg.types import BinaryType, DecimalType, IcebergType, ListType, MapType, StringType, StructType

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.types import joined, spelled
from lineage_bridge_dagster.spark.decoding.spark_types import spark_type, taken_by

if TYPE_CHECKING:
    from pyspark.sql import Column


@dataclass(frozen=True)
class ValueFault:
    """A check of a value.

    Attributes:
        path: of the field, empty for the value itself.
        reason: what is wrong with a value that has the fault.
        found: whether a value has it; never null.
    """

    path: str
    reason: str
    found: Column

    @property
    def told(self) -> str:
        """What is wrong with the value."""
        return f"{f'its field {self.path}' if self.path else 'it'} {self.reason}"


def faults(value: Column, read: IcebergType, own: IcebergType, path: str = "") -> Iterator[ValueFault]:
    """The faults that a value can have.

    Args:
        value: as it was read.
        own: the type that it is to have. It may have decimals of fewer digits, text for bytes, and fewer
            fields; the missing ones must be null.
    """
    from pyspark.sql import functions as F

    if (taken := taken_by(read, own)) is not None:
        yield from faults(value, read, taken.field_type, path)
        return
    match read, own:
        case StringType() | BinaryType(), StringType():
            yield ValueFault(path, "is not valid UTF-8", _flag(~F.is_valid_utf8(value.cast("string"))))
        case DecimalType(), DecimalType() if read != own:
            fits = value.try_cast(spark_type(own)).isNotNull()
            yield ValueFault(path, f"is not a {spelled(own)}", value.isNotNull() & ~fits)
        case StructType(), StructType():
            kept = {each.name: each.field_type for each in own.fields}
            for each in read.fields:
                inner, where = value.getField(each.name), joined(path, each.name)
                if each.name in kept:
                    yield from faults(inner, each.field_type, kept[each.name], where)
                else:
                    yield ValueFault(path, "has none of the union's types", inner.isNotNull())
        case ListType(), ListType():
            yield from _each(value, read.element_type, own.element_type, joined(path, "element"))
        case ListType(), MapType():
            keys = F.transform(value, lambda each: each["key"])
            found = (F.size(F.array_distinct(keys)) < F.size(keys)) | F.exists(keys, F.isnull)
            yield ValueFault(path, "has a key twice, or one that is null", _flag(found))
            entry = StructType(types.field("key", own.key_type), types.field("value", own.value_type))
            yield from _each(value, read.element_type, entry, joined(path, "element"))
        case MapType(), MapType():
            yield from _each(F.map_keys(value), read.key_type, own.key_type, joined(path, "key"))
            yield from _each(F.map_values(value), read.value_type, own.value_type, joined(path, "value"))


def any_of(checks: Iterable[ValueFault]) -> Column:
    """Whether a value has one of the faults."""
    from pyspark.sql import functions as F

    return reduce(or_, (each.found for each in checks), F.lit(False))


def _each(values: Column, read: IcebergType, own: IcebergType, path: str) -> Iterator[ValueFault]:
    """The faults of the elements of an array, as one."""
    from pyspark.sql import functions as F

    reasons = dict.fromkeys(each.reason for each in faults(F.lit(None), read, own))
    if reasons:
        found = F.exists(values, lambda value: any_of(faults(value, read, own)))
        yield ValueFault(path, " or ".join(reasons), _flag(found))


def _flag(column: Column) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(column, F.lit(False))
