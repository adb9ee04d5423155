"""Relations: a query's columns. Pure.

Not every table's schema is known, so a relation consists of `KnownColumn`s, which are known columns, and
`UnknownColumns`, which represent any number of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lineage_bridge_dagster.sql.columns.origins import CONSTANT, Origin, column_of, merged, partly, unknown
from lineage_bridge_dagster.sql.columns.types import SqlType
from lineage_bridge_dagster.sql.flink.names import known_part
from lineage_bridge_dagster.sql.statement import TablePath


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A known column of a relation.

    Attributes:
        name: None when it cannot be determined: an unnamed expression after unknown columns.
        origin: What its values derive from.
        certain: False when an unknown column could have the same name, and this one another.
        type: Its type as far as it is known.
    """

    name: str | None
    origin: Origin
    certain: bool = True
    type: SqlType | None = None


@dataclass(frozen=True, slots=True)
class UnknownColumns:
    """Columns of a relation whose names and number are unknown.

    Attributes:
        table: The table whose columns they are, under their own names; None when there is no single one.
        origin: Origin of each of them when `table` is None: the array's for the columns of an UNNEST.
        open: Why each of them may have other origins, too; empty when it has none.
    """

    table: TablePath | None = None
    origin: Origin = CONSTANT
    open: str = ""

    @property
    def reason(self) -> str:
        """Why they are unknown."""
        if self.table is not None:
            return f"the columns of {shown(self.table)} are unknown"
        return self.origin.open or "the number of columns is unknown"

    def column(self, name: str) -> Origin:
        """Origin of the column of that name, provided that it is one of these."""
        origin = self.origin if self.table is None else column_of(self.table, name)
        return partly(origin, self.open) if self.open else origin


Relation = tuple[KnownColumn | UnknownColumns, ...]

MAX_COLUMNS = 5_000
"""Most columns of a query: `SELECT *` of joins of `SELECT *` of joins ... doubles with every level."""
TOO_MANY = f"its query has more than {MAX_COLUMNS:,} columns"


def opaque(reason: str) -> Relation:
    """A relation about which nothing is known."""
    return (UnknownColumns(origin=unknown(reason)),)


def shown(path: TablePath) -> str:
    """A table's name in a reason."""
    return ".".join(known_part(path))


def lookup(relation: Sequence[KnownColumn | UnknownColumns], name: str) -> KnownColumn | None:
    """A relation's column of that name; None when it has none."""
    fields = [column for column in relation if isinstance(column, KnownColumn) and column.name == name]
    if fields:
        return fields[0] if len(fields) == 1 and fields[0].certain else ambiguous(name)
    others = unknown_columns(relation)
    if not others:
        return None
    return KnownColumn(name, others[0].column(name)) if len(others) == 1 else ambiguous(name)


def ambiguous(name: str) -> KnownColumn:
    """A column that can be one of several."""
    return KnownColumn(name, unknown(f"{name} can be a column of several tables, one of which is unknown"))


def named(items: Iterable[tuple[KnownColumn | UnknownColumns, bool]]) -> Relation:
    """The columns of a select list, named as Calcite names them.

    An expression without alias is `EXPR$` and its position; a name already in use gets a number appended.

    Args:
        items: Each column with whether it has an alias.
    """
    used: set[str] = set()
    relation: list[KnownColumn | UnknownColumns] = []
    after_unknown = False
    for item, aliased in items:
        if isinstance(item, UnknownColumns):
            after_unknown = True
            relation.append(item)
        elif after_unknown:
            # Its position, and whether its name is in use, cannot be determined. An alias is taken to be
            # unique, as its author intended.
            relation.append(KnownColumn(item.name, item.origin, aliased and item.certain, item.type))
        else:
            original = item.name if item.name is not None else f"EXPR${len(relation)}"
            name, attempt = original, 0
            while name in used:
                name, attempt = f"{original}{attempt}", attempt + 1
            used.add(name)
            relation.append(KnownColumn(name, item.origin, item.certain, item.type))
    return tuple(relation)


def renamed(relation: Relation, names: Sequence[str]) -> Relation:
    """The relation under a list of column names (of `AS t (a, b)`, a view or a CTE), if there is one."""
    if not names:
        return relation
    if is_fully_known(relation) and len(relation) == len(names):
        return tuple(
            KnownColumn(name, origin_of(column), type=type_of(column))
            for name, column in zip(names, relation, strict=True)
        )
    return tuple(
        KnownColumn(name, origin) for name, origin in zip(names, aligned(relation, len(names)), strict=True)
    )


def aligned(relation: Relation, count: int) -> list[Origin]:
    """Origins of a relation's columns by position, provided that there are `count` of them.

    Unknown are those from the first to the last of the unknown columns, unless they all have one origin, and
    all of them when the count cannot be right.
    """
    gaps = [i for i, column in enumerate(relation) if isinstance(column, UnknownColumns)]
    known = len(relation) - len(gaps)
    if known > count or (not gaps and known != count):
        return [unknown(f"the query has {known} columns where {count} are expected")] * count
    if not gaps:
        return [origin_of(column) for column in relation]
    head = [origin_of(column) for column in relation[: gaps[0]]]
    tail = [origin_of(column) for column in relation[gaps[-1] + 1 :]]
    gap = relation[gaps[0]]
    if len(gaps) == 1 and isinstance(gap, UnknownColumns) and gap.table is None:
        origin = gap.column("")
    else:
        origin = origin_of(gap)
    return [*head, *[origin] * (count - len(head) - len(tail)), *tail]


def is_fully_known(relation: Relation) -> bool:
    """Whether all columns of a relation are known."""
    return not unknown_columns(relation)


def origin_of(column: KnownColumn | UnknownColumns) -> Origin:
    """Origin of a column that is identified by its position."""
    return column.origin if isinstance(column, KnownColumn) else unknown(column.reason)


def type_of(column: KnownColumn | UnknownColumns) -> SqlType | None:
    """Type of a column that is identified by its position."""
    return column.type if isinstance(column, KnownColumn) else None


def known_columns(relation: Relation) -> Iterator[tuple[str, Origin]]:
    """Columns whose names are certain."""
    for column in relation:
        if isinstance(column, KnownColumn) and column.certain and column.name is not None:
            yield column.name, column.origin


def united(relations: Sequence[Relation]) -> Relation:
    """UNION: columns merged by position, under the names of the first relation."""
    first = relations[0]
    if all(is_fully_known(r) and len(r) == len(first) for r in relations):
        return tuple(
            KnownColumn(
                column.name if isinstance(column, KnownColumn) else None,
                merged(origin_of(r[i]) for r in relations),
                not isinstance(column, KnownColumn) or column.certain,
                next(filter(None, (type_of(r[i]) for r in relations)), None),
            )
            for i, column in enumerate(first)
        )
    # Which columns share a position cannot be determined: each may have more origins than in the first.
    gaps = [column for relation in relations for column in unknown_columns(relation)]
    reason = gaps[0].reason if gaps else "the branches of a set operation differ in their number of columns"
    return tuple(
        KnownColumn(column.name, partly(column.origin, reason), column.certain, column.type)
        if isinstance(column, KnownColumn)
        else UnknownColumns(column.table, column.origin, reason)
        for column in first
    )


def unknown_columns(relation: Iterable[KnownColumn | UnknownColumns]) -> list[UnknownColumns]:
    """The unknown columns of a relation."""
    return [column for column in relation if isinstance(column, UnknownColumns)]
