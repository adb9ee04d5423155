"""The exporter over a real instance: what runs and checks leave there, restarts, a storage that is gone."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from botocore.client import BaseClient
from click.testing import CliRunner
from dagster import (
    AssetCheckEvaluation,
    AssetCheckSeverity,
    AssetKey,
    DagsterInstance,
)
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import (
    InProcessCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, SensorInstigatorData
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from prometheus_client.parser import text_string_to_metric_families

from lineage_bridge_dagster.automation.cursor import Cursor, TickTotals
from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.dagster_internals.instance import keep_values
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.operations.metrics import reading
from lineage_bridge_dagster.operations.metrics.exporter import InstanceCollector, server_of
from lineage_bridge_dagster.operations.metrics.totals import ComponentTotals, RunTotals
from lineage_bridge_dagster_tests.assets.location import Location, create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, many

Build = Callable[..., Location]


class Exporter:
    """A server on a free port, which is scraped over HTTP."""

    def __init__(self, instance: DagsterInstance) -> None:
        self._server = server_of(InstanceCollector(instance), "127.0.0.1", 0)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/metrics"

    def page(self) -> str:
        with urllib.request.urlopen(self.url) as response:
            return str(response.read().decode())

    def samples(self) -> dict[str, float]:
        return parsed(self.page())

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def parsed(page: str) -> dict[str, float]:
    return {
        sample.name.removeprefix("lineage_bridge_") + "".join(f" {v}" for v in sample.labels.values()): (
            sample.value
        )
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DagsterInstance]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    with DagsterInstance.get() as found:
        yield found


@pytest.fixture
def exporter(instance: DagsterInstance) -> Iterator[Exporter]:
    found = Exporter(instance)
    yield found
    found.close()


def run(location: Location, instance: DagsterInstance, job: str, **config: Any) -> bool:
    run_config = {"ops": {job: {"config": config}}} if config else None
    return (
        location.definitions.resolve_job_def(job)
        .execute_in_process(instance=instance, run_config=run_config, raise_on_error=False)
        .success
    )


def test_runs_are_counted_across_restarts_of_the_exporter(
    location: Build, glue: BaseClient, instance: DagsterInstance, exporter: Exporter
) -> None:
    w = many(3)
    create_tables(glue, w, skip=["topic.00002"])
    built = location(w)
    begun = exporter.samples()
    assert not [name for name in begun if name.startswith("pushed_tables")]
    assert not run(built, instance, "push")
    assert run(built, instance, "push", tables=[f"{EAST}.topic.00000"], dry_run=True)
    found = exporter.samples()
    assert found["pushed_tables_total default updated"] == 2
    assert found["pushed_tables_total default failed"] == 1
    assert found["full_push_tables default failed"] == 1
    assert found["run_duration_seconds_count push failure"] == 1
    assert found["requests_total glue default run 200"] > 3
    exporter.close()
    again = Exporter(instance)
    try:
        assert run(built, instance, "push", tables=[f"{EAST}.topic.00000"])
        after = again.samples()
    finally:
        again.close()
    assert after["counted_since_timestamp_seconds"] == begun["counted_since_timestamp_seconds"]
    assert after["pushed_tables_total default updated"] == 2
    assert after["pushed_tables_total default unchanged"] == 1
    # A push of one table says nothing of the others.
    assert (
        after["full_push_last_timestamp_seconds default"] == found["full_push_last_timestamp_seconds default"]
    )
    page = CliRunner().invoke(main, ["metrics", "--once"])
    assert page.exit_code == 0
    assert parsed(page.stdout)["pushed_tables_total default unchanged"] == 1


def test_discoveries_are_counted_by_result(
    location: Build, instance: DagsterInstance, exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = location(many(1))
    exporter.samples()
    scope = Scope("flink", "env-1", "aws.us-east-1")
    outcomes: list[Any] = [
        many(2).discovery(),
        many(2).discovery(),
        RuntimeError("Confluent is away"),
    ]
    outcomes[1].coverage.add(ScopeReport(scope, Status.DENIED, "no right", None))

    def discover(*_: Any, **__: Any) -> Discovery:
        found = outcomes.pop(0)
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[no-any-return]

    monkeypatch.setattr("lineage_bridge_dagster.discovery.discover.discover", discover)
    for _ in range(3):
        run(built, instance, "refresh")
    found = exporter.samples()
    assert [found[f"discoveries_total default {each}"] for each in ("complete", "incomplete", "failed")] == [
        1, 1, 1,
    ]  # fmt: skip
    assert found["scopes default denied"] == 1
    assert found["run_duration_seconds_count refresh success"] == 2
    assert found["run_duration_seconds_count refresh failure"] == 1
    assert found["discovery_last_timestamp_seconds default complete"] > 0
    assert found["checks discovery_complete failed"] == 1


def test_the_last_result_of_each_check_counts(instance: DagsterInstance, exporter: Exporter) -> None:
    def evaluate(table: str, passed: bool, severity: AssetCheckSeverity = AssetCheckSeverity.WARN) -> None:
        key = AssetKey(["glue", "db", table])
        instance.report_runless_asset_event(
            AssetCheckEvaluation(
                asset_key=key, check_name="table_fresh", passed=passed, metadata={}, severity=severity
            )
        )

    def counts() -> dict[str, float]:
        return {
            name.rpartition(" ")[2]: value
            for name, value in exporter.samples().items()
            if name.startswith("checks table_fresh")
        }

    evaluate("a", True)
    evaluate("b", False)
    evaluate("c", False, AssetCheckSeverity.ERROR)
    evaluate("d", False, AssetCheckSeverity.ERROR)
    assert counts() == {"passed": 1, "warning": 1, "failed": 2}
    evaluate("c", True)
    assert counts() == {"passed": 2, "warning": 1, "failed": 1}


def _automation(instance: DagsterInstance, name: str, running: bool, cursor: Cursor | None = None) -> None:
    """The state that Dagster keeps of a sensor of the location `prod`."""
    location = InProcessCodeLocationOrigin(LoadableTargetOrigin(module_name="x"), location_name="prod")
    origin = RemoteInstigatorOrigin(RemoteRepositoryOrigin(location, "__repository__"), name)
    status = InstigatorStatus.RUNNING if running else InstigatorStatus.STOPPED
    data = SensorInstigatorData(cursor=cursor.write() if cursor else None)
    instance.add_instigator_state(InstigatorState(origin, InstigatorType.SENSOR, status, data))


def test_a_sensor_that_was_removed_is_neither_off_nor_late(instance: DagsterInstance) -> None:
    live = Cursor(automations=["lineage_sensor", "push_schedule"], totals=TickTotals(at=5_000.0))
    _automation(instance, "lineage_sensor", True, live)
    _automation(instance, "push_schedule", False)
    # It was on when it was removed, and listed what there was then.
    gone = Cursor(automations=["eu_lineage_sensor", "eu_refresh_schedule"], totals=TickTotals(at=100.0))
    _automation(instance, "eu_lineage_sensor", True, gone)
    _automation(instance, "eu_refresh_schedule", False)
    found = reading.InstanceReader(instance, lambda: 5_010.0).read()
    assert {each.name: each.running for each in found.automations} == {
        "lineage_sensor": True, "push_schedule": False,
    }  # fmt: skip
    assert [each.component for each in found.sensors] == [""]


def test_a_sensor_whose_ticks_all_fail_has_an_age(instance: DagsterInstance, exporter: Exporter) -> None:
    _automation(instance, "eu_lineage_sensor", True)
    tick = exporter.samples()["sensor_tick_timestamp_seconds eu prod"]
    assert tick == exporter.samples()["counted_since_timestamp_seconds"]
    assert not [name for name in exporter.samples() if name.startswith("tables ")]


def test_a_location_is_there_while_its_sensor_ticks_or_its_runs_report(instance: DagsterInstance) -> None:
    cursor = Cursor(automations=["lineage_sensor"], totals=TickTotals(at=100.0))
    _automation(instance, "lineage_sensor", False, cursor)
    later = 101.0 + reading.REMOVED_AFTER
    assert not reading.InstanceReader(instance, lambda: later).read().automations
    totals = RunTotals(began=1.0, settled=later, components={"": ComponentTotals(last=later - 60)})
    keep_values(instance, {reading.TOTALS_KEY: totals.model_dump_json()})
    (kept,) = reading.InstanceReader(instance, lambda: later).read().automations
    assert not kept.running


def test_a_storage_that_cannot_be_read_fails_the_scrape(
    instance: DagsterInstance, exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exporter.samples()

    def gone(*_: Any) -> Any:
        raise sqlalchemy.exc.OperationalError("SELECT", {}, Exception("password of dagster@db"))

    monkeypatch.setattr(instance.run_storage, "get_cursor_values", gone)
    with pytest.raises(urllib.error.HTTPError) as failed:
        exporter.page()
    assert failed.value.code == 503
    assert b"password" not in failed.value.read()
    monkeypatch.undo()
    assert exporter.samples()


def test_the_number_of_queries_does_not_grow_with_the_tables(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = reading.InstanceReader(instance, lambda: 1e10)
    queries: list[str] = []
    execute = sqlalchemy.engine.Connection.execute

    def counted(self: Any, statement: Any, *args: Any, **options: Any) -> Any:
        queries.append(str(statement))
        return execute(self, statement, *args, **options)

    for number in (1, 20):
        for n in range(number):
            instance.report_runless_asset_event(
                AssetCheckEvaluation(
                    asset_key=AssetKey(["glue", "db", f"t{n}"]),
                    check_name="lineage_in_sync",
                    passed=True,
                    metadata={},
                )
            )
        found.read()
        with monkeypatch.context() as patch:
            patch.setattr(sqlalchemy.engine.Connection, "execute", counted)
            queries.clear()
            found.read()
        assert len([each for each in queries if "PRAGMA" not in each.upper()]) <= 12


def test_a_path_other_than_the_page_is_not_found(exporter: Exporter) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(exporter.url.replace("/metrics", "/"))


def test_without_a_home_the_command_says_what_to_set() -> None:
    result = CliRunner(env={"DAGSTER_HOME": ""}).invoke(main, ["metrics", "--once"])
    assert result.exit_code == 2
    assert "DAGSTER_HOME" in result.output
