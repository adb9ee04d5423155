"""Iceberg types in Spark, and values of one version's type as values of another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg import types as iceberg

from lineage_bridge_dagster.schemas.evolution import alternative
from lineage_bridge_dagster.schemas.types import Alternatives, NoFields, spelled

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


def spark_type(kind: iceberg.IcebergType) -> DataType:
    """Spark's type; nulls are permitted at every level."""
    from pyspark.sql import types as t

    match kind:
        case iceberg.StructType():
            return t.StructType(
                [t.StructField(each.name, spark_type(each.field_type)) for each in kind.fields]
            )
        case iceberg.ListType():
            return t.ArrayType(spark_type(kind.element_type))
        case iceberg.MapType():
            return t.MapType(spark_type(kind.key_type), spark_type(kind.value_type))
        case iceberg.DecimalType():
            return t.DecimalType(kind.precision, kind.scale)
        case NoFields():
            return t.BooleanType()
    primitive: dict[type[iceberg.IcebergType], type[DataType]] = {
        iceberg.BinaryType: t.BinaryType,
        iceberg.BooleanType: t.BooleanType,
        iceberg.DateType: t.DateType,
        iceberg.DoubleType: t.DoubleType,
        iceberg.FloatType: t.FloatType,
        iceberg.IntegerType: t.IntegerType,
        iceberg.LongType: t.LongType,
        iceberg.StringType: t.StringType,
        iceberg.TimestampType: t.TimestampNTZType,
        iceberg.TimestamptzType: t.TimestampType,
    }
    return primitive[type(kind)]()


def taken_by(own: iceberg.IcebergType, target: iceberg.IcebergType) -> iceberg.NestedField | None:
    """The alternative of a union that takes the values of a type that is none; None in all other cases."""
    if isinstance(target, Alternatives) and not isinstance(own, Alternatives):
        return alternative(target, own)
    return None


def conformed(column: Column, own: iceberg.IcebergType, target: iceberg.IcebergType) -> Column:
    """A value of one version's type, in the type that holds the values of all versions.

    Fields are found by their names; those that the version lacks are null.

    Args:
        column: of the Spark type of `own`.
        target: what `merged` or `promoted` returned for it; or the version's type, if `own` is that of what
            was read.
    """
    from pyspark.sql import functions as F

    if spelled(own) == spelled(target):
        return column
    if (taken := taken_by(own, target)) is not None:
        value = conformed(column, own, taken.field_type)
        fields = [
            (value if each is taken else F.lit(None).cast(spark_type(each.field_type))).alias(each.name)
            for each in target.fields  # type: ignore[attr-defined]
        ]
        return F.when(column.isNotNull(), F.struct(*fields))
    match own, target:
        case iceberg.StructType(), iceberg.StructType():
            present = {each.name: each for each in own.fields}
            fields = []
            for each in target.fields:
                if each.name in present:
                    inner = present[each.name].field_type
                    value = conformed(column.getField(each.name), inner, each.field_type)
                else:
                    value = F.lit(None).cast(spark_type(each.field_type))
                fields.append(value.alias(each.name))
            return F.when(column.isNotNull(), F.struct(*fields))
        case iceberg.ListType(), iceberg.ListType():
            before, after = own.element_type, target.element_type
            return F.transform(column, lambda element: conformed(element, before, after))
        case iceberg.ListType(), iceberg.MapType():
            # The entries of Connect's maps; what has faults is not asked for its value.
            parts = {each.name: each.field_type for each in own.element_type.fields}  # type: ignore[attr-defined]
            pairs = (("key", target.key_type), ("value", target.value_type))
            return F.map_from_entries(
                F.transform(
                    column, lambda each: F.struct(*(conformed(each[n], parts[n], kind) for n, kind in pairs))
                )
            )
        case iceberg.MapType(), iceberg.MapType():
            before, after = own.value_type, target.value_type
            return F.transform_values(column, lambda _, value: conformed(value, before, after))
        case iceberg.StructType(), NoFields():
            return F.when(column.isNotNull(), F.lit(True))
        case NoFields(), iceberg.StructType():
            # A record that has gained fields.
            nulls = [F.lit(None).cast(spark_type(each.field_type)).alias(each.name) for each in target.fields]
            return F.when(column.isNotNull(), F.struct(*nulls))
        case iceberg.DecimalType(), iceberg.DecimalType():
            # Spark also computes rows that are filtered out later, and a cast would end the query.
            return column.try_cast(spark_type(target))
    return column.cast(spark_type(target))
