"""A statement's syntax tree -> the tables that it reads and writes. Pure.

An identifier is a table only where the grammar expects one: in FROM, after TABLE, as a target. Identifiers in
expressions are columns, functions, models or descriptors. A name of one part that a WITH in scope defines
refers to that query, not to a table; names are compared case-sensitively, as Flink does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lineage_bridge_dagster.sql.flink.options import kept_options
from lineage_bridge_dagster.sql.flink.tree import ABSENT, QUERIES, SET_OPERATIONS, TABLE_WRAPPERS, Tree
from lineage_bridge_dagster.sql.statement import (
    SessionChange,
    Sink,
    Statement,
    TableChange,
    TablePath,
    ViewChange,
    unique,
)

_Names = frozenset[str]

_Visit = Callable[[int, _Names], "_Steps"]
_Steps = list[tuple[_Visit, int, _Names]]

# Confluent's search functions take an external table as a bare name; the grammar parses it as a column.
_SEARCH_FUNCTIONS = frozenset({"VECTOR_SEARCH_AGG", "KEY_SEARCH_AGG", "TEXT_SEARCH_AGG"})
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


@dataclass(slots=True)
class _Found:
    reads: list[TablePath] = field(default_factory=list)
    writes: list[TablePath] = field(default_factory=list)
    searches: list[TablePath] = field(default_factory=list)


def statement_of(tree: Tree) -> Statement:
    """What a parsed statement reads, writes and changes for later statements."""
    root = tree.statement
    kind = tree.kind(root)
    is_set = kind == "SqlStatementSet"
    parts = [_collect(tree, node) for node in (tree.children(root) if is_set else (root,))]
    sources = [unique((*part.reads, *part.searches)) for part in parts]
    sinks = (
        Sink(path, made_of) for part, made_of in zip(parts, sources, strict=True) for path in part.writes
    )
    return Statement(
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


def _collect(tree: Tree, node: int) -> _Found:
    found = _Found()
    kind = tree.kind(node)
    walk = _Walk(tree, found)
    if kind in _QUERY_WRITERS:
        _write(tree, node, found)
        walk.query(tree.child(node, 1))
    elif kind == "SqlCreateModelAs":
        # A model is not a table: its training query is read, nothing is written.
        walk.query(tree.child(node, 1))
    elif kind in ("UPDATE", "DELETE", "MERGE"):
        # Rows are found, then written back changed: the target is both read and written.
        _write(tree, node, found)
        walk.source(tree.child(node, 0))
        if kind == "MERGE":
            walk.source(tree.child(node, 1))
            _merge_expressions(tree, node, walk)
        else:
            for child in tree.children(node)[1:]:
                walk.expression(child)
    elif kind in QUERIES:
        walk.query(node)
    return found


def _merge_expressions(tree: Tree, merge: int, walk: _Walk) -> None:
    """Walk the condition of a MERGE and its branches, whose targets repeat that of the MERGE."""
    condition, *branches = tree.children(merge)[2:]
    walk.expression(condition)
    for branch in branches:
        for child in tree.children(branch)[1:]:
            walk.expression(child)


def _write(tree: Tree, statement: int, found: _Found) -> None:
    path = tree.target(tree.child(statement, 0))
    if path:
        found.writes.append(path)


class _Walk:
    """Collects tables that are read, with a worklist: generated SQL is deeper than Python's stack."""

    def __init__(self, tree: Tree, found: _Found) -> None:
        self._tree = tree
        self._found = found

    def query(self, node: int) -> None:
        self._run(self._query, node)

    def source(self, node: int) -> None:
        self._run(self._source, node)

    def expression(self, node: int) -> None:
        self._run(self._expression, node)

    def _run(self, visit: _Visit, node: int) -> None:
        steps: _Steps = [(visit, node, frozenset())]
        while steps:
            visit, node, names = steps.pop()
            if node != ABSENT:
                # Reversed, to find tables in the order of the text.
                steps.extend(reversed(visit(node, names)))

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
                self._found.reads.append(path)
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
        if kind == "OTHER_FUNCTION" and children and tree.name(node).upper() in _SEARCH_FUNCTIONS:
            table = children[0]
            path = tree.path(tree.child(table, 0) if tree.kind(table) == "ARGUMENT_ASSIGNMENT" else table)
            if path:
                self._found.searches.append(path)
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
