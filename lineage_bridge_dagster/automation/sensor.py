"""The sensor that adds new Tableflow tables to the graph and pushes their lineage."""

import time
from collections.abc import Sequence

from dagster import (
    DefaultSensorStatus,
    JobDefinition,
    RunRequest,
    SensorDefinition,
    SensorEvaluationContext,
    SensorResult,
    sensor,
)

from lineage_bridge_dagster.assets.check_outcomes import evaluation_of
from lineage_bridge_dagster.automation.cursor import Cursor
from lineage_bridge_dagster.automation.dagster_client import DagsterClient, Reload, reload_by_server
from lineage_bridge_dagster.automation.loaded import LoadedState
from lineage_bridge_dagster.automation.requests import TickResult
from lineage_bridge_dagster.automation.sweep import SweepSettings
from lineage_bridge_dagster.automation.tick import Tick, Update
from lineage_bridge_dagster.automation.watched_lists import ListReader
from lineage_bridge_dagster.config.request_counts import RequestCounts, counting
from lineage_bridge_dagster.dagster_internals.definitions import UnresolvedAssetJobDefinition
from lineage_bridge_dagster.specs.keys import tag_key
from lineage_bridge_dagster.specs.names import AssetNames

#: Tag of a run that restores lineage that a sweep found lost.
REPAIR_TAG = tag_key("repair")


def lineage_sensor(
    names: AssetNames,
    state_key: str,
    loaded: LoadedState,
    read_list: ListReader,
    jobs: Sequence[JobDefinition | UnresolvedAssetJobDefinition],
    *,
    interval_seconds: int,
    running: bool,
    budget_seconds: float = 20.0,
    checks: bool = True,
    update: Update = lambda _discovery, _scopes: None,
    sweep: SweepSettings | None = None,
    reload: Reload = reload_by_server,
) -> SensorDefinition:
    """Watch Tableflow and Glue, keep the definitions up to date with the state, and request missing pushes.

    Args:
        names: names of the jobs that it requests.
        state_key: key under which the component's state is stored.
        loaded: the state that the definitions were built from.
        read_list: reads a list from Confluent or Glue.
        jobs: the jobs that it may request: the refresh and the lineage job.
        interval_seconds: minimum time between ticks.
        running: whether it is on by default.
        budget_seconds: time after which a tick leaves the rest to the next one.
        checks: whether the tables have checks, whose results it records for tables that Glue lacks.
        update: puts new tables of some lists into the last discovery; by default, only a refresh does.
        sweep: how whole tables are compared with Glue; by default, they are not.
        reload: reloads the definitions.
    """

    counts = RequestCounts()

    @sensor(
        name=names.sensor,
        jobs=jobs,
        minimum_interval_seconds=interval_seconds,
        default_status=DefaultSensorStatus.RUNNING if running else DefaultSensorStatus.STOPPED,
        description="Watches Tableflow and Glue for new tables, adds their assets to the graph and pushes "
        "their lineage. Retries failed refreshes and pushes.",
    )
    def _sensor(context: SensorEvaluationContext) -> SensorResult:
        cursor, warning = Cursor.read(context.cursor)
        if warning:
            context.log.warning(warning)
        client = DagsterClient(context, state_key, names, reload, loaded.tables)
        tick = Tick(
            loaded,
            client,
            read_list,
            context.log,
            update,
            budget_seconds=budget_seconds,
            sweep=sweep or SweepSettings(),
        )
        before = counts.requests, counts.retries
        # The clients of one tick serve the next ones too.
        with counting(counts):
            result = tick.run(cursor)
        cursor.totals.add(counts, *before)
        cursor.totals.at = time.time()
        cursor.tables = len(loaded.tables)
        if repository := context.repository_def:
            schedules = [schedule.name for schedule in repository.schedule_defs]
            cursor.automations = sorted([*schedules, *(each.name for each in repository.sensor_defs)])
        requests = _run_requests(result, names)
        return SensorResult(
            run_requests=requests,
            # Dagster accepts a skip reason only without requests.
            skip_reason=None if requests else result.skip_reason,
            cursor=result.cursor.write(),
            asset_events=[evaluation_of(each) for each in result.checks] if checks else [],
        )

    return _sensor


def _run_requests(result: TickResult, names: AssetNames) -> list[RunRequest]:
    requests = [
        RunRequest(
            run_key=push.run_key,
            job_name=names.lineage_job,
            asset_selection=list(push.keys),
            tags={tag_key("tables"): str(push.tables), **({REPAIR_TAG: "true"} if push.repair else {})},
        )
        for push in result.pushes
    ]
    if result.refresh is not None:
        requests.append(RunRequest(run_key=result.refresh.run_key, job_name=names.refresh_job))
    return requests
