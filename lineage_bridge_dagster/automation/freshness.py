"""The job and the schedule that look for late tables: pushes come too seldom to notice one."""

from __future__ import annotations

from dagster import (
    AssetCheckKey,
    AssetSelection,
    DefaultScheduleStatus,
    ScheduleDefinition,
    define_asset_job,
    in_process_executor,
)
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from lineage_bridge_dagster.assets.commits import FRESH
from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.automation.names import Names


def freshness_job(names: Names, inventory: Inventory) -> UnresolvedAssetJobDefinition | None:
    """The check of all tables' freshness; None where there is no table."""
    if not inventory.tables:
        return None
    return define_asset_job(
        names.freshness_job,
        selection=AssetSelection.checks(*(AssetCheckKey(asset.key, FRESH) for asset in inventory.tables)),
        executor_def=in_process_executor,
        description="Compare each table's last commit with its topic's records. Writes nothing.",
    )


def freshness_schedule(
    names: Names, job: UnresolvedAssetJobDefinition, cron: str, running: bool
) -> ScheduleDefinition:
    """Runs the job; what it finds is a check's result on each table."""
    return ScheduleDefinition(
        name=names.freshness_schedule,
        job=job,
        cron_schedule=cron,
        default_status=DefaultScheduleStatus.RUNNING if running else DefaultScheduleStatus.STOPPED,
        description="Looks for tables that records wait for: the check table_fresh of all tables.",
    )
