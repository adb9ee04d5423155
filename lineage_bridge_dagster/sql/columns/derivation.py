"""All known texts -> the columns that each writes, through the views and tables that they define. Pure.

As for tables (see `flink/views.py`), texts are taken in the order of their creation; a statement reads a view
as it is defined at that point.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lineage_bridge_dagster.sql.columns.relations import Relation, opaque, shown
from lineage_bridge_dagster.sql.columns.statement import (
    ColumnLineage,
    StatementContext,
    Writer,
    created_columns,
    merged_columns,
    output_columns,
    view_relation,
    written_columns,
)
from lineage_bridge_dagster.sql.columns.tables import Registered, Registry, TableCatalog, TableColumn
from lineage_bridge_dagster.sql.flink.names import NameIndex, ResolvedStatement, resolve_statements
from lineage_bridge_dagster.sql.flink.tree import ParsedText, Tree
from lineage_bridge_dagster.sql.flink.views import ViewCatalog
from lineage_bridge_dagster.sql.statement import TablePath, ViewChange

Schemas = Callable[[TablePath], Sequence[str] | None]
"""A table -> its columns in order, None when they are unknown."""

# Depth of views of views that are not derived yet. A view defined after those it reads adds no depth.
_MAX_VIEWS = 30


class Open(NamedTuple):
    """What could not be derived.

    Attributes:
        table: The table; empty when not even that is known.
        column: Its column; None for further columns whose names are unknown.
        reason: Why.
    """

    table: TablePath
    column: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class TextColumns:
    """Column lineage of a text.

    Attributes:
        written: Each column written, with its origins from all writers; a view defined twice as defined last.
        open: What is missing there.
        writers: Those whose columns are in `written`: no earlier definition of what is defined again.
        outputs: For each statement the columns that its query returns, in order, if requested.
    """

    written: tuple[ColumnLineage, ...]
    open: tuple[Open, ...]
    statements: tuple[tuple[Writer, ...], ...]
    writers: tuple[Writer, ...]
    outputs: tuple[Relation | None, ...]


def derive_columns(
    texts: Iterable[ParsedText],
    schemas: Schemas | None = None,
    index: NameIndex | None = None,
    *,
    outputs: bool | Container[int] = False,
    registry: Registry | None = None,
    details: bool = False,
    fields: bool = False,
) -> list[TextColumns]:
    """Column lineage of each text; paths are canonical, as from `expand_views`.

    Args:
        texts: In the order of their creation.
        schemas: The physical columns of tables, by canonical path. Missing ones, and those that are computed
            or metadata, are taken from the statements among the texts.
        index: Names of clusters, so that a table named by display name and by id is one table.
        outputs: Whether to return the columns of each query, too; or of which texts, by their positions.
        registry: Instead of `schemas`, the columns with all that is known of them.
        details: Whether the columns in `TextColumns.statements` have formulas and uses.
        fields: Whether the fields of rows are told apart, which takes details.
    """
    index = index or NameIndex()
    resolved = [list(_with_views(text, index)) for text in texts]
    tables = TableCatalog(registry or _by_names(schemas))
    for text in resolved:
        for statement, _ in text:
            if statement.tree is not None:
                tables.foresee(statement.tree, statement.canonical)
    views = ViewCatalog.of((statement.statement, view) for text in resolved for statement, view in text)
    deriver = _Deriver(tables, views, details, fields)
    wanted = range(len(resolved)) if outputs is True else outputs or ()
    return [deriver.derive(text, outputs=at in wanted) for at, text in enumerate(resolved)]


def _by_names(schemas: Schemas | None) -> Registry:
    def registry(path: TablePath, _: Mapping[str, str]) -> Registered | None:
        names = schemas(path) if schemas else None
        return None if names is None else Registered([TableColumn(name) for name in names])

    return registry


@dataclass(slots=True)
class _View:
    """A view's query, and its columns as last derived.

    Attributes:
        canonical: Canonical paths of the names in it.
        relation: Its columns, valid while the deriver's version is `version`.
        version: See `relation`.
        deriving: Whether its columns are being derived: a view that reads itself has none.
    """

    tree: Tree
    canonical: Callable[[TablePath], TablePath]
    relation: Relation | None = None
    version: int = -1
    deriving: bool = False


_Defining = tuple[ResolvedStatement, _View | None]
"""A statement with the view that it defines, if any."""


def _with_views(text: ParsedText, index: NameIndex) -> Iterator[_Defining]:
    for resolved in resolve_statements(text, index):
        view = resolved.statement.view
        defines = view is not None and view.defines
        yield resolved, _View(resolved.tree, resolved.canonical) if defines and resolved.tree else None


@dataclass(slots=True)
class _Deriver:
    """Derives the columns of one text after another.

    Attributes:
        tables: Tables as the statements so far have left them.
        views: Views likewise.
        details: Whether to derive formulas and uses, too.
        fields: Whether to tell the fields of rows apart.
        version: Raised when a view changes, for all views derived before are then outdated.
        depth: Views that are being derived, one inside another.
    """

    tables: TableCatalog
    views: ViewCatalog[_View]
    details: bool = False
    fields: bool = False
    version: int = 0
    depth: int = 0

    def derive(self, text: Sequence[_Defining], *, outputs: bool = False) -> TextColumns:
        self.tables.temporary = {}
        if self.views.temporary:
            self.views.temporary = {}
            self.version += 1
        written: list[tuple[Writer, ...]] = []
        queries: list[Relation | None] = []
        for resolved, view in text:
            tree, context = resolved.tree, self._context(resolved.canonical)
            change = resolved.statement.view
            if tree is None or (change is not None and self._is_left(change)):
                written.append(())
                queries.append(None)
            else:
                written.append(written_columns(tree, context))
                queries.append(output_columns(tree, context) if outputs else None)
                self._apply(tree, context)
                if change is not None:
                    self._change(change, view)
        return _united(text, written, queries)

    def _apply(self, tree: Tree, context: StatementContext) -> None:
        path = context.canonical(tree.target(tree.child(tree.statement, 0)))
        # A set of statements, or what only explains one, has no target of its own.
        before = self.tables.columns(path) if path else None
        self.tables.apply(tree, context.canonical, lambda: created_columns(tree, context))
        if path and before is None and self.tables.columns(path) is not None:
            # Views that read it when its columns were unknown. Otherwise a view keeps the columns that its
            # stars had when it was created, as in Flink.
            self.version += 1

    def _is_left(self, change: ViewChange) -> bool:
        """Whether IF NOT EXISTS leaves a table or view as it is."""
        tables, views = self.tables.permanent, self.views.permanent
        if change.temporary:
            tables, views = self.tables.temporary, self.views.temporary
        return change.if_not_exists and (change.path in tables or change.path in views)

    def _change(self, change: ViewChange, view: _View | None) -> None:
        # What was derived from a view's first known definition remains valid when that one is created now.
        before = self.views.definition(change.path)
        replaces = before is not view and (before is not None or change.action != "create")
        if view is not None:
            # Derived now, while all views that it reads are: views of views can nest to any depth.
            self._relation(view)
            self.views.apply(change, view)
        elif not change.defines:
            self.views.apply(change, _NO_VIEW)
        if replaces:
            self.version += 1

    def _context(self, canonical: Callable[[TablePath], TablePath]) -> StatementContext:
        return StatementContext(
            self.tables.columns,
            self.tables.filled,
            self._columns,
            lambda path: self.tables.models.get(canonical(path)),
            canonical,
            self.details,
            self.fields,
        )

    def _columns(self, path: TablePath) -> Relation | None:
        tables, views = self.tables, self.views
        if path not in views.temporary and (
            path in tables.temporary or (path in tables.permanent and path not in views.permanent)
        ):
            return None
        view = self.views.definition(path)
        return None if view is None else self._relation(view)

    def _relation(self, view: _View) -> Relation:
        if view.relation is not None and view.version == self.version:
            return view.relation
        if view.deriving:
            return opaque("a view that it reads, reads itself")
        if self.depth >= _MAX_VIEWS:
            return opaque(f"views are nested deeper than {_MAX_VIEWS} levels")
        view.deriving = True
        self.depth += 1
        try:
            view.relation = view_relation(view.tree, self._context(view.canonical))
            view.version = self.version
        finally:
            view.deriving = False
            self.depth -= 1
        return view.relation


def _united(
    text: Sequence[_Defining], written: Sequence[tuple[Writer, ...]], outputs: Sequence[Relation | None]
) -> TextColumns:
    """The columns of a text: those of all its writers, of a view those of its last definition."""
    changes = [(resolved.statement.view, view) for resolved, view in text]
    last = {change.path: i for i, (change, _) in enumerate(changes) if change and written[i]}
    writers = [
        writer
        for i, ((change, _), found) in enumerate(zip(changes, written, strict=True))
        if change is None or last.get(change.path) == i
        for writer in found
    ]
    rejected = [i for i, (resolved, _) in enumerate(text, 1) if resolved.statement.error is not None]
    return united(written, outputs, writers, rejected)


def united(
    written: Sequence[tuple[Writer, ...]],
    outputs: Sequence[Relation | None],
    writers: Sequence[Writer],
    rejected: Iterable[int],
) -> TextColumns:
    """The columns of a text.

    Args:
        written: The writers of each statement.
        outputs: The columns that each statement's query returns.
        writers: Those whose columns count.
        rejected: Numbers of the statements that could not be parsed, from 1.
    """
    unread = [
        Open((), None, f"statement {i} was rejected by the parser: what it writes or defines is unknown")
        for i in rejected
    ]
    further: dict[TablePath, list[Writer]] = {}
    for writer in writers:
        if writer.open:
            further.setdefault(writer.table, []).append(writer)

    def checked(writer: Writer) -> Iterator[ColumnLineage]:
        reason = unread[0].reason if unread else ""
        for other in further.get(writer.table, ()):
            if other is not writer:
                reason = f"another statement writes unknown columns of {shown(writer.table)}: {other.open}"
        for column in writer.columns:
            yield column._replace(open=reason) if reason and not column.open else column

    columns = merged_columns(column for writer in writers for column in checked(writer))
    unknown = (Open(writer.table, None, writer.open) for writer in writers if writer.open)
    known = (Open(column.table, column.column, column.open) for column in columns if column.open)
    missing = tuple(dict.fromkeys((*known, *unknown, *unread)))
    return TextColumns(columns, missing, tuple(written), tuple(writers), tuple(outputs))


_NO_VIEW = _View(Tree(0, ()), lambda path: path)
"""Placeholder for the definition that a rename or drop does not have."""
