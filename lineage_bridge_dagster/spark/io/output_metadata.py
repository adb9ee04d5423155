"""What Dagster shows of a write: counts, the commit, the columns and a few rows, all read from the table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dagster import MetadataValue, TableColumn, TableColumnConstraints, TableRecord, TableSchema

from lineage_bridge_dagster.spark.iceberg_tables import Snapshot, at_snapshot, current_snapshot, location
from lineage_bridge_dagster.spark.io.write import Stored

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

#: Bounds of the preview: an event is kept for ever, and a table may be wide.
_COLUMNS, _CHARACTERS = 30, 80


def written_metadata(stored: Stored) -> dict[str, Any]:
    """What the write itself tells; nothing is asked."""
    return {
        "lineage_bridge/rows_written": stored.rows,
        "dagster/table_name": f"{stored.target.database}.{stored.target.table}",
        **(_commit(stored.snapshots) if stored.snapshots else {}),
    }


def stored_metadata(
    spark: SparkSession, stored: Stored, *, partitions: int, preview_rows: int
) -> dict[str, Any]:
    """Metadata of a materialization.

    Args:
        spark: the session.
        stored: the write.
        partitions: how many of the asset's partitions it wrote; rows of a partition are told of one alone.
        preview_rows: rows to show, none for 0.
    """
    name = stored.target.name
    # What is shown is what this write left, not what another writer committed a moment later.
    last = stored.snapshots[0] if stored.snapshots else current_snapshot(spark, name)
    rows = spark.table(name)
    if last is not None:
        rows = at_snapshot(spark, name, last.snapshot_id)
    in_slice = rows.where(stored.condition) if stored.condition else rows
    metadata: dict[str, Any] = {
        "dagster/row_count": _row_count(rows, last),
        **written_metadata(stored),
        "dagster/column_schema": column_schema(spark.table(name).schema),
        "dagster/uri": location(spark, name),
    }
    if partitions == 1 and stored.condition:
        metadata["dagster/partition_row_count"] = in_slice.count()
    if preview_rows and (shown := preview(in_slice, preview_rows)):
        metadata["lineage_bridge/preview"] = shown
    return metadata


def column_schema(schema: StructType) -> Any:
    """A table's columns with their types and comments."""
    return MetadataValue.table_schema(
        TableSchema(
            columns=[
                TableColumn(
                    name=column.name,
                    type=column.dataType.simpleString(),
                    description=column.metadata.get("comment"),
                    constraints=TableColumnConstraints(nullable=column.nullable),
                )
                for column in schema.fields
            ]
        )
    )


def preview(rows: DataFrame, limit: int) -> Any:
    """The first rows as a table: 30 columns at most, values cut at 80 characters; None without rows."""
    names = rows.columns[:_COLUMNS]
    found = rows.select(*[_readable(field) for field in rows.schema.fields[:_COLUMNS]]).limit(limit).collect()
    if not found:
        return None
    records = [TableRecord({n: _cell(value) for n, value in zip(names, row, strict=True)}) for row in found]
    return MetadataValue.table(
        records=records,
        schema=TableSchema([TableColumn(f.name, f.dataType.simpleString()) for f in rows.schema][:_COLUMNS]),
    )


def _commit(snapshots: tuple[Snapshot, ...]) -> Mapping[str, Any]:
    """The last snapshot of a write, and what all of its snapshots added and deleted."""
    last = snapshots[0]
    deleted = ("deleted-records", "added-position-deletes", "added-equality-deletes")
    return {
        # As text: JavaScript, and so the UI, would round an integer of this size.
        "lineage_bridge/snapshot_id": str(last.snapshot_id),
        "lineage_bridge/committed_at": MetadataValue.timestamp(
            datetime.fromtimestamp(last.committed_at / 1000, UTC)
        ),
        "lineage_bridge/operation": ", ".join(s.operation for s in reversed(snapshots)),
        "lineage_bridge/added_records": sum(s.count("added-records") for s in snapshots),
        "lineage_bridge/deleted_records": sum(s.count(key) for s in snapshots for key in deleted),
    }


def _row_count(rows: DataFrame, last: Snapshot | None) -> int:
    """The rows of the table at a snapshot: by its summary, unless rows were deleted without a rewrite."""
    if last is None:
        return 0
    if last.count("total-position-deletes") or last.count("total-equality-deletes"):
        return rows.count()
    return last.count("total-records")


def _readable(field: StructField) -> Column:
    """A column, as text where Python would show it worse: times as those of its machine's zone."""
    from pyspark.sql import functions as F

    from lineage_bridge_dagster.spark.io.schemas import column

    match field.dataType.typeName():
        case "timestamp":
            return F.date_format(column(field.name), "yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
        case "struct" | "array" | "map":
            return F.to_json(column(field.name))
        case _:
            return column(field.name)


def _cell(value: Any) -> str | int | float | bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        # JSON has no NaN: a browser that met one would show nothing of the page.
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    text = str(value)
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"
