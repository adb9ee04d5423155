"""The columns of Arrow data compared with those of an Iceberg table, by the rules of the Spark path.

The data is aligned with the table before, so names are compared as they are. What a table can widen follows
Iceberg's specification ("Schema Evolution"): int to long, float to double, a decimal to more digits of the
same scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids, schema_to_pyarrow
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StructType,
    TimestampType,
    TimestamptzType,
)

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.mismatch import Difference, SchemaMismatchError, mismatch_error

#: Iceberg's specification, "Primitive Types".
_MAX_PRECISION = 38
#: Canonical extension types of Arrow that are stored as another type.
_EXTENSIONS = {"arrow.json": pa.string(), "arrow.bool8": pa.bool_()}
#: The days of the years 1 and 9999: PyIceberg computes statistics of times as Python's datetimes.
_FIRST_DAY, _LAST_DAY = (date(1, 1, 1) - date(1970, 1, 1)).days, (date.max - date(1970, 1, 1)).days
_DAY = 24 * 60 * 60 * 1_000_000


def storable(schema: pa.Schema, table: str) -> pa.Schema:
    """The columns in types that Iceberg stores: int for small integers, microseconds, no dictionaries.

    What has no type, because all its values are null, stays so.

    Raises:
        LineageBridgeError: a column has a type without a counterpart.
    """
    return pa.schema([(each.name, _storable(each.type, each.name, table)) for each in schema])


def stored(rows: pa.Table, table: str) -> pa.Table:
    """Rows in storable types.

    Raises:
        LineageBridgeError: a column has a type without a counterpart, or a value does not fit, such as
            nanoseconds that are not whole microseconds.
    """
    schema = storable(rows.schema, table)
    columns = []
    for column, field in zip(rows.columns, schema, strict=True):
        try:
            columns.append(column.cast(field.type))
            _check_years(columns[-1])
        except (pa.lib.ArrowException, OverflowError) as error:
            raise LineageBridgeError(
                f"Column {field.name} of the DataFrame for {table} has a value that Iceberg cannot store: "
                f"{error}",
                hint="Correct, round or cast the column; Iceberg stores times in microseconds.",
            ) from error
    return pa.Table.from_arrays(columns, schema=schema)


def iceberg_schema(schema: pa.Schema, table: str) -> Schema:
    """Storable columns as Iceberg's, all optional, with fresh ids.

    Raises:
        LineageBridgeError: the name of a column is the path of a field within another one.
    """
    try:
        converted = _pyarrow_to_schema_without_ids(schema)
        return assign_fresh_schema_ids(Schema(*(_optional(each) for each in converted.fields)))
    except ValueError as error:
        raise LineageBridgeError(
            f"Iceberg cannot store the columns of the DataFrame for {table}: {error}",
            hint="Rename the column that has a dot in its name.",
        ) from error


def differences(frame: Schema, table: Schema) -> list[Difference]:
    """What keeps a frame from being written to a table as it is; it may lack optional columns."""
    return list(_struct(frame.as_struct(), table.as_struct(), ()))


def same_columns(frame: Schema, table: Schema) -> bool:
    """Whether a frame has exactly the table's columns, in any order."""
    left, right = ({each.name: sql_type(each.field_type) for each in one.fields} for one in (frame, table))
    return left == right


def mismatch(found: Sequence[Difference], table: str) -> SchemaMismatchError:
    """The error for differences, with a remedy for the first of each kind."""
    return mismatch_error(
        found,
        table,
        cast=lambda clash: f"cast {'.'.join(clash.path)} to {clash.table}",
        fill=lambda required: f"give {'.'.join(required.path)} a value in every row",
    )


def conform(rows: pa.Table, schema: Schema, table: str) -> pa.Table:
    """Rows with the columns of a table, in its order and types; missing ones are null.

    Raises:
        LineageBridgeError: a value does not fit.
    """
    columns = []
    wanted = schema_to_pyarrow(schema, include_field_ids=False)
    for field in wanted:
        known = field.name in rows.column_names
        try:
            columns.append(
                rows.column(field.name).cast(field.type) if known else pa.nulls(rows.num_rows, field.type)
            )
        except pa.lib.ArrowException as error:
            raise LineageBridgeError(
                f"Column {field.name} of the DataFrame for {table} has a value that does not fit "
                f"{field.type}: {error}",
                hint="Correct the values, or cast the column.",
            ) from error
        if not field.nullable and columns[-1].null_count:
            raise mismatch([Difference((field.name,), "required", str(field.type), str(field.type))], table)
    return pa.Table.from_arrays(columns, schema=wanted)


def sql_type(kind: IcebergType) -> str:
    """A type as Spark spells it, so that metadata is the same whatever wrote the table.

    >>> sql_type(LongType()), sql_type(DecimalType(9, 2))
    ('bigint', 'decimal(9,2)')
    """
    match kind:
        case StructType():
            return f"struct<{','.join(f'{f.name}:{sql_type(f.field_type)}' for f in kind.fields)}>"
        case ListType():
            return f"array<{sql_type(kind.element_type)}>"
        case MapType():
            return f"map<{sql_type(kind.key_type)},{sql_type(kind.value_type)}>"
        case LongType():
            return "bigint"
        case DecimalType():
            return f"decimal({kind.precision},{kind.scale})"
        case TimestamptzType():
            return "timestamp"
        case TimestampType():
            return "timestamp_ntz"
        case FixedType():
            return "binary"
    return str(kind)


def _struct(frame: StructType, table: StructType, path: tuple[str, ...]) -> Iterator[Difference]:
    sources = {field.name: field for field in frame.fields}
    targets = {field.name: field for field in table.fields}
    for name, source in sources.items():
        target = targets.get(name)
        at = (*path, source.name)
        if target is None:
            yield Difference(at, "new", sql_type(source.field_type), "")
        else:
            yield from _types(source.field_type, target.field_type, at)
    for name, target in targets.items():
        if name not in sources and target.required:
            yield Difference((*path, target.name), "required", "", sql_type(target.field_type))


def _types(frame: IcebergType, table: IcebergType, path: tuple[str, ...]) -> Iterator[Difference]:
    match frame, table:
        case StructType(), StructType():
            yield from _struct(frame, table, path)
        case ListType(), ListType():
            yield from _types(frame.element_type, table.element_type, (*path, "element"))
        case MapType(), MapType():
            yield from _types(frame.key_type, table.key_type, (*path, "key"))
            yield from _types(frame.value_type, table.value_type, (*path, "value"))
        case _ if not _widens(frame, table):
            kind: Literal["wider", "clash"] = "wider" if _widens(table, frame) else "clash"
            yield Difference(path, kind, sql_type(frame), sql_type(table))


def _widens(narrow: IcebergType, wide: IcebergType) -> bool:
    """Whether every value of one type is a value of the other, by Iceberg's rules."""
    match narrow, wide:
        case DecimalType(), DecimalType():
            return narrow.scale == wide.scale and narrow.precision <= wide.precision
        case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
            return True
    return narrow == wide


def _optional(field: NestedField) -> NestedField:
    return field.model_copy(update={"required": False})


def _check_years(column: pa.ChunkedArray) -> None:
    """Refuse a storable column with times that PyIceberg cannot write.

    Raises:
        OverflowError: it has some.
    """
    if pa.types.is_timestamp(column.type):
        numbers, unit = column.cast(pa.int64()), _DAY
    elif pa.types.is_date32(column.type):
        numbers, unit = column.cast(pa.int32()), 1
    else:
        return
    ends = [end for end in pc.min_max(numbers).as_py().values() if end is not None]
    if any(not _FIRST_DAY <= end // unit <= _LAST_DAY for end in ends):
        raise OverflowError("a time outside of the years 1 to 9999")


def _storable(kind: pa.DataType, name: str, table: str) -> pa.DataType:
    types = pa.types
    if types.is_dictionary(kind):
        return _storable(kind.value_type, name, table)
    if types.is_struct(kind):
        return pa.struct([(f.name, _storable(f.type, f"{name}.{f.name}", table)) for f in kind])
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_storable(kind.value_type, f"{name}.element", table))
    if types.is_decimal(kind):
        # Arrow allows a negative scale, for thousands and more.
        precision, scale = kind.precision - min(kind.scale, 0), max(kind.scale, 0)
        if precision > _MAX_PRECISION:
            raise LineageBridgeError(
                f"Column {name} of the DataFrame for {table} is {kind}, and decimals of Iceberg have at most "
                f"{_MAX_PRECISION} digits.",
                hint="Round it and cast it to fewer digits, or to text.",
            )
        return pa.decimal128(precision, scale)
    if isinstance(kind, pa.BaseExtensionType) and (found := _EXTENSIONS.get(kind.extension_name)):
        return found
    if types.is_map(kind):
        key = _storable(kind.key_type, f"{name}.key", table)
        return pa.map_(key, _storable(kind.item_type, f"{name}.value", table))
    if types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if types.is_integer(kind) and not types.is_uint64(kind):
        return pa.int64() if kind.bit_width == 64 or types.is_uint32(kind) else pa.int32()
    for applies, stored in (
        (types.is_date, pa.date32()),
        (types.is_time, pa.time64("us")),
        (types.is_float16, pa.float32()),
        (lambda t: types.is_large_string(t) or types.is_string_view(t), pa.string()),
        (lambda t: types.is_large_binary(t) or types.is_binary_view(t), pa.binary()),
    ):
        if applies(kind):
            return stored
    if (
        types.is_null(kind)
        or types.is_boolean(kind)
        or types.is_floating(kind)
        or types.is_string(kind)
        or types.is_binary(kind)
        or types.is_fixed_size_binary(kind)
        or isinstance(kind, pa.UuidType)
    ):
        return kind
    raise LineageBridgeError(
        f"Column {name} of the DataFrame for {table} is of type {kind}, which Iceberg does not have.",
        hint="Cast 64-bit unsigned integers to decimal(20, 0), durations to integers, and other types, for "
        "example, to text.",
    )
