"""An expression's syntax tree -> the origin of its value. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from lineage_bridge_dagster.lineage.columns import How, stronger
from lineage_bridge_dagster.sql.columns.origins import Origin, field_of, merged, through
from lineage_bridge_dagster.sql.columns.relations import Relation, origin_of, type_of
from lineage_bridge_dagster.sql.columns.scopes import QueryScope
from lineage_bridge_dagster.sql.columns.types import SCALAR, SqlType, array_of, field_type, item_type
from lineage_bridge_dagster.sql.flink.tree import ABSENT, QUERIES, Tree

Queries = Mapping[str, Relation]
"""Columns of the queries that a WITH in scope names."""

ReadQuery = Callable[[int, Queries, QueryScope | None], Relation]
"""Derives the columns of a query, given its node, the queries in scope and the enclosing scope."""

# Flink's aggregate functions ("System (Built-in) Functions: Aggregate Functions").
_AGGREGATES = frozenset(
    {
        *("COUNT", "SUM", "SUM0", "AVG", "MIN", "MAX", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"),
        *("VARIANCE", "VAR_POP", "VAR_SAMP", "COLLECT", "LISTAGG", "ARRAY_AGG", "PERCENTILE"),
        *("FIRST_VALUE", "LAST_VALUE", "APPROX_COUNT_DISTINCT", "JSON_OBJECTAGG", "JSON_ARRAYAGG"),
        *("ANY_VALUE", "SINGLE_VALUE", "REGR_COUNT", "COVAR_POP", "COVAR_SAMP", "BIT_AND", "BIT_OR"),
    }
)
# Functions over a window that return a value of one of its rows.
_OF_A_ROW = frozenset({"LAG", "LEAD"})
# Functions of the type of their first argument that has columns of its own.
_SAME_TYPE = frozenset(
    {
        *("COALESCE", "IFNULL", "NULLIF", "IF", "FIRST_VALUE", "LAST_VALUE", "LAG", "LEAD", "ANY_VALUE"),
        *("SINGLE_VALUE", "ARRAY_CONCAT", "ARRAY_DISTINCT", "ARRAY_SLICE", "ARRAY_REVERSE", "ARRAY_REMOVE"),
        *("ARRAY_UNION", "ARRAY_EXCEPT", "ARRAY_INTERSECT", "ARRAY_APPEND", "ARRAY_PREPEND", "ARRAY_SORT"),
        *("FINAL", "RUNNING", "FILTER", "WITHIN_GROUP", "OVER", "AS", "LIST"),
    }
)
_ARITHMETIC = frozenset({"PLUS", "MINUS", "TIMES", "DIVIDE", "MOD", "OTHER", "MINUS_PREFIX", "COUNT", "SUM"})
_CONSTRUCTORS = ("ARRAY_VALUE_CONSTRUCTOR", "ARRAY_QUERY_CONSTRUCTOR", "MULTISET_QUERY_CONSTRUCTOR")
_ARRAYS = frozenset({*_CONSTRUCTORS, "ARRAY_AGG", "COLLECT"})
_ARRAYS_OF_SCALARS = frozenset({"SPLIT", "REGEXP_EXTRACT_ALL"})
# Deeper expressions have no known type.
_MAX_DEPTH = 30


class ExpressionReader:
    """Derives the origins of the expressions in one statement's tree."""

    def __init__(self, tree: Tree, read_query: ReadQuery) -> None:
        self._tree = tree
        self._read_query = read_query

    def origin(
        self,
        node: int,
        scope: QueryScope,
        queries: Queries,
        *,
        keys: frozenset[str] | None = None,
        windows: Mapping[str, int] | None = None,
    ) -> Origin:
        """Origin of an expression; uses a worklist, since generated ones are deeper than Python's stack.

        Args:
            scope: Where its columns are looked up.
            queries: Queries that a WITH in scope names.
            keys: Names in the query's GROUP BY, None without one. Any other column must be in an aggregate
                function, be it an unknown user-defined one.
            windows: Named windows of the query.
        """
        tree = self._tree
        found: list[Origin] = []
        pending: list[tuple[int, How]] = [(node, How.IDENTITY)]
        while pending:
            node, how = pending.pop()
            kind = tree.kind(node)
            if kind == "ID":
                path = tree.path(node)
                if path[-1] == "":
                    continue
                if keys is not None and keys.isdisjoint(path):
                    how = How.AGGREGATE
                found.append(through(scope.resolve(path).origin, how))
            elif kind in QUERIES:
                columns = self._read_query(node, queries, scope)
                found.extend(through(origin_of(column), how) for column in columns)
            elif kind == "OVER":
                window = tree.child(node, 1)
                if tree.path(window):
                    window = (windows or {}).get(tree.path(window)[-1], ABSENT)
                pending.extend((part, How.EXPRESSION) for part in self._window(window, windows or {}))
                function = tree.child(node, 0)
                called = tree.kind(function) == "OTHER_FUNCTION" and tree.name(function).upper()
                # Any other function there is an aggregate function, be it an unknown user-defined one.
                pending.append((function, How.AGGREGATE if called and called not in _OF_A_ROW else how))
            elif kind == "DOT" and (name := tree.path(tree.child(node, 1))):
                row = self.origin(tree.child(node, 0), scope, queries, keys=keys, windows=windows)
                found.append(through(field_of(row, name[-1]), how))
            elif kind == "OTHER_FUNCTION" and scope.time is not None and self._is_match_time(node):
                found.append(through(scope.time, stronger(how, How.EXPRESSION)))
            elif kind != "EXISTS":
                # The value of EXISTS derives from no column.
                pending.extend(reversed(self._operands(node, kind, how)))
        return merged(found)

    def _operands(self, node: int, kind: str, how: How) -> list[tuple[int, How]]:
        """The operands that a value derives from, with how."""
        tree = self._tree
        children = tree.children(node)
        at_least_expression = How.EXPRESSION if how is How.IDENTITY else how
        if kind in ("AS", "ARGUMENT_ASSIGNMENT", "FINAL", "RUNNING"):
            return [(child, how) for child in children[:1]]
        name = tree.name(node).upper() if node != ABSENT else ""
        if kind == "FILTER":
            # Its condition selects rows, as WHERE does.
            return [(child, How.AGGREGATE) for child in children[:1]]
        if kind == "WITHIN_GROUP":
            # An order, unless the function has no other column: PERCENTILE_CONT(0.5).
            ordered = any(child != ABSENT for child in tree.children(children[0]))
            return [(child, How.AGGREGATE) for child in (children[:1] if ordered else children)]
        if kind in _AGGREGATES or name in _AGGREGATES:
            # A list is the ORDER BY of ARRAY_AGG.
            return [(child, How.AGGREGATE) for child in children if tree.kind(child) != "LIST"]
        return [(child, at_least_expression) for child in children]

    def _window(self, window: int, windows: Mapping[str, int]) -> list[int]:
        """The expressions in a window and in those that it builds on."""
        parts: list[int] = []
        seen: set[int] = set()
        while window != ABSENT and window not in seen:
            seen.add(window)
            children = self._tree.children(window)
            parts.extend(children[2:])
            base = self._tree.path(self._tree.child(window, 1))
            window = windows.get(base[-1], ABSENT) if base else ABSENT
        return parts

    def _is_match_time(self, node: int) -> bool:
        """Whether it is `MATCH_ROWTIME()`, the time of the last row of the match."""
        return self._tree.name(node).upper() == "MATCH_ROWTIME" and not self._tree.children(node)

    def type(self, node: int, scope: QueryScope, queries: Queries, depth: int = 0) -> SqlType | None:
        """Type of an expression, as far as the text tells it."""
        tree = self._tree
        if node == ABSENT:
            return SCALAR  # A literal.
        kind, children = tree.kind(node), tree.children(node)
        if depth > _MAX_DEPTH:
            return None
        if kind == "ID":
            return scope.resolve(tree.path(node)).type
        if kind == "TYPE":
            return SqlType.of(tree, node)
        if kind in QUERIES:
            columns = self._read_query(node, queries, scope)
            return type_of(columns[0]) if len(columns) == 1 else None
        name = tree.name(node).upper()

        def of(child: int) -> SqlType | None:
            return self.type(tree.child(node, child), scope, queries, depth + 1)

        if kind == "CAST" or name in ("CAST", "TRY_CAST"):
            return of(1)
        if kind == "DOT":
            return field_type(of(0), (tree.path(children[1]) or ("",))[-1])
        if kind == "ITEM" or name == "ITEM":
            return item_type(of(0))
        if kind == "ROW":
            return SqlType("ROW", tuple((f"EXPR${i}", of(i)) for i in range(len(children))))
        if kind == "MAP_VALUE_CONSTRUCTOR":
            return SqlType("MAP", (("KEY", of(0)), ("VALUE", of(1))))
        if kind in _ARRAYS or name in _ARRAYS:
            return array_of(of(0))
        if name in ("MAP_KEYS", "MAP_VALUES", "MAP_ENTRIES"):
            return _of_map(name, of(0))
        if name == "STR_TO_MAP":
            return SqlType("MAP", (("KEY", SCALAR), ("VALUE", SCALAR)))
        if kind == "CASE":
            return _first(map(of, range(2, len(children))))
        if kind in _SAME_TYPE or name in _SAME_TYPE:
            # An OVER's window and a FILTER's condition are not values.
            values = 1 if kind in ("OVER", "FILTER", "WITHIN_GROUP") else len(children)
            return _first(map(of, range(values)))
        if name in _ARRAYS_OF_SCALARS:
            return array_of(SCALAR)
        return SCALAR if kind in _ARITHMETIC else None


def _of_map(function: str, of: SqlType | None) -> SqlType | None:
    if of is None or of.kind != "MAP":
        return None
    (_, key), (_, value) = of.parts
    if function == "MAP_ENTRIES":
        return array_of(SqlType("ROW", (("key", key), ("value", value))))
    return array_of(key if function == "MAP_KEYS" else value)


def _first(types: Iterable[SqlType | None]) -> SqlType | None:
    """The type of values of one type, of which some are literals: `COALESCE(items, NULL)`."""
    found = list(types)
    return next((of for of in found if of is not None and of.kind != "SCALAR"), found[0] if found else None)
