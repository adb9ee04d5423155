"""The schedule that looks for late tables: pushes come too seldom to notice one."""

from __future__ import annotations

from collections.abc import Iterator

from dagster import (
    AssetCheckKey,
    DefaultScheduleStatus,
    JobDefinition,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
)

from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.assets.table_commits import FRESH
from lineage_bridge_dagster.automation.tick import MAX_TABLES_A_RUN
from lineage_bridge_dagster.dagster_internals import UnresolvedAssetJobDefinition
from lineage_bridge_dagster.specs.keys import tag_key
from lineage_bridge_dagster.specs.names import Names


def freshness_schedule(
    names: Names,
    job: JobDefinition | UnresolvedAssetJobDefinition,
    inventory: Inventory | None,
    cron: str,
    running: bool,
) -> list[ScheduleDefinition]:
    """Runs that one check of all tables, out of the job over everything: another job over ten thousand
    tables would cost seconds at every load. Without a table, or with an empty expression: no schedule.

    Dagster stores a planned event for each check before a run starts: many tables are shared out among
    several runs, as the nightly schedule does it.
    """
    if inventory is None or not inventory.tables or not cron:
        return []
    keys = [AssetCheckKey(asset.key, FRESH) for asset in inventory.tables]
    parts = [keys[start : start + MAX_TABLES_A_RUN] for start in range(0, len(keys), MAX_TABLES_A_RUN)]

    def requests(context: ScheduleEvaluationContext) -> Iterator[RunRequest]:
        at = context.scheduled_execution_time.isoformat()
        for number, part in enumerate(parts, start=1):
            tags = {tag_key("part"): f"{number} of {len(parts)}"} if len(parts) > 1 else None
            yield RunRequest(run_key=f"{at} {number}", asset_selection=[], asset_check_keys=part, tags=tags)

    return [
        ScheduleDefinition(
            name=names.freshness_schedule,
            job=job,
            cron_schedule=cron,
            default_status=DefaultScheduleStatus.RUNNING if running else DefaultScheduleStatus.STOPPED,
            execution_fn=requests,
            description=f"Runs the check {FRESH} of every table, out of `{names.lineage_job}`: looks for "
            "tables that records wait for. Writes nothing.",
        )
    ]
