"""An expression's syntax tree -> the origin of its value. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lineage_bridge_dagster.lineage.columns import How
from lineage_bridge_dagster.sql.columns.origins import Origin, merged, through
from lineage_bridge_dagster.sql.columns.relations import Relation, Scope, origin_of
from lineage_bridge_dagster.sql.flink.tree import ABSENT, QUERIES, Tree

Queries = Mapping[str, Relation]
"""Columns of the queries that a WITH in scope names."""

ReadQuery = Callable[[int, Queries, Scope | None], Relation]
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


class ExpressionReader:
    """Derives the origins of the expressions in one statement's tree.

    Args:
        tree: The statement.
        read_query: Derives the columns of a subquery.
    """

    def __init__(self, tree: Tree, read_query: ReadQuery) -> None:
        self._tree = tree
        self._read_query = read_query

    def origin(
        self,
        node: int,
        scope: Scope,
        queries: Queries,
        *,
        keys: frozenset[str] | None = None,
        windows: Mapping[str, int] | None = None,
    ) -> Origin:
        """Origin of an expression; uses a worklist, since generated ones are deeper than Python's stack.

        Args:
            node: The expression.
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
                found.append(through(scope.resolve(path), how))
            elif kind in QUERIES:
                columns = self._read_query(node, queries, scope)
                found.extend(through(origin_of(column), how) for column in columns)
            elif kind == "OVER":
                window = tree.child(node, 1)
                if tree.path(window):
                    window = (windows or {}).get(tree.path(window)[-1], ABSENT)
                pending.extend((part, How.EXPRESSION) for part in self._window(window, windows or {}))
                pending.append((tree.child(node, 0), how))
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
        if kind == "DOT":
            return [(child, at_least_expression) for child in children[:1]]
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
