"""The frames of Python libraries that hold Arrow data, told by the name of their class.

A library is imported only when one of its frames is made: pandas and Polars may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.extras import needs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.schema import Schema


class FrameKind(StrEnum):
    """The types that inputs are loaded as, and outputs given as."""

    TABLE = "pyarrow.Table"
    READER = "pyarrow.RecordBatchReader"
    PANDAS = "pandas.DataFrame"
    POLARS = "polars.DataFrame"
    POLARS_LAZY = "polars.LazyFrame"


_KINDS = frozenset(each.value for each in FrameKind)


def frame_kind(annotation: object) -> FrameKind | None:
    """The kind of a class, of its instances' type or of an annotation; None for any other.

    >>> import pyarrow
    >>> frame_kind(pyarrow.Table).value, frame_kind(dict)
    ('pyarrow.Table', None)
    """
    for each in getattr(annotation, "__mro__", ()):
        name = f"{each.__module__.partition('.')[0]}.{each.__name__}"
        if name in _KINDS:
            return FrameKind(name)
    return None


def to_arrow(
    frame: Any, kind: FrameKind, table: Callable[[], Schema | None] = lambda: None, label: str = ""
) -> pa.Table:
    """The rows of a frame. A lazy one is computed, a reader is read to its end.

    Args:
        table: the columns of the table that it is written to, None if that does not exist; asked for where
            pandas leaves a type open.
        label: the table, for messages.
    """
    import pyarrow as pa

    if kind is FrameKind.TABLE:
        return frame
    if kind is FrameKind.READER:
        return frame.read_all()
    if kind is FrameKind.PANDAS:
        from lineage_bridge_dagster.spark.io.arrow import pandas_frames

        return pandas_frames.to_arrow(frame, table, label)
    columns = (frame.collect() if kind is FrameKind.POLARS_LAZY else frame).iter_columns()
    return pa.table({column.name: _of_polars(column, label) for column in columns})


def _of_polars(column: Any, label: str) -> pa.Array:
    import polars as pl
    import pyarrow as pa

    try:
        # Of Python objects Polars gives their addresses in memory.
        if column.dtype != pl.Object:
            return column.to_arrow()
        problem = "Python objects"
    except pa.lib.ArrowException as error:
        problem = str(error)
    raise LineageBridgeError(
        f"Column {column.name} of the DataFrame for {label} is of type {column.dtype}, which PyArrow does "
        f"not have: {problem}.",
        hint="Cast it, for example to text or to a smaller number.",
    )


def typing_hint(kind: FrameKind, column: str) -> str:
    """How a user gives a type to a column without one."""
    if kind is FrameKind.PANDAS:
        call, text = f"frame[{column!r}].astype(pandas.ArrowDtype(type))", "pyarrow.string()"
    elif kind in (FrameKind.POLARS, FrameKind.POLARS_LAZY):
        call, text = f"polars.col({column!r}).cast(type)", "polars.String"
    else:
        call, text = f"table.column({column!r}).cast(type)", "pyarrow.string()"
    return f"Cast it to the type that it should have, by {call} with {text} for text, or leave it out."


def from_arrow(rows: pa.Table, kind: FrameKind) -> Any:
    """Rows as a frame of a kind.

    Raises:
        ConfigurationError: Polars is not installed.
    """
    if kind is FrameKind.PANDAS:
        from lineage_bridge_dagster.spark.io.arrow import pandas_frames

        return pandas_frames.from_arrow(rows)
    if kind in (FrameKind.POLARS, FrameKind.POLARS_LAZY):
        with needs("polars", f"An input that is annotated as {kind.value}"):
            import polars as pl

        frame: Any = pl.from_arrow(rows)
        return frame.lazy() if kind is FrameKind.POLARS_LAZY else frame
    return rows.to_reader() if kind is FrameKind.READER else rows
