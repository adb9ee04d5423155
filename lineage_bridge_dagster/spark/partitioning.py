"""Partition fields of Iceberg tables, in the syntax of Iceberg's DDL for Spark.

A field is a column (`country`) or a transform of one: `year(ts)`, `month(ts)`, `day(ts)`, `hour(ts)`,
`bucket(16, id)`, `truncate(4, name)`. Plurals (`days(ts)`) mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.column_names import resolve

_FIELD = re.compile(r"(?P<transform>[A-Za-z_]+)\s*\(\s*(?:(?P<argument>\d+)\s*,\s*)?(?P<column>.+?)\s*\)")
_WITHOUT_NUMBER = frozenset({"identity", "year", "month", "day", "hour"})
_WITH_NUMBER = frozenset({"bucket", "truncate"})


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

    @property
    def name(self) -> str:
        """The name that Iceberg's Java library gives the field."""
        suffix = {"identity": "", "truncate": "_trunc"}.get(self.transform, f"_{self.transform}")
        return f"{'.'.join(self.path)}{suffix}"

    def __str__(self) -> str:
        return self.ddl.replace("`", "")


def parse(
    texts: Iterable[str], schema: Any, table: str, option: str = "partition_by"
) -> tuple[PartitionField, ...]:
    """The fields of `partition_by`.

    Args:
        schema: Spark's or Iceberg's, of the columns that they may name.
        option: where they are, for messages.

    Raises:
        ConfigurationError: one names an unknown transform, or no column of the schema; or one is redundant,
            as `days(ts)` is beside `hours(ts)`.
    """
    found: dict[tuple[object, ...], PartitionField] = {}
    where = f"{option} of {table}"
    for field in (_field(text, schema, where) for text in texts):
        time = field.transform in _WITHOUT_NUMBER - {"identity"}
        # What Iceberg's Java library takes for redundant.
        key = (field.path, "time" if time else field.transform, field.argument)
        if (other := found.setdefault(key, field)) is not field:
            raise ConfigurationError(f"{where} has both {other} and {field}.", hint="Leave out one of them.")
    return tuple(found.values())


def same(left: Iterable[PartitionField], right: Iterable[PartitionField]) -> bool:
    """Whether two partitionings are equal; the case of names is ignored, as in Spark."""
    return [field.ddl.lower() for field in left] == [field.ddl.lower() for field in right]


def names(fields: Iterable[PartitionField], columns: Iterable[str]) -> list[str]:
    """A name for each field that no column and no other field has.

    >>> names([PartitionField(("ts",), "day"), PartitionField(("id",))], ["id", "ts", "ts_day"])
    ['ts_day_2', 'id']
    """
    taken = {column.lower() for column in columns}
    found = []
    for field in fields:
        # A column's own values may have its name.
        name, number = field.name, 2
        while name.lower() in taken and field.transform != "identity":
            name, number = f"{field.name}_{number}", number + 1
        taken.add(name.lower())
        found.append(name)
    return found


def clause(fields: Sequence[PartitionField], columns: Iterable[str]) -> str:
    """The PARTITIONED BY clause, empty without fields.

    It gives no names, so it ends before the first field that has to have another one than Iceberg's:
    `additions` are those that follow.
    """
    listed = ", ".join(field.ddl for field, _ in _split(fields, columns)[0])
    return f"PARTITIONED BY ({listed})" if listed else ""


def additions(fields: Sequence[PartitionField], columns: Iterable[str]) -> list[str]:
    """What ALTER TABLE has to add to a table that was created with the clause."""
    return [
        f"ADD PARTITION FIELD {field.ddl} AS {quoted(name)}" for field, name in _split(fields, columns)[1]
    ]


def _split(
    fields: Sequence[PartitionField], columns: Iterable[str]
) -> tuple[list[tuple[PartitionField, str]], list[tuple[PartitionField, str]]]:
    named = list(zip(fields, names(fields, columns), strict=True))
    end = next((at for at, (field, name) in enumerate(named) if name != field.name), len(named))
    return named[:end], named[end:]


def _field(text: str, schema: Any, where: str) -> PartitionField:
    match = _FIELD.fullmatch(text.strip())
    if match is None:
        return PartitionField(_path(text.strip(), schema, where))
    transform = match["transform"].lower()
    transform = transform if transform in _WITH_NUMBER else transform.removesuffix("s")
    known = transform in _WITHOUT_NUMBER | _WITH_NUMBER
    if not known or (transform in _WITH_NUMBER) != bool(match["argument"]):
        raise ConfigurationError(
            f"{where} has {text!r}, which is not a partition transform.",
            hint="Write a column, years(c), months(c), days(c), hours(c), bucket(16, c) or truncate(4, c).",
        )
    return PartitionField(_path(match["column"], schema, where), transform, match["argument"] or "")


def _path(text: str, schema: Any, where: str) -> tuple[str, ...]:
    name = text.replace("`", "")
    if (found := resolve(name, schema, where)) is None:
        raise ConfigurationError(
            f"{where} names {name}, which is not a column of its rows.",
            hint=f"The columns are {', '.join([field.name for field in schema.fields[:30]])}.",
        )
    return found
