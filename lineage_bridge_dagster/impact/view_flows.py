"""Athena views -> jobs: which columns of which tables a view shows, and which it uses otherwise.

The parser is sqlglot, which the extra `collector` installs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.extras import needs
from lineage_bridge_dagster.impact.flows import (
    Columns,
    ColumnSource,
    ColumnUse,
    FlowJob,
    Output,
    OutputColumn,
)
from lineage_bridge_dagster.impact.world import AthenaView, NodeRef
from lineage_bridge_dagster.lineage.columns import How

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.optimizer.scope import Scope

NAMED = "named"
"""Role of a column that the query names anywhere, so that it fails without it."""
STAR = "*"
"""Name of the output column that stands for all columns of a `SELECT *`."""
SHOWN = "shown"
"""`ColumnSource.how` for a column whose type decides on that of the view's column: `MAX(amount)`."""


def view_jobs(views: Iterable[AthenaView], tables: Columns) -> list[FlowJob]:
    """The job of each view. One whose SQL is not understood has an error.

    Args:
        tables: The Glue tables that exist, with their columns.

    Raises:
        ConfigurationError: sqlglot is missing, and there is a view.
    """
    views = list(views)
    names = {view.ref.name.lower(): view.ref for view in views}
    names |= {node.name.lower(): node for node in tables}
    return [_job(view, names, tables) for view in views]


def _job(view: AthenaView, names: Mapping[str, NodeRef], tables: Columns) -> FlowJob:
    with needs("collector", "Reading Athena views"):
        import sqlglot
        from sqlglot.errors import SqlglotError
        from sqlglot.optimizer.scope import build_scope

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        scope = build_scope(sqlglot.parse_one(view.sql, dialect="athena"))
        if scope is None:
            return FlowJob(view.ref, error="its SQL is not a query")
        reader = _ViewReader(view.database, names, tables)
        named = ColumnUse(NAMED, "", tuple(reader.named(scope)))
        columns = [replace(column, uses=(*column.uses, named)) for column in reader.columns(scope)]
        inputs = frozenset(reader.tables(scope))
    except (SqlglotError, ValueError, RecursionError) as error:
        return FlowJob(view.ref, error=f"its SQL is not understood ({type(error).__name__})")
    return FlowJob(view.ref, (Output(view.ref, inputs, tuple(columns)),), inputs)


class _ViewReader:
    def __init__(self, database: str, names: Mapping[str, NodeRef], tables: Columns) -> None:
        self._database = database
        self._names = names
        self._tables = tables
        self._known: dict[int, list[OutputColumn]] = {}

    def tables(self, scope: Scope) -> Iterator[NodeRef]:
        """The tables and views that a query reads, also in its subqueries."""
        for each in scope.traverse():
            yield from filter(None, map(self._table, each.sources.values()))

    def named(self, scope: Scope) -> Iterator[ColumnSource]:
        """The columns that a query names: Athena analyzes all of it, also what decides on nothing."""
        for each in scope.traverse():
            for column in each.columns:
                yield from self._resolved(column, each)

    def columns(self, scope: Scope) -> list[OutputColumn]:
        """The columns of a query, with what decides on its rows."""
        key = id(scope)
        if key not in self._known:
            self._known[key] = []  # Of a query that reads itself.
            if scope.is_udtf:
                found = self._generated(scope)
            elif branches := _branches(scope):
                found = self._united(branches)
            else:
                found = self._selected(scope)
            if len(found) == len(scope.outer_columns) and STAR not in {column.name for column in found}:
                found = [
                    replace(column, name=name.lower())
                    for column, name in zip(found, scope.outer_columns, strict=True)
                ]
            self._known[key] = found
        return self._known[key]

    def _united(self, branches: Sequence[Scope]) -> list[OutputColumn]:
        first, *others = (self.columns(each) for each in branches)
        if any(len(other) != len(first) for other in others):
            return [*first, *(column for other in others for column in other)]
        return [
            replace(
                column,
                sources=tuple(s for each in (column, *same) for s in each.sources),
                uses=tuple(u for each in (column, *same) for u in each.uses),
            )
            for column, *same in zip(first, *others, strict=True)
        ]

    def _selected(self, scope: Scope) -> list[OutputColumn]:
        from sqlglot import exp

        uses = self._uses(scope)
        found: list[OutputColumn] = []
        query = scope.expression
        for number, item in enumerate(query.selects if isinstance(query, exp.Query) else ()):
            if item.is_star:
                found += self._starred(item.table if isinstance(item, exp.Column) else "", scope, uses)
            else:
                name = item.alias_or_name.lower() or f"_col{number}"
                found.append(OutputColumn(name, tuple(self._sources(item.unalias(), scope)), uses))
        return found

    def _starred(self, qualifier: str, scope: Scope, uses: tuple[ColumnUse, ...]) -> Iterator[OutputColumn]:
        from sqlglot.optimizer.scope import Scope

        for alias, source in scope.selected_sources.items():
            if qualifier and alias.lower() != qualifier.lower():
                continue
            table = self._table(source[1])
            if table is not None:
                yield OutputColumn(STAR, (ColumnSource(table, STAR, How.IDENTITY),), uses)
            elif isinstance(source[1], Scope):
                for column in self.columns(source[1]):
                    yield replace(column, uses=(*column.uses, *uses))

    def _generated(self, scope: Scope) -> list[OutputColumn]:
        """The columns of UNNEST, or of a subquery behind LATERAL."""
        from sqlglot import exp

        if scope.subquery_scopes:
            return self.columns(scope.subquery_scopes[0])
        sources = tuple(
            source._replace(how=SHOWN)
            for column in scope.expression.find_all(exp.Column)
            for source in self._resolved(column, scope.parent or scope)
        )
        return [OutputColumn(name, sources) for name in scope.outer_columns]

    def _uses(self, scope: Scope) -> tuple[ColumnUse, ...]:
        """What decides on the rows: every column outside the SELECT list, and all of subqueries in it."""
        from sqlglot import exp

        query = scope.expression
        clauses = [query.args.get(name) for name in ("where", "group", "having", "qualify", "distinct")]
        clauses += [join.args.get("on") for join in query.args.get("joins") or ()]
        parts = [column for clause in clauses if clause for column in clause.find_all(exp.Column)]
        names = [
            exp.column(name)
            for join in query.args.get("joins") or ()
            for name in join.args.get("using") or ()
        ]
        found = [source for column in (*parts, *names) for source in self._resolved(column, scope)]
        for inner in scope.subquery_scopes:
            found += [s for column in self.columns(inner) for s in column.sources]
            found += [s for column in self.columns(inner) for use in column.uses for s in use.sources]
        sources = [s._replace(how=How.EXPRESSION) for s in dict.fromkeys(found)]
        rows = [ColumnUse("filter", "", tuple(sources))] if sources else []
        for _, source in scope.selected_sources.values():
            if not isinstance(source, exp.Table) and not source.is_udtf:
                rows += [use for column in self.columns(source) for use in column.uses]
        return tuple(dict.fromkeys(rows))

    def _sources(self, node: exp.Expr, scope: Scope) -> Iterator[ColumnSource]:
        """The columns in an expression, and whether their types decide on its type."""
        from sqlglot import exp

        pending: list[tuple[exp.Expr, str]] = [(node, How.IDENTITY)]
        while pending:
            node, how = pending.pop()
            if isinstance(node, exp.Column):
                for source in self._resolved(node, scope):
                    yield source if how == How.IDENTITY else source._replace(how=how)
                continue
            if isinstance(node, exp.Query):
                continue  # Its columns are among the uses.
            if isinstance(node, exp.Window):
                pending.append((node.this, SHOWN if how != How.EXPRESSION else how))
                pending += [
                    (each, How.EXPRESSION) for each in node.iter_expressions() if each is not node.this
                ]
                continue
            if not isinstance(node, exp.Paren):
                follows = how != How.EXPRESSION and isinstance(node, _type_follows())
                how = SHOWN if follows else How.EXPRESSION
            pending.extend((child, how) for child in node.iter_expressions())

    def _resolved(self, column: exp.Column, scope: Scope) -> Iterator[ColumnSource]:
        """The columns of tables that a name stands for: `o.address.zip`, `address.zip` or `zip`."""
        from sqlglot.optimizer.scope import Scope

        parts = [part.name for part in column.parts]
        aliases = {alias.lower(): source for alias, (_, source) in scope.selected_sources.items()}
        if len(parts) > 1 and parts[0].lower() in aliases:
            sources, parts = [aliases[parts[0].lower()]], parts[1:]
        else:
            sources = self._having(parts[0], aliases.values())
        for source in sources:
            table = self._table(source)
            if table is not None:
                yield ColumnSource(table, self._spelled(table, parts), How.IDENTITY)
            elif isinstance(source, Scope):
                yield from self._inner_sources(source, parts)

    def _inner_sources(self, inner: Scope, parts: Sequence[str]) -> Iterator[ColumnSource]:
        for column in self.columns(inner):
            if column.name.lower() == parts[0].lower():
                rest = "".join(f".{part}" for part in parts[1:])
                yield from (s._replace(column=s.column + rest) for s in column.sources)
            elif column.name == STAR:
                yield from (s._replace(column=self._spelled(s.node, parts)) for s in column.sources)

    def _spelled(self, table: NodeRef, parts: Sequence[str]) -> str:
        """A column as its table has it: Athena compares names in lower case, which those of views are in."""
        name = parts[0].lower()
        known = (each for each in self._tables.get(table, ()) if each.lower() == name)
        return ".".join((next(known, name), *parts[1:]))

    def _having(self, name: str, sources: Iterable[Scope | exp.Table]) -> list[Any]:
        """The sources that have a column of a name; all that may, if none is known to."""
        from sqlglot.optimizer.scope import Scope

        sure, maybe = [], []
        for source in sources:
            table = self._table(source)
            names: Iterable[str] | None
            if table is not None:
                names = self._tables.get(table)
            elif not isinstance(source, Scope):
                names = None
            else:
                names = [column.name for column in self.columns(source)]
                names = None if STAR in names and name not in names else names
            if names is None:
                maybe.append(source)
            elif name.lower() in {each.lower() for each in names}:
                sure.append(source)
        return sure or maybe

    def _table(self, source: object) -> NodeRef | None:
        """The table or view that a source is; None for a subquery and for one that nobody knows."""
        from sqlglot import exp

        if not isinstance(source, exp.Table) or not source.name:
            return None
        return self._names.get(f"{source.db or self._database}.{source.name}".lower())


def _branches(scope: Scope) -> list[Scope]:
    """The operands of a set operation, whose attribute has another name since sqlglot 30."""
    names = ("set_operation_scopes", "union_scopes")
    return [branch for name in names for branch in getattr(scope, name, ())]


def _type_follows() -> tuple[type[exp.Expression], ...]:
    """Expressions whose type is that of their operands. SUM has the widest of its kind in any case."""
    from sqlglot import exp

    return (
        *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Max, exp.Min, exp.Coalesce, exp.Case),
        *(exp.If, exp.Nullif, exp.Greatest, exp.Least, exp.AnyValue, exp.Lag, exp.Lead, exp.FirstValue),
        *(exp.LastValue, exp.Array, exp.ArrayAgg, exp.Abs, exp.Bracket, exp.Dot),
    )
