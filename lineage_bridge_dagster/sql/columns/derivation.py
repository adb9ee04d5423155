"""All known texts -> the columns that each writes, through the views and tables that they define. Pure.

As for tables (see `flink/views.py`), texts are taken in the order of their creation; a statement reads a view
as it is defined at that point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lineage_bridge_dagster.sql.columns.relations import OPAQUE, Relation
from lineage_bridge_dagster.sql.columns.statement import (
    ColumnLineage,
    Context,
    Schemas,
    column_lineage,
    created_columns,
    declared_columns,
    merged_columns,
    output_columns,
    view_relation,
)
from lineage_bridge_dagster.sql.flink.names import NameIndex, ResolvedStatement, resolve_statements
from lineage_bridge_dagster.sql.flink.tree import ParsedText, Tree
from lineage_bridge_dagster.sql.flink.views import ViewCatalog
from lineage_bridge_dagster.sql.statement import TablePath, ViewChange

# Depth of views of views that are not derived yet. A view defined after those it reads adds no depth.
_MAX_VIEWS = 30


@dataclass(frozen=True, slots=True)
class TextColumns:
    """Column lineage of a text.

    Attributes:
        written: Each column written, with its origins; a view defined twice as defined last.
        statements: The same for each statement.
        outputs: For each statement the columns that its query returns, in order, if requested.
    """

    written: tuple[ColumnLineage, ...]
    statements: tuple[tuple[ColumnLineage, ...], ...]
    outputs: tuple[Relation | None, ...]


def derive_columns(
    texts: Iterable[ParsedText],
    schemas: Schemas | None = None,
    index: NameIndex | None = None,
    *,
    outputs: bool = False,
    sink_schemas: Schemas | None = None,
) -> list[TextColumns]:
    """Column lineage of each text; paths are canonical, as from `expand_views`.

    Args:
        texts: In the order of their creation.
        schemas: Columns of tables, by canonical path. Missing ones are taken from the `CREATE TABLE`
            statements among the texts.
        index: Names of clusters, so that a table named by display name and by id is one table.
        outputs: Whether to return the columns of each query, too.
        sink_schemas: As `schemas`, for the tables that an INSERT without column list fills by position; None
            when the order of the columns in `schemas` is reliable.
    """
    index = index or NameIndex()
    resolved = [list(_with_views(text, index)) for text in texts]
    tables = _Tables(schemas, schemas if sink_schemas is None else sink_schemas)
    for text in resolved:
        for statement, _ in text:
            tables.declare(statement)
    views = ViewCatalog.of((statement.statement, view) for text in resolved for statement, view in text)
    deriver = _Deriver(tables, views, outputs)
    return [deriver.derive(text) for text in resolved]


@dataclass(slots=True)
class _View:
    """A view's query, and its columns as last derived.

    Attributes:
        tree: The statement that defines it.
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
class _Tables:
    """Columns of tables: as given by the caller, else as declared by statements."""

    schemas: Schemas | None
    sink_schemas: Schemas | None
    declared: dict[TablePath, Sequence[str]] = field(default_factory=dict)
    declared_sinks: dict[TablePath, Sequence[str]] = field(default_factory=dict)

    def declare(self, statement: ResolvedStatement) -> None:
        """Add the columns that `CREATE TABLE (...)` declares."""
        found = declared_columns(statement.tree) if statement.tree is not None else None
        if found is not None:
            path, columns, filled = found
            self.declared[statement.canonical(path)] = columns
            self.declared_sinks[statement.canonical(path)] = filled

    def create(self, tree: Tree, context: Context) -> bool:
        """Add the columns of a `CREATE TABLE ... AS`. Returns whether they are new."""
        created = created_columns(tree, context)
        if created is None:
            return False
        path, columns = context.canonical(created[0]), created[1]
        changed = self.declared.get(path) != columns
        self.declared[path] = self.declared_sinks[path] = columns
        return changed

    def schema(self, path: TablePath) -> Sequence[str] | None:
        columns = self.schemas(path) if self.schemas else None
        return self.declared.get(path) if columns is None else columns

    def sink_schema(self, path: TablePath) -> Sequence[str] | None:
        # The statement that created the table shows which columns are computed; the caller's schema does not.
        if path in self.declared_sinks:
            return self.declared_sinks[path]
        return self.sink_schemas(path) if self.sink_schemas else None


@dataclass(slots=True)
class _Deriver:
    """Derives the columns of one text after another.

    Attributes:
        tables: Columns of tables.
        views: Views as the statements so far have left them.
        outputs: Whether to derive the columns of each query, too.
        version: Raised when a table or view changes, for all views derived before are then outdated.
        depth: Views that are being derived, one inside another.
    """

    tables: _Tables
    views: ViewCatalog[_View]
    outputs: bool
    version: int = 0
    depth: int = 0

    def derive(self, text: Sequence[_Defining]) -> TextColumns:
        if self.views.temporary:
            self.views.temporary = {}
            self.version += 1
        written: list[tuple[ColumnLineage, ...]] = []
        outputs: list[Relation | None] = []
        for resolved, view in text:
            context = self._context(resolved.canonical)
            self.tables.declare(resolved)
            if resolved.tree is None:
                written.append(())
                outputs.append(None)
            else:
                written.append(column_lineage(resolved.tree, context))
                outputs.append(output_columns(resolved.tree, context) if self.outputs else None)
                self.version += self.tables.create(resolved.tree, context)
            if resolved.statement.view is not None:
                self._change(resolved.statement.view, view)
        return TextColumns(_last_definitions(text, written), tuple(written), tuple(outputs))

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

    def _context(self, canonical: Callable[[TablePath], TablePath]) -> Context:
        return Context(self.tables.schema, self.tables.sink_schema, self._columns, canonical)

    def _columns(self, path: TablePath) -> Relation | None:
        view = self.views.definition(path)
        return None if view is None else self._relation(view)

    def _relation(self, view: _View) -> Relation:
        if view.relation is not None and view.version == self.version:
            return view.relation
        if view.deriving or self.depth >= _MAX_VIEWS:
            return OPAQUE
        view.deriving = True
        self.depth += 1
        try:
            view.relation = view_relation(view.tree, self._context(view.canonical))
            view.version = self.version
        finally:
            view.deriving = False
            self.depth -= 1
        return view.relation


def _last_definitions(
    text: Sequence[_Defining], written: Sequence[tuple[ColumnLineage, ...]]
) -> tuple[ColumnLineage, ...]:
    """All columns written, those of a view from its last definition only."""
    changes = [(resolved.statement.view, view) for resolved, view in text]
    last = {change.path: i for i, (change, view) in enumerate(changes) if change and view}
    return merged_columns(
        column
        for i, ((change, _), columns) in enumerate(zip(changes, written, strict=True))
        if change is None or last.get(change.path) == i
        for column in columns
    )


_NO_VIEW = _View(Tree(0, ()), lambda path: path)
"""Placeholder for the definition that a rename or drop does not have."""
