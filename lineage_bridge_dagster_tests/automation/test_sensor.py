"""The sensor, evaluated with an instance, stored states and a code location."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from dagster import (
    AssetCheckKey,
    AssetKey,
    DagsterInstance,
    DagsterRun,
    DagsterRunStatus,
    DefaultSensorStatus,
    RunRequest,
    SensorEvaluationContext,
    SensorResult,
    build_sensor_context,
)
from dagster._core.utils import make_new_run_id

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.automation.cursor import Cursor
from lineage_bridge_dagster.automation.sensor import InstanceClient, lineage_sensor, loaded_tables
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.automation.watched_lists import ListScope
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.specs.names import Names
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.location import Location, create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, World, many
from lineage_bridge_dagster_tests.automation.test_tick import Lists

Build = Callable[..., Location]
KEY = "LineageBridgeComponent"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    with DagsterInstance.local_temp(str(tmp_path)) as made:
        yield made


class Watched:
    """A code location and its sensor, with fake lists and a fake reload."""

    def __init__(self, instance: DagsterInstance, location: Build) -> None:
        self.instance = instance
        self.build = location
        self.reloads = 0
        self.cursor: str | None = None

    def load(self, w: World, version: str | None = None) -> None:
        self.world = w
        self.version = version or StateStore.of(self.instance, KEY).store(w.discovery())
        self.location: Location = self.build(w)

    def tick(self, read_list: Callable[[ListScope], Iterable[str]] | None = None) -> SensorResult:
        inventory = build_inventory(self.world.discovery(), LineageTranslator().get_asset_spec)
        sensor = lineage_sensor(
            Names(),
            KEY,
            loaded_tables(self.version, inventory, PushSettings),
            read_list or Lists(self.world),
            [self.location.definitions.resolve_job_def(n) for n in ("refresh", "materialize_lineage")],
            interval_seconds=5,
            running=True,
            reload=self._reload,
        )
        context = build_sensor_context(
            instance=self.instance,
            cursor=self.cursor,
            definitions=self.location.definitions,
            sensor_name="lineage_sensor",
        )
        result = sensor(context)
        assert isinstance(result, SensorResult)
        self.cursor = result.cursor
        return result

    def _reload(self, _context: SensorEvaluationContext) -> str:
        self.reloads += 1
        return "in a test"


@pytest.fixture
def watched(instance: DagsterInstance, location: Build) -> Watched:
    return Watched(instance, location)


def requests(result: SensorResult) -> list[RunRequest]:
    return list(result.run_requests or [])


@pytest.mark.parametrize("chosen", [None, frozenset()])
def test_a_run_of_checks_alone_does_not_delay_a_push(
    watched: Watched, glue: BaseClient, chosen: frozenset[AssetKey] | None
) -> None:
    create_tables(glue, many(1))
    watched.load(many(1))
    check = AssetCheckKey(AssetKey(["glue", EAST, "topic.00000"]), "table_fresh")
    run = DagsterRun(
        job_name="materialize_lineage",
        status=DagsterRunStatus.STARTED,
        asset_selection=chosen,
        asset_check_selection=frozenset({check}),
    )
    watched.instance.add_run(run)
    assert len(requests(watched.tick())) == 1


def test_a_new_table_is_loaded_requested_pushed_and_not_requested_again(
    watched: Watched, glue: BaseClient
) -> None:
    w = many(3)
    create_tables(glue, w)
    watched.load(many(2))
    first = requests(watched.tick())
    assert [request.job_name for request in first] == ["materialize_lineage"]
    _carry_out(watched, first)
    assert not requests(watched.tick())

    StateStore.of(watched.instance, KEY).store(w.discovery())
    assert "Loaded a newer discovery" in str(watched.tick().skip_reason)
    assert watched.reloads == 1
    watched.load(w, StateStore.of(watched.instance, KEY).latest_version())
    second = requests(watched.tick())
    assert second[0].asset_selection == [
        AssetKey(["upstream_chain", EAST, "topic.00002"]),
        AssetKey(["glue", EAST, "topic.00002"]),
    ]
    _carry_out(watched, second)
    assert (
        "lineage_bridge.digest"
        in glue.get_table(DatabaseName=EAST, Name="topic.00002")["Table"]["Parameters"]
    )
    assert not requests(watched.tick())


def _carry_out(watched: Watched, run_requests: list[RunRequest]) -> None:
    for request in run_requests:
        keys = [key.to_user_string() for key in request.asset_selection or ()]
        assert watched.location.materialize(watched.instance, *keys, job=str(request.job_name)).success


def test_a_corrupt_cursor_requests_nothing_again(watched: Watched, glue: BaseClient) -> None:
    create_tables(glue, many(1))
    watched.load(many(1))
    _carry_out(watched, requests(watched.tick()))
    watched.cursor = "{not json"
    result = watched.tick()
    assert not requests(result)
    assert Cursor.read(result.cursor)[1] == ""


def test_a_changed_list_leads_to_a_run_of_the_refresh_job(watched: Watched, glue: BaseClient) -> None:
    create_tables(glue, many(1))
    watched.load(many(1))
    _carry_out(watched, requests(watched.tick()))
    lists = Lists(many(2))
    assert [request.job_name for request in requests(watched.tick(lists))] == ["refresh"]


def test_the_sensor_runs_by_default_if_configured(location: Build) -> None:
    for running in (True, False):
        made = location(many(1), LineageBridgeComponent(aws={"region": REGION}, sensor={"running": running}))
        sensor = made.repository.get_sensor_def("lineage_sensor")
        assert (sensor.default_status is DefaultSensorStatus.RUNNING) == running


def test_without_a_state_there_are_the_sensor_and_its_jobs_but_no_assets(location: Any) -> None:
    made = LineageBridgeComponent(aws={}).build_defs_from_state(None, None)  # type: ignore[arg-type]
    repository = made.get_repository_def()
    # The sensor's target exists before its first table: the daemon may use these definitions for a while.
    assert {job.name for job in repository.get_all_jobs()} == {"refresh", "materialize_lineage"}
    assert [sensor.name for sensor in repository.sensor_defs] == ["lineage_sensor"]
    assert not repository.asset_graph.get_all_asset_keys()


@pytest.mark.parametrize(
    ("job", "status", "found"),
    [
        ("refresh", DagsterRunStatus.SUCCESS, True),
        ("refresh", DagsterRunStatus.FAILURE, False),
        ("push", DagsterRunStatus.SUCCESS, False),
    ],
)
def test_a_refresh_that_succeeded_since_a_time_is_found_by_its_run(
    instance: DagsterInstance, job: str, status: DagsterRunStatus, found: bool
) -> None:
    instance.add_run(DagsterRun(job_name=job, run_id=make_new_run_id(), status=status))
    client = InstanceClient(build_sensor_context(instance=instance), KEY, Names(), lambda _: "")
    now = time.time()
    assert client.refreshed_since(now - 60) is found
    assert not client.refreshed_since(now + 60)
