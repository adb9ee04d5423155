"""The rows of Dagster partitions, as an SQL condition.

A time partition becomes a half-open range over `partition_expr`, any other one a set of values, as in
Dagster's database IO managers. The condition is written for the type of the expression, so that Iceberg can
prune files by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Protocol

from dagster import (
    MultiPartitionsDefinition,
    PartitionsDefinition,
    TimeWindow,
    TimeWindowPartitionsDefinition,
)

from lineage_bridge_dagster.catalogs.iceberg.spark_names import string_literal
from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

#: Types that hold time, and the words before their literals in Spark SQL.
_SQL_TYPES = {"date": "DATE", "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP_NTZ"}
_TIME_TYPES = tuple(_SQL_TYPES)


class Typed(Protocol):
    """A type that knows its name in Spark."""

    def typeName(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Dimension:
    """Some partitions of one dimension: their keys, and the windows of time partitions."""

    expr: str
    keys: tuple[str, ...]
    windows: tuple[TimeWindow, ...] = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """Partitions of an asset: the rows that are in all dimensions of any of the boxes."""

    boxes: tuple[tuple[Dimension, ...], ...]

    @property
    def exprs(self) -> tuple[str, ...]:
        """The partition expression of each dimension."""
        return tuple(dimension.expr for dimension in self.boxes[0]) if self.boxes else ()

    def condition(self, types: Mapping[str, DataType]) -> str:
        """The SQL condition of the slice; `types` are those of its expressions.

        Raises:
            ConfigurationError: a time range over a column that does not hold time.
        """
        boxes = [" AND ".join(_predicate(d, types[d.expr]) for d in box) for box in self.boxes]
        return " OR ".join(f"({box})" for box in boxes) if boxes else "false"

    def transforms(self, types: Mapping[str, Typed]) -> tuple[str, ...]:
        """The partition fields of a new table in which a slice is whole files, one for each plain column."""
        return tuple(
            _transform(dimension, types[dimension.expr])
            for dimension in (self.boxes[0] if self.boxes else ())
            if dimension.expr.isidentifier()
        )


def slice_of(
    partitions: PartitionsDefinition,
    keys: Sequence[str],
    partition_expr: str | Mapping[str, str],
    asset: str,
) -> Slice:
    """The slice of some partition keys.

    Raises:
        ConfigurationError: `partition_expr` lacks the column of a dimension.
    """
    if not isinstance(partitions, MultiPartitionsDefinition):
        if not isinstance(partition_expr, str) or not partition_expr:
            raise ConfigurationError(
                f"{asset} has partitions of one dimension, and no single partition_expr.",
                hint='Set partition_expr in its metadata to a column, such as "order_date".',
            )
        return Slice(((_dimension(partitions, keys, partition_expr),),) if keys else ())
    named = {dimension.name: dimension.partitions_def for dimension in partitions.partitions_defs}
    exprs = partition_expr if isinstance(partition_expr, Mapping) else {}
    if set(exprs) != set(named):
        raise ConfigurationError(
            f"partition_expr of {asset} must name a column for each of its dimensions: "
            f"{', '.join(sorted(named))}.",
            hint=f"Set it to {{{', '.join(f'{name!r}: <column>' for name in sorted(named))}}}.",
        )
    split = [partitions.get_partition_key_from_str(key).keys_by_dimension for key in keys]
    seen = {name: tuple(dict.fromkeys(key[name] for key in split)) for name in named}
    size = 1
    for values in seen.values():
        size *= len(values)
    if size == len(split):
        # All combinations: one box.
        return Slice((tuple(_dimension(named[n], seen[n], exprs[n]) for n in named),) if keys else ())
    return Slice(tuple(tuple(_dimension(named[n], (key[n],), exprs[n]) for n in named) for key in split))


def _transform(dimension: Dimension, kind: Typed) -> str:
    name = kind.typeName()
    if not dimension.windows or name not in _TIME_TYPES:
        return dimension.expr
    edges = [
        edge.astimezone(UTC) if name == "timestamp" else edge
        for window in dimension.windows
        for edge in window
    ]
    if any(edge.timetz().replace(tzinfo=None) != time() for edge in edges):
        return f"hours({dimension.expr})"
    unit = "months" if all(edge.day == 1 for edge in edges) else "days"
    return f"{unit}({dimension.expr})"


def _dimension(partitions: PartitionsDefinition, keys: Sequence[str], expr: str) -> Dimension:
    if not isinstance(partitions, TimeWindowPartitionsDefinition):
        return Dimension(expr, tuple(keys))
    windows = tuple(partitions.time_window_for_partition_key(key) for key in keys)
    return Dimension(expr, tuple(keys), windows)


def _joined(windows: Iterable[TimeWindow]) -> list[TimeWindow]:
    joined: list[TimeWindow] = []
    for window in sorted(windows, key=lambda w: w.start):
        if joined and joined[-1].end == window.start:
            joined[-1] = TimeWindow(joined[-1].start, window.end)
        else:
            joined.append(window)
    return joined


def _predicate(dimension: Dimension, kind: DataType) -> str:
    name = kind.typeName()
    expr = dimension.expr if dimension.expr.isidentifier() else f"({dimension.expr})"
    if (found := bounds(dimension, name)) is not None:
        ranges = [
            f"({expr} >= {_SQL_TYPES[name]} '{low}' AND {expr} < {_SQL_TYPES[name]} '{high}')"
            for low, high in ((low.replace("T", " "), high.replace("T", " ")) for low, high in found)
        ]
        return f"({' OR '.join(ranges)})"
    values = [string_literal(key) for key in dimension.keys]
    if name != "string":
        values = [f"CAST({value} AS {kind.simpleString()})" for value in values]
    return f"{expr} IN ({', '.join(values)})"


def bounds(dimension: Dimension, kind: str) -> list[tuple[str, str]] | None:
    """The half-open ranges of time partitions as texts in ISO 8601; None where values are compared.

    Args:
        kind: the type of its expression, as Spark names it.

    Raises:
        ConfigurationError: a time range over a column that does not hold time.
    """
    if not dimension.windows:
        return None
    if kind in _TIME_TYPES:
        expr = dimension.expr
        return [(_text(w.start, kind, expr), _text(w.end, kind, expr)) for w in _joined(dimension.windows)]
    if kind != "string":
        raise ConfigurationError(
            f"partition_expr {dimension.expr} is of type {kind}, which cannot be compared with a time range.",
            hint="Use an expression of type date or timestamp, such as timestamp_millis(ts), or of type "
            "string that holds the partition keys.",
        )
    return None


def _text(moment: datetime, kind: str, expr: str) -> str:
    if kind == "timestamp":
        return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat('T')}+00:00"
    local = moment.replace(tzinfo=None)
    if kind == "timestamp_ntz":
        return local.isoformat("T")
    if local.time() != time():
        raise ConfigurationError(
            f"partition_expr {expr} is a date, and a partition ends at {local:%H:%M}.",
            hint="Use a timestamp for partitions shorter than a day.",
        )
    return local.date().isoformat()
