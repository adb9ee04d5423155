"""The metadata keys of writes to Iceberg tables."""

from __future__ import annotations

from dagster import JsonMetadataValue, TableMetadataValue, TimestampMetadataValue

from lineage_bridge_dagster.specs.metadata import MetadataSet


class WriteMetadata(MetadataSet):
    """A write and its commit. Snapshot ids are text: JavaScript, and so the UI, would round them."""

    lineage_table: str | None = None
    rows_written: int | None = None
    snapshot_id: str | None = None
    committed_at: TimestampMetadataValue | None = None
    operation: str | None = None
    added_records: int | None = None
    deleted_records: int | None = None
    consumed: JsonMetadataValue | None = None
    preview: TableMetadataValue | None = None
