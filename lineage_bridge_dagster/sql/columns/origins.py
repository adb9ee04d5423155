"""Origins of a value: the table columns that it derives from, and how. Pure.

Columns that only select, group or order rows (WHERE, ON, GROUP BY, HAVING, FILTER, EXCEPT) are not origins.
All columns in the value's expression are, including the condition of a CASE and the PARTITION BY and ORDER BY
of an OVER. Calcite's column origins (`RelMetadataQuery.getColumnOrigins`) follow the same rule, except that
they include the right side of EXCEPT.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from lineage_bridge_dagster.lineage.columns import How, stronger
from lineage_bridge_dagster.sql.statement import TablePath


class ColumnOrigin(NamedTuple):
    """One table column that a value derives from."""

    table: TablePath
    column: str
    how: How


class Use(NamedTuple):
    """What decides, besides a value's own expression, which value a column has or in which rows it is.

    Attributes:
        role: `filter`, `join`, `match` (an inner join, which leaves rows out), `group`, `window`, `distinct`,
            `order`, `set` or `scan options`.
        formula: It in a canonical form, to be compared with that of another version of the statement.
        open: Why there may be others; empty when there are none.
    """

    role: str
    formula: str
    sources: tuple[ColumnOrigin, ...] = ()
    open: str = ""

    @property
    def selects_rows(self) -> bool:
        """Whether all columns depend on it; a join decides only on those of the joined table."""
        return self.role != "join"


@dataclass(frozen=True, slots=True)
class Origin:
    """All known column origins of a value.

    Attributes:
        sources: Each column once, in order of first appearance; none for a constant.
        open: Why the value may derive from other columns, too; empty when it does not.
        formula: The value's expression in a canonical form, if details are derived.
        uses: What else decides on it, likewise.
        is_field: Whether it is a column, or a field of one, whose own fields are told apart, likewise.
    """

    sources: tuple[ColumnOrigin, ...] = ()
    open: str = ""
    formula: str = ""
    uses: tuple[Use, ...] = ()
    is_field: bool = False

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
    sources = tuple(ColumnOrigin(s.table, s.column, stronger(s.how, how)) for s in origin.sources)
    return replace(origin, sources=sources)


def field_of(origin: Origin, name: str) -> Origin:
    """Origin of a field of a row of this origin: the row's, unless fields are told apart."""
    found = through(origin, How.EXPRESSION)
    if not origin.is_field:
        return replace(found, formula=f"{found.formula}.{name}" if found.formula else "")
    sources = tuple(s._replace(column=f"{s.column}.{name}") for s in found.sources)
    return replace(found, sources=sources, formula=f"{found.formula}.{name}")


def united_uses(origins: Iterable[Origin]) -> tuple[Use, ...]:
    """What decides on any of these values."""
    return tuple(dict.fromkeys(use for origin in origins for use in origin.uses))


def partly(origin: Origin, reason: str) -> Origin:
    """The same origin, marked incomplete."""
    return replace(origin, open=origin.open or reason)


def merged(origins: Iterable[Origin]) -> Origin:
    """Origin of a value that derives from several values, or is one of them."""
    found: dict[tuple[TablePath, str], How] = {}
    reason = ""
    origins = tuple(origins)
    for origin in origins:
        reason = reason or origin.open
        for table, column, how in origin.sources:
            key = (table, column)
            found[key] = stronger(found[key], how) if key in found else how
    formulas = sorted({origin.formula for origin in origins if origin.formula})
    return Origin(
        tuple(ColumnOrigin(*key, how) for key, how in found.items()),
        reason,
        " | ".join(formulas),
        united_uses(origins),
        len(origins) == 1 and origins[0].is_field,
    )
