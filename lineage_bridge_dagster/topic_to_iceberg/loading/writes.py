"""A batch's rows, written to the staged branch: appended, or merged by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.spark import classic, remote
from lineage_bridge_dagster.spark.commits import global_view
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.topic_to_iceberg.loading.changes import DELETED
from lineage_bridge_dagster.topic_to_iceberg.loading.evolution import Evolved
from lineage_bridge_dagster.topic_to_iceberg.loading.table_rows import TableRows, matching, merge_statement
from lineage_bridge_dagster.topic_to_iceberg.loading.unavailable import number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_SUMMARY = "spark.sql.iceberg.snapshot-property."
_SHUFFLE_TASKS = "spark.sql.shuffle.partitions"


def append(frame: DataFrame, name: TableName, summary: Mapping[str, str]) -> None:
    """Append rows, in a snapshot with these entries in its summary."""
    writer = frame.writeTo(name.sql)
    for key, value in summary.items():
        writer = writer.option(f"snapshot-property.{key}", value)
    writer.append()


def merge(
    frame: DataFrame,
    name: TableName,
    rows: TableRows,
    table: Evolved,
    summary: Mapping[str, str],
    *,
    tasks: int,
) -> None:
    """Merge changes by key, in a snapshot with these entries in its summary.

    The frame's session must be this thread's alone: a statement takes its summary from the session, and the
    number of tasks by which it finds equal keys, unless Spark's configuration has one.
    """
    session = frame.sparkSession
    conf = {f"{_SUMMARY}{key}": value for key, value in summary.items()}
    if _SHUFFLE_TASKS not in classic.settings(session):
        conf[_SHUFFLE_TASKS] = str(tasks)
    with global_view(frame) as source, remote.session_conf(session, conf):
        session.sql(merge_statement(rows, name.sql, source, table))


def unavailable(
    frame: DataFrame, name: TableName, rows: TableRows, columns: StructType, *, is_first: bool
) -> int:
    """How many values a merge could not keep, as the table had no row of their key.

    The merge is not published yet, so the branch `main` has the rows from before it.

    Args:
        frame: what was merged.
        name: the table.
        rows: the changes.
        columns: the table's.
        is_first: whether the table was empty.
    """
    from pyspark.sql import functions as F

    missing = frame.withColumn("_n", number(frame)).where(f"_n > 0 AND NOT {quoted(DELETED)}")
    if not is_first and not rows.truncated:
        kinds = {field.name: field.dataType for field in columns}
        # The session reads the staged branch, which has the merge already.
        table = frame.sparkSession.read.option("branch", "main").table(name.sql)
        missing = missing.alias("s").join(table.alias("t"), F.expr(matching(rows, kinds)), "left_anti")
    return int(missing.agg(F.sum("_n").alias("n")).collect()[0]["n"] or 0)
