"""A statement's syntax tree -> the tables that it reads and writes. Pure.

An identifier is a table only where the grammar expects one: in FROM, after TABLE, as a target. Identifiers in
expressions are columns, functions, models or descriptors. A name of one part that a WITH in scope defines
refers to that query, not to a table; names are compared case-sensitively, as Flink does.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lineage_bridge_dagster.sql.flink.options import kept_options
from lineage_bridge_dagster.sql.flink.tree import ABSENT, QUERIES, SET_OPERATIONS, TABLE_WRAPPERS, Tree
from lineage_bridge_dagster.sql.statement import (
    SessionChange,
    SqlStatement,
    TableChange,
    TablePath,
    TableSink,
    ViewChange,
    unique,
)

_Names = frozenset[str]

_Visit = Callable[[int, _Names], "_Steps"]
_Steps = list[tuple[_Visit, int, _Names]]

# Confluent's search functions take an external table as a bare name; the grammar parses it as a column. They
# had no `_AGG` in previews.
_PREVIEWS = ("VECTOR_SEARCH", "KEY_SEARCH", "TEXT_SEARCH", "FEDERATED_SEARCH")
EXTERNAL_SEARCHES = frozenset({*_PREVIEWS, *(f"{name}_AGG" for name in _PREVIEWS)})
# Kinds that write the result of a query (their second child) to a table or view (the first).
_QUERY_WRITERS = frozenset(
    {
        *("INSERT", "SqlCreateView", "SqlAlterViewAs", "SqlCreateTableAs", "SqlReplaceTableAs"),
        *("SqlCreateMaterializedTable", "SqlAlterMaterializedTableAsQuery"),
    }
)
_TABLE_CREATES = frozenset({"SqlCreateTable", "SqlCreateTableLike", "SqlCreateTableAs", "SqlReplaceTableAs"})
_KINDS = {
    "SqlCreateTableAs": "CREATE TABLE AS",
    "SqlReplaceTableAs": "REPLACE TABLE AS",
    "SqlCreateTableLike": "CREATE TABLE LIKE",
    "SqlAlterMaterializedTableAsQuery": "ALTER MATERIALIZED TABLE AS",
    "SqlCreateModelAs": "CREATE MODEL AS",
    "SqlUseDatabase": "USE",
    "SqlRichExplain": "EXPLAIN",
    "SqlRichDescribeTable": "DESCRIBE TABLE",
    "SqlRichDescribeFunction": "DESCRIBE FUNCTION",
    "SqlRichDescribeModel": "DESCRIBE MODEL",
    "SqlAlterViewAs": "ALTER VIEW AS",
}
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def statement_of(tree: Tree) -> SqlStatement:
    """What a parsed statement reads, writes and changes for later statements."""
    root = tree.statement
    kind = tree.kind(root)
    is_set = kind == "SqlStatementSet"
    parts = [_Tables(tree, node) for node in (tree.children(root) if is_set else (root,))]
    sources = [unique((*part.reads, *part.searches)) for part in parts]
    sinks = (
        TableSink(path, made_of) for part, made_of in zip(parts, sources, strict=True) for path in part.writes
    )
    return SqlStatement(
        reads=unique(path for part in parts for path in part.reads),
        writes=unique(path for part in parts for path in part.writes),
        kind=readable_kind(kind),
        searches=unique(path for part in parts for path in part.searches),
        view=_view_change(tree, root, unique(path for paths in sources for path in paths)),
        table=_table_change(tree, root),
        session=_session_change(tree, root),
        parts=tuple(sinks) if is_set else (),
    )


def readable_kind(kind: str) -> str:
    """`SqlCreateView` -> `CREATE VIEW`; every kind of query is a `SELECT`."""
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in QUERIES:
        return "SELECT"
    if kind.startswith("Sql"):
        return _CAMEL.sub(" ", kind.removeprefix("Sql")).upper()
    return kind.replace("_", " ")


class _Tables:
    """The tables that a statement reads, writes and searches.

    Those that are read are collected with a worklist: generated SQL is deeper than Python's stack.
    """

    def __init__(self, tree: Tree, node: int) -> None:
        self._tree = tree
        self.reads: list[TablePath] = []
        self.writes: list[TablePath] = []
        self.searches: list[TablePath] = []
        kind, children = tree.kind(node), tree.children(node)
        if kind in _QUERY_WRITERS or kind in ("UPDATE", "DELETE", "MERGE"):
            path = tree.target(tree.child(node, 0))
            self.writes += [path] if path else []
        if kind in _QUERY_WRITERS or kind == "SqlCreateModelAs":
            # A model is not a table: its training query is read, nothing is written.
            self._walk(self._query, tree.child(node, 1))
        elif kind in ("UPDATE", "DELETE"):
            # Rows are found, then written back changed: the target is both read and written.
            self._walk(self._source, children[0])
            self._walk(self._expression, *children[1:])
        elif kind == "MERGE":
            target, source, condition, *branches = children
            self._walk(self._source, target, source)
            # The branches' targets repeat that of the MERGE.
            self._walk(self._expression, condition, *(c for b in branches for c in tree.children(b)[1:]))
        elif kind in QUERIES:
            self._walk(self._query, node)

    def _walk(self, visit: _Visit, *nodes: int) -> None:
        for start in nodes:
            steps: _Steps = [(visit, start, frozenset())]
            while steps:
                step, node, names = steps.pop()
                if node != ABSENT:
                    # Reversed, to find tables in the order of the text.
                    steps.extend(reversed(step(node, names)))

    def _query(self, node: int, names: _Names) -> _Steps:
        tree = self._tree
        kind = tree.kind(node)
        children = tree.children(node)
        if kind == "SELECT":
            return [
                (self._expression, children[1], names),
                (self._source, children[0], names),
                *((self._expression, c, names) for c in children[2:]),
            ]
        if kind == "WITH":
            return self._with(node, names)
        if kind == "ORDER_BY":
            return [(self._query, children[0], names), *((self._expression, c, names) for c in children[1:])]
        if kind in SET_OPERATIONS:
            return [(self._query, child, names) for child in children]
        if kind == "EXPLICIT_TABLE":
            return [(self._source, child, names) for child in children]
        return [(self._expression, child, names) for child in children]

    def _with(self, node: int, names: _Names) -> _Steps:
        items, body = self._tree.children(node)[:2]
        steps: _Steps = []
        for item in self._tree.children(items):
            extended = names | set(self._tree.path(self._tree.child(item, 0)))
            # Only a recursive query sees its own name; elsewhere that name is a table.
            visible = extended if self._tree.name(item) == "RECURSIVE" else names
            steps.append((self._query, self._tree.child(item, 2), visible))
            names = extended
        steps.append((self._query, body, names))
        return steps

    def _source(self, node: int, names: _Names) -> _Steps:
        tree = self._tree
        kind = tree.kind(node)
        children = tree.children(node)
        if kind == "ID":
            path = tree.path(node)
            if len(path) > 1 or path[0] not in names:
                self.reads.append(path)
            return []
        if kind == "JOIN":
            left, _, _, right, _, condition = children
            return [
                (self._source, left, names),
                (self._source, right, names),
                (self._expression, condition, names),
            ]
        if kind in TABLE_WRAPPERS:
            return [(self._source, children[0], names), *((self._expression, c, names) for c in children[1:])]
        return [(self._expression, node, names)]

    def _expression(self, node: int, names: _Names) -> _Steps:
        tree = self._tree
        kind = tree.kind(node)
        if kind in QUERIES:
            return [(self._query, node, names)]
        children = tree.children(node)
        if kind == "SET_SEMANTICS_TABLE":
            return [(self._source, children[0], names), *((self._expression, c, names) for c in children[1:])]
        if kind == "OTHER_FUNCTION" and children and tree.name(node).upper() in EXTERNAL_SEARCHES:
            table = children[0]
            path = tree.path(tree.child(table, 0) if tree.kind(table) == "ARGUMENT_ASSIGNMENT" else table)
            if path:
                self.searches.append(path)
        return [(self._expression, child, names) for child in children]


def _view_change(tree: Tree, node: int, reads: tuple[TablePath, ...]) -> ViewChange | None:
    kind = tree.kind(node)
    path = tree.path(tree.child(node, 0))
    if kind == "SqlCreateView":
        flags = tree.name(node)
        return ViewChange(
            "create", path, reads, temporary="TEMPORARY" in flags, if_not_exists="IF NOT EXISTS" in flags
        )
    if kind == "SqlAlterViewAs":
        return ViewChange("alter", path, reads)
    if kind == "SqlAlterViewRename":
        return ViewChange("rename", path, reads, new_path=tree.path(tree.child(node, 1)))
    if kind == "SqlDropView":
        return ViewChange("drop", path, reads, temporary="TEMPORARY" in tree.name(node))
    return None


def _table_change(tree: Tree, node: int) -> TableChange | None:
    kind = tree.kind(node)
    path = tree.target(tree.child(node, 0))
    if kind in ("SqlDropTable", "SqlDropMaterializedTable"):
        return None if "TEMPORARY" in tree.name(node) else TableChange("drop", path)
    if kind in ("SqlAlterTableOptions", "SqlAlterTableReset"):
        reset = dict.fromkeys(tree.options(tree.child(node, 2)), "")
        return TableChange("set", path, kept_options(tree.options(tree.child(node, 1)) | reset))
    if kind not in _TABLE_CREATES or "TEMPORARY" in tree.name(node):
        return None
    like = tree.name(node).split(";")[1:] if kind == "SqlCreateTableLike" else None
    return TableChange(
        "replace" if kind == "SqlReplaceTableAs" else "create",
        path,
        kept_options(tree.options(tree.child(node, 3))),
        if_not_exists="IF NOT EXISTS" in tree.name(node),
        base=tree.path(tree.child(node, 1)) if like is not None and "EXCLUDING OPTIONS" not in like else (),
    )


def _session_change(tree: Tree, node: int) -> SessionChange | None:
    kind = tree.kind(node)
    value = tree.path(tree.child(node, 0))
    if not value:
        return None
    if kind == "SqlUseCatalog":
        return SessionChange(catalog=value[-1], database="")
    if kind == "SqlUseDatabase":
        return SessionChange(catalog=value[0] if len(value) > 1 else None, database=value[-1])
    if kind == "SqlSet":
        if tree.name(node) == "sql.current-catalog":
            return SessionChange(catalog=value[0])
        if tree.name(node) == "sql.current-database":
            return SessionChange(database=value[0])
    return None
