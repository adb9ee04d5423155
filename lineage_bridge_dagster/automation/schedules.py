"""The schedules: what no cheap list tells, what someone undid in Glue, and everything at night."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

from dagster import (
    AssetKey,
    DefaultScheduleStatus,
    JobDefinition,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
)

from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.automation.tick import MAX_TABLES_A_RUN
from lineage_bridge_dagster.dagster_internals import UnresolvedAssetJobDefinition
from lineage_bridge_dagster.specs.keys import tag_key
from lineage_bridge_dagster.specs.names import Names

T = TypeVar("T")
AnyJob = JobDefinition | UnresolvedAssetJobDefinition


def refresh_schedule(names: Names, job: AnyJob, cron: str, running: bool) -> list[ScheduleDefinition]:
    """A full discovery finds what the sensor's lists can't. An empty expression: no schedule."""
    description = (
        f"Runs `{names.refresh_job}`: discovers everything anew, connectors and statements too, for which "
        "the sensor does not look."
    )
    return _schedule(names.refresh_schedule, job, cron, running, description)


def push_schedule(names: Names, job: AnyJob, cron: str, running: bool) -> list[ScheduleDefinition]:
    """A push finds drift, and puts right what it finds. An empty expression: no schedule."""
    description = (
        f"Runs `{names.push_job}`: puts back lineage that a catalog sync or a person took out of Glue. A "
        "table that is in sync is only read."
    )
    return _schedule(names.push_schedule, job, cron, running, description)


def _schedule(name: str, job: AnyJob, cron: str, running: bool, description: str) -> list[ScheduleDefinition]:
    if not cron:
        return []
    return [
        ScheduleDefinition(
            name=name,
            job=job,
            cron_schedule=cron,
            default_status=_status(running),
            description=description,
        )
    ]


def nightly_schedule(
    names: Names, job: AnyJob, inventory: Inventory | None, cron: str, running: bool
) -> list[ScheduleDefinition]:
    """Everything, once a night. An empty expression: no schedule.

    Dagster stores a planned event for each asset and each check before a run starts, which takes it minutes
    for ten thousand tables: so many are shared out among several runs, that start one by one.
    """
    if not cron:
        return []

    def requests(context: ScheduleEvaluationContext) -> Iterator[RunRequest]:
        found = parts(inventory) if inventory else []
        at = context.scheduled_execution_time.isoformat()
        if len(found) < 2:
            yield RunRequest(run_key=at)
            return
        context.log.info(f"{len(found)} runs share {sum(map(len, found)):,} assets.")
        for number, keys in enumerate(found, start=1):
            tags = {tag_key("part"): f"{number} of {len(found)}"}
            yield RunRequest(run_key=f"{at} {number}", asset_selection=keys, tags=tags)

    return [
        ScheduleDefinition(
            name=names.nightly_schedule,
            job=job,
            cron_schedule=cron,
            default_status=_status(running),
            execution_fn=requests,
            description=f"Runs `{names.lineage_job}`: reads every topic, computes every chain, pushes every "
            "table's lineage and evaluates every check, so that each page is at most a day old.",
        )
    ]


def parts(inventory: Inventory, size: int = MAX_TABLES_A_RUN) -> list[list[AssetKey]]:
    """All that can be materialized, in the fewest parts of at most `size` tables and `size` topics each.

    A table is in one part with its chain, and neighbours of one cluster mostly in one with each other.
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


def _status(running: bool) -> DefaultScheduleStatus:
    return DefaultScheduleStatus.RUNNING if running else DefaultScheduleStatus.STOPPED
