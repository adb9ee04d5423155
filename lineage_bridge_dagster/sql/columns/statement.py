"""A statement's syntax tree -> the columns that it writes, with their origins. Pure.

Columns that cannot be derived are left out: those after a `*` of a table whose schema is unknown, names that
such a table could have as well, and results of table functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from lineage_bridge_dagster.sql.columns.origins import CONSTANT, ColumnOrigin, Origin, column_of, merged
from lineage_bridge_dagster.sql.columns.queries import QueryReader
from lineage_bridge_dagster.sql.columns.relations import (
    OPAQUE,
    Field,
    FromClause,
    FromItem,
    Relation,
    Scope,
    UnknownColumns,
    aligned,
    column_names,
    known_columns,
    renamed,
)
from lineage_bridge_dagster.sql.flink.tree import ABSENT, Tree
from lineage_bridge_dagster.sql.statement import TablePath

Schemas = Callable[[TablePath], Sequence[str] | None]
"""A table -> its columns in order, None when they are unknown."""

Views = Callable[[TablePath], Relation | None]
"""A view -> its columns with their origins, None when no view has that name."""

_CREATES = frozenset({"SqlCreateTableAs", "SqlReplaceTableAs", "SqlCreateMaterializedTable"})
_TABLE_QUERIES = _CREATES | {"SqlAlterMaterializedTableAsQuery"}
_VIEWS = frozenset({"SqlCreateView", "SqlAlterViewAs"})


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """Origin of one written column.

    Attributes:
        table: The table or view written.
        column: Its column.
        sources: Columns that it derives from; none for a literal or `COUNT(*)`.
        complete: False when it may derive from other columns, too.
    """

    table: TablePath
    column: str
    sources: tuple[ColumnOrigin, ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Context:
    """The tables and views that a statement's names refer to.

    Attributes:
        schemas: Columns of tables that are read.
        sink_schemas: Columns of tables that an INSERT without column list fills: all except computed ones.
        views: Columns of views.
        canonical: Name as written -> the path used for lookups and in the result.
    """

    schemas: Schemas
    sink_schemas: Schemas
    views: Views
    canonical: Callable[[TablePath], TablePath]

    def table(self, name: TablePath) -> FromItem:
        """Look up a table or view that is read."""
        path = self.canonical(name)
        view = self.views(path)
        if view is not None:
            return FromItem(name[-1], name, view)
        columns = self.schemas(path)
        if columns is None:
            return FromItem(name[-1], name, (UnknownColumns(path),), path)
        return FromItem(name[-1], name, tuple(Field(c, column_of(path, c)) for c in columns), path)


def column_lineage(tree: Tree, context: Context) -> tuple[ColumnLineage, ...]:
    """Lineage of each column that a statement writes, in the order of the statement.

    Never fails; a plain query writes nothing (see `output_columns`).
    """
    return merged_columns(
        ColumnLineage(target, column, origin.sources, origin.complete)
        for target, column, origin in _written(tree, context)
        if origin.sources or origin.complete
    )


def merged_columns(columns: Iterable[ColumnLineage]) -> tuple[ColumnLineage, ...]:
    """Each column once, with all its origins: several statements may fill one table."""
    found: dict[tuple[TablePath, str], list[Origin]] = {}
    for column in columns:
        found.setdefault((column.table, column.column), []).append(Origin(column.sources, column.complete))
    return tuple(
        ColumnLineage(*key, origin.sources, origin.complete)
        for key, origin in ((key, merged(origins)) for key, origins in found.items())
    )


def output_columns(tree: Tree, context: Context) -> Relation:
    """The columns that a statement's query returns, in order, whether or not they are written."""
    root = tree.statement
    has_target = tree.kind(root) in {"INSERT"} | _TABLE_QUERIES | _VIEWS
    return _derive(tree, tree.child(root, 1) if has_target else root, context)


def view_relation(tree: Tree, context: Context) -> Relation:
    """The columns of the view that `CREATE VIEW` or `ALTER VIEW ... AS` defines."""
    root = tree.statement
    names = tree.names(tree.children(tree.child(root, 2)))
    return renamed(_derive(tree, tree.child(root, 1), context), names)


def declared_columns(tree: Tree) -> tuple[TablePath, list[str], list[str]] | None:
    """The table that `CREATE TABLE (...)` creates, all its columns, and those that an INSERT fills."""
    root = tree.statement
    if tree.kind(root) != "SqlCreateTable" or not tree.children(tree.child(root, 1)):
        return None
    columns = [c for c in tree.children(tree.child(root, 1)) if tree.kind(c) == "COLUMN"]
    names = [(tree.path(tree.child(column, 0))[-1], tree.name(column)) for column in columns]
    return tree.path(tree.child(root, 0)), [n for n, _ in names], [n for n, derived in names if not derived]


def created_columns(tree: Tree, context: Context) -> tuple[TablePath, list[str]] | None:
    """The table that `CREATE TABLE ... AS` creates and its columns, if its query alone determines them."""
    root = tree.statement
    if tree.kind(root) not in _CREATES:
        return None
    if any(tree.kind(c) == "COLUMN" for c in tree.children(tree.child(root, 2))):
        return None
    names = column_names(_derive(tree, tree.child(root, 1), context))
    return None if names is None else (tree.path(tree.child(root, 0)), names)


def _derive(tree: Tree, query: int, context: Context) -> Relation:
    try:
        return QueryReader(tree, context.table).relation(query)
    except RecursionError:
        # The caller's stack was nearly full.
        return OPAQUE


def _written(tree: Tree, context: Context) -> Iterator[tuple[TablePath, str, Origin]]:
    root = tree.statement
    for node in tree.children(root) if tree.kind(root) == "SqlStatementSet" else (root,):
        kind = tree.kind(node)
        target = tree.target(tree.child(node, 0))
        if not target:
            continue
        path = context.canonical(target)
        columns: Iterable[tuple[str, Origin]]
        if kind == "INSERT":
            columns = _inserted(tree, node, path, context)
        elif kind in _TABLE_QUERIES:
            columns = known_columns(_derive(tree, tree.child(node, 1), context))
        elif kind in _VIEWS:
            columns = known_columns(view_relation(tree, context))
        elif kind == "UPDATE":
            columns = _updated(tree, node, target, context)
        else:
            continue
        for column, origin in columns:
            yield path, column, origin


def _inserted(tree: Tree, node: int, path: TablePath, context: Context) -> Iterator[tuple[str, Origin]]:
    """INSERT fills columns by position: the listed ones, else the table's own."""
    partitions = tree.path(tree.child(node, 3))
    listed = tree.child(node, 2)
    if listed != ABSENT:
        # The first part: a listed column can be a nested field.
        names = [tree.path(column) for column in tree.children(listed)]
        columns: list[str] | None = [name[0] for name in names if name]
    else:
        schema = context.sink_schemas(path)
        columns = None if schema is None else [c for c in schema if c not in partitions]
    for partition in partitions:
        yield partition, CONSTANT
    if columns is not None:
        relation = _derive(tree, tree.child(node, 1), context)
        yield from zip(columns, aligned(relation, len(columns)), strict=True)


def _updated(tree: Tree, node: int, target: TablePath, context: Context) -> Iterator[tuple[str, Origin]]:
    item = context.table(target)
    scope = Scope(FromClause((item,), item.relation))
    expressions = QueryReader(tree, context.table).expressions
    columns, values = tree.children(tree.child(node, 1)), tree.children(tree.child(node, 2))
    for column, value in zip(columns, values, strict=False):
        if tree.path(column):
            try:
                yield tree.path(column)[-1], expressions.origin(value, scope, {})
            except RecursionError:
                continue
