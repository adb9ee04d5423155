"""The schedules, and the jobs that they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.client import BaseClient
from dagster import (
    AssetKey,
    DagsterInstance,
    DefaultScheduleStatus,
    RunRequest,
    build_schedule_context,
)

from lineage_bridge_dagster.assets.inventory import Inventory, build_inventory
from lineage_bridge_dagster.automation.schedules import nightly_schedule, parts
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster_tests.assets.location import Location, create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, World, many

Build = Callable[..., Location]
NIGHT = datetime(2026, 5, 1, 2, 13, tzinfo=UTC)


@pytest.fixture
def instance() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as made:
        yield made


def inventory_of(w: World) -> Inventory:
    return build_inventory(w.discovery(), LineageBridgeComponent().get_asset_spec)


def requests(w: World, at: datetime = NIGHT) -> list[RunRequest]:
    job = (
        LineageBridgeComponent(aws={"region": REGION})
        .build_defs_from_state(None, None)
        .resolve_job_def("materialize_lineage")
    )  # type: ignore[arg-type]
    (schedule,) = nightly_schedule(AssetNames(), job, inventory_of(w), "13 2 * * *", True)
    found = schedule.evaluate_tick(build_schedule_context(scheduled_execution_time=at)).run_requests
    return list(found or [])


def test_the_lineage_job_materializes_every_asset_and_evaluates_every_check(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(3)
    create_tables(glue, w)
    built = location(w)
    result = built.materialize(instance, job="materialize_lineage")
    assert result.success
    done = {event.asset_key for event in result.get_asset_materialization_events()}
    assert {AssetKey([kind, EAST, "topic.00002"]) for kind in ("kafka", "upstream_chain", "glue")} <= done
    assert len(done) == 9
    evaluated = {(check.asset_key, check.check_name) for check in result.get_asset_check_evaluations()}
    assert (AssetNames().discovery_key, "discovery_complete") in evaluated
    shown = built.repository.asset_graph.asset_check_keys
    assert evaluated == {(check.asset_key, check.name) for check in shown}


def test_the_lineage_job_runs_without_checks(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    create_tables(glue, many(1))
    off = LineageBridgeComponent(aws={"region": REGION}, checks=False)
    assert location(many(1), off).materialize(instance, job="materialize_lineage").success


def test_without_a_discovery_the_lineage_job_fails_and_no_schedule_runs_a_job_that_would(
    instance: DagsterInstance,
) -> None:
    empty = LineageBridgeComponent(aws={}).build_defs_from_state(None, None)  # type: ignore[arg-type]
    job = empty.resolve_job_def("materialize_lineage")
    assert "no discovery is stored yet" in str(job.description)
    assert not job.execute_in_process(instance=instance, raise_on_error=False).success
    assert {s.name for s in empty.schedules or []} == {"refresh_schedule", "nightly_schedule"}  # type: ignore[union-attr]
    nightly = empty.resolve_schedule_def("nightly_schedule")
    context = build_schedule_context(instance, scheduled_execution_time=NIGHT)
    assert nightly.evaluate_tick(context).run_requests == []


def test_few_tables_are_one_nightly_run() -> None:
    (request,) = requests(many(3))
    assert request.asset_selection is None
    assert request.run_key == NIGHT.isoformat()


def test_many_tables_are_divided_among_several_runs_and_none_is_left_out() -> None:
    w = many(1100)
    run_requests = requests(w)
    assert len(run_requests) == 3
    selected = [key for request in run_requests for key in request.asset_selection or []]
    assert len(selected) == len(set(selected)) == 3300
    assert set(selected) == {asset.key for asset in inventory_of(w).materializable}
    assert [request.tags["lineage_bridge/part"] for request in run_requests] == ["1 of 3", "2 of 3", "3 of 3"]
    assert len({request.run_key for request in run_requests}) == 3
    assert [request.run_key for request in requests(w)] == [request.run_key for request in run_requests]


def test_a_table_is_in_the_same_part_as_its_chain_and_parts_are_even() -> None:
    inventory = inventory_of(many(11))
    cut = parts(inventory, size=4)
    assert [len(part) for part in cut] == [9, 12, 12]
    for part in cut:
        tables = {key.path[1:][0] + key.path[-1] for key in part if key.path[0] == "glue"}
        assert tables == {key.path[1:][0] + key.path[-1] for key in part if key.path[0] == "upstream_chain"}


@pytest.mark.parametrize("running", [True, False])
def test_schedules_run_by_default_if_configured_and_are_described(location: Build, running: bool) -> None:
    made = location(many(1), LineageBridgeComponent(aws={"region": REGION}, sensor={"running": running}))
    found = {schedule.name: schedule for schedule in made.repository.schedule_defs}
    assert found["nightly_schedule"].cron_schedule == "13 2 * * *"
    for name in ("refresh_schedule", "push_schedule", "nightly_schedule"):
        assert (found[name].default_status is DefaultScheduleStatus.RUNNING) == running
        assert len(str(found[name].description)) > 40


def test_without_a_cron_expression_there_is_no_schedule(location: Build) -> None:
    crons: dict[str, Any] = {"refresh_cron": "", "push_cron": "", "nightly_cron": ""}
    made = location(many(1), LineageBridgeComponent(aws={"region": REGION}, sensor=crons))
    names = {schedule.name for schedule in made.repository.schedule_defs}
    assert not names & {"refresh_schedule", "push_schedule", "nightly_schedule"}


def test_a_component_with_a_name_has_its_own_jobs_and_schedules(location: Build) -> None:
    made = location(many(1), LineageBridgeComponent(aws={"region": REGION}, name="eu"))
    assert made.repository.has_job("eu_materialize_lineage")
    assert "eu_nightly_schedule" in {schedule.name for schedule in made.repository.schedule_defs}
