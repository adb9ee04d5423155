"""Partition fields of Iceberg tables, in the syntax of Iceberg's DDL for Spark.

A field is a column (`country`) or a transform of one: `year(ts)`, `month(ts)`, `day(ts)`, `hour(ts)`,
`bucket(16, id)`, `truncate(4, name)`. Plurals (`days(ts)`) mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.iceberg import quoted

_FIELD = re.compile(r"(?P<transform>[A-Za-z_]+)\s*\(\s*(?:(?P<argument>\d+)\s*,\s*)?(?P<column>.+?)\s*\)")
_WITHOUT_NUMBER = frozenset({"identity", "year", "month", "day", "hour"})
_WITH_NUMBER = frozenset({"bucket", "truncate"})


class Columns(Protocol):
    """A schema of Spark's or of Arrow's."""

    @property
    def names(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class PartitionField:
    """The path of a column or of a field within it, the transform, and its number if it takes one."""

    path: tuple[str, ...]
    transform: str = "identity"
    argument: str = ""

    @property
    def ddl(self) -> str:
        """The field as PARTITIONED BY takes it, the column quoted."""
        column = quoted(*self.path)
        if self.transform == "identity":
            return column
        return (
            f"{self.transform}({self.argument}, {column})" if self.argument else f"{self.transform}({column})"
        )

    def __str__(self) -> str:
        return self.ddl.replace("`", "")


def parse(texts: Iterable[str], schema: Columns, table: str) -> tuple[PartitionField, ...]:
    """The fields of `partition_by`.

    Raises:
        ConfigurationError: one names an unknown transform, or no column of the schema.
    """
    return tuple(_field(text, schema, table) for text in texts)


def same(left: Iterable[PartitionField], right: Iterable[PartitionField]) -> bool:
    """Whether two partitionings are equal; the case of names is ignored, as in Spark."""
    return [field.ddl.lower() for field in left] == [field.ddl.lower() for field in right]


def clause(fields: Iterable[PartitionField]) -> str:
    """The PARTITIONED BY clause, empty without fields."""
    listed = ", ".join(field.ddl for field in fields)
    return f"PARTITIONED BY ({listed})" if listed else ""


def _field(text: str, schema: Columns, table: str) -> PartitionField:
    match = _FIELD.fullmatch(text.strip())
    if match is None:
        return PartitionField(_path(text.strip(), schema, table))
    transform = match["transform"].lower()
    transform = transform if transform in _WITH_NUMBER else transform.removesuffix("s")
    known = transform in _WITHOUT_NUMBER | _WITH_NUMBER
    if not known or (transform in _WITH_NUMBER) != bool(match["argument"]):
        raise ConfigurationError(
            f"partition_by of {table} has {text!r}, which is not a partition transform.",
            hint="Write a column, years(c), months(c), days(c), hours(c), bucket(16, c) or truncate(4, c).",
        )
    return PartitionField(_path(match["column"], schema, table), transform, match["argument"] or "")


def _path(text: str, schema: Columns, table: str) -> tuple[str, ...]:
    """A column's name, dots included, else the path of a field within a column."""
    columns = {name.lower(): name for name in schema.names}
    name = text.strip("`")
    if name.lower() in columns:
        return (columns[name.lower()],)
    first, *rest = name.split(".")
    if not rest or first.lower() not in columns:
        raise ConfigurationError(
            f"partition_by of {table} names {name}, which is not a column of the DataFrame.",
            hint=f"The columns are {', '.join(schema.names[:30])}.",
        )
    return (columns[first.lower()], *rest)
