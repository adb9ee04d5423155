"""What a column is made of: columns of tables, each with how. Pure.

Columns that only decide which rows there are, or their order (WHERE, ON, GROUP BY, HAVING, FILTER, EXCEPT),
are no part of a value; columns in its expression are, the condition of a CASE and the PARTITION BY and ORDER
BY of an OVER among them. That is the rule of Calcite's column origins (`RelMetadataQuery.getColumnOrigins`),
but for EXCEPT, where it counts the right side in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from lineage_bridge_dagster.sql.statement import TablePath


class How(StrEnum):
    """How a value is made of another. A value that passes through several is the strongest of them."""

    IDENTITY = "identity"
    """The same value, perhaps under another name."""
    EXPRESSION = "expression"
    """Computed from one row: a function, an operator, a cast, a field of it."""
    AGGREGATE = "aggregate"
    """Computed from many rows."""


_RANK = {How.IDENTITY: 0, How.EXPRESSION: 1, How.AGGREGATE: 2}


class ColumnSource(NamedTuple):
    """A column that a value is made of."""

    table: TablePath
    column: str
    how: How


@dataclass(frozen=True, slots=True)
class Origin:
    """All that is known of what a value is made of.

    Attributes:
        sources: Each column once, in order of appearance; none for a constant.
        complete: Whether nothing is missing among them.
    """

    sources: tuple[ColumnSource, ...] = ()
    complete: bool = True


CONSTANT = Origin()
UNKNOWN = Origin(complete=False)


def column_of(table: TablePath, column: str) -> Origin:
    """The value that stands in a table's column."""
    return Origin((ColumnSource(table, column, How.IDENTITY),))


def through(origin: Origin, how: How) -> Origin:
    """The origin of what is made of a value in the given way."""
    if how is How.IDENTITY or not origin.sources:
        return origin
    return Origin(
        tuple(ColumnSource(s.table, s.column, _stronger(s.how, how)) for s in origin.sources),
        origin.complete,
    )


def partly(origin: Origin) -> Origin:
    """The origin, with something missing in it."""
    return Origin(origin.sources, complete=False)


def merged(origins: Iterable[Origin]) -> Origin:
    """The origin of what is made of several values, or is now one, now another."""
    found: dict[tuple[TablePath, str], How] = {}
    complete = True
    for origin in origins:
        complete = complete and origin.complete
        for table, column, how in origin.sources:
            key = (table, column)
            found[key] = _stronger(found[key], how) if key in found else how
    return Origin(tuple(ColumnSource(*key, how) for key, how in found.items()), complete)


def _stronger(one: How, other: How) -> How:
    return one if _RANK[one] >= _RANK[other] else other
