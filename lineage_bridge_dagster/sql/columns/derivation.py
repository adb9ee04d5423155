"""All texts known -> the columns that each writes, through the views and tables that they define. Pure.

As with tables (see `views`), texts are taken in the order in which they were made; a view that a statement
reads is the one that stands then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lineage_bridge_dagster.sql.columns.relations import OPAQUE, Relation
from lineage_bridge_dagster.sql.columns.statement import (
    ColumnLineage,
    Context,
    Schemas,
    created_columns,
    declared_columns,
    lineage_of,
    output_columns,
    united_columns,
    view_relation,
)
from lineage_bridge_dagster.sql.flink.names import NameIndex
from lineage_bridge_dagster.sql.flink.tree import Tree
from lineage_bridge_dagster.sql.flink.views import ViewCatalog, qualified_view
from lineage_bridge_dagster.sql.statement import SessionChange, Statement, TablePath, ViewChange

# Views of views, each not yet derived; one that is defined after those it reads needs no depth at all.
_MAX_VIEWS = 30


@dataclass(frozen=True, slots=True)
class ColumnText:
    """A parsed text and what its names are resolved in.

    Attributes:
        statements: Of its lineage.
        trees: One for each statement; None for one that the parser rejected.
        catalog: `sql.current-catalog` of the text; empty when unknown.
        database: `sql.current-database`, likewise.
    """

    statements: Sequence[Statement]
    trees: Sequence[Tree | None]
    catalog: str = ""
    database: str = ""


@dataclass(frozen=True, slots=True)
class TextColumns:
    """What a text does with columns.

    Attributes:
        written: Each column written, with what it is made of; a view defined twice as it is last.
        statements: The same for each statement.
        outputs: For each statement the columns that its query gives, in order, if they were asked for.
    """

    written: tuple[ColumnLineage, ...]
    statements: tuple[tuple[ColumnLineage, ...], ...]
    outputs: tuple[Relation | None, ...]


def derive_columns(
    texts: Iterable[ColumnText],
    schemas: Schemas | None = None,
    index: NameIndex | None = None,
    *,
    outputs: bool = False,
    sinks: Schemas | None = None,
) -> list[TextColumns]:
    """What each text's columns are made of; paths are canonical, as `expand_views` gives them.

    Args:
        texts: In the order in which they were made.
        schemas: Columns of tables, by canonical path. Those it does not know are taken from the
            `CREATE TABLE` statements among the texts.
        index: Names of clusters, so that a table named by display name and by id is one table.
        outputs: Whether to tell what each query gives, too.
        sinks: As `schemas`, for the tables that an INSERT without column list fills by position; None if
            the order of the columns there is to be relied on.
    """
    names = index or NameIndex(())
    known = [list(_scoped(text, names)) for text in texts]
    tables = _Tables(schemas, schemas if sinks is None else sinks)
    written = {path for text in known for item in text if item.view is None for path in item.writes}
    first: dict[TablePath, _View] = {}
    for item in (item for text in known for item in text):
        tables.declare(item)
        if item.definition and item.view and not item.view.temporary and item.view.path not in written:
            first.setdefault(item.view.path, item.definition)
    deriver = _Deriver(tables, ViewCatalog(first), outputs)
    return [deriver.text(text) for text in known]


@dataclass(slots=True)
class _View:
    tree: Tree
    canonical: Callable[[TablePath], TablePath]
    relation: Relation | None = None
    at: int = -1
    deriving: bool = False


@dataclass(frozen=True, slots=True)
class _Item:
    """A statement with the names that it gives to paths."""

    tree: Tree | None
    canonical: Callable[[TablePath], TablePath]
    writes: tuple[TablePath, ...]
    view: ViewChange | None
    definition: _View | None


def _scoped(text: ColumnText, names: NameIndex) -> Iterator[_Item]:
    catalog, database = text.catalog, text.database
    for statement, tree in zip(text.statements, text.trees, strict=True):

        def canonical(path: TablePath, c: str = catalog, d: str = database) -> TablePath:
            return names.canonical(path, c, d)

        view = qualified_view(statement.view, canonical)
        defines = tree is not None and view is not None and view.action in ("create", "alter")
        yield _Item(
            tree,
            canonical,
            tuple(map(canonical, statement.writes)),
            view,
            _View(tree, canonical) if defines and tree is not None else None,
        )
        catalog, database = _moved(statement.session, catalog, database)


def _moved(session: SessionChange | None, catalog: str, database: str) -> tuple[str, str]:
    if session is None:
        return catalog, database
    return (
        catalog if session.catalog is None else session.catalog,
        database if session.database is None else session.database,
    )


@dataclass(slots=True)
class _Tables:
    """Columns of tables: from outside, else as statements declare them."""

    outside: Schemas | None
    outside_sinks: Schemas | None
    read: dict[TablePath, Sequence[str]] = field(default_factory=dict)
    filled: dict[TablePath, Sequence[str]] = field(default_factory=dict)

    def declare(self, item: _Item) -> None:
        declared = declared_columns(item.tree) if item.tree is not None else None
        if declared is not None:
            path, columns, filled = declared
            self.read[item.canonical(path)] = columns
            self.filled[item.canonical(path)] = filled

    def create(self, item: _Item, context: Context) -> bool:
        """Takes in what `CREATE TABLE ... AS` makes; whether that was not known."""
        created = created_columns(item.tree, context) if item.tree is not None else None
        if created is not None:
            path, columns = created
            path = item.canonical(path)
            changed = self.read.get(path) != columns
            self.read[path] = self.filled[path] = columns
            return changed
        return False

    def schema(self, path: TablePath) -> Sequence[str] | None:
        columns = self.outside(path) if self.outside else None
        return self.read.get(path) if columns is None else columns

    def sink(self, path: TablePath) -> Sequence[str] | None:
        # The statement that made the table knows which columns it computes itself.
        if path in self.filled:
            return self.filled[path]
        return self.outside_sinks(path) if self.outside_sinks else None


@dataclass(slots=True)
class _Deriver:
    tables: _Tables
    catalog: ViewCatalog[_View]
    outputs: bool = False
    version: int = 0
    depth: int = 0

    def text(self, items: Sequence[_Item]) -> TextColumns:
        if self.catalog.temporary:
            self.catalog.temporary = {}
            self.version += 1
        written: list[tuple[ColumnLineage, ...]] = []
        outputs: list[Relation | None] = []
        for item in items:
            context = self._context(item.canonical)
            self.tables.declare(item)
            if item.tree is None:
                written.append(())
                outputs.append(None)
            else:
                written.append(lineage_of(item.tree, context))
                outputs.append(output_columns(item.tree, context) if self.outputs else None)
                self.version += self.tables.create(item, context)
            if item.view is not None:
                self._change(item.view, item.definition)
        return TextColumns(_all(items, written), tuple(written), tuple(outputs))

    def _change(self, view: ViewChange, definition: _View | None) -> None:
        # What was derived from its first known definition stands when that is the one now made.
        before = self.catalog.definition(view.path)
        replaces = before is not definition and (before is not None or view.action != "create")
        if definition is not None:
            # Derived while all that it reads is: views of views nest as deep as they like.
            self._relation(definition)
            self.catalog.apply(view, definition)
        elif view.action in ("rename", "drop"):
            self.catalog.apply(view, _NO_VIEW)
        if replaces:
            self.version += 1

    def _context(self, canonical: Callable[[TablePath], TablePath]) -> Context:
        return Context(self.tables.schema, self.tables.sink, self._view, canonical)

    def _view(self, path: TablePath) -> Relation | None:
        definition = self.catalog.definition(path)
        return None if definition is None else self._relation(definition)

    def _relation(self, view: _View) -> Relation:
        if view.relation is not None and view.at == self.version:
            return view.relation
        if view.deriving or self.depth >= _MAX_VIEWS:
            return OPAQUE
        view.deriving = True
        self.depth += 1
        try:
            view.relation = view_relation(view.tree, self._context(view.canonical))
            view.at = self.version
        finally:
            view.deriving = False
            self.depth -= 1
        return view.relation


def _all(items: Sequence[_Item], written: Sequence[tuple[ColumnLineage, ...]]) -> tuple[ColumnLineage, ...]:
    last = {item.view.path: i for i, item in enumerate(items) if item.view and item.definition}
    return united_columns(
        column
        for i, (item, columns) in enumerate(zip(items, written, strict=True))
        if item.view is None or last.get(item.view.path) == i
        for column in columns
    )


_NO_VIEW = _View(Tree(0, ()), lambda path: path)
