"""The tables and models that statements create, alter and drop, with their columns. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_bridge_dagster.sql.columns.functions import Outputs
from lineage_bridge_dagster.sql.columns.relations import KnownColumn, Relation, known_columns
from lineage_bridge_dagster.sql.columns.types import SqlType
from lineage_bridge_dagster.sql.flink.tree import Tree
from lineage_bridge_dagster.sql.statement import TablePath

_CREATES = frozenset({"SqlCreateTable", "SqlCreateTableLike"})
_ALTERS = frozenset({"SqlAlterTableAdd", "SqlAlterTableModify", "SqlAlterTableDropColumn"})

RAW_KEY = "RAW KEY"
"""`TableColumn.how` for the key of records if neither a schema nor a CREATE TABLE declares it."""
HIDDEN = "HIDDEN"
"""`TableColumn.how` for a column that `*` leaves out: it is there by another name, or may no longer exist."""


class TableColumn(NamedTuple):
    """A column of a table.

    Attributes:
        how: `COMPUTED`, `METADATA`, `VIRTUAL METADATA`, `RAW_KEY` or `HIDDEN`; empty for another physical
            column.
        type: Its type as far as it is known.
    """

    name: str
    how: str = ""
    type: SqlType | None = None

    @property
    def filled(self) -> bool:
        """Whether an INSERT without column list fills it."""
        return self.how in ("", "METADATA", RAW_KEY)


@dataclass(frozen=True, slots=True)
class Registered:
    """The physical columns of a table, as its registered schemas have them.

    Attributes:
        columns: In the order of `*`.
        ordered: Whether an INSERT by position can rely on that order.
    """

    columns: Sequence[TableColumn]
    ordered: bool = True


Registry = Callable[[TablePath, Mapping[str, str]], Registered | None]
"""A table and its options -> its registered columns, None when they are unknown."""

_Change = Callable[[Sequence[TableColumn]], Sequence[TableColumn]]


def columns_of(tree: Tree, columns: int) -> list[TableColumn]:
    """A list of declared columns; a name alone has no type."""
    return [column for node in tree.children(columns) if (column := _column(tree, node)) is not None]


def created(declared: Sequence[TableColumn], query: Relation) -> list[TableColumn] | None:
    """Columns of a table created from a query; None when some are unknown.

    Names alone put the query's columns into another order. Declared columns come before the query's, except
    those that give one of these a type (Flink's MergeTableAsUtil).
    """
    found = [
        TableColumn(c.name, type=c.type) for c in query if isinstance(c, KnownColumn) and c.name is not None
    ]
    if len(list(known_columns(query))) != len(query):
        return None
    names = {column.name for column in found}
    if declared and all(column.how == "NAME" for column in declared):
        by_name = {column.name: column for column in found}
        return [by_name.get(column.name, TableColumn(column.name)) for column in declared]
    typed = {column.name: column for column in declared if column.name in names}
    new = [column for column in declared if column.name not in names]
    return [*new, *(typed.get(column.name, column) for column in found)]


@dataclass(slots=True)
class TableCatalog:
    """The tables that exist, while statements are applied one after another.

    Attributes:
        registry: The columns that registered schemas have.
        first: The first known columns of each table: the statement that created it may come later in time.
        permanent: Permanent tables, None for one whose columns are unknown.
        temporary: Temporary tables of the current text, likewise.
        altered: The changes of tables that no known statement created, in order.
        options: The options that statements have set.
    """

    registry: Registry
    first: dict[TablePath, Sequence[TableColumn]] = field(default_factory=dict)
    permanent: dict[TablePath, Sequence[TableColumn] | None] = field(default_factory=dict)
    temporary: dict[TablePath, Sequence[TableColumn] | None] = field(default_factory=dict)
    altered: dict[TablePath, list[_Change]] = field(default_factory=dict)
    options: dict[TablePath, dict[str, str]] = field(default_factory=dict)
    models: dict[TablePath, Outputs] = field(default_factory=dict)

    def columns(self, path: TablePath) -> Sequence[TableColumn] | None:
        """The columns of a table; None when they are unknown.

        Registered schemas have what is physical, as it is now; statements what is computed or metadata, and
        the order.
        """
        if path in self.temporary:
            return self.temporary[path]
        given = self._registered(path)
        declared = self.permanent[path] if path in self.permanent else self.first.get(path)
        if declared is None:
            return None if given is None else self._changed(path, given.columns)
        return declared if given is None else _with_new(declared, given.columns)

    def filled(self, path: TablePath) -> Sequence[TableColumn] | None:
        """As `columns`, for an INSERT by position; None when their order is unknown."""
        created = path in self.temporary or self.permanent.get(path, self.first.get(path)) is not None
        given = self._registered(path)
        return self.columns(path) if created or (given is not None and given.ordered) else None

    def foresee(self, tree: Tree, canonical: Callable[[TablePath], TablePath]) -> None:
        """Note what a statement will create, for statements before it."""
        root = tree.statement
        if tree.kind(root) == "SqlCreateTable" and "TEMPORARY" not in tree.name(root):
            columns = columns_of(tree, tree.child(root, 2))
            path = canonical(tree.path(tree.child(root, 0)))
            if columns:
                self.first.setdefault(path, self._as_registered(path, columns))
        elif tree.kind(root) == "SqlCreateModel":
            self._create_model(tree, root, canonical)

    def apply(
        self,
        tree: Tree,
        canonical: Callable[[TablePath], TablePath],
        query: Callable[[], Sequence[TableColumn] | None],
    ) -> None:
        """Apply a statement.

        Args:
            canonical: Name as written -> canonical path.
            query: Derives the columns of a `CREATE TABLE ... AS`.
        """
        root = tree.statement
        kind, path = tree.kind(root), canonical(tree.target(tree.child(root, 0)))
        if kind in _CREATES:
            self._create(tree, root, path, columns_of(tree, tree.child(root, 2)), canonical)
        elif kind in ("SqlCreateTableAs", "SqlReplaceTableAs", "SqlCreateMaterializedTable"):
            if kind == "SqlReplaceTableAs" or not self._is_left(tree, root, path):
                self._tables(tree, root)[path] = query()
        elif kind == "SqlDropTable":
            self._drop(tree, root, path)
        elif kind == "SqlAlterTableRename":
            # It stays in its catalog and database, whatever the new name says.
            new = (*path[:-1], tree.path(tree.child(root, 1))[-1])
            tables = self.temporary if path in self.temporary else self.permanent
            tables[new] = self.columns(path)
            tables.pop(path, None)
        elif kind == "SqlAlterTableRenameColumn":
            old, name = (tree.path(tree.child(root, i))[-1] for i in (1, 2))
            self._alter(path, lambda c: [x._replace(name=name) if x.name == old else x for x in c])
        elif kind in _ALTERS:
            self._alter(path, lambda columns: _altered(tree, root, columns))
        elif kind in ("SqlAlterTableOptions", "SqlAlterTableReset"):
            options = self.options.setdefault(path, {})
            options |= tree.options(tree.child(root, 1))
            for key in tree.options(tree.child(root, 2)):
                options.pop(key, None)
        elif kind == "SqlCreateModel":
            self._create_model(tree, root, canonical)

    def _registered(self, path: TablePath) -> Registered | None:
        return self.registry(path, self.options.get(path, {}))

    def _changed(self, path: TablePath, columns: Sequence[TableColumn]) -> Sequence[TableColumn]:
        for change in self.altered.get(path, ()):
            columns = change(columns)
        return columns

    def _as_registered(self, path: TablePath, declared: Sequence[TableColumn]) -> Sequence[TableColumn]:
        """Declared columns; physical ones that the registered schemas no longer have are hidden."""
        given = self._registered(path)
        if given is None:
            return declared
        types = {column.name: column.type for column in given.columns}
        return [
            column._replace(type=column.type or types[column.name])
            if column.name in types
            else column._replace(how=column.how or HIDDEN)
            for column in declared
        ]

    def _tables(self, tree: Tree, root: int) -> dict[TablePath, Sequence[TableColumn] | None]:
        return self.temporary if "TEMPORARY" in tree.name(root) else self.permanent

    def _is_left(self, tree: Tree, root: int, path: TablePath) -> bool:
        """Whether IF NOT EXISTS leaves a table as it is."""
        return "IF NOT EXISTS" in tree.name(root) and path in self._tables(tree, root)

    def _create(
        self,
        tree: Tree,
        root: int,
        path: TablePath,
        own: Sequence[TableColumn],
        canonical: Callable[[TablePath], TablePath],
    ) -> None:
        if self._is_left(tree, root, path):
            return
        temporary = "TEMPORARY" in tree.name(root)
        if not temporary:
            self.options[path] = tree.options(tree.child(root, 3))
        columns: Sequence[TableColumn] | None = own or None
        if tree.kind(root) == "SqlCreateTableLike":
            base = self.columns(canonical(tree.path(tree.child(root, 1))))
            columns = None if base is None else _like(base, own, tree.name(root).split(";")[1:])
        if columns is not None and not temporary:
            columns = self._as_registered(path, columns)
        self._tables(tree, root)[path] = columns

    def _drop(self, tree: Tree, root: int, path: TablePath) -> None:
        if "TEMPORARY" in tree.name(root):
            self.temporary.pop(path, None)
        elif path not in self.temporary:
            # Flink refuses to drop a permanent table behind a temporary one.
            for tables in (self.permanent, self.first, self.altered, self.options):
                tables.pop(path, None)

    def _alter(self, path: TablePath, change: _Change) -> None:
        tables = self.temporary if path in self.temporary else self.permanent
        if path not in tables and path not in self.first:
            self.altered.setdefault(path, []).append(change)
            return
        columns = tables[path] if path in tables else self.first[path]
        tables[path] = None if columns is None else change(columns)

    def _create_model(self, tree: Tree, root: int, canonical: Callable[[TablePath], TablePath]) -> None:
        path, outputs = canonical(tree.path(tree.child(root, 0))), columns_of(tree, tree.child(root, 1))
        if outputs and not ("IF NOT EXISTS" in tree.name(root) and path in self.models):
            self.models[path] = tuple((column.name, column.type) for column in outputs)


def _column(tree: Tree, node: int) -> TableColumn | None:
    if tree.kind(node) == "POSITION":
        node = tree.child(node, 0)
    if tree.path(node):
        return TableColumn(tree.path(node)[-1], "NAME")
    if tree.kind(node) != "COLUMN":
        return None
    return TableColumn(
        tree.path(tree.child(node, 0))[-1], tree.name(node), SqlType.of(tree, tree.child(node, 1))
    )


def _like(
    base: Iterable[TableColumn], own: Iterable[TableColumn], options: Sequence[str]
) -> list[TableColumn]:
    """The base's columns, then its own (Flink's MergeTableLikeUtil).

    An own column of a name that the base has is in the base's place: OVERWRITING allows that.
    """
    columns = {
        column.name: column
        for column in base
        if not column.how or _is_included("GENERATED" if column.how == "COMPUTED" else "METADATA", options)
    }
    columns.update((column.name, column) for column in own)
    return list(columns.values())


def _with_new(declared: Sequence[TableColumn], given: Iterable[TableColumn]) -> list[TableColumn]:
    """Declared columns, then those of schemas that no known statement has added."""
    names = {column.name for column in declared}
    return [*declared, *(c for c in given if c.name not in names and c.how != RAW_KEY)]


def _is_included(feature: str, options: Sequence[str]) -> bool:
    """Whether LIKE takes a feature over, as it does by default; an option for it overrides that for ALL."""
    for applies_to in (feature, "ALL"):
        for option in options:
            strategy, _, of = option.partition(" ")
            if of == applies_to:
                return strategy != "EXCLUDING"
    return True


def _altered(tree: Tree, root: int, columns: Sequence[TableColumn]) -> list[TableColumn]:
    """Columns after `ADD`, `MODIFY` or `DROP`."""
    result = list(columns)
    for node in tree.children(tree.child(root, 1)):
        if tree.kind(root) == "SqlAlterTableDropColumn":
            dropped = tree.path(node)[-1:]
            result = [column for column in result if column.name not in dropped]
            continue
        column = _column(tree, node)
        if column is None:
            continue
        names = [c.name for c in result]
        at = names.index(column.name) if column.name in names else len(result)
        del result[at : at + 1]
        if tree.name(node) == "FIRST":
            at = 0
        elif after := tree.path(tree.child(node, 1)):
            at = next((i + 1 for i, c in enumerate(result) if c.name == after[-1]), at)
        result.insert(at, column)
    return result
