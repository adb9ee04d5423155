"""Metadata of a materialization: counts, the commit, the columns and a few rows, all read from the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dagster import TableMetadataValue

from lineage_bridge_dagster.spark.iceberg_tables import at_snapshot, current_snapshot, location
from lineage_bridge_dagster.spark.io.frames import column
from lineage_bridge_dagster.spark.io.metadata import WriteMetadata
from lineage_bridge_dagster.spark.io.results import (
    PREVIEW_COLUMNS,
    WriteResult,
    column_schema,
    commit_metadata,
    preview,
)
from lineage_bridge_dagster.spark.snapshot import Snapshot
from lineage_bridge_dagster.specs.metadata import StandardMetadata

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructField


def output_metadata(
    spark: SparkSession, result: WriteResult, *, partitions: int, preview_rows: int
) -> dict[str, Any]:
    """Metadata of a materialization.

    Args:
        partitions: how many of the asset's partitions it wrote; only one has a row count of its own.
        preview_rows: rows to show; 0 shows none.
    """
    table = result.table
    # Show what this write left, not what another writer committed a moment later.
    last = result.snapshots[0] if result.snapshots else current_snapshot(spark, table)
    current = spark.table(table.sql)
    rows = current if last is None else at_snapshot(spark, table, last.snapshot_id)
    in_slice = rows.where(result.condition) if result.condition else rows
    counted = partitions == 1 and result.condition
    return {
        **StandardMetadata(
            row_count=_row_count(rows, last),
            partition_row_count=in_slice.count() if counted else None,
            column_schema=column_schema(
                (each.name, each.dataType.simpleString(), each.metadata.get("comment"), each.nullable)
                for each in current.schema
            ),
            uri=location(spark, table),
        ),
        **commit_metadata(result),
        **WriteMetadata(preview=first_rows(in_slice, preview_rows) if preview_rows else None),
    }


def first_rows(rows: DataFrame, limit: int) -> TableMetadataValue | None:
    """The first rows, of at most 30 columns."""
    fields = rows.schema.fields[:PREVIEW_COLUMNS]
    shown = rows.select(*map(_readable, fields)).limit(limit).collect()
    return preview([(each.name, each.dataType.simpleString()) for each in fields], shown)


def _row_count(rows: DataFrame, last: Snapshot | None) -> int:
    """The rows of a snapshot: from its summary, unless it has delete files."""
    if last is None:
        return 0
    if last.count("total-position-deletes") or last.count("total-equality-deletes"):
        return rows.count()
    return last.count("total-records")


def _readable(field: StructField) -> Column:
    """A column as text where Python's rendering is worse: it shows times in the machine's time zone."""
    from pyspark.sql import functions as F

    match field.dataType.typeName():
        case "timestamp":
            return F.date_format(column(field.name), "yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
        case "struct" | "array" | "map":
            return F.to_json(column(field.name))
        case _:
            return column(field.name)
