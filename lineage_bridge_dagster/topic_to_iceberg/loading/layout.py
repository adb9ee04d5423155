"""A table's partitions and sort order, as they are configured, for Iceberg's Java library."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark import classic, partitioning
from lineage_bridge_dagster.spark.java_errors import root_cause
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_ORDER = re.compile(
    r"(?P<term>.*?)(?:\s+(?P<direction>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?", re.IGNORECASE
)


def partition_spec(spark: SparkSession, schema: StructType, java_schema: Any, config: TopicLoad) -> Any:
    """Iceberg's Java partition spec of a table with these columns.

    Raises:
        ConfigurationError: a term is malformed, or not of a column that it suits.
    """
    builder = classic.java_class(spark, "org.apache.iceberg.PartitionSpec").builderFor(java_schema)
    for field in partitioning.parse(config.partition_by, schema, str(config.name)):
        _checked(str(field), getattr(builder, field.transform), *_arguments(field))
    return _checked(", ".join(config.partition_by), builder.build)


def sort_order(spark: SparkSession, schema: StructType, java_schema: Any, config: TopicLoad) -> Any:
    """Iceberg's Java sort order; each term may have `asc` or `desc` and `nulls first` or `nulls last`.

    Raises:
        ConfigurationError: as `partition_spec`.
    """
    builder = classic.java_class(spark, "org.apache.iceberg.SortOrder").builderFor(java_schema)
    expressions = classic.java_class(spark, "org.apache.iceberg.expressions.Expressions")
    nulls = classic.java_class(spark, "org.apache.iceberg.NullOrder")
    for text in config.sort_by:
        order = _ORDER.fullmatch(text.strip())
        is_ascending = order is None or (order["direction"] or "asc").lower() == "asc"
        nulls_come = (order and order["nulls"]) or ("first" if is_ascending else "last")
        terms = [order["term"] if order else text]
        (field,) = partitioning.parse(terms, schema, str(config.name), "sort_by")
        term = getattr(expressions, "ref" if field.transform == "identity" else field.transform)
        bound = _checked(text, term, *_arguments(field))
        add = builder.asc if is_ascending else builder.desc
        _checked(text, add, bound, getattr(nulls, f"NULLS_{nulls_come.upper()}"))
    return _checked(", ".join(config.sort_by), builder.build)


def _arguments(field: partitioning.PartitionField) -> tuple[str | int, ...]:
    column = ".".join(field.path)
    return (column, int(field.argument)) if field.argument else (column,)


def _checked(text: str, build: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return build(*arguments)
    except Exception as error:
        raise ConfigurationError(
            f"The table cannot be partitioned or sorted by {text!r}: {root_cause(error).partition(': ')[2]}",
            hint="Name a column of a type that the transform takes.",
        ) from error
