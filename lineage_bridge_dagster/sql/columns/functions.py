"""Table functions: the columns that they return. Pure.

Sources: Flink's "Windowing table-valued functions", "Model Inference", "Vector Search", "Process Table
Functions" and "Changelog Conversion"; Confluent's "AI Model Inference and Machine Learning Functions". The
columns of any other function are declared in no text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lineage_bridge_dagster.lineage.columns import How
from lineage_bridge_dagster.sql.columns.origins import CONSTANT, Origin, merged, partly, through, unknown
from lineage_bridge_dagster.sql.columns.relations import (
    KnownColumn,
    Relation,
    UnknownColumns,
    named,
    opaque,
    shown,
)
from lineage_bridge_dagster.sql.columns.scopes import FromClause, QueryScope
from lineage_bridge_dagster.sql.columns.types import SCALAR, SqlType
from lineage_bridge_dagster.sql.flink.tables import EXTERNAL_SEARCHES
from lineage_bridge_dagster.sql.flink.tree import ABSENT, QUERIES, Tree
from lineage_bridge_dagster.sql.statement import TablePath

Outputs = tuple[tuple[str, SqlType | None], ...]
"""A model's output columns."""

Models = Callable[[TablePath], Outputs | None]
"""A model -> its outputs, None when no known statement creates it."""

WINDOWS = frozenset({"TUMBLE", "HOP", "CUMULATE", "SESSION"})
_WINDOW_COLUMNS = ("window_start", "window_end", "window_time")
# Functions of a model. Given a table they return its columns, too.
_MODEL_FUNCTIONS = frozenset({"ML_PREDICT", "AI_COMPLETE", "AI_EMBEDDING"})
# What AI_RUN_AGENT returns for a prompt.
_AGENT_COLUMNS = ("status", "response")
# Between an updating table and one of changes, which has a column for the kind of change.
_TO_CHANGES, _FROM_CHANGES = "TO_CHANGELOG", "FROM_CHANGELOG"


class Arguments:
    """The arguments of a table function, whether or not they are named.

    Args:
        tree: The statement.
        call: The call.
        table: Reads a table argument as a FROM clause.
    """

    def __init__(self, tree: Tree, call: int, table: Callable[[int], FromClause]) -> None:
        self.tree = tree
        self.name = tree.name(call) if tree.children(call) else ""
        self._table = table
        self._values: list[tuple[str, int]] = []
        for argument in tree.children(call):
            name = ""
            if tree.kind(argument) == "ARGUMENT_ASSIGNMENT":
                value, identifier = tree.children(argument)
                name, argument = tree.names([identifier])[0].upper(), value
            self._values.append((name, argument))

    def tables(self) -> Iterator[tuple[FromClause, list[TablePath]]]:
        """The columns of each table argument, with the columns that partition it."""
        for _, node in self._values:
            kind = self.tree.kind(node)
            if kind == "SET_SEMANTICS_TABLE":
                keys = map(self.tree.path, self.tree.children(self.tree.child(node, 1)))
                yield self._table(node), [key for key in keys if key]
            elif kind in QUERIES:
                yield self._table(node), []

    def descriptors(self, name: str = "") -> list[TablePath]:
        """The columns in the first DESCRIPTOR, or in the argument of that name."""
        for given, node in self._values:
            if self._is_descriptor(node) and (not name or given == name):
                return [path for child in self.tree.children(node) if (path := self.tree.path(child))]
        return []

    def model(self) -> TablePath:
        """The model, as `MODEL name` or as a string; empty if there is none."""
        for _, node in self._values:
            if self.tree.kind(node) == "MODEL":
                path = self.tree.path(self.tree.child(node, 0))
                # A string may end in the model's version.
                parts = self.tree.name(node).partition("$")[0].replace("`", "").split(".")
                return path or tuple(parts)
        return ()

    def values(self, start: int = 0) -> list[int]:
        """The arguments that are expressions, from the one at a position on."""
        return [
            node
            for _, node in self._values[start:]
            if node != ABSENT
            and self.tree.kind(node) not in QUERIES | {"SET_SEMANTICS_TABLE", "MODEL"}
            and not self._is_descriptor(node)
        ]

    def _is_descriptor(self, node: int) -> bool:
        return self.tree.kind(node) == "OTHER_FUNCTION" and self.tree.name(node).upper() == "DESCRIPTOR"


def function_relation(arguments: Arguments, origin: Callable[[int], Origin], models: Models) -> Relation:
    """The columns of a table function in FROM."""
    name = arguments.name.upper()
    tables = list(arguments.tables())
    if name in WINDOWS and tables:
        return _window(arguments, tables[0][0])
    if name in _MODEL_FUNCTIONS:
        return _model(arguments, tables[0][0] if tables else None, origin, models)
    if name == "VECTOR_SEARCH" and tables:
        return _vector_search(arguments, tables[0][0], origin)
    if name in EXTERNAL_SEARCHES:
        values = arguments.values()
        query = merged(origin(value) for value in values[1:])
        table = shown(arguments.tree.path(values[0])) if values else ""
        found = partly(through(query, How.EXPRESSION), f"it derives from the external table {table}, too")
        return (KnownColumn("search_results", found),)
    if name == "AI_RUN_AGENT":
        prompt = merged(origin(value) for value in arguments.values(1))
        found = partly(
            through(prompt, How.EXPRESSION), "it may also derive from what the agent's tools return"
        )
        return tuple(KnownColumn(column, found) for column in _AGENT_COLUMNS)
    if name in (_TO_CHANGES, _FROM_CHANGES) and len(tables) == 1:
        return _changelog(arguments, *tables[0], has_op=name == _TO_CHANGES)
    reason = f"the outputs of function {arguments.name} are not declared"
    if not tables:
        return opaque(reason)
    return _process_table_function(arguments, tables, reason)


def _window(arguments: Arguments, source: FromClause) -> Relation:
    time = through(_described(arguments, source), How.EXPRESSION)
    return (*source.star, *(KnownColumn(column, time) for column in _WINDOW_COLUMNS))


def _model(
    arguments: Arguments, source: FromClause | None, origin: Callable[[int], Origin], models: Models
) -> Relation:
    """The input's columns, if it is a table, then the model's outputs, which are all made of the features."""
    values = [origin(value) for value in arguments.values()] if source is None else []
    features = through(merged([*values, _described(arguments, source or FromClause())]), How.EXPRESSION)
    model = arguments.model()
    outputs = models(model) if model else None
    rest: Relation = (UnknownColumns(origin=features),)
    if outputs is not None:
        rest = tuple(KnownColumn(name, features, type=of) for name, of in outputs)
    return named((column, False) for column in (*(source.star if source else ()), *rest))


def _vector_search(arguments: Arguments, source: FromClause, origin: Callable[[int], Origin]) -> Relation:
    """The columns of the rows that are found, then their score."""
    query = merged(origin(value) for value in arguments.values())
    score = through(merged([_described(arguments, source), query]), How.EXPRESSION)
    return (*source.star, KnownColumn("score", score))


def _process_table_function(
    arguments: Arguments, tables: list[tuple[FromClause, list[TablePath]]], reason: str
) -> Relation:
    """The columns that partition each table, what the function returns, then `rowtime` with ON_TIME."""
    keys = [key for table in tables for key in _keys(*table)]
    time = arguments.descriptors("ON_TIME")
    rowtime: Relation = ()
    if time:
        # A row has the time of the row that it was made from, of whichever table.
        origins = [QueryScope(source).resolve(column).origin for source, _ in tables for column in time]
        found = merged([o for o in origins if o.complete] or origins[:1])
        rowtime = (KnownColumn("rowtime", through(found, How.EXPRESSION)),)
    first = named((key, False) for key in keys)
    return (*first, UnknownColumns(origin=unknown(reason)), *rowtime)


def _changelog(arguments: Arguments, source: FromClause, by: list[TablePath], *, has_op: bool) -> Relation:
    """The columns that partition the table, the kind of change if the result has it, then the others."""
    keys = _keys(source, by)
    described = arguments.descriptors()
    op = described[0][-1] if described else "op"
    left_out = {key.name for key in keys} | (set() if has_op else {op})
    rest = [
        column for column in source.star if isinstance(column, UnknownColumns) or column.name not in left_out
    ]
    change = [KnownColumn(op, CONSTANT, type=SCALAR)] if has_op else []
    return named((column, False) for column in (*keys, *change, *rest))


def _keys(source: FromClause, by: list[TablePath]) -> list[KnownColumn]:
    return [QueryScope(source).resolve(key[-1:]) for key in by]


def _described(arguments: Arguments, source: FromClause) -> Origin:
    """Origin of the columns in the DESCRIPTOR."""
    scope = QueryScope(source)
    return merged(scope.resolve(path).origin for path in arguments.descriptors())
