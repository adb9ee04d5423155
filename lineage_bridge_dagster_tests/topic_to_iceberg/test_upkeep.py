"""The job and the schedule that look after the tables of an instance, with upkeep that is played."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from dagster import (
    DagsterInstance,
    DagsterRunStatus,
    Definitions,
    ExecuteInProcessResult,
    build_schedule_context,
)
from dagster._core.test_utils import create_run_for_test

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster.spark.upkeep import Upkeep, UpkeepLimits
from lineage_bridge_dagster.topic_to_iceberg import upkeep
from lineage_bridge_dagster.topic_to_iceberg.automation import INSTANCE
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadNames
from lineage_bridge_dagster_tests.played_upkeep import Play, player
from lineage_bridge_dagster_tests.topic_to_iceberg.yaml import loaded

TOPICS = [{"topic": "orders"}, {"topic": "customers"}, {"topic": "new"}]
JOB = LoadNames().upkeep


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    monkeypatch.setattr(SparkResource, "spark_session", property(lambda _: None))
    return player(monkeypatch, (upkeep, "keep_up_topic_table"), (upkeep, "exists"))


def run(
    definitions: Definitions, instance: DagsterInstance, tables: list[str] | None = None
) -> ExecuteInProcessResult:
    config = {"ops": {JOB: {"config": {"tables": tables or []}}}}
    job = definitions.resolve_job_def(JOB)
    return job.execute_in_process(instance=instance, raise_on_error=False, run_config=config)


def failure(result: ExecuteInProcessResult) -> str:
    (event,) = (each for each in result.all_events if each.is_step_failure)
    description = event.step_failure_data.user_failure_data
    assert description is not None
    return str(description.description)


def test_tables_are_looked_after_and_observed(instance: DagsterInstance, play: Play) -> None:
    asked = play(orders=Upkeep(compacted=9, written=1, snapshots=4, expired=12), customers=Upkeep())
    attributes = {"topics": TOPICS, "upkeep": {"keep_snapshots": 5, "keep_hours": 2, "orphan_days": 0}}
    with loaded(attributes) as (_, definitions):
        result = run(definitions, instance)
    assert result.success
    assert result.output_for_node(JOB) == {
        "tables": 2,
        "files_compacted": 9,
        "snapshots_expired": 4,
        "files_removed": 12,
    }
    tables = ("glue.lkc-abc123.orders", "glue.lkc-abc123.customers")
    assert asked == dict.fromkeys(tables, UpkeepLimits(5, 2.0, None))
    observed: dict[str, Any] = {
        each.event_specific_data.asset_observation.asset_key.path[-1]: each
        for each in result.all_events
        if each.event_type_value == "ASSET_OBSERVATION"
    }
    assert observed.keys() == {"orders", "customers"}


def test_upkeep_knows_where_the_configuration_has_a_tables_files(
    instance: DagsterInstance, play: Play
) -> None:
    asked = play(orders=Upkeep(), customers=Upkeep())
    placed = {"location": "s3://fast/orders", "properties": {"write.data.path": "s3://bulk/orders"}}
    with loaded({"topics": [{"topic": "orders", **placed}, {"topic": "customers"}]}) as (_, definitions):
        assert run(definitions, instance).success
    folders = {name.rpartition(".")[2]: (each.location, each.paths) for name, each in asked.items()}
    assert folders == {"orders": ("s3://fast/orders", ("s3://bulk/orders",)), "customers": ("", ())}


def test_table_that_fails_stops_no_other_and_is_named(instance: DagsterInstance, play: Play) -> None:
    asked = play(orders=LineageBridgeError("S3 refused.", hint="Grant it."), customers=Upkeep(), new=Upkeep())
    with loaded({"topics": TOPICS}) as (_, definitions):
        result = run(definitions, instance)
    assert not result.success
    assert asked.keys() == {f"glue.lkc-abc123.{name}" for name in ("orders", "customers", "new")}
    assert "1 of 3 tables not looked after: lkc-abc123.orders" in failure(result)
    assert "S3 refused.\n  -> Grant it." in failure(result)


def test_one_table_can_be_named_and_an_unknown_one_is_refused(instance: DagsterInstance, play: Play) -> None:
    asked = play(orders=Upkeep(), customers=Upkeep())
    with loaded({"topics": TOPICS}) as (_, definitions):
        assert run(definitions, instance, ["lkc-abc123.orders"]).success
        assert asked.keys() == {"glue.lkc-abc123.orders"}
        asked.clear()
        refused = run(definitions, instance, ["lkc-abc123.orders", "lkc-abc123.other"])
    assert "loads no table lkc-abc123.other" in failure(refused)
    assert not asked


def test_schedule_waits_for_an_upkeep_under_way(instance: DagsterInstance) -> None:
    with loaded({"topics": TOPICS, "upkeep": {"cron": "5 4 * * *"}}) as (_, definitions):
        schedule = definitions.get_schedule_def(f"{JOB}_schedule")
        assert schedule.cron_schedule == "5 4 * * *"
        context = build_schedule_context(instance=instance, scheduled_execution_time=datetime(2026, 11, 22))
        assert len(schedule.evaluate_tick(context).run_requests or ()) == 1
        create_run_for_test(instance, job_name=JOB, tags={INSTANCE: JOB}, status=DagsterRunStatus.STARTED)
        data = schedule.evaluate_tick(context)
        assert not data.run_requests
        assert "is still at it" in str(data.skip_message)


def test_no_schedule_without_a_cron_expression(instance: DagsterInstance) -> None:
    with loaded({"topics": TOPICS, "upkeep": {"cron": ""}}) as (_, definitions):
        names = {each.name for each in definitions.schedules or ()}
    assert f"{JOB}_schedule" not in names
