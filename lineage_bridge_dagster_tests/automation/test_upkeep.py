"""The job and the schedule that look after the lineage tables, with upkeep that is played."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from dagster import DagsterInstance, DefaultScheduleStatus, ExecuteInProcessResult

from lineage_bridge_dagster.automation.old_runs import delete_old_runs
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark import iceberg_tables, upkeep
from lineage_bridge_dagster.spark.upkeep import Upkeep
from lineage_bridge_dagster_tests.assets.location import Location, failure_of
from lineage_bridge_dagster_tests.assets.world import REGION, many
from lineage_bridge_dagster_tests.automation.played_runs import GONE, THEIRS, PlayedRuns
from lineage_bridge_dagster_tests.played_upkeep import Play, player

Build = Callable[..., Location]
JOB = "lineage_upkeep"


@pytest.fixture
def instance() -> DagsterInstance:
    return DagsterInstance.ephemeral()


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    return player(monkeypatch, (upkeep, "keep_up"), (iceberg_tables, "exists"))


def run(built: Location, instance: DagsterInstance, job: str = JOB) -> ExecuteInProcessResult:
    return built.definitions.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False)


def test_every_lineage_table_is_looked_after_with_the_history_of_the_configuration(
    location: Build, instance: DagsterInstance, play: Play
) -> None:
    asked = play(nodes=Upkeep(compacted=9, written=1, snapshots=4, expired=12), edges=Upkeep())
    component = LineageBridgeComponent(aws={"region": REGION}, spark={"history_days": 7, "namespace": "ours"})
    result = run(location(many(1), component), instance)
    assert result.success
    assert set(asked) == {"glue.ours.nodes", "glue.ours.edges"}
    assert {timedelta(hours=limits.hours) for limits in asked.values()} == {timedelta(days=7)}
    assert result.output_for_node(JOB) == {
        "tables": 2,
        "files_compacted": 9,
        "snapshots_expired": 4,
        "files_removed": 12,
    }
    (output,) = (event for event in result.all_events if event.is_successful_output)
    shown = output.step_output_data.metadata
    assert "glue.ours.nodes" in shown["tables"].value
    assert shown["history_days"].value == 7


def test_history_is_90_days_unless_configured() -> None:
    assert LineageBridgeComponent(aws={"region": REGION}).spark.history_days == 90


def test_table_that_fails_stops_no_other_and_is_named(
    location: Build, instance: DagsterInstance, play: Play
) -> None:
    asked = play(nodes=LineageBridgeError("No access.", hint="Allow it."), edges=Upkeep(), coverage=Upkeep())
    result = run(location(many(1)), instance)
    assert not result.success
    assert len(asked) == 3
    failure = failure_of(result)
    assert "1 of 4 lineage tables not looked after: glue.lineage_bridge.nodes" in failure
    assert "Allow it." in failure


def test_old_runs_are_deleted_first_if_that_is_configured(
    location: Build, instance: DagsterInstance, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    play()
    later = functools.partial(delete_old_runs, now=time.time() + 31 * 86_400)
    monkeypatch.setattr("lineage_bridge_dagster.automation.upkeep.delete_old_runs", later)
    runs = PlayedRuns(instance)
    for name in ("first", "second"):
        runs.work(name)
        runs.work(f"of another job {name}", THEIRS)
    # This asset is not of the location, as if its topic were gone.
    for name in ("gone", "gone again"):
        runs.materialize(name, GONE)
    world = many(1)
    assert run(location(world), instance).success
    assert runs.left == set(runs.ids)
    sensor = {"run_days": 30}
    made = run(location(world, LineageBridgeComponent(aws={"region": REGION}, sensor=sensor)), instance)
    assert runs.left == {"second", "gone again", "of another job first", "of another job second"}
    (output,) = (event for event in made.all_events if event.is_successful_output)
    assert output.step_output_data.metadata["runs"].value.startswith("2 old runs deleted; ")
    sensor = {"run_days": 30, "all_runs": True}
    run(location(world, LineageBridgeComponent(aws={"region": REGION}, sensor=sensor)), instance)
    assert runs.left == {"second", "gone again", "of another job second"}


def test_named_instance_looks_after_its_own_tables(
    location: Build, instance: DagsterInstance, play: Play
) -> None:
    asked = play(nodes=Upkeep())
    component = LineageBridgeComponent(aws={"region": REGION}, name="eu")
    made = location(many(1), component, eu_spark=location(many(1)).spark)
    assert run(made, instance, "eu_lineage_upkeep").success
    assert set(asked) == {"glue.lineage_bridge_eu.nodes"}


@pytest.mark.parametrize("running", [True, False])
def test_schedule_runs_daily_if_schedules_do(location: Build, running: bool) -> None:
    made = location(many(1), LineageBridgeComponent(aws={"region": REGION}, sensor={"running": running}))
    (schedule,) = (s for s in made.repository.schedule_defs if s.name == "lineage_upkeep_schedule")
    assert (schedule.cron_schedule, schedule.job_name) == ("43 3 * * *", JOB)
    assert (schedule.default_status is DefaultScheduleStatus.RUNNING) == running
    silent = location(many(1), LineageBridgeComponent(aws={"region": REGION}, sensor={"upkeep_cron": ""}))
    assert "lineage_upkeep_schedule" not in {s.name for s in silent.repository.schedule_defs}
