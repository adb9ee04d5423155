"""A statement's tree -> the tables it reads and writes. Pure.

An identifier is a table only where the grammar has a table: in FROM, behind TABLE, as a target. Everything
else (columns, functions, models, descriptors) is found in expressions and is none. A name of one part that a
WITH in scope defines is that query and no table; names are compared with case, as Flink does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lineage_bridge_dagster.sql.flink.tree import NOTHING, Tree
from lineage_bridge_dagster.sql.statement import SessionChange, Statement, TablePath, ViewChange, unique

Names = frozenset[str]

_Visit = Callable[[int, Names], "_Steps"]
_Steps = list[tuple[_Visit, int, Names]]

_SET_OPERATIONS = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_QUERIES = _SET_OPERATIONS | {"SELECT", "ORDER_BY", "WITH", "EXPLICIT_TABLE"}
# The first child is what is read, the others say how: an alias, a hint, a time, a pattern, a sample.
_WRAPPERS = frozenset(
    {
        "AS",
        "EXTEND",
        "LATERAL",
        "MATCH_RECOGNIZE",
        "PIVOT",
        "SNAPSHOT",
        "TABLESAMPLE",
        "TABLE_REF",
        "TABLE_REF_WITH_ID",
        "UNPIVOT",
    }
)
# Confluent's search functions take an external table as a bare name; the grammar has it as a column.
_SEARCH_FUNCTIONS = frozenset({"VECTOR_SEARCH_AGG", "KEY_SEARCH_AGG", "TEXT_SEARCH_AGG"})
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
    """What a parsed statement reads, writes and changes for those after it."""
    root = _unwrap(tree, tree.root)
    kind = tree.kind(root)
    found = _Found()
    if kind == "SqlStatementSet":
        for child in tree.children(root):
            _modification(tree, child, found)
    else:
        _modification(tree, root, found)
    view = _VIEWS[kind](tree, root, unique(found.reads)) if kind in _VIEWS else None
    return Statement(
        reads=unique(found.reads),
        writes=unique(found.writes),
        kind=readable_kind(kind),
        searches=unique(found.searches),
        view=view,
        session=_session(tree, root),
    )


def readable_kind(kind: str) -> str:
    """`SqlCreateView` -> `CREATE VIEW`; every kind of query is a `SELECT`."""
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _QUERIES or kind == "VALUES":
        return "SELECT"
    if kind.startswith("Sql"):
        return _CAMEL.sub(" ", kind.removeprefix("Sql")).upper()
    return kind.replace("_", " ")


def _unwrap(tree: Tree, node: int) -> int:
    """The statement that `EXECUTE` or `COMPILE AND EXECUTE PLAN` carries out."""
    while tree.kind(node) in ("SqlExecute", "SqlCompileAndExecutePlan"):
        node = next((c for c in tree.children(node) if c != NOTHING), NOTHING)
    return node


def _modification(tree: Tree, node: int, found: _Found) -> None:
    kind = tree.kind(node)
    if kind in (
        "INSERT",
        "SqlCreateView",
        "SqlAlterViewAs",
        "SqlCreateTableAs",
        "SqlReplaceTableAs",
    ) or kind in (
        "SqlCreateMaterializedTable",
        "SqlAlterMaterializedTableAsQuery",
    ):
        _write(tree, tree.child(node, 0), found)
        _Walk(tree, found).query(tree.child(node, 1))
    elif kind == "SqlCreateModelAs":
        # The model is no table: what trains it is read, nothing is written.
        _Walk(tree, found).query(tree.child(node, 1))
    elif kind in ("UPDATE", "DELETE", "MERGE"):
        # Rows are found, then written back changed: the target is on both sides.
        target = tree.child(node, 0)
        _write(tree, target, found)
        walk = _Walk(tree, found)
        walk.source(target)
        if kind == "MERGE":
            walk.source(tree.child(node, 1))
            _branches(tree, node, walk)
        else:
            for child in tree.children(node)[1:]:
                walk.expression(child)
    elif kind in _QUERIES or kind == "VALUES":
        _Walk(tree, found).query(node)


def _branches(tree: Tree, merge: int, walk: _Walk) -> None:
    """The condition of a MERGE, and what its branches compute; their targets are the MERGE's own."""
    condition, *branches = tree.children(merge)[2:]
    walk.expression(condition)
    for branch in branches:
        for child in tree.children(branch)[1:]:
            walk.expression(child)


def _write(tree: Tree, node: int, found: _Found) -> None:
    while tree.kind(node) in _WRAPPERS:
        node = tree.child(node, 0)
    path = tree.path(node)
    if path:
        found.writes.append(path)


class _Walk:
    """Collects reads, with a worklist in place of recursion: generated SQL is deeper than Python's stack."""

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
        work: _Steps = [(visit, node, frozenset())]
        while work:
            step, at, names = work.pop()
            if at != NOTHING:
                # Reversed, so that what stands first in the statement is found first.
                work.extend(reversed(step(at, names)))

    def _query(self, node: int, names: Names) -> _Steps:
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
        if kind in _SET_OPERATIONS:
            return [(self._query, child, names) for child in children]
        if kind == "EXPLICIT_TABLE":
            return [(self._source, child, names) for child in children]
        return [(self._expression, child, names) for child in children]

    def _with(self, node: int, names: Names) -> _Steps:
        items, body = self._tree.children(node)[:2]
        steps: _Steps = []
        for item in self._tree.children(items):
            own = names | set(self._tree.path(self._tree.child(item, 0)))
            # Only a recursive query sees its own name; any other of that name in it is a table.
            visible = own if self._tree.name(item) == "RECURSIVE" else names
            steps.append((self._query, self._tree.child(item, 2), visible))
            names = own
        steps.append((self._query, body, names))
        return steps

    def _source(self, node: int, names: Names) -> _Steps:
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
        if kind in _WRAPPERS:
            return [(self._source, children[0], names), *((self._expression, c, names) for c in children[1:])]
        return [(self._expression, node, names)]

    def _expression(self, node: int, names: Names) -> _Steps:
        tree = self._tree
        kind = tree.kind(node)
        if kind in _QUERIES:
            return [(self._query, node, names)]
        children = tree.children(node)
        if kind == "SET_SEMANTICS_TABLE":
            return [(self._source, children[0], names), *((self._expression, c, names) for c in children[1:])]
        if kind == "OTHER_FUNCTION" and children and tree.name(node).upper() in _SEARCH_FUNCTIONS:
            path = tree.path(children[0])
            if path:
                self._found.searches.append(path)
        return [(self._expression, child, names) for child in children]


def _created(tree: Tree, node: int, reads: tuple[TablePath, ...]) -> ViewChange:
    flags = tree.name(node)
    return ViewChange(
        "create",
        tree.path(tree.child(node, 0)),
        reads,
        temporary="TEMPORARY" in flags,
        if_not_exists="IF NOT EXISTS" in flags,
    )


def _altered(tree: Tree, node: int, reads: tuple[TablePath, ...]) -> ViewChange:
    return ViewChange("alter", tree.path(tree.child(node, 0)), reads)


def _renamed(tree: Tree, node: int, reads: tuple[TablePath, ...]) -> ViewChange:
    return ViewChange(
        "rename", tree.path(tree.child(node, 0)), reads, new_path=tree.path(tree.child(node, 1))
    )


def _dropped(tree: Tree, node: int, reads: tuple[TablePath, ...]) -> ViewChange:
    return ViewChange("drop", tree.path(tree.child(node, 0)), reads, temporary="TEMPORARY" in tree.name(node))


_VIEWS: dict[str, Callable[[Tree, int, tuple[TablePath, ...]], ViewChange]] = {
    "SqlCreateView": _created,
    "SqlAlterViewAs": _altered,
    "SqlAlterViewRename": _renamed,
    "SqlDropView": _dropped,
}


def _session(tree: Tree, node: int) -> SessionChange | None:
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
