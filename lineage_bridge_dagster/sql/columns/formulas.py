"""Expressions and clauses in a canonical form, to compare two versions of a statement. Pure.

Names are replaced by the columns that they stand for, down to the tables, so that an alias or a rewritten
subquery makes no difference; literals are digests. Formulas are compared and never parsed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from lineage_bridge_dagster.sql.columns.expressions import Queries, ReadQuery
from lineage_bridge_dagster.sql.columns.origins import Origin, Use
from lineage_bridge_dagster.sql.columns.relations import KnownColumn, Relation, UnknownColumns, origin_of
from lineage_bridge_dagster.sql.columns.scopes import FromClause, QueryScope
from lineage_bridge_dagster.sql.flink.tree import ABSENT, QUERIES, Tree

_COMMUTATIVE = frozenset({"AND", "OR", "EQUALS", "NOT_EQUALS", "PLUS", "TIMES"})
_CHAINS = frozenset({"AND", "OR"})
# Longer formulas are replaced by digests: queries in queries would double them with every level.
_MAX_LENGTH = 300


class FormulaReader:
    """Writes the formulas of one statement's expressions."""

    def __init__(self, tree: Tree, read_query: ReadQuery) -> None:
        self._tree = tree
        self._read_query = read_query

    def formula(
        self, node: int, scope: QueryScope, queries: Queries, windows: Mapping[str, int] | None = None
    ) -> str:
        """The canonical form of an expression."""
        tree, kind = self._tree, self._tree.kind(node)

        def operand(at: int) -> str:
            literal, inner = tree.literals(node).get(at), tree.child(node, at)
            return self.formula(inner, scope, queries, windows) if literal is None else f"#{literal}"

        if kind == "ID":
            path = tree.path(node)
            return "*" if path[-1] == "" else scope.resolve(path).origin.formula or ".".join(path)
        if kind in QUERIES:
            return shortened(f"({relation_formula(self._read_query(node, queries, scope))})")
        if kind == "AS":
            return operand(0)
        if kind in _CHAINS:
            parts = {self.formula(part, scope, queries, windows) for part in self.conjuncts(node, kind)}
            return shortened(f"{kind}({','.join(sorted(parts))})")
        if kind == "OVER" and (named := tree.path(tree.child(node, 1))):
            over = self.formula((windows or {}).get(named[-1], ABSENT), scope, queries, windows)
            return shortened(f"OVER({operand(0)},{over})")
        operands = [operand(at) for at in range(len(tree.children(node)))]
        ordered = sorted(operands) if kind in _COMMUTATIVE else operands
        name = tree.name(node).upper() if node != ABSENT else "?"
        words = "".join(part for part in tree.note(node).split(";") if "#" not in part)
        return shortened(f"{name or kind}{words}({','.join(ordered)})")

    def conjuncts(self, node: int, kind: str = "AND") -> Iterable[int]:
        """The conditions of `a AND b AND c`; generated chains are too long for recursion."""
        pending = [node]
        while pending:
            node = pending.pop()
            if self._tree.kind(node) == kind:
                pending.extend(reversed(self._tree.children(node)))
            elif node != ABSENT:
                yield node


def relation_formula(relation: Relation) -> str:
    """All columns of a relation, and what decides on its rows."""
    uses = {use.formula for column in relation for use in origin_of(column).uses}
    return ",".join([*(origin_of(column).formula for column in relation), *sorted(uses)])


def shortened(formula: str) -> str:
    """The formula, or its digest if it is long."""
    return formula if len(formula) <= _MAX_LENGTH else hashlib.sha256(formula.encode()).hexdigest()[:24]


def row_uses(relation: Relation) -> tuple[Use, ...]:
    """What decides on the rows of a relation."""
    found = (use for column in relation for use in origin_of(column).uses if use.selects_rows)
    return tuple(dict.fromkeys(found))


def with_uses(relation: Relation, uses: Iterable[Use]) -> Relation:
    """A relation on whose columns these decide, too."""
    new = tuple(uses)
    return tuple(_with_uses(column, new) for column in relation) if new else relation


def clause_with_uses(clause: FromClause, uses: Iterable[Use]) -> FromClause:
    """A FROM clause on whose columns these decide, too."""
    new = tuple(uses)
    items = tuple(
        replace(item, relation=with_uses(item.relation, new), hidden=with_uses(item.hidden, new))
        for item in clause.items
    )
    return FromClause(items, with_uses(clause.star, new))


def _with_uses(column: KnownColumn | UnknownColumns, new: tuple[Use, ...]) -> KnownColumn | UnknownColumns:
    if isinstance(column, UnknownColumns):
        return column
    origin: Origin = column.origin
    return replace(column, origin=replace(origin, uses=tuple(dict.fromkeys((*origin.uses, *new)))))
