"""Arrow data with its table's names, and with its table's types where the data has none.

A frame of pandas has no type for a column of nulls or of empty lists, and neither pandas nor Polars has one
for maps, fixed-length bytes and UUIDs. The table has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.column_names import pair
from lineage_bridge_dagster.spark.io.arrow.schemas import storable


def aligned(rows: pa.Table, table: Schema | None, label: str, hint: Callable[[str], str]) -> pa.Table:
    """Storable rows as their table names and types them; None is a table that does not exist yet.

    Args:
        label: the table, for messages.
        hint: what to do about a column without a type, by its name.

    Raises:
        ColumnNameError: names of the rows differ only by case.
        LineageBridgeError: a column has no type, neither in the rows nor in the table, or a value does not
            fit the table's type.
    """
    where = f"the DataFrame for {label}"
    wanted = pa.schema([]) if table is None else storable(schema_to_pyarrow(table), label)
    target = pa.struct(list(wanted))
    kind = pa.struct(list(rows.schema))
    renamed = _renamed(kind, target, (), where)
    typed = _typed(renamed, target)
    for path in _untyped(typed, ()):
        raise LineageBridgeError(
            f"Column {'.'.join(path)} of {where} has no type: all its values are null or empty.",
            hint=hint(path[0]),
        )
    columns = []
    for at, (name, final) in enumerate(zip(renamed, typed, strict=True)):
        try:
            columns.append(_as(rows.column(at), name.type, final.type))
        except pa.ArrowInvalid as error:
            raise LineageBridgeError(
                f"Column {name.name} of {where} has a value that does not fit {final.type}: {error}",
                hint="Correct the values; the keys of a map cannot be null.",
            ) from error
    return pa.Table.from_arrays(columns, schema=pa.schema(list(typed)))


def _as(column: pa.ChunkedArray, renamed: pa.DataType, typed: pa.DataType) -> pa.ChunkedArray:
    if column.type != renamed:
        # The same buffers under other names: a cast would match fields by their names.
        column = pa.chunked_array([chunk.view(renamed) for chunk in column.chunks], renamed)
    return column.cast(typed)


def _renamed(kind: pa.DataType, target: pa.DataType, path: tuple[str, ...], where: str) -> pa.DataType:
    """A type with the names of the table's counterpart; a map is also a list of keys and values."""
    types = pa.types
    if types.is_struct(kind):
        known = {field.name: field.type for field in target} if types.is_struct(target) else {}
        names = pair([field.name for field in kind], known, where, path)
        return pa.struct(
            [
                (names[f.name], _renamed(f.type, known.get(names[f.name], pa.null()), (*path, f.name), where))
                for f in kind
            ]
        )
    if types.is_list(kind):
        if types.is_map(target) and _has_entries(kind):
            key, value = kind.value_type
            kind = pa.map_(key.type, value.type)
        else:
            element = target.value_type if types.is_list(target) else pa.null()
            return pa.list_(_renamed(kind.value_type, element, (*path, "element"), where))
    if types.is_map(kind):
        nothing = (pa.null(), pa.null())
        of_key, of_value = (target.key_type, target.item_type) if types.is_map(target) else nothing
        return pa.map_(
            _renamed(kind.key_type, of_key, (*path, "key"), where),
            _renamed(kind.item_type, of_value, (*path, "value"), where),
        )
    return kind


def _typed(kind: pa.DataType, target: pa.DataType) -> pa.DataType:
    """A type whose unknown parts, and bytes of unknown length, are those of the table."""
    types = pa.types
    if types.is_null(target):
        return kind
    if types.is_null(kind) or (types.is_binary(kind) and isinstance(target, pa.UuidType)):
        return target
    if types.is_binary(kind) and types.is_fixed_size_binary(target):
        return target
    if types.is_struct(kind) and types.is_struct(target):
        if not kind.num_fields:
            return target
        known = {field.name: field.type for field in target}
        return pa.struct(
            [(field.name, _typed(field.type, known.get(field.name, pa.null()))) for field in kind]
        )
    if types.is_list(kind) and types.is_list(target):
        return pa.list_(_typed(kind.value_type, target.value_type))
    if types.is_map(kind) and types.is_map(target):
        return pa.map_(_typed(kind.key_type, target.key_type), _typed(kind.item_type, target.item_type))
    return kind


def _untyped(kind: pa.DataType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    types = pa.types
    if types.is_null(kind) or (types.is_struct(kind) and not kind.num_fields):
        yield path
    elif types.is_struct(kind):
        for field in kind:
            yield from _untyped(field.type, (*path, field.name))
    elif types.is_list(kind):
        yield from _untyped(kind.value_type, (*path, "element"))
    elif types.is_map(kind):
        yield from _untyped(kind.key_type, (*path, "key"))
        yield from _untyped(kind.item_type, (*path, "value"))


def _has_entries(kind: pa.ListType) -> bool:
    entry = kind.value_type
    return pa.types.is_struct(entry) and [field.name for field in entry] == ["key", "value"]
