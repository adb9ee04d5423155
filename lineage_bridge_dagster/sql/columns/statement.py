"""A statement's tree -> for each column it writes, the columns it is made of. Pure.

What can't be derived is absent: columns behind a `*` of a table whose schema is not known, names that such a
table could have too, what table functions give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lineage_bridge_dagster.sql.columns.origins import CONSTANT, ColumnSource, How, Origin, merged
from lineage_bridge_dagster.sql.columns.queries import QueryReader, known, names_of
from lineage_bridge_dagster.sql.columns.relations import (
    Field,
    From,
    Open,
    Relation,
    Scope,
    Source,
    aligned,
    renamed,
)
from lineage_bridge_dagster.sql.flink.tree import NOTHING, Tree
from lineage_bridge_dagster.sql.statement import TablePath

__all__ = ["ColumnLineage", "ColumnSource", "How", "Schemas", "Views", "column_lineage", "output_columns"]

Schemas = Callable[[TablePath], Sequence[str] | None]
"""A table -> its columns in order, None when they are not known."""

Views = Callable[[TablePath], Relation | None]
"""A view -> its columns with what they are made of, None when the name is no view's."""

_CREATES = frozenset(
    {
        "SqlCreateTableAs",
        "SqlReplaceTableAs",
        "SqlCreateMaterializedTable",
        "SqlAlterMaterializedTableAsQuery",
    }
)
_VIEWS = frozenset({"SqlCreateView", "SqlAlterViewAs"})


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """What one written column is made of.

    Attributes:
        table: The table or view written.
        column: Its column.
        sources: Columns read, each with how; none when it is made of no column: a literal, `COUNT(*)`.
        complete: False when it is made of more than could be derived.
    """

    table: TablePath
    column: str
    sources: tuple[ColumnSource, ...] = ()
    complete: bool = True


def _no_schema(_path: TablePath) -> None:
    return None


def _no_view(_path: TablePath) -> None:
    return None


def _as_written(path: TablePath) -> TablePath:
    return path


@dataclass(frozen=True, slots=True)
class Context:
    """What is known outside a statement.

    Attributes:
        schemas: Columns of tables read.
        sinks: Columns of tables that an INSERT without column list fills: all but those that the table
            computes itself.
        views: Columns of views.
        canonical: A name as written -> the path that the lookups and the answer have it under.
    """

    schemas: Schemas = _no_schema
    sinks: Schemas = _no_schema
    views: Views = _no_view
    canonical: Callable[[TablePath], TablePath] = _as_written

    def table(self, path: TablePath) -> tuple[TablePath, Relation, bool]:
        """A table or view that is read."""
        path = self.canonical(path)
        view = self.views(path)
        if view is not None:
            return path, view, False
        columns = self.schemas(path)
        if columns is None:
            return path, (Open(path),), True
        return path, tuple(Field(c, Origin((ColumnSource(path, c, How.IDENTITY),))) for c in columns), True


def column_lineage(
    tree: Tree,
    schemas: Schemas | Mapping[TablePath, Sequence[str]] | None = None,
    views: Views | Mapping[TablePath, Relation] | None = None,
) -> tuple[ColumnLineage, ...]:
    """What each column that a statement writes is made of, in the order of the statement.

    It has an answer for any tree; a plain query writes nothing (see `output_columns`).

    Args:
        tree: A parsed statement.
        schemas: Columns of the tables that it names, by path as written.
        views: Columns of the views that it names (`view_relation`), likewise.
    """
    lookup = _no_schema if schemas is None else schemas.get if isinstance(schemas, Mapping) else schemas
    expand = _no_view if views is None else views.get if isinstance(views, Mapping) else views
    return lineage_of(tree, Context(lookup, lookup, expand))


def lineage_of(tree: Tree, context: Context) -> tuple[ColumnLineage, ...]:
    """As `column_lineage`, in a context."""
    return united_columns(
        ColumnLineage(target, column, origin.sources, origin.complete)
        for target, column, origin in _written(tree, context)
        if origin.sources or origin.complete
    )


def united_columns(columns: Iterable[ColumnLineage]) -> tuple[ColumnLineage, ...]:
    """Each column once, made of all that it is made of: several statements may fill one table."""
    found: dict[tuple[TablePath, str], list[ColumnLineage]] = {}
    for column in columns:
        found.setdefault((column.table, column.column), []).append(column)
    united = []
    for (table, name), parts in found.items():
        origin = merged(Origin(part.sources, part.complete) for part in parts)
        united.append(ColumnLineage(table, name, origin.sources, origin.complete))
    return tuple(united)


def output_columns(tree: Tree, context: Context | None = None) -> Relation:
    """The columns that a statement's query gives, in order, whatever they are written to."""
    context = context or Context()
    root = unwrapped(tree)
    query = root if tree.kind(root) not in {"INSERT"} | _CREATES | _VIEWS else tree.child(root, 1)
    return _derive(tree, query, context)


def view_relation(tree: Tree, context: Context | None = None) -> Relation:
    """The columns of the view that `CREATE VIEW` or `ALTER VIEW ... AS` defines."""
    root = unwrapped(tree)
    relation = _derive(tree, tree.child(root, 1), context or Context())
    names = [tree.path(c)[-1] for c in tree.children(tree.child(root, 2)) if tree.path(c)]
    return renamed(relation, names)


def declared_columns(tree: Tree) -> tuple[TablePath, list[str], list[str]] | None:
    """The table that `CREATE TABLE (...)` makes, its columns, and those of them that an INSERT fills."""
    root = unwrapped(tree)
    if tree.kind(root) != "SqlCreateTable" or not tree.children(tree.child(root, 1)):
        return None
    columns = tree.children(tree.child(root, 1))
    names = [(tree.path(tree.child(c, 0))[-1], tree.name(c)) for c in columns if tree.kind(c) == "COLUMN"]
    return tree.path(tree.child(root, 0)), [n for n, _ in names], [n for n, how in names if not how]


def created_columns(tree: Tree, context: Context) -> tuple[TablePath, list[str]] | None:
    """The table that `CREATE TABLE ... AS` makes and its columns, when its query alone says which."""
    root = unwrapped(tree)
    if tree.kind(root) not in ("SqlCreateTableAs", "SqlReplaceTableAs", "SqlCreateMaterializedTable"):
        return None
    if any(tree.kind(c) == "COLUMN" for c in tree.children(tree.child(root, 2))):
        return None
    names = names_of(_derive(tree, tree.child(root, 1), context))
    return None if names is None else (tree.path(tree.child(root, 0)), names)


def unwrapped(tree: Tree) -> int:
    """The statement that `EXECUTE` or `COMPILE AND EXECUTE PLAN` carries out."""
    node = tree.root
    while tree.kind(node) in ("SqlExecute", "SqlCompileAndExecutePlan"):
        node = next((c for c in tree.children(node) if c != NOTHING), NOTHING)
    return node


def _derive(tree: Tree, query: int, context: Context) -> Relation:
    try:
        return QueryReader(tree, context.table).relation(query)
    except RecursionError:
        # The stack that we were called on was nearly full.
        return (Open(),)


def _written(tree: Tree, context: Context) -> Iterator[tuple[TablePath, str, Origin]]:
    root = unwrapped(tree)
    statements: Iterable[int] = [root]
    if tree.kind(root) == "SqlStatementSet":
        statements = tree.children(root)
    for node in statements:
        kind = tree.kind(node)
        target = _target(tree, tree.child(node, 0))
        if not target:
            continue
        path = context.canonical(target)
        columns: Iterable[tuple[str, Origin]]
        if kind == "INSERT":
            columns = _inserted(tree, node, path, context)
        elif kind in _CREATES:
            columns = known(_derive(tree, tree.child(node, 1), context))
        elif kind in _VIEWS:
            columns = known(view_relation(tree, context))
        elif kind == "UPDATE":
            columns = _updated(tree, node, target, context)
        else:
            continue
        for column, origin in columns:
            yield path, column, origin


def _target(tree: Tree, node: int) -> TablePath:
    while tree.kind(node) in ("TABLE_REF", "EXTEND", "AS"):
        node = tree.child(node, 0)
    return tree.path(node)


def _inserted(tree: Tree, node: int, path: TablePath, context: Context) -> Iterator[tuple[str, Origin]]:
    """INSERT fills columns by position: those listed, else the table's own."""
    partitions = tree.path(tree.child(node, 3))
    listed = tree.child(node, 2)
    if listed != NOTHING:
        names = [tree.path(column) for column in tree.children(listed)]
        columns: list[str] | None = [name[0] for name in names if name]
    else:
        sinks = context.sinks(path)
        columns = None if sinks is None else [c for c in sinks if c not in partitions]
    for partition in partitions:
        yield partition, CONSTANT
    if columns is not None:
        relation = _derive(tree, tree.child(node, 1), context)
        yield from zip(columns, aligned(relation, len(columns)), strict=True)


def _updated(tree: Tree, node: int, target: TablePath, context: Context) -> Iterator[tuple[str, Origin]]:
    path, relation, is_base = context.table(target)
    source = Source(target[-1], target, relation, path if is_base else None)
    scope = Scope(From((source,), relation))
    reader = QueryReader(tree, context.table)
    columns, values = tree.children(tree.child(node, 1)), tree.children(tree.child(node, 2))
    for column, value in zip(columns, values, strict=False):
        if tree.path(column):
            try:
                yield tree.path(column)[-1], reader.origin(value, scope, {})
            except RecursionError:
                continue
