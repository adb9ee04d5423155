"""A DataFrame's columns compared with those of its table: what fits, what the table can add, what conflicts.

Widening follows Iceberg's specification ("Schema Evolution"): int to long, float to double, and a decimal to
one of more digits and the same scale. `column_names` has the rule by which names are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

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

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.column_names import pair
from lineage_bridge_dagster.spark.mismatch import Difference, SchemaMismatchError, mismatch_error


def differences(frame: StructType, table: StructType, where: str = "the DataFrame") -> list[Difference]:
    """What keeps a frame from being written to a table as it is; it may lack nullable columns.

    Raises:
        ColumnNameError: names of the frame, which `where` names, differ only by case.
    """
    return list(_struct(frame, table, (), where))


def same_columns(frame: StructType, table: StructType, where: str = "the DataFrame") -> bool:
    """Whether a frame has exactly the table's columns, in any order and nullability.

    A part of a frame that has only nulls, and so no type, is of the table's type.

    Raises:
        ColumnNameError: names of the frame, which `where` names, differ only by case.
    """
    left, right = ({f.name: f.dataType for f in each} for each in (_aligned(frame, table, where), table))
    return left.keys() == right.keys() and all(as_stored(left[n]) == as_stored(right[n]) for n in left)


def by_table(
    frame: StructType, table: StructType, where: str = "the DataFrame", path: tuple[str, ...] = ()
) -> dict[str, StructField]:
    """The fields of a frame, or of its column at `path`, by the names that the table has for them."""
    names = pair(frame.names, table.names, where, path)
    return {names[field.name]: field for field in frame.fields}


def check_creatable(kind: DataType, where: str, path: tuple[str, ...] = ()) -> None:
    """Check that a table can be created with these columns.

    Raises:
        ColumnNameError: two of one struct differ only by case, or one has no name for a column.
        LineageBridgeError: one has no type.
    """
    match kind:
        case NullType():
            name = ".".join(path)
            raise LineageBridgeError(
                f"Column {name} of {where} has no type: all its values are null.",
                hint=f'Cast it: .withColumn("{path[0]}", F.lit(None).cast("string")).'
                if len(path) == 1
                else f"Cast {path[0]} to its whole type, such as array<string>.",
            )
        case StructType():
            pair(kind.names, (), where, path)
            for field in kind.fields:
                check_creatable(field.dataType, where, (*path, field.name))
        case ArrayType():
            check_creatable(kind.elementType, where, (*path, "element"))
        case MapType():
            check_creatable(kind.keyType, where, (*path, "key"))
            check_creatable(kind.valueType, where, (*path, "value"))


def as_stored(kind: DataType) -> DataType:
    """The type that Iceberg stores: it has no small integers and no bounded strings. All may be null here."""
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, as_stored(f.dataType)) for f in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(as_stored(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(as_stored(kind.keyType), as_stored(kind.valueType))
    if isinstance(kind, ByteType | ShortType):
        return IntegerType()
    return StringType() if isinstance(kind, CharType | VarcharType) else kind


def as_created(schema: StructType) -> StructType:
    """The columns of a table that is created for a frame: all nullable, as Iceberg stores them."""
    return StructType([StructField(f.name, as_stored(f.dataType), True, f.metadata) for f in schema])


def mismatch(found: Sequence[Difference], table: str) -> SchemaMismatchError:
    """The error for differences, with a remedy for the first of each kind."""
    return mismatch_error(found, table, cast=_cast, fill=_fill)


def _cast(clash: Difference) -> str:
    name, *nested = clash.path
    kind = clash.table or "string"
    if nested:
        return f"cast {'.'.join(clash.path)} to {kind} within its column"
    col = name if name.isidentifier() else quoted(name)
    return f'cast it: .withColumn("{name}", F.col("{col}").cast("{kind}"))'


def _fill(required: Difference) -> str:
    name = ".".join(required.path)
    return f'give {name} a value: F.coalesce(F.col("{name}"), F.lit(...))'


def _aligned(frame: DataType, table: DataType, where: str, path: tuple[str, ...] = ()) -> Any:
    """A type with the names of the table's counterpart, and with its types where there are none."""
    match frame, table:
        case NullType(), _:
            return table
        case StructType(), StructType():
            known = {field.name: field.dataType for field in table.fields}
            return StructType(
                [
                    StructField(
                        name, _aligned(f.dataType, known.get(name, f.dataType), where, (*path, f.name))
                    )
                    for name, f in by_table(frame, table, where, path).items()
                ]
            )
        case ArrayType(), ArrayType():
            return ArrayType(_aligned(frame.elementType, table.elementType, where, (*path, "element")))
        case MapType(), MapType():
            return MapType(
                _aligned(frame.keyType, table.keyType, where, (*path, "key")),
                _aligned(frame.valueType, table.valueType, where, (*path, "value")),
            )
    return frame


def _struct(frame: StructType, table: StructType, path: tuple[str, ...], where: str) -> Iterator[Difference]:
    sources = by_table(frame, table, where, path)
    targets = {field.name: field for field in table.fields}
    for name, source in sources.items():
        target = targets.get(name)
        at = (*path, source.name)
        if target is None:
            kind: Literal["new", "clash"] = "clash" if isinstance(source.dataType, NullType) else "new"
            yield Difference(at, kind, source.dataType.simpleString(), "")
        elif not target.nullable and source.nullable:
            kinds = source.dataType.simpleString(), target.dataType.simpleString()
            yield Difference(at, "required", *kinds)
        else:
            yield from _types(source.dataType, target.dataType, at, where)
    for name, target in targets.items():
        if name not in sources and not target.nullable:
            yield Difference((*path, target.name), "required", "", target.dataType.simpleString())


def _types(frame: DataType, table: DataType, path: tuple[str, ...], where: str) -> Iterator[Difference]:
    frame, table = _scalar(frame), _scalar(table)
    if isinstance(frame, StructType) and isinstance(table, StructType):
        yield from _struct(frame, table, path, where)
    elif isinstance(frame, ArrayType) and isinstance(table, ArrayType):
        yield from _types(frame.elementType, table.elementType, (*path, "element"), where)
    elif isinstance(frame, MapType) and isinstance(table, MapType):
        yield from _types(frame.keyType, table.keyType, (*path, "key"), where)
        yield from _types(frame.valueType, table.valueType, (*path, "value"), where)
    elif not _widens(frame, table):
        kind: Literal["wider", "clash"] = "wider" if _widens(table, frame) else "clash"
        yield Difference(path, kind, frame.simpleString(), table.simpleString())


def _widens(narrow: DataType, wide: DataType) -> bool:
    """Whether every value of one type is a value of the other, by Iceberg's rules."""
    if narrow == wide or isinstance(narrow, NullType):
        return True
    if isinstance(narrow, DecimalType) and isinstance(wide, DecimalType):
        return narrow.scale == wide.scale and narrow.precision <= wide.precision
    pairs = ((IntegerType, LongType), (FloatType, DoubleType))
    return any(isinstance(narrow, small) and isinstance(wide, large) for small, large in pairs)


def _scalar(kind: DataType) -> DataType:
    """`as_stored` of a scalar; containers keep the nullability of their parts."""
    return kind if isinstance(kind, StructType | ArrayType | MapType) else as_stored(kind)
