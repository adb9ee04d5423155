"""Rows merged into a table by key: those with a known key replace their row, the others are added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import quoted
from lineage_bridge_dagster.spark.commits import Target, Write, view
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.schemas import column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_EXAMPLES = 3


class MergeKeyError(LineageBridgeError):
    """The rows can't be merged by their keys."""


def check_columns(frame: StructType, options: WriteOptions, target: Target) -> None:
    """Refuse key and delete columns that the frame has not.

    Raises:
        MergeKeyError: one is missing, or the delete column is no boolean.
    """
    types = {field.name.lower(): field.dataType.typeName() for field in frame}
    for name in (*options.join_cols, *([options.delete_column] if options.delete_column else [])):
        if name.lower() not in types:
            role = "delete_column" if name == options.delete_column else "join_cols"
            raise MergeKeyError(
                f"The DataFrame for {target} has no column {name}, which {role} names.",
                hint=f"Its columns are {', '.join(frame.names[:30])}.",
            )
    if options.delete_column and types[options.delete_column.lower()] != "boolean":
        raise MergeKeyError(
            f"delete_column {options.delete_column} of {target} is {types[options.delete_column.lower()]}.",
            hint="Make it a boolean that is true on rows to delete, such as F.col('op') == 'd'.",
        )


def merge(frame: DataFrame, target: Target, options: WriteOptions, write: Write) -> int:
    """MERGE INTO the table; returns how many rows the frame had.

    Only the frame's own columns are set; others of the table keep their values, and are null in new rows.

    Raises:
        MergeKeyError: a key comes twice, or is null where that is not allowed.
    """
    from pyspark import StorageLevel

    # MERGE reads its source twice, and the checks once more: all of them must see the same rows.
    rows = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        count = check_keys(rows, target, options)
        with view(rows) as source, write.session(frame.sparkSession) as session:
            session.sql(statement(rows.columns, target, options, source))
    finally:
        rows.unpersist()
    return count


def check_keys(rows: DataFrame, target: Target, options: WriteOptions) -> int:
    """Count the rows, after refusing null keys (unless they are to match) and keys that come twice."""
    from pyspark.sql import functions as F

    keys = [column(name) for name in options.join_cols]
    empty = F.lit(False)
    for key in keys:
        empty = empty | key.isNull()
    told = rows.agg(F.count(F.lit(1)).alias("n"), F.count_if(empty).alias("nulls")).collect()[0]
    if told.nulls and options.null_keys == "error":
        raise MergeKeyError(
            f"{told.nulls} of {told.n} rows for {target} have null in {', '.join(options.join_cols)}.",
            hint="Filter them out, or set null_keys: match to have null equal null.",
        )
    twice = rows.groupBy(*keys).agg(F.count(F.lit(1)).alias("n")).where("n > 1").limit(_EXAMPLES).collect()
    if twice:
        shown = "; ".join(_shown(row[:-1], options.join_cols, row[-1]) for row in twice)
        raise MergeKeyError(
            f"The DataFrame for {target} has rows of one key more than once: {shown}. Nothing was written.",
            hint="Keep one row of each key, such as the newest by a window over "
            f"{', '.join(options.join_cols)}, or name more columns in join_cols.",
        )
    return int(told.n)


def statement(columns: list[str], target: Target, options: WriteOptions, source: str) -> str:
    """The MERGE INTO statement for a source with these columns."""
    keys = {name.lower() for name in options.join_cols}
    own = [name for name in columns if name.lower() != options.delete_column.lower()]
    equals = "<=>" if options.null_keys == "match" else "="
    on = " AND ".join(f"t.{quoted(name)} {equals} s.{quoted(name)}" for name in options.join_cols)
    sets = ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in own if name.lower() not in keys)
    deleted = f"coalesce(s.{quoted(options.delete_column)}, false)" if options.delete_column else ""
    names, values = ", ".join(map(quoted, own)), ", ".join(f"s.{quoted(name)}" for name in own)
    lines = [f"MERGE INTO {target.name} t USING {source} s ON {on}"]
    if deleted:
        lines.append(f"WHEN MATCHED AND {deleted} THEN DELETE")
    if sets:
        lines.append(f"WHEN MATCHED THEN UPDATE SET {sets}")
    lines.append(f"WHEN NOT MATCHED{f' AND NOT {deleted}' if deleted else ''} THEN")
    lines.append(f"INSERT ({names}) VALUES ({values})")  # noqa: S608 - all quoted
    return "\n".join(lines)


def _shown(values: tuple[object, ...], names: tuple[str, ...], count: int) -> str:
    pairs = ", ".join(f"{name}={str(value)[:60]}" for name, value in zip(names, values, strict=True))
    return f"{pairs} ({count} rows)"
