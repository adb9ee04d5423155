"""The frames of Python libraries that hold Arrow data, told by the name of their class.

A library is imported only when one of its frames is made: pandas and Polars may be missing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    import pyarrow as pa


class FrameKind(StrEnum):
    """What an input is loaded as, or an output is."""

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


def to_arrow(frame: Any, kind: FrameKind) -> pa.Table:
    """The rows of a frame. A lazy one is computed, a reader is read to its end.

    An index of pandas that has a name is a column; one without is dropped.
    """
    import pyarrow as pa

    if kind is FrameKind.TABLE:
        return frame
    if kind is FrameKind.READER:
        return frame.read_all()
    if kind is FrameKind.PANDAS:
        named = any(name is not None for name in frame.index.names)
        return pa.Table.from_pandas(frame.reset_index() if named else frame, preserve_index=False)
    return (frame.collect() if kind is FrameKind.POLARS_LAZY else frame).to_arrow()


def from_arrow(rows: pa.Table, kind: FrameKind) -> Any:
    """Rows as a frame of a kind.

    Raises:
        ConfigurationError: its library is not installed.
    """
    try:
        if kind is FrameKind.PANDAS:
            return _pandas(rows)
        if kind in (FrameKind.POLARS, FrameKind.POLARS_LAZY):
            import polars as pl

            frame: Any = pl.from_arrow(rows)
            return frame.lazy() if kind is FrameKind.POLARS_LAZY else frame
    except ImportError as error:
        raise ConfigurationError(
            f"The input is annotated as {kind.value}, and {kind.value.partition('.')[0]} is not installed.",
            hint="Install it: pip install 'lineage-bridge-dagster[polars]' for Polars, pip install pandas "
            "for pandas; or annotate the input as pyarrow.Table.",
        ) from error
    return rows.to_reader() if kind is FrameKind.READER else rows


def _pandas(rows: pa.Table) -> Any:
    import pandas as pd  # type: ignore[import-untyped]
    import pyarrow as pa

    frame = rows.to_pandas()
    nullable = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    for at, column in enumerate(rows.columns):
        if column.null_count and column.type in nullable:
            # As floats, which pandas chooses by default, long numbers would lose digits.
            frame.isetitem(at, column.to_pandas(types_mapper=nullable.get))
    return frame
