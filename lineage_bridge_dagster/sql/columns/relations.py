"""Relations (a query's columns), and how a name in a query resolves to one of their columns. Pure.

Not every table's schema is known, so a relation consists of `Field`s, which are known columns, and
`UnknownColumns`, which represent any number of others. Names resolve as in Flink's validator; where an
unknown column could change the result, the result is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lineage_bridge_dagster.lineage.columns import How
from lineage_bridge_dagster.sql.columns.origins import (
    UNKNOWN,
    Origin,
    column_of,
    merged,
    partly,
    through,
)
from lineage_bridge_dagster.sql.statement import TablePath

ROWTIME = "$rowtime"
"""Confluent's system column of every table: the record's timestamp. `*` does not include it."""


@dataclass(frozen=True, slots=True)
class Field:
    """A known column of a relation.

    Attributes:
        name: None when it cannot be determined: an unnamed expression after unknown columns.
        origin: What its values derive from.
        certain: False when an unknown column could have the same name, and this one another.
    """

    name: str | None
    origin: Origin
    certain: bool = True


@dataclass(frozen=True, slots=True)
class UnknownColumns:
    """Columns of a relation whose names and number are unknown.

    Attributes:
        table: The table whose columns they are, under their own names; None when there is no single one.
        origin: Origin of each of them when `table` is None: the array's for the columns of an UNNEST.
        complete: False when each of them may have other origins, too.
    """

    table: TablePath | None = None
    origin: Origin = UNKNOWN
    complete: bool = True

    def column(self, name: str) -> Origin:
        """Origin of the column of that name, provided that it is one of these."""
        origin = self.origin if self.table is None else column_of(self.table, name)
        return origin if self.complete else partly(origin)


Relation = tuple[Field | UnknownColumns, ...]

OPAQUE: Relation = (UnknownColumns(),)
"""A relation about which nothing is known."""


@dataclass(frozen=True, slots=True)
class FromItem:
    """One table, query or function in a FROM clause.

    Attributes:
        alias: Qualifier of its columns.
        path: The table's name as written when it has no alias; it is a qualifier as well.
        relation: Its columns.
        table: The base table, if it is one.
    """

    alias: str | None
    path: TablePath
    relation: Relation
    table: TablePath | None = None


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
class Scope:
    """Where the names in an expression are looked up: a FROM clause, then those of the enclosing queries.

    Attributes:
        source: The FROM clause.
        outer: Scope of the enclosing query.
        variables: Row pattern variables; as qualifiers they all refer to the one table matched.
    """

    source: FromClause
    outer: Scope | None = None
    variables: frozenset[str] = frozenset()

    def resolve(self, path: TablePath) -> Origin:
        """Origin of a column as named in an expression."""
        if len(path) > 1:
            if path[0] in self.variables:
                path = path[1:]
            elif (found := self._qualified(path)) is not None:
                return found
        origin = self._column(path[0])
        return through(origin, How.EXPRESSION) if len(path) > 1 else origin

    def star_of(self, qualifier: TablePath) -> Relation:
        """The columns that `qualifier.*` expands to."""
        for scope in self._levels():
            items = scope._items(qualifier)
            if items:
                return items[0].relation if len(items) == 1 else OPAQUE
        return OPAQUE

    def _levels(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def _items(self, qualifier: TablePath) -> list[FromItem]:
        if len(qualifier) == 1:
            return [item for item in self.source.items if item.alias == qualifier[0]]
        return [item for item in self.source.items if item.path[-len(qualifier) :] == qualifier]

    def _qualified(self, path: TablePath) -> Origin | None:
        for scope in self._levels():
            for length in range(len(path) - 1, 0, -1):
                items = scope._items(path[:length])
                if len(items) > 1:
                    return UNKNOWN
                if items:
                    origin = _column_of(items[0], path[length])
                    return through(origin, How.EXPRESSION) if len(path) > length + 1 else origin
        return None

    def _column(self, name: str) -> Origin:
        for scope in self._levels():
            star = scope.source.star
            fields = _fields(star, name)
            if fields:
                return fields[0].origin if len(fields) == 1 and fields[0].certain else UNKNOWN
            unknown = _unknown(star)
            tables = {item.table for item in scope.source.items}
            if name == ROWTIME and len(tables) == 1 and None not in tables:
                return merged(column_of(table, name) for table in tables if table)
            if unknown:
                ambiguous = len(unknown) > 1 or (scope.outer is not None and scope.outer._may_have(name))
                return UNKNOWN if ambiguous else unknown[0].column(name)
        return UNKNOWN

    def _may_have(self, name: str) -> bool:
        return any(
            isinstance(column, UnknownColumns) or column.name == name
            for scope in self._levels()
            for column in scope.source.star
        )


def lookup(relation: Relation, name: str) -> Origin | None:
    """Origin of a relation's column; None when it has none of that name."""
    fields = _fields(relation, name)
    if fields:
        return fields[0].origin if len(fields) == 1 and fields[0].certain else UNKNOWN
    unknown = _unknown(relation)
    if not unknown:
        return None
    return unknown[0].column(name) if len(unknown) == 1 else UNKNOWN


def named(items: Iterable[tuple[Field | UnknownColumns, bool]]) -> Relation:
    """The columns of a select list, named as Calcite names them.

    An expression without alias is `EXPR$` and its position; a name already in use gets a number appended.

    Args:
        items: Each column with whether it has an alias.
    """
    used: set[str] = set()
    relation: list[Field | UnknownColumns] = []
    after_unknown = False
    for item, aliased in items:
        if isinstance(item, UnknownColumns):
            after_unknown = True
            relation.append(item)
        elif after_unknown:
            # Its position, and whether its name is in use, cannot be determined. An alias is taken to be
            # unique, as its author intended.
            relation.append(Field(item.name, item.origin, certain=aliased and item.certain))
        else:
            original = item.name if item.name is not None else f"EXPR${len(relation)}"
            name, attempt = original, 0
            while name in used:
                name, attempt = f"{original}{attempt}", attempt + 1
            used.add(name)
            relation.append(Field(name, item.origin, item.certain))
    return tuple(relation)


def renamed(relation: Relation, names: Sequence[str]) -> Relation:
    """The relation under a list of column names (of `AS t (a, b)`, a view or a CTE), if there is one."""
    if not names:
        return relation
    if is_fully_known(relation) and len(relation) == len(names):
        return tuple(Field(name, origin_of(column)) for name, column in zip(names, relation, strict=True))
    if len(relation) == 1 and isinstance(relation[0], UnknownColumns) and relation[0].table is None:
        return tuple(Field(name, relation[0].column(name)) for name in names)
    return tuple(
        Field(name, origin) for name, origin in zip(names, aligned(relation, len(names)), strict=True)
    )


def aligned(relation: Relation, count: int) -> list[Origin]:
    """Origins of a relation's columns by position, provided that there are `count` of them.

    Unknown are those from the first to the last of the unknown columns, and all of them when the count cannot
    be right.
    """
    unknown = [i for i, column in enumerate(relation) if isinstance(column, UnknownColumns)]
    known = len(relation) - len(unknown)
    if known > count or (not unknown and known != count):
        return [UNKNOWN] * count
    if not unknown:
        return [origin_of(column) for column in relation]
    head = [origin_of(column) for column in relation[: unknown[0]]]
    tail = [origin_of(column) for column in relation[unknown[-1] + 1 :]]
    return [*head, *[UNKNOWN] * (count - len(head) - len(tail)), *tail]


def is_fully_known(relation: Relation) -> bool:
    """Whether all columns of a relation are known."""
    return not _unknown(relation)


def origin_of(column: Field | UnknownColumns) -> Origin:
    """Origin of a column that is identified by its position."""
    return column.origin if isinstance(column, Field) else UNKNOWN


def known_columns(relation: Relation) -> Iterator[tuple[str, Origin]]:
    """Columns whose names are certain."""
    for column in relation:
        if isinstance(column, Field) and column.certain and column.name is not None:
            yield column.name, column.origin


def column_names(relation: Relation) -> list[str] | None:
    """All column names of a relation; None when some are unknown."""
    names = [name for name, _ in known_columns(relation)]
    return names if len(names) == len(relation) else None


def united(relations: Sequence[Relation]) -> Relation:
    """UNION: columns merged by position, under the names of the first relation."""
    first = relations[0]
    if all(is_fully_known(r) and len(r) == len(first) for r in relations):
        return tuple(
            Field(
                column.name if isinstance(column, Field) else None,
                merged(origin_of(r[i]) for r in relations),
                not isinstance(column, Field) or column.certain,
            )
            for i, column in enumerate(first)
        )
    # Which columns share a position cannot be determined: each may have more origins than in the first.
    return tuple(
        Field(column.name, partly(column.origin), column.certain)
        if isinstance(column, Field)
        else UnknownColumns(column.table, column.origin, complete=False)
        for column in first
    )


def joined(left: FromClause, right: FromClause, kind: str, using: Sequence[str]) -> FromClause:
    """Join two sides.

    Args:
        left: Left side.
        right: Right side.
        kind: `[NATURAL ]INNER|LEFT|RIGHT|FULL|CROSS|COMMA ON|USING|NONE`.
        using: Columns of USING. They, or the common columns of NATURAL, appear once and first.
    """
    items = (*left.items, *right.items)
    if kind.startswith("NATURAL "):
        if not (is_fully_known(left.star) and is_fully_known(right.star)):
            return FromClause(items, OPAQUE)
        names = {column.name for column in right.star if isinstance(column, Field)}
        using = [c.name for c in left.star if isinstance(c, Field) and c.name and c.name in names]
    common = []
    for name in using:
        sides = (lookup(left.star, name) or UNKNOWN, lookup(right.star, name) or UNKNOWN)
        # Calcite makes it COALESCE(left, right) for every kind of join.
        common.append(Field(name, through(merged(sides), How.EXPRESSION)))
    rest = (c for c in (*left.star, *right.star) if isinstance(c, UnknownColumns) or c.name not in using)
    return FromClause(items, (*common, *rest))


def _fields(relation: Relation, name: str) -> list[Field]:
    return [column for column in relation if isinstance(column, Field) and column.name == name]


def _unknown(relation: Relation) -> list[UnknownColumns]:
    return [column for column in relation if isinstance(column, UnknownColumns)]


def _column_of(item: FromItem, name: str) -> Origin:
    origin = lookup(item.relation, name)
    if origin is None:
        return column_of(item.table, name) if name == ROWTIME and item.table else UNKNOWN
    return origin
