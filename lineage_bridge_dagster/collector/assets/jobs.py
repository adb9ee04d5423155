"""The jobs of a source, and its schedule."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from dagster import (
    AssetSelection,
    DefaultScheduleStatus,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    define_asset_job,
)

from lineage_bridge_dagster.collector.assets.source import CollectorSource
from lineage_bridge_dagster.dagster_internals import (
    UnresolvedAssetJobDefinition,
    reverse_cron_string_iterator,
)


def collect_job(source: CollectorSource) -> UnresolvedAssetJobDefinition:
    """The job that extracts a day, and uploads it unless a person has to approve that."""
    selection: AssetSelection = AssetSelection.assets(source.manifest).required_multi_asset_neighbors()
    uploads = source.lands and not source.require_approval
    if uploads:
        selection |= AssetSelection.assets(source.landing)
    return define_asset_job(
        source.collect_job,
        selection,
        description=f"Extracts what is in Glue for {source.server}"
        + (" and uploads the files." if uploads else ".")
        + (f" `{source.approve_job}` uploads them." if source.lands and not uploads else ""),
    )


def approve_job(source: CollectorSource) -> UnresolvedAssetJobDefinition:
    """The job with which a person approves a day's extract, which is then uploaded."""
    return define_asset_job(
        source.approve_job,
        AssetSelection.assets(source.approval, source.landing),
        description=f"Approves the extract of a day of {source.server}, and uploads it. Look at the files "
        "first.",
    )


def daily_schedule(
    source: CollectorSource, job: UnresolvedAssetJobDefinition, cron: str, running: bool
) -> list[ScheduleDefinition]:
    """Regular extracts, unless the cron expression is empty."""
    if not cron:
        return []

    def requests(context: ScheduleEvaluationContext) -> Iterator[RunRequest]:
        at = context.scheduled_execution_time
        yield RunRequest(run_key=at.isoformat(), partition_key=day_of_tick(source, cron, at))

    return [
        ScheduleDefinition(
            name=f"{source.collect_job}_schedule",
            job=job,
            cron_schedule=cron,
            execution_fn=requests,
            default_status=DefaultScheduleStatus.RUNNING if running else DefaultScheduleStatus.STOPPED,
            description=f"Runs `{source.collect_job}` for the day on which the time since the last tick "
            "began: once a day, that is yesterday.",
        )
    ]


def day_of_tick(source: CollectorSource, cron: str, at: datetime) -> str:
    """The day that a tick extracts: the one on which the time since the tick before began.

    With one tick a day that is yesterday, which is over; with one an hour it is today, until the first tick
    after midnight.
    """
    ticks = reverse_cron_string_iterator(at.timestamp() - 1, cron, "UTC")
    day = next(ticks).strftime("%Y-%m-%d")
    return max(day, source.start_date)
