"""Metadata of a materialization that PyIceberg wrote: the same as of one that Spark wrote."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dagster import TableMetadataValue
from pyiceberg.expressions import AlwaysTrue

from lineage_bridge_dagster.spark.io.arrow.schemas import sql_type
from lineage_bridge_dagster.spark.io.arrow.write import ArrowResult
from lineage_bridge_dagster.spark.io.metadata import WriteMetadata
from lineage_bridge_dagster.spark.io.results import PREVIEW_COLUMNS, column_schema, commit_metadata, preview
from lineage_bridge_dagster.specs.metadata import StandardMetadata

if TYPE_CHECKING:
    from pyiceberg.schema import Schema


def arrow_output_metadata(written: ArrowResult, *, partitions: int, preview_rows: int) -> dict[str, Any]:
    """Metadata of a materialization, read from the snapshot that the write left.

    Args:
        written: what was written.
        partitions: how many of the asset's partitions; only one has a row count of its own.
        preview_rows: rows to show; 0 shows none.
    """
    table, schema = written.table, written.table.schema()
    snapshots = written.result.snapshots
    last = snapshots[0] if snapshots else None
    scan = table.scan(snapshot_id=last.snapshot_id if last else None)
    in_slice = scan.update(row_filter=written.condition)
    deletes = last and (last.count("total-position-deletes") or last.count("total-equality-deletes"))
    total = scan.count() if deletes or last is None else last.count("total-records")
    one_slice = partitions == 1 and not isinstance(written.condition, AlwaysTrue)
    return {
        **StandardMetadata(
            row_count=total,
            partition_row_count=in_slice.count() if one_slice else None,
            column_schema=column_schema(
                (each.name, sql_type(each.field_type), each.doc, not each.required) for each in schema.fields
            ),
            uri=table.location(),
        ),
        **commit_metadata(written.result),
        **WriteMetadata(preview=_preview(in_slice, schema, preview_rows) if preview_rows else None),
    }


def _preview(scan: Any, schema: Schema, limit: int) -> TableMetadataValue | None:
    """The first rows, of at most 30 columns."""
    columns = schema.fields[:PREVIEW_COLUMNS]
    rows = scan.update(selected_fields=tuple(each.name for each in columns), limit=limit).to_arrow()
    shown = (map(_readable, row.values()) for row in rows.to_pylist())
    return preview([(each.name, sql_type(each.field_type)) for each in columns], shown)


def _readable(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps(value, default=str) if isinstance(value, dict | list) else value
