"""The sources of a query, and what a column's name or a star refers to among them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lineage_bridge_dagster.lineage.columns import How
from lineage_bridge_dagster.sql.columns.origins import CONSTANT, Origin, column_of, merged, through, unknown
from lineage_bridge_dagster.sql.columns.relations import (
    KnownColumn,
    Relation,
    UnknownColumns,
    ambiguous,
    opaque,
    shown,
)
from lineage_bridge_dagster.sql.ksql.expressions import Expression, Of
from lineage_bridge_dagster.sql.ksql.names import PSEUDO_COLUMNS, WINDOW_BOUNDS, NameGenerator
from lineage_bridge_dagster.sql.ksql.syntax import ColumnPlace, KsqlColumn
from lineage_bridge_dagster.sql.statement import TablePath


@dataclass(frozen=True, slots=True)
class Table:
    """A stream or table that exists.

    Attributes:
        columns: Its known columns, keys first.
        open: Why it has further columns, whose names are unknown; empty when it has none.
        windowed: Whether its key has a window.
    """

    path: TablePath
    columns: tuple[KsqlColumn, ...] = ()
    open: str = ""
    windowed: bool = False

    @classmethod
    def of(
        cls, name: str, columns: Iterable[KsqlColumn], reason: str = "", *, windowed: bool = False
    ) -> Table:
        """A table with its columns in ksqlDB's order."""
        order = {ColumnPlace.KEY: 0, ColumnPlace.VALUE: 1, ColumnPlace.HEADER: 2}
        ordered = sorted(columns, key=lambda column: order[column.place])
        return cls((name,), tuple(ordered), reason, windowed)

    @classmethod
    def unknown(cls, name: str) -> Table:
        """A table of which only the name is known."""
        return cls((name,), (), f"the columns of {shown((name,))} are unknown")

    def column(self, name: str) -> KnownColumn | None:
        """Its column of that name, pseudo columns and window bounds included; None when it has none."""
        origin = column_of(self.path, name)
        for column in self.columns:
            if column.name == name:
                return KnownColumn(name, origin, type=column.type)
        if name in PSEUDO_COLUMNS:
            return KnownColumn(name, origin)
        if name in WINDOW_BOUNDS:
            # The bounds of its own window, or of the query's aggregation: both are computed.
            return KnownColumn(name, CONSTANT)
        return KnownColumn(name, origin) if self.open else None


@dataclass(frozen=True, slots=True)
class Scoped:
    """A source under its alias."""

    alias: str
    table: Table


@dataclass(frozen=True, slots=True)
class Join:
    """The two sides of a join's condition; None if it could not be parsed."""

    is_outer: bool
    sides: tuple[Expression, Expression] | None


class KsqlScope:
    """The sources of a query.

    Args:
        sources: Each with its alias, at least one.
        joins: The join of each source after the first.
    """

    def __init__(self, sources: Sequence[Scoped], joins: Sequence[Join] = ()) -> None:
        self.sources = sources
        self._joins = joins
        self._names = [[column.name for column in source.table.columns] for source in sources]

    @property
    def is_join(self) -> bool:
        return len(self.sources) > 1

    @property
    def is_windowed(self) -> bool:
        """Whether the rows' key has a window."""
        return self.sources[0].table.windowed

    def generator(self) -> NameGenerator:
        """Names that no source has."""
        return NameGenerator(name for names in self._names for name in names)

    def qualified(self, expression: Expression) -> Expression:
        """The expression with a qualifier on each column of which only one source has the name."""
        if expression.of is Of.COLUMN and not expression.source:
            found = self._having(expression.name)
            return replace(expression, source=found[0].alias) if len(found) == 1 else expression
        if not expression.parts:
            return expression
        return replace(expression, parts=tuple(map(self.qualified, expression.parts)))

    def resolve(self, column: Expression) -> KnownColumn:
        """What a column's name refers to."""
        sources = [source for source in self.sources if source.alias == column.source]
        if not column.source:
            key = self.join_key
            if key is not None and key.name == column.name:
                return key
            sources = self._having(column.name)
        if len(sources) > 1:
            if column.name in WINDOW_BOUNDS:
                return KnownColumn(column.name, CONSTANT)
            return ambiguous(column.name)
        found = sources[0].table.column(column.name) if sources else None
        if found is None:
            text = f"{column.source}.{column.name}" if column.source else column.name
            return KnownColumn(column.name, unknown(f"there is no column {text}"))
        return found

    def name_of(self, column: Expression) -> str | None:
        """The name of a column in the result if it has no alias; None when that is not known."""
        name = column.name
        if not self.is_join or not column.source or name in WINDOW_BOUNDS:
            # Without a qualifier it can be a column of one source only.
            return name
        # The source itself has the column, known or not, since the query names it.
        others = [source.table for source in self.sources if source.alias != column.source]
        if name in PSEUDO_COLUMNS or any(name == c.name for table in others for c in table.columns):
            return f"{column.source}_{name}"
        return None if any(table.open for table in others) else name

    def star(self, alias: str = "", *, bounds: bool) -> Relation:
        """The columns of `*`, or of `alias.*`.

        Args:
            alias: The source; empty for all.
            bounds: Whether the bounds of a window are among them: not in a stream or table that is written,
                except in a join.
        """
        sources = [source for source in self.sources if not alias or source.alias == alias]
        if not sources:
            return opaque(f"there is no source {alias}")
        columns = [column for source in sources for column in self._star_of(source, bounds=bounds)]
        if alias:
            return tuple(columns)
        if any(join.sides is None for join in self._joins):
            return (*opaque("a join's condition could not be parsed"), *columns)
        return (self.join_key, *columns) if self.join_key is not None else tuple(columns)

    def pseudo_columns(self) -> Relation:
        """The pseudo columns of all sources of a join."""
        return tuple(
            KnownColumn(f"{source.alias}_{name}", column_of(source.table.path, name))
            for source in self.sources
            for name in PSEUDO_COLUMNS
        )

    def _star_of(self, source: Scoped, *, bounds: bool) -> Iterator[KnownColumn | UnknownColumns]:
        table, prefix = source.table, f"{source.alias}_" if self.is_join else ""
        keys = [column for column in table.columns if column.place is ColumnPlace.KEY]
        for column in keys:
            yield KnownColumn(prefix + column.name, column_of(table.path, column.name), type=column.type)
        if table.windowed and (bounds or self.is_join):
            for name in WINDOW_BOUNDS:
                yield KnownColumn(prefix + name, CONSTANT)
        for column in table.columns[len(keys) :]:
            yield KnownColumn(prefix + column.name, column_of(table.path, column.name), type=column.type)
        if table.open and not self.is_join:
            yield UnknownColumns(table.path)
        elif table.open:
            yield from opaque(table.open)

    @property
    def join_key(self) -> KnownColumn | None:
        """The synthetic key of a full join, or of one on expressions, which no source has."""
        equal: set[Expression] = set()
        columns: list[Expression] = []
        for join in self._joins:
            if join.sides is None:
                return None
            sides = {self.qualified(side) for side in join.sides}
            if join.is_outer:
                equal, columns = set(), []
                continue
            equal = equal | sides if equal & sides else sides
            columns = [c for c in dict.fromkeys((*columns, *sides)) if c.of is Of.COLUMN and c in equal]
        if columns or not self._joins or (last := self._joins[-1].sides) is None:
            return None
        origin = merged(self._origin(side) for side in last)
        return KnownColumn(self.generator().join_key(), through(origin, How.EXPRESSION))

    def _origin(self, expression: Expression) -> Origin:
        if expression.of is Of.COLUMN:
            source = self.qualified(expression).source
            found = next((s.table.column(expression.name) for s in self.sources if s.alias == source), None)
            return found.origin if found else unknown(f"there is no column {expression.name}")
        return merged(map(self._origin, expression.parts))

    def _having(self, name: str) -> list[Scoped]:
        """The sources that have a column of that name; if none is known to, those that can have it."""
        known = [s for s in self.sources if any(column.name == name for column in s.table.columns)]
        return known or [s for s in self.sources if s.table.column(name) is not None]
