"""Conditions over the rows of a table as PyIceberg's expressions: slices of partitions, and SQL texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThanOrEqual,
    In,
    IsNull,
    LessThan,
    Or,
)
from pyiceberg.expressions.parser import parse
from pyiceberg.expressions.visitors import bind
from pyiceberg.io.pyarrow import expression_to_pyarrow
from pyiceberg.schema import Schema
from pyparsing import ParseException

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.io.arrow.schemas import sql_type
from lineage_bridge_dagster.spark.io.slices import Dimension, Slice, bounds


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The type of a partition column, by the name that Spark has for it."""

    name: str

    def typeName(self) -> str:
        return self.name


def slice_filter(slice_: Slice, schema: Schema, label: str) -> BooleanExpression:
    """The rows of a slice.

    Raises:
        ConfigurationError: a partition expression is not a column, or a column does not hold its partitions.
    """
    types = slice_types(slice_, schema, label)
    return any_of(
        all_of(_predicate(dimension, types[dimension.expr].name) for dimension in box) for box in slice_.boxes
    )


def all_of(conditions: Iterable[BooleanExpression]) -> BooleanExpression:
    """What satisfies all conditions; everything, if there are none."""
    result: BooleanExpression = AlwaysTrue()
    for each in conditions:
        result = And(result, each)
    return result


def any_of(conditions: Iterable[BooleanExpression]) -> BooleanExpression:
    """What satisfies one of the conditions; nothing, if there are none."""
    result: BooleanExpression = AlwaysFalse()
    for each in conditions:
        result = Or(result, each)
    return result


def one_of(name: str, values: Iterable[Any]) -> BooleanExpression:
    """The rows with one of these values in a column; None is a null."""
    equal: Any = EqualTo
    within: Any = In
    null: Any = IsNull
    listed = list(values)
    found = [value for value in listed if value is not None]
    known: BooleanExpression = equal(name, found[0]) if len(found) == 1 else within(name, found)
    return Or(known, null(name)) if None in listed else known


def slice_types(slice_: Slice, schema: Schema, label: str) -> dict[str, ColumnType]:
    """The types of the partition columns of a slice."""
    found = {}
    for expr in slice_.exprs:
        try:
            field = schema.find_field(expr, case_sensitive=False)
        except ValueError as error:
            raise ConfigurationError(
                f"partition_expr of {label} is {expr}, which is not a column: it has "
                f"{', '.join(schema.column_names[:30])}.",
                hint="Name a column. SQL expressions need a Spark DataFrame.",
            ) from error
        found[expr] = ColumnType(sql_type(field.field_type))
    return found


def parsed(text: str, schema: Schema, option: str) -> BooleanExpression:
    """A condition in SQL, of what PyIceberg understands: comparisons, IN, LIKE, IS NULL, AND, OR, NOT.

    Args:
        text: the condition.
        schema: the columns.
        option: where it is set, for messages.

    Raises:
        ConfigurationError: it is not such a condition over these columns.
    """
    try:
        expression = parse(text)
        bind(schema, expression, case_sensitive=False)
    except (ParseException, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"{option} is not a condition over its columns: {text}\n  {str(error).splitlines()[0]}",
            hint=f"Compare columns with values: {', '.join(schema.column_names[:30])}. Functions and other "
            "SQL need a Spark DataFrame.",
        ) from error
    return expression


def mask(condition: BooleanExpression, schema: Schema) -> pc.Expression:
    """A condition as Arrow's: true for the rows that satisfy it, false for all others, nulls included."""
    found = expression_to_pyarrow(bind(schema, condition, case_sensitive=False))
    return pc.if_else(pc.is_valid(found), found, pc.scalar(False))


def outside(rows: pa.Table, condition: BooleanExpression, schema: Schema) -> pa.Table:
    """The rows that do not satisfy a condition."""
    return rows.filter(~mask(condition, schema))


def _predicate(dimension: Dimension, kind: str) -> BooleanExpression:
    if (ranges := bounds(dimension, kind)) is None:
        return one_of(dimension.expr, dimension.keys)
    return any_of(_between(dimension.expr, low, high) for low, high in ranges)


def _between(name: str, low: str, high: str) -> BooleanExpression:
    # PyIceberg's constructors take positional arguments, which their types do not say.
    at_least: Any = GreaterThanOrEqual
    below: Any = LessThan
    return And(at_least(name, low), below(name, high))
