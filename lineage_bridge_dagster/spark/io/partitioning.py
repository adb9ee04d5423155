"""Partition fields of Iceberg tables, as the DDL of Iceberg for Spark says them.

A field is a column (`country`) or a transform of one: `year(ts)`, `month(ts)`, `day(ts)`, `hour(ts)`,
`bucket(16, id)`, `truncate(4, name)`. Plurals (`days(ts)`) mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.iceberg import quoted
from lineage_bridge_dagster.spark.iceberg_tables import load_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_FIELD = re.compile(r"(?P<transform>[A-Za-z_]+)\s*\(\s*(?:(?P<argument>\d+)\s*,\s*)?(?P<column>.+?)\s*\)")
_PLAIN = frozenset({"identity", "year", "month", "day", "hour"})
_WITH_NUMBER = frozenset({"bucket", "truncate"})


@dataclass(frozen=True, slots=True)
class PartitionField:
    """The path of a column or of a field within it, the transform, and its number if it takes one."""

    path: tuple[str, ...]
    transform: str = "identity"
    argument: str = ""

    @property
    def ddl(self) -> str:
        """As it stands in PARTITIONED BY, the column quoted."""
        column = quoted(*self.path)
        if self.transform == "identity":
            return column
        return (
            f"{self.transform}({self.argument}, {column})" if self.argument else f"{self.transform}({column})"
        )

    def __str__(self) -> str:
        return self.ddl.replace("`", "")


def parse(texts: Iterable[str], schema: StructType, shown: str) -> tuple[PartitionField, ...]:
    """The fields of `partition_by`.

    Raises:
        ConfigurationError: one names no known transform, or no column of the schema.
    """
    return tuple(_field(text, schema, shown) for text in texts)


def of_table(spark: SparkSession, name: str) -> tuple[PartitionField, ...]:
    """The fields that a table is partitioned by now."""
    table = load_table(spark, name)
    found = []
    for field in table.spec().fields():
        transform, _, argument = str(field.transform().toString()).partition("[")
        if transform != "void":
            column = str(table.schema().findColumnName(field.sourceId()))
            whole = table.schema().asStruct().field(column) is not None
            path = (column,) if whole else tuple(column.split("."))
            found.append(PartitionField(path, transform, argument.rstrip("]")))
    return tuple(found)


def same(one: Iterable[PartitionField], other: Iterable[PartitionField]) -> bool:
    """Whether two partitionings are one; names are compared as Spark does, whatever their case."""
    return [field.ddl.lower() for field in one] == [field.ddl.lower() for field in other]


def clause(fields: Iterable[PartitionField]) -> str:
    """The PARTITIONED BY clause, empty without fields."""
    listed = ", ".join(field.ddl for field in fields)
    return f"PARTITIONED BY ({listed})" if listed else ""


def _field(text: str, schema: StructType, shown: str) -> PartitionField:
    match = _FIELD.fullmatch(text.strip())
    if match is None:
        return PartitionField(_path(text.strip(), schema, shown))
    transform = match["transform"].lower()
    transform = transform if transform in _WITH_NUMBER else transform.removesuffix("s")
    if transform not in _PLAIN | _WITH_NUMBER or (transform in _WITH_NUMBER) != bool(match["argument"]):
        raise ConfigurationError(
            f"partition_by of {shown} has {text!r}, which is no partition transform.",
            hint="Write a column, years(c), months(c), days(c), hours(c), bucket(16, c) or truncate(4, c).",
        )
    return PartitionField(_path(match["column"], schema, shown), transform, match["argument"] or "")


def _path(text: str, schema: StructType, shown: str) -> tuple[str, ...]:
    """A column's name, dots and all, else the path of a field within a column."""
    own = {name.lower(): name for name in schema.names}
    whole = text.strip("`")
    if whole.lower() in own:
        return (own[whole.lower()],)
    first, *rest = whole.split(".")
    if not rest or first.lower() not in own:
        raise ConfigurationError(
            f"partition_by of {shown} names {whole}, which is no column of the DataFrame.",
            hint=f"The columns are {', '.join(schema.names[:30])}.",
        )
    return (own[first.lower()], *rest)
