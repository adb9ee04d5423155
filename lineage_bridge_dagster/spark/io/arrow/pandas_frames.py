"""Frames of pandas as Arrow data, and back, without the loss of a type.

A column of Python objects has no type of its own. One that would not even tell it by its values, because it
has maps, which are lists of pairs in Python, or only nulls, has a type of Arrow's in pandas, which every
operation keeps. Of others the values leave a part open, such as the digits of decimals or what an empty list
has: the frame says it in its `attrs`, which most operations keep, and otherwise the table does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.column_names import pair
from lineage_bridge_dagster.spark.io.arrow.schemas import iceberg_schema, storable

#: The attribute of a frame with the types of its columns of objects, an Iceberg schema as JSON: pandas stores
#: attributes as JSON in Parquet files.
TYPES = "lineage_bridge_types"


def from_arrow(rows: pa.Table) -> Any:
    """Rows as a frame, which knows the types that pandas does not have."""
    # As floats, which pandas chooses by default for integers with nulls, long numbers would lose digits.
    frame = rows.to_pandas(integer_object_nulls=True)
    nullable = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    for at, column in enumerate(rows.columns):
        if frame.dtypes.iloc[at] != "object":
            continue
        if column.type in nullable:
            frame.isetitem(at, column.to_pandas(types_mapper=nullable.get))
        elif column.null_count == rows.num_rows or _has_maps(column.type):
            frame.isetitem(at, column.to_pandas(types_mapper=pd.ArrowDtype))
    objects = [field for field, kind in zip(rows.schema, frame.dtypes, strict=True) if kind == "object"]
    if objects:
        frame.attrs[TYPES] = iceberg_schema(pa.schema(objects), "an input").model_dump_json()
    return frame


def to_arrow(frame: Any, table: Callable[[], Schema | None], label: str) -> pa.Table:
    """The rows of a frame. An index that has a name is a column; one without is dropped.

    Args:
        table: the columns of the table that it is written to; None if the table does not exist.
        label: the table, for messages.

    Raises:
        ColumnNameError: names of columns differ only by case.
        LineageBridgeError: a column has no counterpart in Arrow; the message names it.
    """
    where = f"the DataFrame for {label}"
    levels = [str(name) for name in frame.index.names if name is not None]
    names = [*levels, *map(str, frame.columns)]
    pair(names, (), where)
    frame = frame.reset_index() if levels else frame
    known = _types(frame, label)
    columns: dict[str, Any] = {}
    for at, name in enumerate(map(str, frame.columns)):
        series = frame.iloc[:, at]
        found, failure = _inferred(series)
        if series.dtype == object:
            hint = known.get(name)
            if hint is None and (found is None or _vague(found.type)):
                hint = _of_table(table(), names, label).get(name)
            found = _refined(series, found, hint)
        if found is None:
            raise LineageBridgeError(
                f"Column {name} of {where} is not a column of Arrow's: {failure}",
                hint="Give all its values one type, such as text: frame[column].astype(str).",
            )
        columns[name] = found
    return pa.table(columns)


def _inferred(series: Any) -> tuple[Any, Exception | None]:
    if isinstance(series.dtype, pd.CategoricalDtype) and series.dtype.categories.empty:
        return pa.nulls(len(series)), None
    try:
        found = pa.array(series, from_pandas=True)
    except (pa.lib.ArrowException, TypeError, ValueError, OverflowError) as error:
        return None, error
    if (
        series.dtype == object
        and pa.types.is_timestamp(found.type)
        and len({value.tzinfo is None for value in series.dropna()}) > 1
    ):
        # Arrow would take all for UTC, or for local times.
        return None, ValueError("some of its times have a time zone, and others have none")
    return found, None


def _refined(series: Any, found: Any, hint: pa.DataType | None) -> Any:
    """A column in the type that it is known to have, if its values are of that type."""
    if hint is None or (found is not None and not _fits(found.type, hint)):
        return found
    try:
        return pa.array(series, hint, from_pandas=True)
    except (pa.lib.ArrowException, TypeError, ValueError, OverflowError):
        return found


def _fits(found: pa.DataType, hint: pa.DataType) -> bool:
    """Whether values that look like one type may be of the other, and nothing gets lost if they are."""
    types = pa.types
    if types.is_list(found) and types.is_list(hint):
        return _fits(found.value_type, hint.value_type)
    if types.is_struct(found) and types.is_struct(hint):
        known = {field.name: field.type for field in hint}
        return all(field.name in known and _fits(field.type, known[field.name]) for field in found)
    return bool(
        types.is_null(found)
        or found == hint
        or (types.is_decimal(found) and types.is_decimal(hint))
        or (types.is_int64(found) and types.is_integer(hint))
        or ((types.is_list(found) or types.is_struct(found)) and types.is_map(hint))
        or (types.is_binary(found) and types.is_fixed_size_binary(hint))
    )


def _has_maps(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_maps(field.type) for field in kind)
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(pa.types.is_map(kind)) or (is_list and _has_maps(kind.value_type))


def _vague(kind: pa.DataType) -> bool:
    """Whether a type that was inferred may be another one: a list of pairs is a map, for example."""
    return any(test(kind) for test in (pa.types.is_nested, pa.types.is_null, pa.types.is_decimal))


def _types(frame: Any, label: str) -> dict[str, pa.DataType]:
    try:
        schema = Schema.model_validate_json(frame.attrs.get(TYPES, ""))
    except ValueError:
        return {}
    return _arrow(schema, label)


def _of_table(schema: Schema | None, names: list[str], label: str) -> dict[str, pa.DataType]:
    """The types of a table's columns by the names that the frame has for them."""
    if schema is None:
        return {}
    known = _arrow(schema, label)
    paired = pair(names, known, f"the DataFrame for {label}")
    return {name: known[target] for name, target in paired.items() if target in known}


def _arrow(schema: Schema, label: str) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in storable(schema_to_pyarrow(schema), label)}
