"""The sensor, evaluated with an instance, stored states and a code location."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from botocore.client import BaseClient
from dagster import (
    AssetCheckEvaluation,
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
from lineage_bridge_dagster.automation.dagster_client import DagsterClient
from lineage_bridge_dagster.automation.loaded import loaded_tables
from lineage_bridge_dagster.automation.sensor import lineage_sensor
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.automation.sweep import SweepSettings
from lineage_bridge_dagster.automation.watched_lists import ListScope
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.location import Location, create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, World, many
from lineage_bridge_dagster_tests.automation.ticks import Lists

Build = Callable[..., Location]
KEY = "LineageBridgeComponent"


@pytest.fixture
def instance(local_instance: DagsterInstance) -> DagsterInstance:
    return local_instance


class Watched:
    """A code location and its sensor, with fake lists and a fake reload."""

    def __init__(self, instance: DagsterInstance, location: Build) -> None:
        self.instance = instance
        self.build = location
        self.reloads = 0
        self.cursor: str | None = None
        #: What the component is set to push, for this sensor and for the location that it loads.
        self.push: dict[str, Any] = {}

    def load(self, w: World, version: str | None = None) -> None:
        self.world = w
        self.version = version or StateStore.of(self.instance, KEY).store(w.discovery())
        component = LineageBridgeComponent(aws={"region": REGION}, push=self.push)
        self.location: Location = self.build(w, component)

    def tick(
        self,
        read_list: Callable[[ListScope], Iterable[str]] | None = None,
        sweep: SweepSettings | None = None,
    ) -> SensorResult:
        inventory = build_inventory(self.world.discovery(), LineageTranslator().get_asset_spec)
        sensor = lineage_sensor(
            AssetNames(),
            KEY,
            loaded_tables(self.version, inventory, lambda: PushSettings(**self.push)),
            read_list or Lists(self.world),
            [self.location.definitions.resolve_job_def(n) for n in ("refresh", "materialize_lineage")],
            interval_seconds=5,
            running=True,
            sweep=sweep,
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

    def run_push(self, **options: Any) -> None:
        """Run the push job with these options, as a person does from the launchpad."""
        job = self.location.definitions.resolve_job_def("push")
        config = {"ops": {"push": {"config": options}}}
        assert job.execute_in_process(instance=self.instance, run_config=config).success

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


def test_a_tick_tells_which_sensors_and_schedules_there_are(watched: Watched, glue: BaseClient) -> None:
    watched.load(many(1))
    watched.tick()
    repository = watched.location.definitions.get_repository_def()
    there = {each.name for each in repository.sensor_defs}
    there |= {each.name for each in repository.schedule_defs}
    assert Cursor.read(watched.cursor)[0].automations == sorted(there)
    assert {"lineage_sensor", "refresh_schedule", "push_schedule"} <= there


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


def test_wiped_lineage_is_restored_by_a_run_that_says_so_and_the_next_sweep_finds_it(
    watched: Watched, glue: BaseClient
) -> None:
    create_tables(glue, many(2))
    watched.load(many(2))
    _carry_out(watched, requests(watched.tick()))
    glue.update_table(DatabaseName=EAST, TableInput={"Name": "topic.00001"})
    # Each tick sweeps.
    sweep = SweepSettings(GlueReader(glue).page, seconds=0.001)
    repairs = requests(watched.tick(sweep=sweep))
    assert [request.asset_selection for request in repairs] == [[AssetKey(["glue", EAST, "topic.00001"])]]
    assert repairs[0].tags["lineage_bridge/repair"] == "true"
    _carry_out(watched, repairs)
    parameters = glue.get_table(DatabaseName=EAST, Name="topic.00001")["Table"]["Parameters"]
    assert "lineage_bridge.digest" in parameters
    assert not requests(watched.tick(sweep=sweep))


def test_a_push_with_options_of_its_own_is_no_loss(watched: Watched, glue: BaseClient) -> None:
    create_tables(glue, many(1))
    watched.load(many(1))
    _carry_out(watched, requests(watched.tick()))
    watched.run_push(set_description=False, sql="none")
    assert not requests(watched.tick(sweep=SweepSettings(GlueReader(glue).page, seconds=0.001)))


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


def test_without_a_state_there_are_the_sensor_its_jobs_and_an_asset_that_says_why(location: Any) -> None:
    made = LineageBridgeComponent(aws={}).build_defs_from_state(None, None)  # type: ignore[arg-type]
    repository = made.get_repository_def()
    # All jobs exist before the first table: the daemon may use these definitions for a while.
    jobs = {job.name for job in repository.get_all_jobs() if not job.name.startswith("__")}
    assert jobs == {"refresh", "materialize_lineage", "push", "lineage_upkeep", "impact"}
    assert [sensor.name for sensor in repository.sensor_defs] == ["lineage_sensor"]
    (key,) = repository.asset_graph.get_all_asset_keys()
    description = repository.asset_graph.get(key).description or ""
    assert "No discovery is stored yet." in description
    assert "dg launch --job refresh" in description


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
    client = DagsterClient(build_sensor_context(instance=instance), KEY, AssetNames(), lambda _: "")
    now = time.time()
    assert client.refreshed_since(now - 60) is found
    assert not client.refreshed_since(now + 60)


def description(glue: BaseClient, table: str = "topic.00000") -> str:
    return str(glue.get_table(DatabaseName=EAST, Name=table)["Table"]["Description"])


def test_a_push_with_options_of_its_own_is_not_undone(watched: Watched, glue: BaseClient) -> None:
    create_tables(glue, many(2))
    watched.load(many(2))
    watched.run_push(set_description=False)
    for cursor in (None, watched.cursor):
        watched.cursor = cursor
        assert not requests(watched.tick())
    assert "Upstream lineage" not in description(glue)

    # Another discovery, in which these tables' lineage is the same, is no reason to push them either.
    watched.load(many(2))
    assert not requests(watched.tick())


def test_a_push_with_options_of_its_own_lasts_until_the_lineage_changes(
    watched: Watched, glue: BaseClient
) -> None:
    w = many(2)
    create_tables(glue, w)
    watched.load(w)
    watched.run_push(set_description=False)
    assert not requests(watched.tick())
    w.edge(w.topic(EAST, "more"), w.topic(EAST, "topic.00001"), EdgeType.TRANSFORMS)
    watched.load(w)
    again = requests(watched.tick())
    assert [request.tags["lineage_bridge/tables"] for request in again] == ["1"]
    _carry_out(watched, again)
    assert "Upstream lineage" in description(glue, "topic.00001")
    assert "Upstream lineage" not in description(glue, "topic.00000")
    assert not requests(watched.tick())


def test_a_push_with_options_of_its_own_lasts_until_the_settings_change(
    watched: Watched, glue: BaseClient
) -> None:
    create_tables(glue, many(1))
    watched.load(many(1))
    watched.run_push(set_description=False)
    assert not requests(watched.tick())
    # The sensor and the runs read the settings again, without a new discovery.
    watched.push["set_parameters"] = False
    assert len(requests(watched.tick())) == 1


def test_a_push_with_the_components_settings_ends_one_with_options(
    watched: Watched, glue: BaseClient
) -> None:
    create_tables(glue, many(1))
    watched.load(many(1))
    watched.run_push(set_description=False)
    watched.run_push()
    assert "Upstream lineage" in description(glue)
    watched.cursor = None
    assert not requests(watched.tick())


def test_a_push_that_writes_only_some_tables_leaves_the_others_to_the_sensor(
    watched: Watched, glue: BaseClient
) -> None:
    create_tables(glue, many(2))
    watched.load(many(2))
    watched.run_push(tables=[f"{EAST}.topic.00000"], set_description=False)
    watched.run_push(dry_run=True, set_parameters=False)
    assert [request.asset_selection[-1].path[-1] for request in requests(watched.tick())] == ["topic.00001"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("config", "left"),
    [
        ({}, []),
        ({"tables": [f"{EAST}.Topic.00000"]}, ["topic.00001"]),
        ({"tables": [f"glue://{EAST}/topic.00001"], "set_description": False}, ["topic.00000"]),
        ({"dry_run": True}, ["topic.00000", "topic.00001"]),
    ],
)
def test_tables_of_a_push_that_is_running_are_left_to_it(
    watched: Watched, config: dict[str, Any], left: list[str]
) -> None:
    watched.load(many(2))
    run_config = {"ops": {"push": {"config": config}}} if config else {}
    watched.instance.add_run(
        DagsterRun(job_name="push", run_config=run_config, status=DagsterRunStatus.STARTED)
    )
    pushed = [key for request in requests(watched.tick()) for key in request.asset_selection or ()]
    assert [key.path[-1] for key in pushed if key.path[0] == "glue"] == left


def test_check_of_a_table_that_glue_lacks_is_recorded_without_a_run(watched: Watched) -> None:
    w = many(1)
    (node,) = w.graph.of_type("catalog_table")
    told = {"glue_status": "missing", "glue_absence": "dropped", "glue_reason": "it was dropped"}
    w.graph.add_node(node.with_attributes(**told))
    watched.load(w)
    (event,) = watched.tick().asset_events
    assert isinstance(event, AssetCheckEvaluation)
    assert (event.asset_key.path[-1], event.check_name) == ("topic.00000", "tableflow_healthy")
    assert not event.passed
    assert f"Glue has no such table in {REGION}, because it was dropped" in str(event.description)
    assert not watched.tick().asset_events
