"""SQL expressions that a user wrote, over the columns of a DataFrame: checked before anything is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def filtered(frame: DataFrame, condition: str, what: str) -> DataFrame:
    """The rows that satisfy a condition; `what` is the option that holds it, for messages.

    Raises:
        ConfigurationError: it is no condition over the frame's columns.
    """
    from pyspark.errors import PySparkException

    try:
        found = frame.where(condition)
        _ = found.schema
    except PySparkException as error:
        raise _wrong(frame, condition, f"{what} is no condition", error) from error
    return found


def type_of(frame: DataFrame, expr: str, what: str) -> DataType:
    """The type of an expression; `what` is the option that holds it, for messages.

    Raises:
        ConfigurationError: it is no expression over the frame's columns.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    try:
        return frame.select(F.expr(expr)).schema[0].dataType
    except PySparkException as error:
        raise _wrong(frame, expr, f"{what} is no expression", error) from error


def _wrong(frame: DataFrame, expr: str, told: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"{told} over its columns: {expr}\n  {str(error).splitlines()[0]}",
        hint=f"The columns are {', '.join(frame.columns[:30])}.",
    )
