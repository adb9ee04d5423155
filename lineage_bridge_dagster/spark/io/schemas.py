"""A DataFrame's columns against those of its table: what fits, what the table could take, what clashes.

Widening follows Iceberg's specification ("Schema Evolution"): int to long, float to double, and a decimal to
one of more digits and the same scale. Names are compared as Spark does by default, whatever their case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql.types import (
    ArrayType,
    ByteType,
    CharType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    VarcharType,
)

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import quoted
from lineage_bridge_dagster.spark.iceberg_tables import load_table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: Differences that an error lists; a table may have a thousand columns.
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Difference:
    """A column that the table would have to change for, or that it can't take.

    `kind`: `new` and `wider` are changes that Iceberg allows; `clash` and `required` are not.
    """

    path: tuple[str, ...]
    kind: Literal["new", "wider", "clash", "required"]
    frame: DataType | None
    table: DataType | None

    def __str__(self) -> str:
        name = ".".join(self.path)
        frame = self.frame.simpleString() if self.frame else ""
        table = self.table.simpleString() if self.table else ""
        if self.table is None:
            return f"{name}: {frame} in the DataFrame, not in the table"
        if self.kind == "required":
            lacks = "may be null in the DataFrame" if self.frame else "is not in the DataFrame"
            return f"{name}: required in the table, {lacks}"
        return f"{name}: {frame} in the DataFrame, {table} in the table"


class SchemaMismatchError(LineageBridgeError):
    """The table can't take the DataFrame as it is."""


def differences(frame: StructType, table: StructType) -> list[Difference]:
    """What keeps a frame from being written to a table as it is; columns of the table alone are no matter."""
    return list(_struct(frame, table, ()))


def same_columns(frame: StructType, table: StructType) -> bool:
    """Whether a frame has exactly the table's columns, in whatever order and nullability."""
    return _names(frame) == _names(table) and all(
        stored(frame[name].dataType) == stored(table[other].dataType)
        for name, other in zip(_sorted(frame), _sorted(table), strict=True)
    )


def stored(kind: DataType) -> DataType:
    """A type as Iceberg keeps it: it has no small integers and no bounded texts; all may be null here."""
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, stored(f.dataType)) for f in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(stored(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(stored(kind.keyType), stored(kind.valueType))
    if isinstance(kind, ByteType | ShortType):
        return IntegerType()
    return StringType() if isinstance(kind, CharType | VarcharType) else kind


def java_schema(spark: SparkSession, schema: StructType) -> Any:
    """A frame's schema as a table gets it, in Spark's own Java: every column and field of it may be null."""
    jvm: Any = spark._jvm
    fields = [StructField(f.name, stored(f.dataType), True, f.metadata) for f in schema]
    return jvm.org.apache.spark.sql.types.DataType.fromJson(StructType(fields).json())


def evolve(spark: SparkSession, name: str, frame: StructType, found: list[Difference]) -> None:
    """Add the new columns and widen the narrow ones, in one commit of Iceberg's."""
    jvm: Any = spark._jvm
    changed = {difference.path[0] for difference in found}
    part = StructType([field for field in frame if field.name in changed])
    wanted = jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(java_schema(spark, part))
    update = load_table(spark, name).updateSchema()
    update.caseSensitive(False).unionByNameWith(wanted).commit()


def refuse(found: list[Difference], shown: str) -> SchemaMismatchError:
    """The error for differences, with what to write for the first of each kind."""
    lines = [f"  column {difference}" for difference in found[:_SHOWN]]
    if len(found) > _SHOWN:
        lines.append(f"  and {len(found) - _SHOWN} more")
    first = {difference.kind: difference for difference in reversed(found)}
    hints = []
    if clash := first.get("clash"):
        name, *within = clash.path
        kind = clash.table.simpleString() if clash.table else "string"
        col = name if name.isidentifier() else quoted(name)
        hints.append(
            f"cast {'.'.join(clash.path)} to {kind} within its column"
            if within
            else f'cast it: .withColumn("{name}", F.col("{col}").cast("{kind}"))'
        )
    if "required" in first:
        name = ".".join(first["required"].path)
        hints.append(f'give {name} a value: F.coalesce(F.col("{name}"), F.lit(...))')
    if "new" in first or "wider" in first:
        hints.append("set schema_update_mode: update, so that the table's columns are added and widened")
    if "new" in first:
        hints.append(f"or leave {'.'.join(first['new'].path)} out of the DataFrame")
    hint = "; ".join(hints)
    return SchemaMismatchError(
        "\n".join([f"{shown} can't take this DataFrame:", *lines]), hint=f"{hint[:1].upper()}{hint[1:]}."
    )


def conform(frame: DataFrame, table: StructType) -> DataFrame:
    """The frame with the table's columns, in its order and of its types; those it lacks are null."""
    from pyspark.sql import functions as F

    own = {field.name.lower(): field for field in frame.schema}
    columns = []
    for field in table:
        mine = own.get(field.name.lower())
        if mine is None:
            columns.append(F.lit(None).cast(field.dataType).alias(field.name))
        else:
            columns.append(_as(column(mine.name), mine.dataType, field.dataType).alias(field.name))
    return frame.select(*columns)


def column(name: str) -> Column:
    """A column by its whole name, whatever is in it."""
    from pyspark.sql import functions as F

    return F.col(quoted(name))


def _struct(frame: StructType, table: StructType, path: tuple[str, ...]) -> Iterator[Difference]:
    own = {field.name.lower(): field for field in frame.fields}
    theirs = {field.name.lower(): field for field in table.fields}
    for key, mine in own.items():
        field = theirs.get(key)
        at = (*path, mine.name)
        if field is None:
            kind: Literal["new", "clash"] = "clash" if isinstance(mine.dataType, NullType) else "new"
            yield Difference(at, kind, mine.dataType, None)
        elif not field.nullable and mine.nullable:
            yield Difference(at, "required", mine.dataType, field.dataType)
        else:
            yield from _types(mine.dataType, field.dataType, at)
    for key, field in theirs.items():
        if key not in own and not field.nullable:
            yield Difference((*path, field.name), "required", None, field.dataType)


def _types(frame: DataType, table: DataType, path: tuple[str, ...]) -> Iterator[Difference]:
    frame, table = _flat(frame), _flat(table)
    if isinstance(frame, StructType) and isinstance(table, StructType):
        yield from _struct(frame, table, path)
    elif isinstance(frame, ArrayType) and isinstance(table, ArrayType):
        yield from _types(frame.elementType, table.elementType, (*path, "element"))
    elif isinstance(frame, MapType) and isinstance(table, MapType):
        yield from _types(frame.keyType, table.keyType, (*path, "key"))
        yield from _types(frame.valueType, table.valueType, (*path, "value"))
    elif not _widens(frame, table):
        yield Difference(path, "wider" if _widens(table, frame) else "clash", frame, table)


def _widens(narrow: DataType, wide: DataType) -> bool:
    """Whether every value of one type is a value of the other, by Iceberg's rules."""
    if narrow == wide or isinstance(narrow, NullType):
        return True
    if isinstance(narrow, DecimalType) and isinstance(wide, DecimalType):
        return narrow.scale == wide.scale and narrow.precision <= wide.precision
    pairs = ((IntegerType, LongType), (FloatType, DoubleType))
    return any(isinstance(narrow, small) and isinstance(wide, large) for small, large in pairs)


def _flat(kind: DataType) -> DataType:
    """`stored` of a type that is no container; containers keep what their own parts say of null."""
    return kind if isinstance(kind, StructType | ArrayType | MapType) else stored(kind)


def _as(value: Column, have: DataType, want: DataType) -> Column:
    """A value in the table's type: fields of structs go by name, as columns do."""
    from pyspark.sql import functions as F

    if stored(have) == stored(want):
        return value
    if isinstance(have, StructType) and isinstance(want, StructType):
        own = {field.name.lower(): field for field in have.fields}
        fields = []
        for field in want.fields:
            mine = own.get(field.name.lower())
            inner = (
                F.lit(None).cast(field.dataType)
                if mine is None
                else _as(value.getField(mine.name), mine.dataType, field.dataType)
            )
            fields.append(inner.alias(field.name))
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(have, ArrayType) and isinstance(want, ArrayType):
        return F.transform(value, _each(have.elementType, want.elementType))
    if isinstance(have, MapType) and isinstance(want, MapType):
        keyed = F.transform_keys(value, lambda k, _: _as(k, have.keyType, want.keyType))
        return F.transform_values(keyed, lambda _, v: _as(v, have.valueType, want.valueType))
    return value.cast(want)


def _each(have: DataType, want: DataType) -> Callable[[Column], Column]:
    return lambda element: _as(element, have, want)


def _sorted(schema: StructType) -> list[str]:
    return sorted(schema.names, key=str.lower)


def _names(schema: StructType) -> list[str]:
    return sorted(name.lower() for name in schema.names)
