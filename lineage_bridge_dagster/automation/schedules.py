"""The schedules: refreshes, pushes, freshness checks, a nightly run of everything, and upkeep."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from dagster import (
    AssetCheckKey,
    AssetKey,
    DefaultScheduleStatus,
    JobDefinition,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SkipReason,
)

from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.assets.table_commits import FRESH
from lineage_bridge_dagster.automation.requests import MAX_TABLES_A_RUN
from lineage_bridge_dagster.dagster_internals.definitions import UnresolvedAssetJobDefinition
from lineage_bridge_dagster.specs.keys import tag_key
from lineage_bridge_dagster.specs.names import AssetNames

T = TypeVar("T")
AnyJob = JobDefinition | UnresolvedAssetJobDefinition
#: The run requests of one tick of a schedule.
Requests = Callable[[ScheduleEvaluationContext], Iterator[RunRequest | SkipReason]]


def refresh_schedule(names: AssetNames, job: AnyJob, cron: str, running: bool) -> list[ScheduleDefinition]:
    """Regular refreshes: they find changes that no list of the sensor shows."""
    description = (
        f"Runs `{names.refresh_job}`: discovers everything again, including connectors and statements, which "
        "the sensor does not watch."
    )
    return _schedule(names.refresh_schedule, job, cron, running, description)


def push_schedule(names: AssetNames, job: AnyJob, cron: str, running: bool) -> list[ScheduleDefinition]:
    """Regular pushes: they find and repair drift."""
    description = (
        f"Runs `{names.push_job}`: restores lineage that a catalog sync or a person removed from Glue. "
        "Tables that are in sync are only read."
    )
    return _schedule(names.push_schedule, job, cron, running, description)


def nightly_schedule(
    names: AssetNames, job: AnyJob, inventory: Inventory | None, cron: str, running: bool
) -> list[ScheduleDefinition]:
    """A nightly run of everything; many tables are divided among several runs.

    Dagster stores a planned event for each asset and each check before a run starts, which takes minutes for
    10,000 tables. The runs start one by one.
    """

    def requests(context: ScheduleEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        found = parts(inventory) if inventory else []
        if not found:
            yield SkipReason("No topic and no table has been discovered yet.")
            return
        at = context.scheduled_execution_time.isoformat()
        if len(found) < 2:
            yield RunRequest(run_key=at)
            return
        context.log.info(f"Requesting {len(found)} runs for {sum(map(len, found)):,} assets.")
        for number, keys in enumerate(found, start=1):
            tags = {tag_key("part"): f"{number} of {len(found)}"}
            yield RunRequest(run_key=f"{at} {number}", asset_selection=keys, tags=tags)

    description = (
        f"Runs `{names.lineage_job}`: reads every topic, computes every chain, pushes every table's lineage "
        "and evaluates every check, so that no page is older than a day."
    )
    return _schedule(names.nightly_schedule, job, cron, running, description, requests)


def upkeep_schedule(names: AssetNames, job: AnyJob, cron: str, running: bool) -> list[ScheduleDefinition]:
    """Regular upkeep of the lineage tables, which grow by a commit for each change."""
    description = (
        f"Runs `{names.upkeep_job}`: compacts the lineage tables and ends snapshots beyond their history."
    )
    return _schedule(names.upkeep_schedule, job, cron, running, description)


def freshness_schedule(
    names: AssetNames, job: AnyJob, inventory: Inventory | None, cron: str, running: bool
) -> list[ScheduleDefinition]:
    """The freshness check of every table, between pushes; without tables there is no schedule.

    The job is the one over all assets: another job over 10,000 tables would add seconds to every load. As at
    night, the checks of many tables are divided among several runs.
    """
    if inventory is None or not inventory.tables:
        return []
    keys = [AssetCheckKey(asset.key, FRESH) for asset in inventory.tables]
    found = [keys[start : start + MAX_TABLES_A_RUN] for start in range(0, len(keys), MAX_TABLES_A_RUN)]

    def requests(context: ScheduleEvaluationContext) -> Iterator[RunRequest]:
        at = context.scheduled_execution_time.isoformat()
        for number, part in enumerate(found, start=1):
            tags = {tag_key("part"): f"{number} of {len(found)}"} if len(found) > 1 else None
            yield RunRequest(run_key=f"{at} {number}", asset_selection=[], asset_check_keys=part, tags=tags)

    description = (
        f"Runs the check {FRESH} of every table with `{names.lineage_job}`: finds tables that lag behind "
        "their topics. Writes nothing."
    )
    return _schedule(names.freshness_schedule, job, cron, running, description, requests)


def parts(inventory: Inventory, size: int = MAX_TABLES_A_RUN) -> list[list[AssetKey]]:
    """All materializable assets, in the fewest parts of at most `size` tables and `size` topics each.

    A table and its chain are in the same part; so are most neighbours on a cluster.
    """
    tables = [(inventory.chain_key_of[asset.node.node_id], asset.key) for asset in inventory.tables]
    count = math.ceil(max(len(tables), len(inventory.topics)) / size)
    return [
        [
            *(asset.key for asset in _slice(inventory.topics, number, count)),
            *(key for pair in _slice(tables, number, count) for key in pair),
        ]
        for number in range(count)
    ]


def _slice(items: Sequence[T], number: int, count: int) -> Sequence[T]:
    return items[len(items) * number // count : len(items) * (number + 1) // count]


def _schedule(
    name: str, job: AnyJob, cron: str, running: bool, description: str, requests: Requests | None = None
) -> list[ScheduleDefinition]:
    """The schedule, unless its cron expression is empty."""
    if not cron:
        return []
    status = DefaultScheduleStatus.RUNNING if running else DefaultScheduleStatus.STOPPED
    return [
        ScheduleDefinition(
            name=name,
            job=job,
            cron_schedule=cron,
            default_status=status,
            execution_fn=requests,
            description=description,
        )
    ]
