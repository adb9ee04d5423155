"""What a run tells of a topic's table: metadata of its materialization, and what the checks read from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from dagster import MarkdownMetadataValue, MetadataValue, TableColumn, TableSchema

from lineage_bridge_dagster.assets.metadata import FreshnessMetadata, TopicMetadata
from lineage_bridge_dagster.assets.times import now_ms, timestamp
from lineage_bridge_dagster.spark.io.metadata import WriteMetadata
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.metadata import MetadataSet, StandardMetadata
from lineage_bridge_dagster.text import plural
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import Rejections
from lineage_bridge_dagster.topic_to_iceberg.loader import LoadStatus
from lineage_bridge_dagster.topic_to_iceberg.metadata import LoadMetadata
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadReport


@dataclass(frozen=True, slots=True)
class LoadFacts:
    """What the checks judge: of a run, or as the last event of the asset tells it.

    Attributes:
        lag_records: None if the table or its topic could not be read.
        lag_seconds: the age of the oldest record that is not in the table; 0 if there is none.
        rejections: why records were left out, and where some of them are; empty when read from an event.
        error: why the topic is not loaded now; `suspended` if somebody has to change something.
    """

    skipped: int = 0
    dead_letters: int = 0
    lag_records: int | None = None
    lag_seconds: float | None = None
    error: str = ""
    suspended: bool = False
    rejections: Rejections = field(default_factory=Rejections)

    @classmethod
    def of(cls, report: LoadReport, now: int) -> Self:
        """The facts of a report; `now` in Unix milliseconds."""
        status, error = report.status, report.error
        return cls(
            report.totals.skipped,
            report.totals.dead_letters,
            status.lag_records if status else None,
            lag_seconds(status, now) if status else None,
            " ".join(filter(None, (error.message, error.hint))) if error else "",
            bool(error and error.suspended),
            report.totals.rejections,
        )

    @classmethod
    def parse(cls, metadata: Mapping[str, Any]) -> Self:
        """The facts in the metadata of a materialization or an observation."""

        def value(name: str, keys: type[MetadataSet] = LoadMetadata) -> Any:
            found = metadata.get(keys.key(name))
            return None if found is None else found.value

        suspended = value("suspended")
        return cls(
            value("records_skipped") or 0,
            value("dead_letters") or 0,
            value("lag_records", FreshnessMetadata),
            value("lag_seconds", FreshnessMetadata),
            suspended or value("load_error") or "",
            bool(suspended),
        )


def lag_seconds(status: LoadStatus, now: int) -> float:
    """The age of the oldest record that is not in the table; 0 without one.

    Producers may have written a time in the future.
    """
    if status.oldest_unread_ms is None:
        return 0.0
    return max(0.0, (now - status.oldest_unread_ms) / 1000)


def load_metadata(report: LoadReport) -> dict[str, Any]:
    """The metadata of a topic's table: counts since the last report, the lag, the snapshot and the schema.

    Numbers are numbers, so that the UI plots them.
    """
    status, totals = report.status, report.totals
    facts = LoadFacts.of(report, now_ms())
    rate = totals.rows / report.seconds if report.seconds > 0 and totals.rows else None
    return {
        **WriteMetadata(
            rows_written=totals.rows,
            snapshot_id=str(status.snapshot_id) if status and status.snapshot_id is not None else None,
            committed_at=timestamp(status.committed_ms) if status and status.committed_ms else None,
        ),
        **TopicMetadata(
            offsets=_offsets(status) if status else None,
            records_per_second=round(rate, 1) if rate is not None else None,
        ),
        **FreshnessMetadata(
            lag_seconds=round(facts.lag_seconds, 1) if facts.lag_seconds is not None else None,
            lag_records=facts.lag_records,
        ),
        **LoadMetadata(
            load_mode=report.load.mode,
            rows_removed=totals.removed if report.load.mode != "append" else None,
            records_skipped=totals.skipped,
            dead_letters=totals.dead_letters,
            values_unavailable=totals.unavailable or None,
            rejected_records=rejected_records(facts.rejections),
            commits=totals.commits,
            schema_ids=", ".join(map(str, status.schema_ids)) if status and status.schema_ids else None,
            schema_changes=_schema_changes(report),
            suspended=facts.error if facts.suspended else None,
            load_error=facts.error if facts.error and not facts.suspended else None,
        ),
        **StandardMetadata(
            row_count=status.rows if status else None,
            column_schema=_column_schema(status) if status else None,
            last_updated_timestamp=timestamp(status.committed_ms) if status and status.committed_ms else None,
        ),
    }


def rejected_records(rejections: Rejections) -> MarkdownMetadataValue | None:
    """The last records that were left out, without their content, as a table; None if there were none."""
    if not rejections.examples:
        return None
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(rejections.counts.items()))
    rows = [[one.partition, one.offset, one.error] for one in rejections.examples]
    return MetadataValue.md(f"{kinds}\n\n{markdown_table(['partition', 'offset', 'error'], rows)}")


def _column_schema(status: LoadStatus) -> Any:
    if not status.columns:
        return None
    columns = [TableColumn(name, kind) for name, kind in status.columns.items()]
    return MetadataValue.table_schema(TableSchema(columns))


def _offsets(status: LoadStatus) -> Any:
    rows = [
        [partition, status.offsets.get(partition, 0), end, max(0, end - status.offsets.get(partition, 0))]
        for partition, end in sorted(status.ends.items())
    ]
    first = f"{plural(status.lag_records, 'record')} behind in {plural(len(rows), 'partition')}"
    return MetadataValue.md(
        f"{first}\n\n{markdown_table(['partition', 'next in the table', 'end of the topic', 'lag'], rows)}"
    )


def _schema_changes(report: LoadReport) -> Any:
    """What commits changed of the columns of a table that existed before; None if nothing."""
    if report.status is None or not report.columns_before:
        return None
    before, after = dict(report.columns_before), report.status.columns
    rows = [["added", name, "", kind] for name, kind in after.items() if name not in before]
    rows += [["dropped", name, kind, ""] for name, kind in before.items() if name not in after]
    rows += [
        ["changed", name, kind, after[name]]
        for name, kind in before.items()
        if name in after and after[name] != kind
    ]
    if not rows:
        return None
    first = f"{plural(len(rows), 'column')} changed"
    return MetadataValue.md(f"{first}\n\n{markdown_table(['change', 'column', 'before', 'now'], rows)}")
