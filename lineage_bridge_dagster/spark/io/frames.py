"""DataFrames before they are read or written: checked SQL expressions, columns in a table's types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.schemas import as_stored, by_table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField, StructType

    from lineage_bridge_dagster.schemas.types import Path

    #: Finds the fields of a struct by the names that those of another have for them; with their path.
    Matching = Callable[[StructType, StructType, Path], Mapping[str, StructField]]

#: Marks the message of a rejected row within Spark's account of the failed stage.
_OUTSIDE = "row outside the slice: "
_END = "\x1f"


def column(name: str) -> Column:
    """The column of this name, whatever characters it has."""
    from pyspark.sql import functions as F

    return F.col(quoted(name))


def filtered(frame: DataFrame, condition: str, option: str) -> DataFrame:
    """The rows that satisfy a condition; `option` names where it is set, for messages.

    Raises:
        ConfigurationError: it is not a condition over the frame's columns.
    """
    from pyspark.errors import PySparkException

    try:
        found = frame.where(condition)
        # Has the condition analyzed; the schema of a filter over Spark Connect is known without that.
        found.isLocal()
    except PySparkException as error:
        raise _invalid(frame, condition, f"{option} is not a condition", error) from error
    return found


def types_of(frame: DataFrame, expressions: Iterable[str], option: str) -> dict[str, DataType]:
    """The types of expressions; `option` names where they are set, for messages.

    Raises:
        ConfigurationError: one is not an expression over the frame's columns.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    types = {}
    for expression in expressions:
        try:
            types[expression] = frame.select(F.expr(expression)).schema[0].dataType
        except PySparkException as error:
            raise _invalid(frame, expression, f"{option} is not an expression", error) from error
    return types


def conform(
    frame: DataFrame, schema: StructType, match: Matching | None = None, extra: Sequence[str] = ()
) -> DataFrame:
    """The frame with the columns of a schema, in its order and types; missing ones are null.

    Args:
        schema: the columns, whose nested fields match by name, too.
        match: finds the fields; by default those of the same name, or of one that differs by case.
        extra: further columns of the frame, which stay as they are.
    """
    columns = _fields(column, frame.schema, schema, match or _by_table, ())
    return frame.select(*columns, *extra)


def reject_outside(frame: DataFrame, condition: str, expressions: tuple[str, ...]) -> DataFrame:
    """The frame, which fails while it is written if a row does not satisfy the condition."""
    from pyspark.sql import functions as F

    values = F.concat_ws(", ", *[F.coalesce(F.expr(e).cast("string"), F.lit("null")) for e in expressions])
    # A condition that is not deterministic stays where it is: with the row number in it, the optimizer cannot
    # evaluate it on rows that a filter or a join leaves out.
    number = F.monotonically_increasing_id().cast("string")
    message = F.concat(F.lit(_OUTSIDE), values, F.lit(_END), number)
    return frame.where(F.when(F.expr(condition), F.lit(True)).otherwise(F.raise_error(message)))


def rejected_values(error: Exception) -> str | None:
    """The expressions' values of the row that made a write fail, None for another failure."""
    _, found, rest = str(error).partition(_OUTSIDE)
    return rest.partition(_END)[0].strip() if found else None


def _by_table(source: StructType, target: StructType, _: Path) -> Mapping[str, StructField]:
    return by_table(source, target)


def _fields(
    get: Callable[[str], Column], source: StructType, target: StructType, match: Matching, path: Path
) -> Iterator[Column]:
    """A struct's fields as those of another."""
    from pyspark.sql import functions as F

    known = match(source, target, path)
    for field in target:
        own = known.get(field.name)
        if own is None:
            found = F.lit(None).cast(field.dataType)
        else:
            found = _cast(get(own.name), own.dataType, field.dataType, match, (*path, own.name))
        yield found.alias(field.name)


def _cast(value: Column, source: DataType, target: DataType, match: Matching, path: Path) -> Column:
    """A value in the target's type; fields of structs match by name, as columns do."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, MapType, StructType

    def cast(before: DataType, after: DataType, part: str) -> Callable[[Column], Column]:
        return lambda each: _cast(each, before, after, match, (*path, part))

    if as_stored(source) == as_stored(target):
        return value
    if isinstance(source, StructType) and isinstance(target, StructType):
        return F.when(value.isNotNull(), F.struct(*_fields(value.getField, source, target, match, path)))
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return F.transform(value, cast(source.elementType, target.elementType, "element"))
    if isinstance(source, MapType) and isinstance(target, MapType):
        key = cast(source.keyType, target.keyType, "key")
        inner = cast(source.valueType, target.valueType, "value")
        keyed = F.transform_keys(value, lambda k, _: key(k)) if source.keyType != target.keyType else value
        return F.transform_values(keyed, lambda _, v: inner(v))
    return value.cast(target)


def _invalid(frame: DataFrame, expression: str, problem: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"{problem} over its columns: {expression}\n  {str(error).splitlines()[0]}",
        hint=f"The columns are {', '.join(frame.columns[:30])}.",
    )
