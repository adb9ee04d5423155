"""Relations while a query is read, and how a name in it finds its column. Pure.

Not every schema is known, so a relation is a row of items: columns that are known, and openings that stand
for columns which are not. A name is looked up as Flink's validator does, and wherever the columns that are
not known could change the answer, there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lineage_bridge_dagster.sql.columns.origins import (
    UNKNOWN,
    How,
    Origin,
    column_of,
    merged,
    partly,
    through,
)
from lineage_bridge_dagster.sql.statement import TablePath

ROWTIME = "$rowtime"
"""Confluent's system column of every table: the record's timestamp; `*` leaves it out."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a relation.

    Attributes:
        name: None when it can't be told: an unnamed expression behind columns that are not known.
        sure: False when a column that is not known could bear the name and have it changed.
    """

    name: str | None
    origin: Origin
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Open:
    """Columns of a relation whose names, and number, are not known.

    Attributes:
        table: The table whose columns they all are, under their own names; None if they are no one table's.
        origin: Of each of them when they are no table's: an array's for the columns that UNNEST gives.
        complete: False when each is made of more than is told.
    """

    table: TablePath | None = None
    origin: Origin = UNKNOWN
    complete: bool = True

    def column(self, name: str) -> Origin:
        """The origin of the column of that name, given that it is one of them."""
        origin = self.origin if self.table is None else column_of(self.table, name)
        return origin if self.complete else partly(origin)


Relation = tuple[Field | Open, ...]

OPAQUE: Relation = (Open(),)


@dataclass(frozen=True, slots=True)
class Source:
    """One table, query or function in a FROM.

    Attributes:
        alias: What its columns can be qualified with.
        path: The table's name as written, when it has no other alias: that qualifies too.
        relation: Its columns.
        table: The base table that it is, if it is one.
    """

    alias: str | None
    path: TablePath
    relation: Relation
    table: TablePath | None = None


@dataclass(frozen=True, slots=True)
class From:
    """All of a FROM.

    Attributes:
        sources: What names can be qualified with.
        star: What `*` means, and where names without qualifier are found.
    """

    sources: tuple[Source, ...] = ()
    star: Relation = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """Where the names in an expression are looked up: a FROM, and the queries around it.

    Attributes:
        variables: Names of a row pattern: any of them before a column means the one table there is.
    """

    source: From
    outer: Scope | None = None
    variables: frozenset[str] = frozenset()

    def resolve(self, path: TablePath) -> Origin:
        """The origin of a column as it is named in an expression."""
        if len(path) > 1:
            if path[0] in self.variables:
                path = path[1:]
            elif (found := self._qualified(path)) is not None:
                return found
        origin = self._column(path[0])
        return through(origin, How.EXPRESSION) if len(path) > 1 else origin

    def star_of(self, qualifier: TablePath) -> Relation:
        """What `qualifier.*` means."""
        for scope in self._levels():
            sources = scope._named(qualifier)
            if sources:
                return sources[0].relation if len(sources) == 1 else OPAQUE
        return OPAQUE

    def _levels(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def _named(self, qualifier: TablePath) -> list[Source]:
        if len(qualifier) == 1:
            return [s for s in self.source.sources if s.alias == qualifier[0]]
        return [s for s in self.source.sources if s.path[-len(qualifier) :] == qualifier]

    def _qualified(self, path: TablePath) -> Origin | None:
        for scope in self._levels():
            for length in range(len(path) - 1, 0, -1):
                sources = scope._named(path[:length])
                if len(sources) > 1:
                    return UNKNOWN
                if sources:
                    origin = _column_of(sources[0], path[length])
                    return through(origin, How.EXPRESSION) if len(path) > length + 1 else origin
        return None

    def _column(self, name: str) -> Origin:
        for scope in self._levels():
            star = scope.source.star
            fields = _fields(star, name)
            if fields:
                return fields[0].origin if len(fields) == 1 and fields[0].sure else UNKNOWN
            opens = [item for item in star if isinstance(item, Open)]
            tables = {s.table for s in scope.source.sources}
            if name == ROWTIME and len(tables) == 1 and None not in tables:
                return merged(column_of(table, name) for table in tables if table)
            if opens:
                farther = scope.outer is not None and scope.outer._may_have(name)
                return UNKNOWN if len(opens) > 1 or farther else opens[0].column(name)
        return UNKNOWN

    def _may_have(self, name: str) -> bool:
        return any(
            isinstance(item, Open) or item.name == name
            for scope in self._levels()
            for item in scope.source.star
        )


def lookup(relation: Relation, name: str) -> Origin | None:
    """The origin of a relation's column; None when it has none of that name."""
    fields = _fields(relation, name)
    if fields:
        return fields[0].origin if len(fields) == 1 and fields[0].sure else UNKNOWN
    opens = [item for item in relation if isinstance(item, Open)]
    if not opens:
        return None
    return opens[0].column(name) if len(opens) == 1 else UNKNOWN


def named(items: Iterable[tuple[Field | Open, bool]]) -> Relation:
    """The columns that a select list gives, named as Calcite names them.

    An expression without alias is `EXPR$` and its place; a name that is taken gets a number behind it.

    Args:
        items: Each with whether an alias was given it.
    """
    used: set[str] = set()
    relation: list[Field | Open] = []
    opened = False
    for item, aliased in items:
        if isinstance(item, Open):
            opened = True
            relation.append(item)
        elif opened:
            # Columns not known stand before it: its place, and whether its name is free, can't be told. Who
            # writes an alias means a name that is free.
            relation.append(Field(item.name, item.origin, sure=aliased and item.sure))
        else:
            original = item.name if item.name is not None else f"EXPR${len(relation)}"
            name, attempt = original, 0
            while name in used:
                name, attempt = f"{original}{attempt}", attempt + 1
            used.add(name)
            relation.append(Field(name, item.origin, item.sure))
    return tuple(relation)


def renamed(relation: Relation, names: Sequence[str]) -> Relation:
    """The relation under a list of column names (`AS t (a, b)`, a view's, a CTE's)."""
    if not names:
        return relation
    if is_closed(relation) and len(relation) == len(names):
        return tuple(Field(name, item_origin(item)) for name, item in zip(names, relation, strict=True))
    if len(relation) == 1 and isinstance(relation[0], Open) and relation[0].table is None:
        return tuple(Field(name, relation[0].column(name)) for name in names)
    return tuple(
        Field(name, origin) for name, origin in zip(names, aligned(relation, len(names)), strict=True)
    )


def aligned(relation: Relation, count: int) -> list[Origin]:
    """The origins of a relation's columns by position, given that there are `count` of them.

    Those of columns not known are unknown; with several openings also all between the first and the last.
    All are unknown when the count can't be right.
    """
    opens = [i for i, item in enumerate(relation) if isinstance(item, Open)]
    known = len(relation) - len(opens)
    if known > count or (not opens and known != count):
        return [UNKNOWN] * count
    if not opens:
        return [item_origin(item) for item in relation]
    head = [item_origin(item) for item in relation[: opens[0]]]
    tail = [item_origin(item) for item in relation[opens[-1] + 1 :]]
    return [*head, *[UNKNOWN] * (count - len(head) - len(tail)), *tail]


def is_closed(relation: Relation) -> bool:
    """Whether all its columns are known."""
    return not any(isinstance(item, Open) for item in relation)


def item_origin(item: Field | Open) -> Origin:
    """What is known of a column by its position alone."""
    return item.origin if isinstance(item, Field) else UNKNOWN


def united(relations: Sequence[Relation]) -> Relation:
    """UNION: by position, under the names of the first."""
    first = relations[0]
    if all(is_closed(r) and len(r) == len(first) for r in relations):
        return tuple(
            Field(
                item.name if isinstance(item, Field) else None,
                merged(item_origin(r[i]) for r in relations),
                not isinstance(item, Field) or item.sure,
            )
            for i, item in enumerate(first)
        )
    # Which columns meet can't be told: each has what the first gives it, and more.
    return tuple(
        Field(item.name, partly(item.origin), item.sure)
        if isinstance(item, Field)
        else Open(item.table, item.origin, complete=False)
        for item in first
    )


def joined(left: From, right: From, kind: str, using: Sequence[str]) -> From:
    """Two sides of a join.

    Args:
        kind: `[NATURAL ]INNER|LEFT|RIGHT|FULL|CROSS|COMMA ON|USING|NONE`.
        using: The columns of USING. They, and the common ones of NATURAL, stand once and first.
    """
    sources = (*left.sources, *right.sources)
    if kind.startswith("NATURAL "):
        if not (is_closed(left.star) and is_closed(right.star)):
            return From(sources, OPAQUE)
        names = {item.name for item in right.star if isinstance(item, Field)}
        using = [i.name for i in left.star if isinstance(i, Field) and i.name and i.name in names]
    common = []
    for name in using:
        one, other = lookup(left.star, name) or UNKNOWN, lookup(right.star, name) or UNKNOWN
        # Calcite makes it COALESCE(left, right), whatever the kind of join.
        common.append(Field(name, through(merged((one, other)), How.EXPRESSION)))
    rest = (i for i in (*left.star, *right.star) if isinstance(i, Open) or i.name not in using)
    return From(sources, (*common, *rest))


def _fields(relation: Relation, name: str) -> list[Field]:
    return [item for item in relation if isinstance(item, Field) and item.name == name]


def _column_of(source: Source, name: str) -> Origin:
    origin = lookup(source.relation, name)
    if origin is None:
        return column_of(source.table, name) if name == ROWTIME and source.table else UNKNOWN
    return origin
