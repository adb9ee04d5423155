"""A batch's rows, written to the staged branch: appended, or merged by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lineage_bridge_dagster.spark.commits import global_view
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.tableflow.table_rows import TableRows, merge_statement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_SUMMARY = "spark.sql.iceberg.snapshot-property."


def append(frame: DataFrame, name: TableName, summary: Mapping[str, str]) -> None:
    """Append rows, in a snapshot with these entries in its summary."""
    writer = frame.writeTo(name.sql)
    for key, value in summary.items():
        writer = writer.option(f"snapshot-property.{key}", value)
    writer.append()


def merge(
    frame: DataFrame, name: TableName, rows: TableRows, columns: StructType, summary: Mapping[str, str]
) -> None:
    """Merge changes by key, in a snapshot with these entries in its summary.

    The frame's session must be this thread's alone: a statement takes its summary from the session.
    """
    session = frame.sparkSession
    kinds = {field.name: field.dataType for field in columns}
    with global_view(frame) as source, _summarized(session, summary):
        session.sql(merge_statement(rows, name.sql, source, kinds))


@contextmanager
def _summarized(session: SparkSession, summary: Mapping[str, str]) -> Iterator[None]:
    try:
        for key, value in summary.items():
            session.conf.set(f"{_SUMMARY}{key}", value)
        yield
    finally:
        for key in summary:
            session.conf.unset(f"{_SUMMARY}{key}")
