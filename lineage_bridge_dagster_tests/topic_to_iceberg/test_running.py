"""Runs that go on, runs that end, and what starts the next one."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from dagster import (
    DagsterInstance,
    DagsterRunStatus,
    Definitions,
    ExecuteInProcessResult,
    RunRequest,
    SkipReason,
    build_sensor_context,
)
from dagster._core.test_utils import create_run_for_test

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.topic_to_iceberg import execution
from lineage_bridge_dagster.topic_to_iceberg.automation import INSTANCE, RunSeen, RunStart, next_run
from lineage_bridge_dagster.topic_to_iceberg.execution import CONTINUOUS
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadNames
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError
from lineage_bridge_dagster.topic_to_iceberg.run import LoadRun
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.topic_to_iceberg.yaml import FakeCluster, FakeTopic, loaded, step

JOB = LoadNames().job
SUCCESS, FAILURE, CANCELED, STARTED = (
    DagsterRunStatus.SUCCESS,
    DagsterRunStatus.FAILURE,
    DagsterRunStatus.CANCELED,
    DagsterRunStatus.STARTED,
)


def continuous(**settings: Any) -> dict[str, Any]:
    run = {"mode": "continuous", "commit_seconds": 0.05, "report_minutes": 0.01, "restart_hours": 1}
    return {"topics": [{"topic": "orders"}], "run": {**run, **settings}}


def stopped(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once a run is asked to stop."""
    stop, asked = LoadRun.stop, threading.Event()

    def stopping(run: LoadRun) -> None:
        stop(run)
        asked.set()

    monkeypatch.setattr(LoadRun, "stop", stopping)
    return asked


class Clock:
    """A run's clock: it moves whenever it is asked, and by hours once a topic is read out, until the end."""

    def __init__(self, topic: FakeTopic, monkeypatch: pytest.MonkeyPatch) -> None:
        self._topic = topic
        self._now = 0.0
        self._lock = threading.Lock()
        self._stopped = stopped(monkeypatch)
        topic.on_step = self._step
        monkeypatch.setattr(execution, "time", SimpleNamespace(monotonic=self))
        monkeypatch.setattr(execution, "LoadRun", partial(LoadRun, clock=self))

    def __call__(self) -> float:
        with self._lock:
            self._now += 0.05
            return self._now

    def _step(self) -> None:
        if not self._topic.batches:
            with self._lock:
                self._now += 10_000
            assert self._stopped.wait(60)


def execute(definitions: Definitions, instance: DagsterInstance) -> ExecuteInProcessResult:
    job = definitions.resolve_job_def(JOB)
    return job.execute_in_process(instance=instance, tags={CONTINUOUS: "true"}, raise_on_error=False)


def rows(result: ExecuteInProcessResult) -> list[int]:
    return [
        int(str(event.materialization.metadata["lineage_bridge/rows_written"].value))
        for event in result.get_asset_materialization_events()
    ]


def test_a_continuous_run_materializes_at_intervals_and_ends_after_its_hours(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = FakeTopic([step(number, 1, last=True) for number in range(1, 9)], end=8)
    FakeCluster(orders=topic).use(monkeypatch)
    Clock(topic, monkeypatch)
    with loaded(continuous()) as (_, definitions):
        result = execute(definitions, instance)
    assert result.success
    # Several materializations, fewer than commits; together they have every row.
    assert 1 < len(rows(result)) < 9
    assert sum(rows(result)) == 8
    assert topic.opened == 1


@pytest.mark.parametrize(
    ("tags", "is_short", "is_brief"),
    [({}, True, True), ({}, False, False), ({CONTINUOUS: "true"}, True, False)],
    ids=["few records", "many records", "continuous"],
)
def test_spark_starts_for_a_short_run_if_few_records_wait_and_it_ends_with_them(
    instance: DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    tags: dict[str, str],
    is_short: bool,
    is_brief: bool,
) -> None:
    asked, started = [], []
    topic = FakeTopic([step(1, 1, last=True)], end=1)

    def judge(loads: Sequence[TopicLoad], *_: Any) -> bool:
        asked.append([each.topic for each in loads])
        return is_short

    bootstrap = Bootstrap.parse("PLAINTEXT://127.0.0.1:9")
    connection = SimpleNamespace(bootstrap=bootstrap)
    package = "lineage_bridge_dagster"
    monkeypatch.setattr(f"{package}.confluent.cluster_connection.connect", lambda *_: connection)
    monkeypatch.setattr(f"{package}.spark.session.starts_here", lambda _: True)
    monkeypatch.setattr(
        f"{package}.spark.session.spark_session", lambda *_, is_brief: started.append(is_brief)
    )
    monkeypatch.setattr(f"{package}.topic_to_iceberg.survey.is_short", judge)
    monkeypatch.setattr(f"{package}.topic_to_iceberg.engine.loaders", lambda *_: FakeCluster(orders=topic))
    Clock(topic, monkeypatch)
    with loaded(continuous()) as (_, definitions):
        definitions.resolve_job_def(JOB).execute_in_process(instance=instance, tags=tags)
    assert started == [is_brief]
    assert asked == ([] if tags else [["orders"]])


def test_a_failure_during_a_continuous_run_is_tried_again_and_shows_meanwhile(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lineage_bridge_dagster.topic_to_iceberg.rotation._RETRY", 0.01)
    topic = FakeTopic([step(1, 1, last=True), SuspendedError("no schema"), step(2, 1, last=True)], end=2)
    FakeCluster(orders=topic).use(monkeypatch)
    Clock(topic, monkeypatch)
    with loaded(continuous()) as (_, definitions):
        result = execute(definitions, instance)
    assert result.success
    judged = [each for each in result.get_asset_check_evaluations() if each.check_name == "not_suspended"]
    assert [each.passed for each in judged][-1]
    assert any("no schema" in (each.description or "") for each in judged)
    assert sum(rows(result)) == 2


def test_a_check_that_failed_in_a_continuous_run_fails_until_it_ends(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = [step(2, 1, skipped=1, last=True), *(step(at, 1, last=True) for at in range(3, 7))]
    topic = FakeTopic(list(batches), end=6)
    FakeCluster(orders=topic).use(monkeypatch)
    Clock(topic, monkeypatch)
    with loaded(continuous(report_minutes=0.0005)) as (_, definitions):
        result = execute(definitions, instance)
    judged = [
        each for each in result.get_asset_check_evaluations() if each.check_name == "no_rejected_records"
    ]
    assert len(judged) > 2
    assert not any(each.passed for each in judged)


def test_a_run_that_is_terminated_finishes_its_batch_and_keeps_its_counts(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = stopped(monkeypatch)

    def slow() -> None:
        if not asked.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            assert asked.wait(60)

    topic = FakeTopic([step(5, 5, last=True), step(9, 4, last=True)], end=9, on_step=slow)
    FakeCluster(orders=topic).use(monkeypatch)
    with loaded(continuous()) as (_, definitions):
        result = execute(definitions, instance)
    assert not result.success
    assert rows(result) == [5]
    # The next batch was not begun.
    assert len(topic.batches) == 1


def test_the_loss_of_spark_ends_the_run(instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeCluster(orders=FakeTopic([ConnectionRefusedError()], end=1)).use(monkeypatch)
    with loaded(continuous()) as (_, definitions):
        assert not execute(definitions, instance).success


def test_a_topic_that_fails_waits_longer_each_time(instance: DagsterInstance) -> None:
    now = [0.0]
    topic = FakeTopic([LineageBridgeError("down")] * 20, end=1)

    class Clock:
        def __call__(self) -> float:
            now[0] += 5.0
            return now[0]

    with loaded({"topics": [{"topic": "orders"}]}) as (component, _):
        loads = component.plan("lkc-1").loads(())
    run = LoadRun(loads, FakeCluster(orders=topic), threads=1, report_seconds=1e9, clock=Clock())
    reports = list(run.reports(until=400.0))
    # 10, 20, 40, 80, 160, 300 seconds after each other.
    assert 4 <= 20 - len(topic.batches) <= 7
    assert reports[0].error is not None


def test_a_second_run_of_the_same_tables_is_refused_and_names_the_first(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = FakeTopic([step(1, 1)], end=1)
    FakeCluster(orders=topic).use(monkeypatch)
    with loaded({"topics": [{"topic": "orders"}]}) as (_, definitions):
        key = next(iter(definitions.resolve_asset_graph().materializable_asset_keys))
        first = create_run_for_test(instance, status=STARTED, asset_selection={key})
        result = definitions.resolve_job_def(JOB).execute_in_process(instance=instance, raise_on_error=False)
        failure = next(event for event in result.all_events if event.is_step_failure)
        assert f"Run {first.run_id} is loading" in str(
            failure.step_failure_data.user_failure_data.description
        )
        assert topic.opened == 0
        instance.report_run_canceled(first)
        assert definitions.resolve_job_def(JOB).execute_in_process(instance=instance).success


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], RunStart("first")),
        ([RunSeen("a", STARTED, None)], "Run a is loading the topics."),
        ([RunSeen("a", DagsterRunStatus.QUEUED, None)], "Run a is loading the topics."),
        ([RunSeen("a", SUCCESS, 1000.0)], RunStart("after a")),
        ([RunSeen("a", FAILURE, 990.0)], "Run a ended as FAILURE; the next one starts in 20 seconds."),
        ([RunSeen("a", FAILURE, 969.0)], RunStart("after a")),
        # It waits longer after each failure in a row.
        (
            [RunSeen("b", FAILURE, 960.0), RunSeen("a", FAILURE, 900.0)],
            "Run b ended as FAILURE; the next one starts in 20 seconds.",
        ),
        ([RunSeen("b", FAILURE, 960.0), RunSeen("a", SUCCESS, 900.0)], RunStart("after b")),
        ([RunSeen("a", CANCELED, 990.0)], "Run a ended as CANCELED; the next one starts in 20 seconds."),
    ],
)
def test_what_follows_a_run(runs: list[RunSeen], expected: RunStart | str) -> None:
    assert next_run(runs, 1000.0) == expected


def test_the_sensor_keeps_one_run_going(instance: DagsterInstance) -> None:
    with loaded(continuous(running=True)) as (_, definitions):
        sensor = definitions.get_sensor_def("topic_to_iceberg_sensor")

        def tick() -> Any:
            return sensor(build_sensor_context(instance=instance))

        request = tick()
        assert isinstance(request, RunRequest)
        assert request.tags[CONTINUOUS] == "true"
        # A second tick before the run exists has the same key, of which Dagster starts one run.
        assert tick().run_key == request.run_key
        run = create_run_for_test(instance, job_name=JOB, tags={INSTANCE: JOB}, status=STARTED)
        assert isinstance(tick(), SkipReason)
        instance.report_run_failed(run)
        assert isinstance(tick(), SkipReason)


def test_a_run_whose_process_is_gone_is_ended_and_followed_by_another(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import timedelta

    from lineage_bridge_dagster.lineage.times import utc_now

    with loaded(continuous(report_minutes=1)) as (_, definitions):
        sensor = definitions.get_sensor_def("topic_to_iceberg_sensor")
        run = create_run_for_test(instance, job_name=JOB, tags={INSTANCE: JOB}, status=STARTED)
        instance.report_engine_event("progress", run)
        monkeypatch.setattr(
            "lineage_bridge_dagster.topic_to_iceberg.automation.utc_now",
            lambda: utc_now() + timedelta(minutes=31),
        )
        skipped = sensor(build_sensor_context(instance=instance))
        assert isinstance(skipped, SkipReason)
        found = instance.get_run_by_id(run.run_id)
        assert found is not None
        assert found.status is FAILURE
        assert isinstance(sensor(build_sensor_context(instance=instance)), RunRequest)


def test_the_schedule_waits_for_a_run_that_is_at_it(instance: DagsterInstance) -> None:
    from dagster import build_schedule_context

    with loaded({"topics": [{"topic": "orders"}], "run": {"cron": "*/5 * * * *"}}) as (_, definitions):
        schedule = definitions.get_schedule_def("topic_to_iceberg_schedule")
        assert schedule.cron_schedule == "*/5 * * * *"
        context = build_schedule_context(instance=instance)
        create_run_for_test(instance, job_name=JOB, tags={INSTANCE: JOB}, status=STARTED)
        data = schedule.evaluate_tick(context)
        assert not data.run_requests
        assert "is still loading the topics" in str(data.skip_message)


def test_each_way_to_run_has_its_own_automation(instance: DagsterInstance) -> None:
    found = {}
    for mode in ("schedule", "continuous", "manual"):
        with loaded({"topics": [{"topic": "a"}], "run": {"mode": mode}}) as (_, definitions):
            repository = definitions.get_repository_def()
            found[mode] = (len(repository.schedule_defs), len(repository.sensor_defs))
    # One more schedule is that of the upkeep.
    assert found == {"schedule": (2, 0), "continuous": (1, 1), "manual": (1, 0)}
