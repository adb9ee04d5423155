"""The job and the schedule that look for late tables: pushes come too seldom to notice one."""

from __future__ import annotations

from collections.abc import Iterator

from dagster import (
    AssetCheckKey,
    AssetSelection,
    DefaultScheduleStatus,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    define_asset_job,
    in_process_executor,
)
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from lineage_bridge_dagster.assets.commits import FRESH
from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.automation.names import Names
from lineage_bridge_dagster.automation.tick import MAX_TABLES_A_RUN


def freshness_job(names: Names, inventory: Inventory | None) -> UnresolvedAssetJobDefinition | None:
    """The check of all tables' freshness; None where there is no table."""
    if inventory is None or not inventory.tables:
        return None
    return define_asset_job(
        names.freshness_job,
        selection=AssetSelection.checks(*_keys(inventory)),
        executor_def=in_process_executor,
        description="Compare each table's last commit with its topic's records. Writes nothing.",
    )


def freshness_schedule(
    names: Names,
    job: UnresolvedAssetJobDefinition | None,
    inventory: Inventory | None,
    cron: str,
    running: bool,
) -> list[ScheduleDefinition]:
    """Runs the job, if there is one. An empty expression: no schedule.

    Dagster stores a planned event for each check before a run starts: many tables are shared out among
    several runs, as the nightly schedule does it.
    """
    if job is None or inventory is None or not cron:
        return []
    keys = _keys(inventory)
    parts = [keys[start : start + MAX_TABLES_A_RUN] for start in range(0, len(keys), MAX_TABLES_A_RUN)]

    def requests(context: ScheduleEvaluationContext) -> Iterator[RunRequest]:
        at = context.scheduled_execution_time.isoformat()
        for number, part in enumerate(parts, start=1):
            tags = {"lineage_bridge/part": f"{number} of {len(parts)}"} if len(parts) > 1 else None
            yield RunRequest(run_key=f"{at} {number}", asset_check_keys=part, tags=tags)

    return [
        ScheduleDefinition(
            name=names.freshness_schedule,
            job=job,
            cron_schedule=cron,
            default_status=DefaultScheduleStatus.RUNNING if running else DefaultScheduleStatus.STOPPED,
            execution_fn=requests,
            description=f"Runs `{names.freshness_job}`: looks for tables that records wait for.",
        )
    ]


def _keys(inventory: Inventory) -> list[AssetCheckKey]:
    return [AssetCheckKey(asset.key, FRESH) for asset in inventory.tables]
