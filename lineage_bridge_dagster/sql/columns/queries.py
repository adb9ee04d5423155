"""A query's tree -> its columns and what each is made of. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from lineage_bridge_dagster.sql.columns.origins import (
    CONSTANT,
    UNKNOWN,
    How,
    Origin,
    merged,
    through,
)
from lineage_bridge_dagster.sql.columns.relations import (
    OPAQUE,
    Field,
    From,
    Open,
    Relation,
    Scope,
    Source,
    is_closed,
    item_origin,
    joined,
    named,
    renamed,
    united,
)
from lineage_bridge_dagster.sql.flink.tree import NOTHING, Tree
from lineage_bridge_dagster.sql.statement import TablePath

Tables = Callable[[TablePath], tuple[TablePath, Relation, bool]]
"""A table or view as it is named -> its canonical path, its columns, and whether it is a base table."""

Queries = Mapping[str, Relation]
"""The queries that a WITH in scope names."""

# Nested deeper than people or generators write; Python's own stack ends not far behind.
_MAX_DEPTH = 120
# `SELECT *` of joins of `SELECT *` of joins ... doubles with every level.
_MAX_COLUMNS = 5_000

_SET_OPERATIONS = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_QUERIES = _SET_OPERATIONS | {"SELECT", "ORDER_BY", "WITH", "EXPLICIT_TABLE", "VALUES"}
_TRANSPARENT = frozenset(
    {
        "SNAPSHOT",
        "TABLE_REF",
        "TABLE_REF_WITH_ID",
        "TABLESAMPLE",
        "EXTEND",
        "SET_SEMANTICS_TABLE",
        "EXPLICIT_TABLE",
    }
)
_WINDOWS = frozenset({"TUMBLE", "HOP", "CUMULATE", "SESSION"})
_WINDOW_COLUMNS = ("window_start", "window_end", "window_time")
# These give their input's columns and, behind them, the model's.
_APPENDING = frozenset({"ML_PREDICT", "AI_COMPLETE", "AI_EMBEDDING"})
_NAVIGATION = frozenset({"FIRST", "LAST", "PREV", "NEXT"})
# Flink's aggregate functions ("System (Built-in) Functions: Aggregate Functions").
_AGGREGATES = frozenset(
    {
        *("COUNT", "SUM", "SUM0", "AVG", "MIN", "MAX", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"),
        *("VARIANCE", "VAR_POP", "VAR_SAMP", "COLLECT", "LISTAGG", "ARRAY_AGG", "PERCENTILE"),
        *("FIRST_VALUE", "LAST_VALUE", "APPROX_COUNT_DISTINCT", "JSON_OBJECTAGG", "JSON_ARRAYAGG"),
        *("ANY_VALUE", "SINGLE_VALUE", "REGR_COUNT", "COVAR_POP", "COVAR_SAMP", "BIT_AND", "BIT_OR"),
    }
)

# Places of a MATCH_RECOGNIZE's operands (Calcite's SqlMatchRecognize).
_PATTERN, _DEFINE, _MEASURES, _SUBSET, _PARTITION = 1, 4, 5, 7, 9


class QueryReader:
    """Derives the columns of the queries in one statement's tree.

    Args:
        tree: The statement.
        tables: Where the tables and views that it names are looked up.
    """

    def __init__(self, tree: Tree, tables: Tables) -> None:
        self._tree = tree
        self._tables = tables
        self._depth = 0

    def relation(self, node: int, queries: Queries | None = None, outer: Scope | None = None) -> Relation:
        """The columns of a query.

        Args:
            node: The query, or what stands in its place.
            queries: Those that a WITH around it names.
            outer: Where names that it doesn't have itself are found: it is a correlated subquery.
        """
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                return OPAQUE
            relation = self._relation(node, queries or {}, outer)
            return relation if len(relation) <= _MAX_COLUMNS else OPAQUE
        finally:
            self._depth -= 1

    def _relation(self, node: int, queries: Queries, outer: Scope | None) -> Relation:
        tree = self._tree
        kind = tree.kind(node)
        if kind == "SELECT":
            return self._select(node, queries, outer)
        if kind == "ORDER_BY":
            return self.relation(tree.child(node, 0), queries, outer)
        if kind == "WITH":
            return self._with(node, queries, outer)
        if kind == "UNION" or kind == "INTERSECT":
            branches = self._branches(node, kind)
            return united([self.relation(branch, queries, outer) for branch in branches])
        if kind == "EXCEPT":
            # Its values are the left side's; the right side says which of them.
            left = node
            while tree.kind(left) == "EXCEPT":
                left = tree.child(left, 0)
            return self.relation(left, queries, outer)
        if kind == "VALUES":
            scope = Scope(From(), outer)
            rows = [
                named(
                    (Field(None, self.origin(value, scope, queries)), False) for value in tree.children(row)
                )
                for row in tree.children(node)
            ]
            return united(rows) if rows else OPAQUE
        if kind == "EXPLICIT_TABLE":
            return self._source(tree.child(node, 0), queries, outer, None).star
        return OPAQUE

    def _branches(self, node: int, kind: str) -> list[int]:
        """The operands of `a UNION b UNION c ...`, a chain as long as a generator likes."""
        branches: list[int] = []
        while self._tree.kind(node) == kind:
            left, *rest = self._tree.children(node)
            branches.extend(reversed(rest))
            node = left
        branches.append(node)
        return branches[::-1]

    def _with(self, node: int, queries: Queries, outer: Scope | None) -> Relation:
        tree = self._tree
        items, body = tree.children(node)[:2]
        visible = dict(queries)
        for item in tree.children(items):
            name = tree.path(tree.child(item, 0))[-1]
            columns = [tree.path(c)[-1] for c in tree.children(tree.child(item, 1)) if tree.path(c)]
            query = tree.child(item, 2)
            if tree.name(item) == "RECURSIVE":
                relation = self._recursive(query, name, columns, visible, outer)
            else:
                relation = renamed(self.relation(query, visible, outer), columns)
            visible[name] = relation
        return self.relation(body, visible, outer)

    def _recursive(
        self, query: int, name: str, columns: Sequence[str], queries: Queries, outer: Scope | None
    ) -> Relation:
        """A query that reads itself: begun with its first branch, then until nothing is added."""
        first = self._branches(query, self._tree.kind(query))[0]
        relation = renamed(self.relation(first, queries, outer), columns)
        for _ in range(len(relation) + 2):
            again = renamed(self.relation(query, {**queries, name: relation}, outer), columns)
            if again == relation:
                return relation
            relation = again
        return OPAQUE

    def _select(self, node: int, queries: Queries, outer: Scope | None) -> Relation:
        tree = self._tree
        children = tree.children(node)
        source = From()
        if children[0] != NOTHING:
            source = self._source(children[0], queries, outer, None)
        scope = Scope(source, outer)
        windows = {
            tree.path(tree.child(window, 0))[-1]: window
            for window in tree.children(children[5])
            if tree.path(tree.child(window, 0))
        }
        keys = self._keys(children[3])
        items: list[tuple[Field | Open, bool]] = []
        for item in tree.children(children[1]):
            path = tree.path(item)
            if path and path[-1] == "":
                star = source.star if len(path) == 1 else scope.star_of(path[:-1])
                items.extend((column, False) for column in star)
            else:
                name, aliased = self._alias(item)
                origin = self.origin(item, scope, queries, keys=keys, windows=windows)
                items.append((Field(name, origin), aliased))
            if len(items) > _MAX_COLUMNS:
                return OPAQUE
        return named(items)

    def _alias(self, node: int) -> tuple[str | None, bool]:
        """A select item's name, and whether it was given one."""
        tree = self._tree
        if tree.kind(node) == "AS":
            return tree.path(tree.child(node, 1))[-1], True
        while tree.kind(node) == "OVER":
            node = tree.child(node, 0)
        if tree.kind(node) == "NILADIC":
            return tree.name(node), False
        path = tree.path(node)
        return (path[-1] if path else None), False

    def _keys(self, group: int) -> frozenset[str] | None:
        """Names that occur in GROUP BY; None when there is none, or it holds what is no expression."""
        tree = self._tree
        if not tree.children(group):
            return None
        names: set[str] = set()
        work = list(tree.children(group))
        while work:
            node = work.pop()
            if node == NOTHING:
                continue
            # Not what qualifies it: `GROUP BY o.id` says nothing of `o.price`.
            names.update(tree.path(node)[-1:])
            work.extend(tree.children(node))
        return frozenset(names) or None

    def origin(
        self,
        node: int,
        scope: Scope,
        queries: Queries,
        *,
        keys: frozenset[str] | None = None,
        windows: Mapping[str, int] | None = None,
    ) -> Origin:
        """What an expression is made of; with a worklist, for generated ones are deeper than Python's stack.

        Args:
            node: The expression.
            scope: Where its columns are found.
            queries: Those that a WITH around it names.
            keys: Names that the query is grouped by: any other column can only be under an aggregate
                function, be it one of the user's own that nobody else knows.
            windows: Named windows of the query.
        """
        tree = self._tree
        found: list[Origin] = []
        work: list[tuple[int, How]] = [(node, How.IDENTITY)]
        while work:
            at, how = work.pop()
            kind = tree.kind(at)
            if kind == "ID":
                path = tree.path(at)
                if path[-1] == "":
                    continue
                if keys is not None and keys.isdisjoint(path):
                    how = How.AGGREGATE
                found.append(through(scope.resolve(path), how))
            elif kind in _QUERIES:
                columns = self.relation(at, queries, scope)
                origins = [item_origin(column) for column in columns]
                found.extend(through(origin, how) for origin in origins)
            elif kind == "OVER":
                window = tree.child(at, 1)
                if tree.path(window):
                    window = (windows or {}).get(tree.path(window)[-1], NOTHING)
                work.extend((part, How.EXPRESSION) for part in self._window(window, windows or {}))
                work.append((tree.child(at, 0), how))
            elif kind != "EXISTS":
                # Whether a row exists is made of no column.
                work.extend(reversed(self._operands(at, kind, how)))
        return merged(found)

    def _operands(self, node: int, kind: str, how: How) -> list[tuple[int, How]]:
        """The parts of an expression that its value is made of, with how."""
        tree = self._tree
        children = tree.children(node)
        if kind in ("AS", "ARGUMENT_ASSIGNMENT", "FINAL", "RUNNING"):
            return [(child, how) for child in children[:1]]
        if kind == "DOT":
            return [(child, _at_least_expression(how)) for child in children[:1]]
        name = tree.name(node).upper() if node != NOTHING else ""
        if kind == "FILTER":
            # It says which rows there are, as WHERE does.
            return [(child, How.AGGREGATE) for child in children[:1]]
        if kind == "WITHIN_GROUP":
            # An order, unless it is all that the function is given: PERCENTILE_CONT(0.5).
            ordered = any(child != NOTHING for child in tree.children(children[0]))
            return [(child, How.AGGREGATE) for child in (children[:1] if ordered else children)]
        if kind in _AGGREGATES or name in _AGGREGATES:
            # A list is the ORDER BY of ARRAY_AGG.
            return [(child, How.AGGREGATE) for child in children if tree.kind(child) != "LIST"]
        return [(child, _at_least_expression(how)) for child in children]

    def _window(self, window: int, windows: Mapping[str, int]) -> list[int]:
        """The expressions in a window, and in the one that it builds on."""
        parts: list[int] = []
        seen: set[int] = set()
        while window != NOTHING and window not in seen:
            seen.add(window)
            children = self._tree.children(window)
            parts.extend(children[2:])
            base = self._tree.path(self._tree.child(window, 1))
            window = windows.get(base[-1], NOTHING) if base else NOTHING
        return parts

    def _source(self, node: int, queries: Queries, outer: Scope | None, lateral: Scope | None) -> From:
        """What stands in a FROM.

        Args:
            node: A table, a join, a subquery, a function, ...
            queries: Those that a WITH around it names.
            outer: Around the query that the FROM belongs to.
            lateral: What stands before it in the FROM, for what may look there.
        """
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                return _single(OPAQUE)
            return self._source_of(node, queries, outer, lateral)
        finally:
            self._depth -= 1

    def _source_of(self, node: int, queries: Queries, outer: Scope | None, lateral: Scope | None) -> From:
        tree = self._tree
        kind = tree.kind(node)
        if kind == "ID":
            return self._table(tree.path(node), queries)
        if kind == "JOIN":
            return self._join(node, queries, outer, lateral)
        first = tree.child(node, 0)
        if kind == "AS":
            inner = self._source(first, queries, outer, lateral)
            alias, *names = (tree.path(child)[-1] for child in tree.children(node)[1:] if tree.path(child))
            relation = renamed(inner.star, names)
            table = inner.sources[0].table if len(inner.sources) == 1 else None
            return From((Source(alias, (), relation, table),), relation)
        if kind in _TRANSPARENT:
            return self._source(first, queries, outer, lateral)
        if kind == "LATERAL":
            return self._source(first, queries, lateral or outer, lateral)
        if kind == "UNNEST":
            return _single(self._unnest(node, queries, lateral or Scope(From(), outer)))
        if kind == "COLLECTION_TABLE":
            return _single(self._function(first, queries, outer))
        if kind == "MATCH_RECOGNIZE":
            return _single(self._match(node, queries, outer))
        if kind in _QUERIES:
            return _single(self.relation(node, queries, outer))
        return _single(OPAQUE)

    def _table(self, path: TablePath, queries: Queries) -> From:
        if len(path) == 1 and path[0] in queries:
            relation = queries[path[0]]
            return From((Source(path[0], (), relation),), relation)
        table, relation, is_base = self._tables(path)
        return From((Source(path[-1], path, relation, table if is_base else None),), relation)

    def _join(self, node: int, queries: Queries, outer: Scope | None, lateral: Scope | None) -> From:
        tree = self._tree
        chain: list[int] = []
        while tree.kind(node) == "JOIN":
            chain.append(node)
            node = tree.child(node, 0)
        left = self._source(node, queries, outer, lateral)
        for join in reversed(chain):
            before = Scope(left, lateral or outer)
            right = self._source(tree.child(join, 3), queries, outer, before)
            kind = tree.name(join)
            using: list[str] = []
            if kind.endswith("USING"):
                columns = tree.children(tree.child(join, 5))
                using = [tree.path(column)[-1] for column in columns if tree.path(column)]
            left = joined(left, right, kind, using)
            if len(left.star) > _MAX_COLUMNS:
                left = From(left.sources, OPAQUE)
        return left

    def _unnest(self, node: int, queries: Queries, scope: Scope) -> Relation:
        origin = merged(self.origin(child, scope, queries) for child in self._tree.children(node))
        return (Open(origin=through(origin, How.EXPRESSION)),)

    def _function(self, node: int, queries: Queries, outer: Scope | None) -> Relation:
        """A table function: a window's columns and its table's; of others only what they hand through."""
        tree = self._tree
        name = tree.name(node).upper() if tree.children(node) else ""
        if name not in _WINDOWS | _APPENDING:
            return OPAQUE
        arguments = [
            tree.child(argument, 0) if tree.kind(argument) == "ARGUMENT_ASSIGNMENT" else argument
            for argument in tree.children(node)
        ]
        table = next((a for a in arguments if tree.kind(a) in _QUERIES | {"SET_SEMANTICS_TABLE"}), NOTHING)
        if table == NOTHING:
            return OPAQUE
        source = self._source(table, queries, outer, None)
        if name not in _WINDOWS:
            return (*source.star, Open())
        time = CONSTANT
        for argument in arguments:
            if tree.kind(argument) == "OTHER_FUNCTION" and tree.name(argument).upper() == "DESCRIPTOR":
                column = tree.path(tree.child(argument, 0))
                time = Scope(source).resolve(column) if column else UNKNOWN
                break
        time = through(time, How.EXPRESSION)
        return (*source.star, *(Field(column, time) for column in _WINDOW_COLUMNS))

    def _match(self, node: int, queries: Queries, outer: Scope | None) -> Relation:
        """MATCH_RECOGNIZE with one row per match, the only kind Flink has: partition columns, measures."""
        tree = self._tree
        children = tree.children(node)
        source = self._source(children[0], queries, outer, None)
        scope = Scope(source, outer, self._variables(children))
        items: list[tuple[Field | Open, bool]] = []
        for column in tree.children(children[_PARTITION]):
            path = tree.path(column)
            items.append((Field(path[-1] if path else None, self.origin(column, scope, queries)), False))
        for measure in tree.children(children[_MEASURES]):
            name, aliased = self._alias(measure)
            items.append((Field(name, self.origin(measure, scope, queries)), aliased))
        return named(items)

    def _variables(self, match: Sequence[int]) -> frozenset[str]:
        tree = self._tree
        names: set[str] = set()
        work = [match[_PATTERN], match[_SUBSET]]
        work.extend(tree.child(definition, 1) for definition in tree.children(match[_DEFINE]))
        while work:
            node = work.pop()
            names.update(tree.path(node))
            work.extend(tree.children(node))
        return frozenset(names)


def known(relation: Relation) -> Iterable[tuple[str, Origin]]:
    """The columns of a relation that are known by name."""
    for item in relation:
        if isinstance(item, Field) and item.sure and item.name is not None:
            yield item.name, item.origin


def names_of(relation: Relation) -> list[str] | None:
    """All names of a relation; None when not all are known."""
    if not is_closed(relation):
        return None
    names = [name for name, _ in known(relation)]
    return names if len(names) == len(relation) else None


def _single(relation: Relation) -> From:
    return From((Source(None, (), relation),), relation)


def _at_least_expression(how: How) -> How:
    return How.EXPRESSION if how is How.IDENTITY else how
