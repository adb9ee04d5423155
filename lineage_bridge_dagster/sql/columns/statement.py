"""A statement's syntax tree -> the columns that it writes, with their origins. Pure.

What cannot be derived is open, with the reason: the origin of one column, or all further columns of a table,
if not even their names are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from lineage_bridge_dagster.lineage.columns import How
from lineage_bridge_dagster.sql.columns.functions import Models
from lineage_bridge_dagster.sql.columns.origins import (
    CONSTANT,
    ColumnOrigin,
    Origin,
    Use,
    column_of,
    merged,
    unknown,
)
from lineage_bridge_dagster.sql.columns.queries import QueryReader
from lineage_bridge_dagster.sql.columns.relations import (
    KnownColumn,
    Relation,
    UnknownColumns,
    aligned,
    is_fully_known,
    known_columns,
    opaque,
    renamed,
    shown,
    type_of,
    unknown_columns,
)
from lineage_bridge_dagster.sql.columns.scopes import FromClause, FromItem, QueryScope
from lineage_bridge_dagster.sql.columns.tables import HIDDEN, RAW_KEY, TableColumn, columns_of, created
from lineage_bridge_dagster.sql.columns.types import SqlType
from lineage_bridge_dagster.sql.flink.tables import readable_kind
from lineage_bridge_dagster.sql.flink.tree import ABSENT, Tree
from lineage_bridge_dagster.sql.statement import TablePath

Tables = Callable[[TablePath], Sequence[TableColumn] | None]
"""A table -> its columns in order, None when they are unknown."""

Views = Callable[[TablePath], Relation | None]
"""A view -> its columns with their origins, None when no view has that name."""

_CREATES = frozenset({"SqlCreateTableAs", "SqlReplaceTableAs", "SqlCreateMaterializedTable"})
_TABLE_QUERIES = _CREATES | {"SqlAlterMaterializedTableAsQuery"}
_VIEWS = frozenset({"SqlCreateView", "SqlAlterViewAs"})


class ColumnLineage(NamedTuple):
    """Origin of one written column.

    Attributes:
        table: The table or view written.
        sources: Columns that it derives from; none for a literal or `COUNT(*)`.
        open: Why it may derive from other columns, too; empty when it does not.
        formula: As in `Origin`, if details are derived.
        uses: Likewise.
        type: Its value's type as far as it is known, likewise.
    """

    table: TablePath
    column: str
    sources: tuple[ColumnOrigin, ...] = ()
    open: str = ""
    formula: str = ""
    uses: tuple[Use, ...] = ()
    type: SqlType | None = None

    @property
    def complete(self) -> bool:
        """Whether it derives from no other columns."""
        return not self.open


@dataclass(frozen=True, slots=True)
class Writer:
    """One INSERT, CREATE ... AS, view or UPDATE: a statement set has several.

    Attributes:
        kind: `INSERT`, `CREATE VIEW`, ...
        table: The table or view written.
        columns: Its columns, in the order in which they are filled.
        open: Why it writes further columns, whose names are unknown; empty when it does not.
    """

    kind: str
    table: TablePath
    columns: tuple[ColumnLineage, ...] = ()
    open: str = ""

    @classmethod
    def of(cls, kind: str, path: TablePath, columns: Iterable[tuple[str, Origin]], reason: str = "") -> Self:
        """A writer of columns by their names."""
        lineage = (
            ColumnLineage(path, name, origin.sources, origin.open, origin.formula, origin.uses)
            for name, origin in columns
        )
        return cls(kind, path, tuple(lineage), reason)

    @classmethod
    def of_relation(cls, kind: str, path: TablePath, relation: Relation) -> Self:
        """The writer of a query that names its own columns."""
        columns = tuple(known_columns(relation))
        reason = ""
        if len(columns) < len(relation):
            gaps = unknown_columns(relation)
            reason = gaps[0].reason if gaps else "the names of some columns are unknown"
        return cls.of(kind, path, columns, reason)


@dataclass(frozen=True, slots=True)
class StatementContext:
    """The tables, views and models that a statement's names refer to.

    Attributes:
        tables: Columns of tables that are read.
        sinks: Columns of tables that an INSERT fills by position, computed and virtual ones included.
        canonical: Name as written -> the path used for lookups and in the result.
        details: Whether to derive formulas and uses.
        fields: Whether to tell the fields of rows apart, which takes details.
    """

    tables: Tables
    sinks: Tables
    views: Views
    models: Models
    canonical: Callable[[TablePath], TablePath]
    details: bool = False
    fields: bool = False

    def table(self, name: TablePath) -> FromItem:
        """Look up a table or view that is read."""
        path = self.canonical(name)
        view = self.views(path)
        if view is not None:
            return FromItem(name[-1], name, view)
        columns = self.tables(path)
        if columns is None:
            return FromItem(name[-1], name, (UnknownColumns(path),), path)
        star, hidden = (
            tuple(
                KnownColumn(c.name, self._origin(path, c.name), type=c.type)
                for c in columns
                if (c.how == HIDDEN) is is_hidden
            )
            for is_hidden in (False, True)
        )
        return FromItem(name[-1], name, star, path, hidden)

    def _origin(self, path: TablePath, column: str) -> Origin:
        if not self.details:
            return column_of(path, column)
        source = ColumnOrigin(path, column, How.IDENTITY)
        return Origin((source,), formula=".".join((*path, column)), is_field=self.fields)


def written_columns(tree: Tree, context: StatementContext) -> tuple[Writer, ...]:
    """The columns that a statement writes, with their lineage, in the order of the statement.

    Never fails; a plain query writes nothing (see `output_columns`).
    """
    root = tree.statement
    nodes = tree.children(root) if tree.kind(root) == "SqlStatementSet" else (root,)
    return tuple(writer for node in nodes if (writer := _writer(tree, node, context)) is not None)


def merged_columns(columns: Iterable[ColumnLineage]) -> tuple[ColumnLineage, ...]:
    """Each column once, with all its origins: several statements may fill one table."""
    found: dict[tuple[TablePath, str], ColumnLineage] = {}
    for column in columns:
        key = (column.table, column.column)
        origin: ColumnLineage | Origin = column
        if key in found:
            origin = merged(Origin(each.sources, each.open) for each in (found[key], column))
        found[key] = ColumnLineage(*key, origin.sources, origin.open)
    return tuple(found.values())


def output_columns(tree: Tree, context: StatementContext) -> Relation:
    """The columns that a statement's query returns, in order, whether or not they are written."""
    root = tree.statement
    has_target = tree.kind(root) in {"INSERT"} | _TABLE_QUERIES | _VIEWS
    return _derive(tree, tree.child(root, 1) if has_target else root, context)


def view_relation(tree: Tree, context: StatementContext) -> Relation:
    """The columns of the view that `CREATE VIEW` or `ALTER VIEW ... AS` defines."""
    root = tree.statement
    names = tree.names(tree.children(tree.child(root, 2)))
    return renamed(_derive(tree, tree.child(root, 1), context), names)


def created_columns(tree: Tree, context: StatementContext) -> list[TableColumn] | None:
    """The columns of the table that `CREATE TABLE ... AS` creates; None when some are unknown."""
    root = tree.statement
    return created(columns_of(tree, tree.child(root, 2)), _derive(tree, tree.child(root, 1), context))


def _derive(tree: Tree, query: int, context: StatementContext) -> Relation:
    try:
        return QueryReader(tree, context.table, context.models, details=context.details).relation(query)
    except RecursionError:
        # The caller's stack was nearly full.
        return opaque("its query is nested too deeply")


def _writer(tree: Tree, node: int, context: StatementContext) -> Writer | None:
    kind = tree.kind(node)
    target = tree.target(tree.child(node, 0))
    if not target or kind not in {"INSERT", "UPDATE"} | _TABLE_QUERIES | _VIEWS:
        return None
    path, shown_kind = context.canonical(target), readable_kind(kind)
    if kind == "UPDATE":
        return Writer.of(shown_kind, path, _updated(tree, node, target, context))
    if kind in _VIEWS:
        return Writer.of_relation(shown_kind, path, view_relation(tree, context))
    if kind != "INSERT":
        return Writer.of_relation(shown_kind, path, _derive(tree, tree.child(node, 1), context))
    found = _filled(tree, node, path, context)
    if found is None:
        reason = f"the columns of {shown(path)} are unknown, and the statement does not list them"
        return Writer(shown_kind, path, (), reason)
    names, relation = found
    partitions = ((name, CONSTANT) for name in tree.path(tree.child(node, 3)))
    columns = (*partitions, *zip(names, aligned(relation, len(names)), strict=True))
    writer = Writer.of(shown_kind, path, columns)
    if not context.details or len(relation) != len(writer.columns):
        return writer
    typed = (column._replace(type=type_of(of)) for column, of in zip(writer.columns, relation, strict=True))
    return replace(writer, columns=tuple(typed))


def _filled(
    tree: Tree, node: int, path: TablePath, context: StatementContext
) -> tuple[list[str], Relation] | None:
    """The columns that an INSERT fills by position, and those of its query; None when they are unknown.

    The columns filled are the listed ones, else the table's own. Flink accepts only as many in the query. If
    the numbers agree without the raw key of a topic, there is no such column: a CREATE TABLE without a key,
    which is no longer listed, created the topic.
    """
    sinks = _sink_columns(tree, node, path, context)
    if sinks is None:
        return None

    def keyless(of: TablePath) -> Sequence[TableColumn] | None:
        columns = context.tables(of)
        return columns if columns is None else [c for c in columns if c.how != RAW_KEY]

    names = [column.name for column in sinks]
    fewer = [column.name for column in sinks if column.how != RAW_KEY]
    relation = _derive(tree, tree.child(node, 1), context)
    if is_fully_known(relation) and len(relation) != len(names):
        if len(relation) == len(fewer):
            return fewer, relation
        other = _derive(tree, tree.child(node, 1), replace(context, tables=keyless))
        for filled in (names, fewer):
            if is_fully_known(other) and len(other) == len(filled):
                return filled, other
    return names, relation


def _sink_columns(
    tree: Tree, node: int, path: TablePath, context: StatementContext
) -> Sequence[TableColumn] | None:
    listed = tree.child(node, 2)
    if listed != ABSENT:
        # The first part: a listed column can be a nested field.
        return [TableColumn(name[0]) for column in tree.children(listed) if (name := tree.path(column))]
    columns = context.sinks(path)
    partitions = tree.path(tree.child(node, 3))
    return None if columns is None else [c for c in columns if c.filled and c.name not in partitions]


def _updated(
    tree: Tree, node: int, target: TablePath, context: StatementContext
) -> Iterator[tuple[str, Origin]]:
    item = context.table(target)
    scope = QueryScope(FromClause((item,), item.relation))
    expressions = QueryReader(tree, context.table, context.models).expressions
    columns, values = tree.children(tree.child(node, 1)), tree.children(tree.child(node, 2))
    for column, value in zip(columns, values, strict=False):
        if tree.path(column):
            try:
                yield tree.path(column)[-1], expressions.origin(value, scope, {})
            except RecursionError:
                yield tree.path(column)[-1], unknown("its expression is nested too deeply")
