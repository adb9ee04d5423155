"""Conditions over the rows of a table as PyIceberg's expressions: slices of partitions, and SQL texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    BoundPredicate,
    BoundTerm,
    EqualTo,
    GreaterThanOrEqual,
    In,
    IsNaN,
    IsNull,
    LessThan,
    Not,
    Or,
    Reference,
    UnboundPredicate,
)
from pyiceberg.expressions.parser import parse
from pyiceberg.expressions.visitors import BooleanExpressionVisitor, bind, visit
from pyiceberg.io.pyarrow import _ConvertToArrowExpression
from pyiceberg.schema import Schema
from pyparsing import ParseException

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.column_names import resolve
from lineage_bridge_dagster.spark.io.arrow.schemas import sql_type
from lineage_bridge_dagster.spark.io.slices import Dimension, Slice, bounds


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A partition column as the table names it, and its type as Spark does."""

    column: str
    type: str

    def typeName(self) -> str:
        return self.type


def slice_filter(slice_: Slice, schema: Schema, label: str) -> BooleanExpression:
    """The rows of a slice.

    Raises:
        ConfigurationError: a partition expression is not a column, or a column does not hold its partitions.
    """
    types = slice_types(slice_, schema, label)
    return any_of(
        all_of(_predicate(dimension, types[dimension.expr]) for dimension in box) for box in slice_.boxes
    )


def all_of(conditions: Iterable[BooleanExpression]) -> BooleanExpression:
    """What satisfies all conditions; everything, if there are none."""
    everything: BooleanExpression = AlwaysTrue()
    return reduce(And, conditions, everything)


def any_of(conditions: Iterable[BooleanExpression]) -> BooleanExpression:
    """What satisfies one of the conditions; nothing, if there are none."""
    nothing: BooleanExpression = AlwaysFalse()
    return reduce(Or, conditions, nothing)


def one_of(name: str, values: Iterable[Any]) -> BooleanExpression:
    """The rows with one of these values in a column; None is a null."""
    equal: Any = EqualTo
    within: Any = In
    null: Any = IsNull
    nan: Any = IsNaN
    listed = list(values)
    found = [value for value in listed if value is not None]
    # NaN equals NaN, as in Spark.
    numbers = [value for value in found if value == value]
    known: BooleanExpression = AlwaysFalse()
    if numbers:
        known = equal(name, numbers[0]) if len(numbers) == 1 else within(name, numbers)
    if len(numbers) < len(found):
        known = Or(known, nan(name))
    return Or(known, null(name)) if None in listed else known


def slice_types(slice_: Slice, schema: Schema, label: str) -> dict[str, ColumnType]:
    """The columns of a slice by its partition expressions."""
    found = {}
    for expr in slice_.exprs:
        if (path := resolve(expr, schema, f"partition_expr of {label}")) is None:
            raise ConfigurationError(
                f"partition_expr of {label} is {expr}, which is not a column: it has "
                f"{', '.join(schema.column_names[:30])}.",
                hint="Name a column. SQL expressions need a Spark DataFrame.",
            )
        name = ".".join(path)
        found[expr] = ColumnType(name, sql_type(schema.find_field(name).field_type))
    return found


def parsed(text: str, schema: Schema, option: str) -> BooleanExpression:
    """A condition in SQL, of what PyIceberg understands: comparisons, IN, LIKE, IS NULL, AND, OR, NOT.

    Returns:
        The condition, over the columns as the schema names them.

    Raises:
        ConfigurationError: it is not such a condition over these columns.
    """
    try:
        expression = visit(parse(text), _Named(schema, option))
        bind(schema, expression, case_sensitive=True)
    except (ParseException, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"{option} is not a condition over its columns: {text}\n  {str(error).splitlines()[0]}",
            hint=f"Compare columns with values: {', '.join(schema.column_names[:30])}. Functions and other "
            "SQL need a Spark DataFrame.",
        ) from error
    return expression


def mask(condition: BooleanExpression, schema: Schema) -> pc.Expression:
    """A condition as Arrow's: true for the rows that satisfy it, false for all others, nulls included."""
    found = visit(bind(schema, condition, case_sensitive=True), _Mask(schema))
    return pc.if_else(pc.is_valid(found), found, pc.scalar(False))


def outside(rows: pa.Table, condition: BooleanExpression, schema: Schema) -> pa.Table:
    """The rows that do not satisfy a condition."""
    return rows.filter(~mask(condition, schema))


class _Mask(_ConvertToArrowExpression):
    """A condition as Arrow's, which PyIceberg splits at the dots of names that are not paths."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._columns = schema

    def _get_field_name(self, term: BoundTerm) -> tuple[str, ...]:
        name = self._columns.find_column_name(term.ref().field.field_id) or ""
        return resolve(name, self._columns, name) or (name,)


class _Named(BooleanExpressionVisitor[BooleanExpression]):
    """A condition with the columns as a schema names them."""

    def __init__(self, schema: Schema, option: str) -> None:
        self._schema = schema
        self._option = option

    def visit_true(self) -> BooleanExpression:
        return AlwaysTrue()

    def visit_false(self) -> BooleanExpression:
        return AlwaysFalse()

    def visit_not(self, child_result: BooleanExpression) -> BooleanExpression:
        return Not(child_result)

    def visit_and(self, left_result: BooleanExpression, right_result: BooleanExpression) -> BooleanExpression:
        return And(left_result, right_result)

    def visit_or(self, left_result: BooleanExpression, right_result: BooleanExpression) -> BooleanExpression:
        return Or(left_result, right_result)

    def visit_unbound_predicate(self, predicate: UnboundPredicate) -> BooleanExpression:
        term = predicate.term
        if isinstance(term, Reference) and (path := resolve(term.name, self._schema, self._option)):
            term = Reference(".".join(path))
        return predicate.model_copy(update={"term": term})

    def visit_bound_predicate(self, predicate: BoundPredicate) -> BooleanExpression:
        return predicate


def _predicate(dimension: Dimension, at: ColumnType) -> BooleanExpression:
    if (ranges := bounds(dimension, at.type)) is None:
        return one_of(at.column, dimension.keys)
    return any_of(_between(at.column, low, high) for low, high in ranges)


def _between(name: str, low: str, high: str) -> BooleanExpression:
    # PyIceberg's constructors take positional arguments, which their types do not say.
    at_least: Any = GreaterThanOrEqual
    below: Any = LessThan
    return And(at_least(name, low), below(name, high))
