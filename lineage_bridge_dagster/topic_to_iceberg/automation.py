"""What starts the runs of an instance: a schedule, or a sensor that keeps a continuous run going."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dagster import (
    AssetSelection,
    DagsterInstance,
    DagsterRunStatus,
    DefaultScheduleStatus,
    DefaultSensorStatus,
    RunRequest,
    RunsFilter,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SensorDefinition,
    SensorEvaluationContext,
    SkipReason,
    define_asset_job,
    in_process_executor,
)

from lineage_bridge_dagster.dagster_internals.runs import NOT_FINISHED_STATUSES
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.text import duration
from lineage_bridge_dagster.topic_to_iceberg.execution import CONTINUOUS
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadInstance

#: Tag of the runs of an instance, with its job's name.
INSTANCE = keys.tag_key("topic_to_iceberg")

#: Seconds between polls of the run.
_INTERVAL = 30
#: Seconds to wait after a run that failed: doubled for each one before it that failed, too.
_BACKOFF, _MAX_BACKOFF = 30.0, 1800.0
#: Runs to look back at.
_HISTORY = 10


class Automation(NamedTuple):
    """The job, and the schedule or the sensor that starts it."""

    jobs: list[Any]
    schedules: list[ScheduleDefinition]
    sensors: list[SensorDefinition]


def load_automation(instance: LoadInstance) -> Automation:
    """What starts the loads of an instance, as its configuration has it."""
    names = instance.names
    job = define_asset_job(
        names.job,
        selection=AssetSelection.assets(*instance.key_of.values()),
        executor_def=in_process_executor,
        tags={INSTANCE: names.job},
        description="Loads the topics into their Iceberg tables.",
    )
    mode = instance.run.mode
    return Automation(
        [job],
        [_schedule(instance, job)] if mode == "schedule" and instance.run.cron else [],
        [_sensor(instance, job)] if mode == "continuous" else [],
    )


def _schedule(instance: LoadInstance, job: Any) -> ScheduleDefinition:
    names, run = instance.names, instance.run
    return schedule(
        names.schedule,
        job,
        run.cron,
        running=run.running,
        # Two runs of one instance would refuse each other's tables.
        at_it="still loading the topics",
        description=f"Runs `{names.job}`: loads every topic up to its present end, unless a run is at it.",
    )


def schedule(
    name: str, job: Any, cron: str, *, running: bool, at_it: str, description: str
) -> ScheduleDefinition:
    """A schedule that waits for the job's last run, whose doing `at_it` names.

    Runs are found by the tag `INSTANCE`, which the job gives them with its name.
    """

    def request(context: ScheduleEvaluationContext) -> RunRequest | SkipReason:
        if run := _going(context.instance, job.name):
            return SkipReason(f"Run {run} is {at_it}.")
        return RunRequest(run_key=context.scheduled_execution_time.isoformat())

    return ScheduleDefinition(
        name=name,
        job=job,
        cron_schedule=cron,
        default_status=DefaultScheduleStatus.RUNNING if running else DefaultScheduleStatus.STOPPED,
        execution_fn=request,
        description=description,
    )


def _sensor(instance: LoadInstance, job: Any) -> SensorDefinition:
    names = instance.names

    def tick(context: SensorEvaluationContext) -> RunRequest | SkipReason:
        runs = recent_runs(context.instance, names.job)
        silent = _lost(context.instance, runs, instance.run.report_minutes)
        decision = next_run(runs, utc_now().timestamp())
        if silent is not None:
            run = context.instance.get_run_by_id(silent)
            if run is not None:
                context.instance.report_run_failed(
                    run, "Its process has written nothing for a long time, and counts as gone."
                )
            return SkipReason(f"Run {silent} is gone; the next tick starts another one.")
        if isinstance(decision, str):
            return SkipReason(decision)
        return RunRequest(run_key=decision.key, tags={CONTINUOUS: "true"})

    return SensorDefinition(
        name=names.sensor,
        job=job,
        evaluation_fn=tick,
        minimum_interval_seconds=_INTERVAL,
        default_status=DefaultSensorStatus.RUNNING if instance.run.running else DefaultSensorStatus.STOPPED,
        description=f"Keeps one run of `{names.job}` going: starts another when it ended, failed or is gone.",
    )


@dataclass(frozen=True, slots=True)
class RunSeen:
    """A run of an instance; `ended` in Unix seconds."""

    run_id: str
    status: DagsterRunStatus
    ended: float | None

    @property
    def is_over(self) -> bool:
        return self.status not in NOT_FINISHED_STATUSES


@dataclass(frozen=True, slots=True)
class RunStart:
    """A run to start. The key names the run before it, so that two ticks start only one run."""

    key: str


def next_run(runs: Sequence[RunSeen], now: float) -> RunStart | str:
    """Whether to start a run, or why not. Pure.

    Args:
        runs: of the instance, newest first.
        now: Unix seconds.
    """
    if not runs:
        return RunStart("first")
    last = runs[0]
    if not last.is_over:
        return f"Run {last.run_id} is loading the topics."
    if last.status is DagsterRunStatus.CANCELED:
        # Somebody ended it, perhaps to change something; it is not for a sensor to overrule that at once.
        wait = _BACKOFF
    else:
        failed = 0
        for run in runs:
            if run.status is not DagsterRunStatus.FAILURE:
                break
            failed += 1
        wait = min(_MAX_BACKOFF, _BACKOFF * 2 ** (failed - 1)) if failed else 0.0
    left = (last.ended or now) + wait - now
    if left > 0:
        after = duration(int(left * 1000))
        return f"Run {last.run_id} ended as {last.status.value}; the next one starts in {after}."
    return RunStart(f"after {last.run_id}")


def recent_runs(instance: DagsterInstance, job: str) -> list[RunSeen]:
    """The last runs of a job of this instance, newest first."""
    records = instance.get_run_records(RunsFilter(tags={INSTANCE: job}), limit=_HISTORY)
    return [
        RunSeen(record.dagster_run.run_id, record.dagster_run.status, record.end_time) for record in records
    ]


def _going(instance: DagsterInstance, job: str) -> str | None:
    """The id of a run of a job that has not ended; None without one."""
    return next((run.run_id for run in recent_runs(instance, job) if not run.is_over), None)


def _lost(instance: DagsterInstance, runs: Sequence[RunSeen], report_minutes: float) -> str | None:
    """A started run whose last event is so old that its process must be gone.

    Dagster's own monitoring does not see this with every run launcher. If the process lives all the same, the
    commits of the second writer are refused.
    """
    for run in runs:
        if run.status is not DagsterRunStatus.STARTED:
            continue
        events = instance.get_records_for_run(run.run_id, limit=1, ascending=False).records
        if events and utc_now().timestamp() - events[0].timestamp > 60 * max(30.0, 4 * report_minutes):
            return run.run_id
    return None
