"""A query -> its columns, with their names and origins. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lineage_bridge_dagster.lineage.columns import How
from lineage_bridge_dagster.sql.columns.origins import CONSTANT, Origin, merged, partly, through, unknown
from lineage_bridge_dagster.sql.columns.relations import (
    MAX_COLUMNS,
    TOO_MANY,
    KnownColumn,
    Relation,
    UnknownColumns,
    is_fully_known,
    opaque,
)
from lineage_bridge_dagster.sql.columns.types import SCALAR, SqlType, array_of, field_type, item_type
from lineage_bridge_dagster.sql.ksql.expressions import Expression, ExpressionParser, Item, Of, Star
from lineage_bridge_dagster.sql.ksql.names import PSEUDO_COLUMNS, NameGenerator
from lineage_bridge_dagster.sql.ksql.scopes import Join, KsqlScope, Scoped, Table
from lineage_bridge_dagster.sql.ksql.syntax import Query, QuerySource, Tokens
from lineage_bridge_dagster.sql.ksql.tokens import KsqlError, TokenCursor, TokenKind

Types = Mapping[str, SqlType | None]
"""Types that CREATE TYPE has defined, by name."""

# More than ksqlDB runs.
_MAX_SOURCES = 200
#: ksqlDB's own aggregate functions. A function of a user's is recognized by an argument that the query does
#: not group by.
_AGGREGATES = frozenset(
    {
        *("ATTR", "AVG", "COLLECT_LIST", "COLLECT_SET", "CORRELATION", "COUNT", "COUNT_DISTINCT"),
        *("EARLIEST_BY_OFFSET", "HISTOGRAM", "LATEST_BY_OFFSET", "MAX", "MIN", "STDDEV_SAMP"),
        *("STDDEV_SAMPLE", "SUM", "SUM_LIST", "TOPK", "TOPKDISTINCT"),
    }
)
#: Functions that return their argument unchanged.
_COPIES = frozenset({"AS_VALUE"})

_SAME_TYPE = frozenset({"AS_VALUE", "ATTR", "MAX", "MIN", "COALESCE", "IFNULL", "NULLIF"})
_LAST_OR_LIST = frozenset({"EARLIEST_BY_OFFSET", "LATEST_BY_OFFSET"})
_LISTS = frozenset({"COLLECT_LIST", "COLLECT_SET"})
_SAME_ARRAYS = frozenset(
    {"ARRAY_DISTINCT", "ARRAY_EXCEPT", "ARRAY_INTERSECT", "ARRAY_REMOVE", "ARRAY_SORT", "ARRAY_UNION"}
    | {"FILTER", "SLICE"}
)


class KsqlQueryReader:
    """Derives the columns of one query.

    Args:
        query: The query.
        tables: The stream or table of a name.
        types: Custom types.
        is_written: Whether a stream or table is made of the result; a star then has no bounds of windows.
    """

    def __init__(
        self, query: Query, tables: Callable[[str], Table], types: Types, *, is_written: bool
    ) -> None:
        self._query = query
        self._parser = ExpressionParser(query.variables, types)
        self._is_written = is_written
        self._scope = KsqlScope(
            [Scoped(source.alias, tables(source.name)) for source in query.sources],
            [self._join(source) for source in query.sources[1:]],
        )
        self._grouped = self._listed(query.group_by)
        self._partitioned = self._listed(query.partition_by)

    @property
    def is_windowed(self) -> bool:
        """Whether the key of the result has a window."""
        grouped = self._query.group_by is not None
        return self._query.is_windowed or (self._scope.is_windowed and not grouped)

    def relation(self) -> Relation:
        """The columns of the result, in order."""
        if len(self._query.sources) > _MAX_SOURCES:
            return opaque(f"its query has more than {_MAX_SOURCES} sources")
        generator = self._scope.generator()
        relation: list[KnownColumn | UnknownColumns] = []
        after_unknown = False
        for found in self._query.items:
            try:
                item = self._parser.item(found)
            except KsqlError as error:
                alias, reason = _alias(found), f"its expression could not be parsed: {error.message}"
                relation.append(KnownColumn(alias or None, unknown(reason), bool(alias)))
                continue
            columns = self._item(item, generator, after_unknown=after_unknown)
            after_unknown = after_unknown or not is_fully_known(columns)
            relation += columns
            if len(relation) > MAX_COLUMNS:
                return opaque(TOO_MANY)
        return tuple(relation)

    def _item(self, item: Item, generator: NameGenerator, *, after_unknown: bool) -> Relation:
        expression = item.expression
        if expression is None:
            columns = self._scope.star(item.source, bounds=not self._is_written)
            if self._scope.is_join and self._query.partition_by is not None and not item.source:
                # ksqlDB also expands it to the pseudo columns of each source then.
                columns += self._scope.pseudo_columns()
            return (*self._partition_keys(columns), *columns)
        if item.star is Star.STRUCT:
            return self._fields(expression)
        name = item.alias or self._generated(expression, generator)
        # A generated name depends on those of the columns before it.
        is_certain = bool(item.alias) or expression.of is Of.COLUMN or not after_unknown
        origin, of = self.origin(expression), self._type(expression)
        return (KnownColumn(name or None, origin, is_certain and bool(name), of),)

    def _generated(self, expression: Expression, generator: NameGenerator) -> str | None:
        """The name of an expression without alias; None when that is not known."""
        if expression.of is Of.COLUMN:
            return self._scope.name_of(expression)
        if expression.of is Of.FIELD:
            return generator.field(expression.name)
        return None if expression.of is Of.VARIABLE else generator.expression()

    def _fields(self, struct: Expression) -> Relation:
        """The columns of `struct->*`."""
        origin, of = through(self.origin(struct), How.EXPRESSION), self._type(struct)
        if of is not None and of.kind == "ROW":
            return tuple(KnownColumn(name, origin, type=inner) for name, inner in of.parts)
        return (UnknownColumns(origin=partly(origin, f"the fields of {struct.name} are unknown")),)

    def _partition_keys(self, columns: Relation) -> Relation:
        """The keys of a PARTITION BY that a star has besides the sources' columns."""
        generator = self._scope.generator()
        keys = []
        for expression in self._partitioned or ():
            if expression.of is Of.LITERAL and expression.name == "NULL":
                continue
            if expression.of is Of.COLUMN:
                name = self._scope.name_of(expression)
                if expression.name not in PSEUDO_COLUMNS:
                    continue
            else:
                name = self._generated(expression, generator)
            if not any(isinstance(column, KnownColumn) and column.name == name for column in columns):
                keys.append(KnownColumn(name, self.origin(expression), bool(name), self._type(expression)))
        return tuple(keys)

    def origin(self, expression: Expression, bound: frozenset[str] = frozenset()) -> Origin:
        """What an expression's value derives from.

        Args:
            bound: Parameters of the lambdas around it; their values come from the calls' other arguments.
        """
        if self._grouped is not None and self._scope.qualified(expression) in self._grouped:
            return self._origin(expression, bound, is_grouped=True)
        return self._origin(expression, bound, is_grouped=self._grouped is None)

    def _origin(self, expression: Expression, bound: frozenset[str], *, is_grouped: bool) -> Origin:
        of, parts = expression.of, expression.parts
        if of is Of.COLUMN:
            if not expression.source and expression.name in bound:
                return CONSTANT
            origin = self._scope.resolve(expression).origin
            # Only an aggregate function can have a column that the query does not group by.
            return origin if is_grouped else through(origin, How.AGGREGATE)
        if of is Of.VARIABLE:
            return unknown(f"variable {expression.name} is not defined")
        if of is Of.LAMBDA:
            bound |= frozenset(expression.names)
        inner = merged(
            self._origin(part, bound, is_grouped=True) if is_grouped else self.origin(part, bound)
            for part in parts
        )
        if of is Of.CALL and expression.name in _AGGREGATES:
            return through(inner, How.AGGREGATE)
        is_copy = of is Of.LAMBDA or (of is Of.CALL and expression.name in _COPIES)
        return inner if is_copy else through(inner, How.EXPRESSION)

    def _type(self, expression: Expression) -> SqlType | None:
        of, parts = expression.of, expression.parts
        if of is Of.COLUMN:
            return self._scope.resolve(expression).type
        if of is Of.CAST:
            return expression.type
        if of in (Of.LITERAL, Of.OPERATOR):
            return SCALAR
        types = [self._type(part) for part in parts] if of is not Of.LAMBDA else []
        if of is Of.FIELD:
            return field_type(types[0], expression.name)
        if of is Of.ITEM:
            return item_type(types[0])
        if of is Of.STRUCT:
            return SqlType("ROW", tuple(zip(expression.names, types, strict=True)))
        if of is Of.ARRAY:
            return array_of(types[0] if types else None)
        if of is Of.MAP:
            return SqlType("MAP", (("KEY", types[0]), ("VALUE", types[1]))) if types else None
        if of is Of.CASE:
            return next((found for found in types[1:] if found is not None and found.kind != "SCALAR"), None)
        return _result_type(expression.name, types) if of is Of.CALL else None

    def _listed(self, found: Tokens | None) -> Sequence[Expression] | None:
        """The expressions of GROUP BY or PARTITION BY; None without it, or if it could not be parsed."""
        if found is None:
            return None
        try:
            listed = self._parser.listed(found)
        except KsqlError:
            return None
        return [self._scope.qualified(expression) for expression in listed]

    def _join(self, source: QuerySource) -> Join:
        return Join(source.is_outer, self._sides(source.condition))

    def _sides(self, condition: Tokens) -> tuple[Expression, Expression] | None:
        """The two sides of a join's condition, which is an equality."""
        cursor = TokenCursor(condition, self._query.variables)
        while cursor.sees("(") and _encloses(condition):
            condition = condition[1:-1]
            cursor = TokenCursor(condition, self._query.variables)
        try:
            if not cursor.skip_to(("=",)):
                return None
            left, right = condition[: cursor.at], condition[cursor.at + 1 :]
            return self._parser.expression(left), self._parser.expression(right)
        except KsqlError:
            return None


def _encloses(found: Tokens) -> bool:
    """Whether the first token is a parenthesis that the last one closes."""
    depth = 0
    for at, token in enumerate(found):
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind is TokenKind.SIGN else 0
        if depth == 0:
            return at == len(found) - 1
    return False


def _alias(found: Tokens) -> str:
    """The alias of an item that could not be parsed; empty without AS."""
    if len(found) > 2 and found[-2].is_any("AS") and found[-1].kind in (TokenKind.WORD, TokenKind.QUOTED):
        return found[-1].text
    return ""


def _result_type(function: str, arguments: list[SqlType | None]) -> SqlType | None:
    """The type that a function returns; None when it is not known."""
    first = arguments[0] if arguments else None
    if function in _SAME_TYPE or function in _SAME_ARRAYS:
        return first
    if function in _LAST_OR_LIST:
        # With a number of values it returns an array.
        return first if len(arguments) == 1 else None
    if function in _LISTS:
        return array_of(first)
    return item_type(first) if function in ("EXPLODE", "ELT", "ARRAY_MAX", "ARRAY_MIN") else None
