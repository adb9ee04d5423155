"""The metadata keys of materializations and checks."""

from __future__ import annotations

from dagster import JsonMetadataValue, MarkdownMetadataValue, TimestampMetadataValue

from lineage_bridge_dagster.specs.metadata import MetadataSet


class PushMetadata(MetadataSet):
    """A push to a table."""

    outcome: str | None = None
    reason: str | None = None
    next_step: str | None = None
    conflicts: int | None = None
    diff: MarkdownMetadataValue | None = None
    description_tree: MarkdownMetadataValue | None = None
    glue_description: MarkdownMetadataValue | None = None
    parameters: MarkdownMetadataValue | None = None
    table_version_before: str | None = None
    table_version_after: str | None = None
    result: JsonMetadataValue | None = None
    #: What each receiver of OpenLineage, and DataZone, has of the events upstream of the table.
    openlineage: str | None = None
    #: What became of the forms on its asset in Glue's business context.
    business_context: str | None = None


class CommitMetadata(MetadataSet):
    """The last commit of a table. Snapshot ids are text: JavaScript, and so the UI, would round them."""

    snapshot: str | None = None
    snapshot_id: str | None = None
    snapshot_operation: str | None = None
    snapshot_time: TimestampMetadataValue | None = None
    records_before_deletes: int | None = None
    #: The usual time between the table's commits of rows.
    cadence_seconds: float | None = None


class TopicMetadata(MetadataSet):
    """A topic, and its records."""

    partitions: int | None = None
    #: A table on a topic's materialization; on a check's result, what the next evaluation compares with.
    offsets: MarkdownMetadataValue | JsonMetadataValue | None = None
    retention: str | None = None
    cleanup_policy: str | None = None
    schema_version: int | None = None
    schema_subject: str | None = None
    records_written: int | None = None
    records_per_second: float | None = None
    throughput: str | None = None


class FreshnessMetadata(MetadataSet):
    """How far a table is behind its topic."""

    topic_records: int | None = None
    record_times: str | None = None
    last_record: TimestampMetadataValue | str | None = None
    lag_seconds: float | None = None
    waited_seconds: float | None = None
    #: Records that the topic has and the table does not, by the offsets in the table's snapshots.
    lag_records: int | None = None
    limits: str | None = None


class UpkeepMetadata(MetadataSet):
    """What upkeep did to tables."""

    files_compacted: int | None = None
    files_written: int | None = None
    delete_files_removed: int | None = None
    snapshots_expired: int | None = None
    files_removed: int | None = None
    orphans_removed: int | None = None


class ImpactMetadata(MetadataSet):
    """Observations of an asset that a run of the job `impact` would change."""

    impact: MarkdownMetadataValue | None = None


class RunMetadata(MetadataSet):
    """The event that holds what a run did as numbers, for the metrics."""

    report: JsonMetadataValue | None = None
