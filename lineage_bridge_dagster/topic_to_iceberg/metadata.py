"""The metadata keys of topics that are loaded into Iceberg tables."""

from __future__ import annotations

from dagster import MarkdownMetadataValue

from lineage_bridge_dagster.specs.metadata import MetadataSet


class LoadMetadata(MetadataSet):
    """What was loaded of a topic since the last materialization, or into a slice."""

    outcome: str | None = None
    load_mode: str | None = None
    rows_removed: int | None = None
    records_skipped: int | None = None
    dead_letters: int | None = None
    values_unavailable: int | None = None
    rejected_records: MarkdownMetadataValue | None = None
    commits: int | None = None
    schema_ids: str | None = None
    schema_changes: MarkdownMetadataValue | None = None
    suspended: str | None = None
    load_error: str | None = None
    records_read: int | None = None
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    rows_unchanged: int | None = None
