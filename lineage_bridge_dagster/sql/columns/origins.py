"""Origins of a value: the table columns that it derives from, and how. Pure.

Columns that only select, group or order rows (WHERE, ON, GROUP BY, HAVING, FILTER, EXCEPT) are not origins.
All columns in the value's expression are, including the condition of a CASE and the PARTITION BY and ORDER BY
of an OVER. Calcite's column origins (`RelMetadataQuery.getColumnOrigins`) follow the same rule, except that
they include the right side of EXCEPT.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from lineage_bridge_dagster.lineage.columns import How, stronger
from lineage_bridge_dagster.sql.statement import TablePath


class ColumnOrigin(NamedTuple):
    """One table column that a value derives from."""

    table: TablePath
    column: str
    how: How


@dataclass(frozen=True, slots=True)
class Origin:
    """All known column origins of a value.

    Attributes:
        sources: Each column once, in order of first appearance; none for a constant.
        open: Why the value may derive from other columns, too; empty when it does not.
    """

    sources: tuple[ColumnOrigin, ...] = ()
    open: str = ""

    @property
    def complete(self) -> bool:
        """Whether the value derives from no other columns."""
        return not self.open


CONSTANT = Origin()


def unknown(reason: str) -> Origin:
    """Origin of a value of which nothing is known."""
    return Origin(open=reason)


def column_of(table: TablePath, column: str) -> Origin:
    """Origin of a value read from a table's column."""
    return Origin((ColumnOrigin(table, column, How.IDENTITY),))


def through(origin: Origin, how: How) -> Origin:
    """Origin of a value that derives in the given way from a value of this origin."""
    if how is How.IDENTITY or not origin.sources:
        return origin
    return Origin(
        tuple(ColumnOrigin(s.table, s.column, stronger(s.how, how)) for s in origin.sources), origin.open
    )


def partly(origin: Origin, reason: str) -> Origin:
    """The same origin, marked incomplete."""
    return Origin(origin.sources, origin.open or reason)


def merged(origins: Iterable[Origin]) -> Origin:
    """Origin of a value that derives from several values, or is one of them."""
    found: dict[tuple[TablePath, str], How] = {}
    reason = ""
    for origin in origins:
        reason = reason or origin.open
        for table, column, how in origin.sources:
            key = (table, column)
            found[key] = stronger(found[key], how) if key in found else how
    return Origin(tuple(ColumnOrigin(*key, how) for key, how in found.items()), reason)
