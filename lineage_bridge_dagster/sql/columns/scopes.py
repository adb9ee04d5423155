"""Scopes: how a name in a query resolves to a column of a relation in its FROM. Pure.

Names resolve as in Flink's validator; where an unknown column could change the result, the result is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lineage_bridge_dagster.lineage.columns import How
from lineage_bridge_dagster.sql.columns.origins import (
    Origin,
    column_of,
    field_of,
    merged,
    partly,
    through,
    unknown,
)
from lineage_bridge_dagster.sql.columns.relations import (
    KnownColumn,
    Relation,
    UnknownColumns,
    ambiguous,
    is_fully_known,
    lookup,
    opaque,
    shown,
)
from lineage_bridge_dagster.sql.columns.types import field_type
from lineage_bridge_dagster.sql.statement import TablePath

ROWTIME = "$rowtime"
"""Confluent's system column of every table: the record's timestamp. `*` does not include it."""


@dataclass(frozen=True, slots=True)
class FromItem:
    """One table, query or function in a FROM clause.

    Attributes:
        alias: Qualifier of its columns.
        path: The table's name as written when it has no alias; it is a qualifier as well.
        table: The base table, if it is one.
        hidden: Its columns that `*` does not include.
    """

    alias: str | None
    path: TablePath
    relation: Relation
    table: TablePath | None = None
    hidden: Relation = ()


@dataclass(frozen=True, slots=True)
class FromClause:
    """A FROM clause.

    Attributes:
        items: What qualifiers refer to.
        star: The columns that `*` expands to; unqualified names are looked up there.
    """

    items: tuple[FromItem, ...] = ()
    star: Relation = ()


@dataclass(frozen=True, slots=True)
class QueryScope:
    """Where the names in an expression are looked up: a FROM clause, then those of the enclosing queries.

    Attributes:
        outer: Scope of the enclosing query.
        variables: Row pattern variables; as qualifiers they all refer to the one table matched.
        time: Origin of `MATCH_ROWTIME()`, in a pattern.
    """

    source: FromClause
    outer: QueryScope | None = None
    variables: frozenset[str] = frozenset()
    time: Origin | None = None

    def resolve(self, path: TablePath) -> KnownColumn:
        """A column, or a field of a row column, as named in an expression."""
        if len(path) > 1:
            if path[0] in self.variables:
                path = path[1:]
            elif (found := self._qualified(path)) is not None:
                return found
        return _nested(self._column(path[0]), path[1:])

    def star_of(self, qualifier: TablePath) -> Relation:
        """The columns that `qualifier.*` expands to: those of a table, or the fields of a row column."""
        for scope in self._levels():
            items = scope._items(qualifier)
            if items:
                return items[0].relation if len(items) == 1 else opaque(f"{qualifier[-1]} is ambiguous")
        row = self.resolve(qualifier)
        origin = through(row.origin, How.EXPRESSION)
        if row.type is not None and row.type.kind == "ROW":
            return tuple(KnownColumn(name, field_of(origin, name), type=of) for name, of in row.type.parts)
        return (UnknownColumns(origin=partly(origin, f"the fields of {shown(qualifier)} are unknown")),)

    def _levels(self) -> Iterator[QueryScope]:
        scope: QueryScope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def _items(self, qualifier: TablePath) -> list[FromItem]:
        if len(qualifier) == 1:
            return [item for item in self.source.items if item.alias == qualifier[0]]
        return [item for item in self.source.items if item.path[-len(qualifier) :] == qualifier]

    def _qualified(self, path: TablePath) -> KnownColumn | None:
        for scope in self._levels():
            for length in range(len(path) - 1, 0, -1):
                items = scope._items(path[:length])
                if len(items) > 1:
                    return ambiguous(path[length])
                if items:
                    return _nested(_column_of(items[0], path[length]), path[length + 1 :])
        return None

    def _column(self, name: str) -> KnownColumn:
        for scope in self._levels():
            star = scope.source.star
            found = lookup(star, name)
            if found is not None and any(isinstance(c, KnownColumn) and c.name == name for c in star):
                return found
            tables = {item.table for item in scope.source.items}
            if name == ROWTIME and len(tables) == 1 and None not in tables:
                return KnownColumn(name, merged(column_of(table, name) for table in tables if table))
            if found is None and (found := lookup([c for i in scope.source.items for c in i.hidden], name)):
                return found
            if found is not None:
                return ambiguous(name) if scope.outer is not None and scope.outer._may_have(name) else found
        return missing(name)

    def _may_have(self, name: str) -> bool:
        return any(
            isinstance(column, UnknownColumns) or column.name == name
            for scope in self._levels()
            for column in scope.source.star
        )


def joined(left: FromClause, right: FromClause, kind: str, using: Sequence[str]) -> FromClause:
    """Join two sides.

    Args:
        kind: `[NATURAL ]INNER|LEFT|RIGHT|FULL|CROSS|COMMA ON|USING|NONE`.
        using: Columns of USING. They, or the common columns of NATURAL, appear once and first.
    """
    items = (*left.items, *right.items)
    if kind.startswith("NATURAL "):
        if not (is_fully_known(left.star) and is_fully_known(right.star)):
            return FromClause(items, opaque("a side of NATURAL JOIN has unknown columns"))
        names = {column.name for column in right.star if isinstance(column, KnownColumn)}
        using = [c.name for c in left.star if isinstance(c, KnownColumn) and c.name and c.name in names]
    common = []
    for name in using:
        sides = [lookup(side.star, name) or missing(name) for side in (left, right)]
        # Calcite makes it COALESCE(left, right) for every kind of join.
        origin = through(merged(side.origin for side in sides), How.EXPRESSION)
        common.append(KnownColumn(name, origin, type=sides[0].type))
    rest = (c for c in (*left.star, *right.star) if isinstance(c, UnknownColumns) or c.name not in using)
    return FromClause(items, (*common, *rest))


def missing(name: str) -> KnownColumn:
    """A column that the tables in scope do not have."""
    return KnownColumn(name, unknown(f"there is no column {name}"))


def _nested(field: KnownColumn, path: TablePath) -> KnownColumn:
    """A field of a row column, by its path within the row."""
    if not path:
        return field
    of, origin = field.type, field.origin
    for name in path:
        of, origin = field_type(of, name), field_of(origin, name)
    return KnownColumn(path[-1], origin, type=of)


def _column_of(item: FromItem, name: str) -> KnownColumn:
    found = lookup(item.relation, name) or lookup(item.hidden, name)
    if found is None:
        table = item.table if name == ROWTIME else None
        return KnownColumn(name, column_of(table, name)) if table else missing(name)
    return found
