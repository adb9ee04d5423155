"""Scheduled freshness checks of all tables, and the freshness of the discovery."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from botocore.client import BaseClient
from dagster import (
    AssetKey,
    DagsterInstance,
    DefaultScheduleStatus,
    FreshnessPolicy,
    RunRequest,
    build_schedule_context,
)
from dagster._core.definitions.freshness import FreshnessState
from dagster._core.definitions.freshness_evaluator import FRESHNESS_EVALUATORS_BY_POLICY_TYPE
from dagster._core.loader import LoadingContextForTest

from lineage_bridge_dagster.assets.offset_growth import OFFSETS
from lineage_bridge_dagster.assets.resources import GlueResource
from lineage_bridge_dagster.assets.settings import FreshnessConfig
from lineage_bridge_dagster.assets.topic_facts import Backlog
from lineage_bridge_dagster.automation.settings import SensorConfig
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.confluent.api.errors import BrokerError
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster_tests.assets.location import (
    FakeConfluent,
    Location,
    create_tables,
    freshness_checks,
)
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, many

Build = Callable[..., Location]
DISCOVERY = AssetKey(["lineage_bridge", "discovery"])
COMMITTED = {
    "format-version": 2,
    "last-updated-ms": 1_000_000,
    "current-snapshot-id": 5,
    "snapshots": [
        {
            "snapshot-id": 5,
            "timestamp-ms": 1_000_000,
            "summary": {"operation": "append", "total-records": "3"},
        }
    ],
}


class Tables(GlueResource):
    """The Glue resource, with a bucket in which every table has the same Iceberg metadata."""

    def storage_client(self, catalog: Any) -> Any:
        class Store:
            def get_object(self, **_: Any) -> Any:
                return {"Body": io.BytesIO(json.dumps(COMMITTED).encode())}

        return Store()


@pytest.fixture
def instance(local_instance: DagsterInstance) -> DagsterInstance:
    return local_instance


class Brokers(FakeConfluent):
    """Brokers on which the second topic has a record that its table does not have yet."""

    def __init__(self) -> None:
        super().__init__()
        #: Number of topics of each call.
        self.calls: list[int] = []

    def read_backlogs(
        self, since_ms: Iterable[tuple[Node, int | None]]
    ) -> Iterator[tuple[Node, Backlog | Exception]]:
        topics = list(since_ms)
        self.calls.append(len(topics))
        assert {time for _, time in topics} == {1_000_000}
        for topic, _ in topics:
            late = topic.qualified_name == "topic.00001"
            yield topic, Backlog(3, 2_000_000, 2_000_000) if late else Backlog(3, 900_000)


def test_run_over_many_tables_reads_glue_by_page_and_calls_the_brokers_once(
    location: Build, glue: BaseClient, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    w = many(110)
    create_tables(glue, w)
    brokers = Brokers()
    built = location(w, glue=Tables(region_name=REGION), confluent=brokers)
    result = freshness_checks(built.definitions).execute_in_process(instance=instance)
    found = {each.asset_key.path[-1]: each for each in result.get_asset_check_evaluations()}
    assert len(found) == 110
    assert [name for name, each in found.items() if not each.passed] == ["topic.00001"]
    assert brokers.calls == [110]
    assert strict_aws.calls.get("GetTables", 0) == 2
    assert strict_aws.calls.get("UpdateTable", 0) == 0


@pytest.mark.parametrize("job", ["push", "materialize"])
def test_push_reports_the_last_commit_of_the_table(
    location: Build, glue: BaseClient, instance: DagsterInstance, job: str
) -> None:
    w = many(2)
    create_tables(glue, w)
    built = location(w, glue=Tables(region_name=REGION), confluent=Brokers())
    if job == "push":
        assert built.definitions.resolve_job_def("push").execute_in_process(instance=instance).success
    else:
        assert built.materialize(instance, f"glue/{EAST}/topic.00000").success
    event = instance.get_latest_materialization_event(AssetKey(["glue", EAST, "topic.00000"]))
    assert event
    assert event.asset_materialization
    metadata = event.asset_materialization.metadata
    assert metadata["dagster/last_updated_timestamp"].value == 1_000
    assert metadata["dagster/row_count"].value == 3
    assert metadata["lineage_bridge/snapshot_id"].value == "5"


def test_push_succeeds_and_reports_an_unreadable_bucket(
    location: Build, glue: BaseClient, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = many(1)
    create_tables(glue, w)
    # No bucket of this account contains the metadata file that Glue names.
    assert location(w).materialize(instance, f"glue/{EAST}/topic.00000").success
    event = instance.get_latest_materialization_event(AssetKey(["glue", EAST, "topic.00000"]))
    assert event
    assert event.asset_materialization
    metadata = event.asset_materialization.metadata
    assert "could not be read: s3:GetObject" in str(metadata["lineage_bridge/snapshot"].value)
    assert metadata["lineage_bridge/outcome"].value == "updated"


def component(running: bool = False, **fields: Any) -> LineageBridgeComponent:
    return LineageBridgeComponent(
        aws={"region": REGION},
        freshness=FreshnessConfig(**fields),
        sensor=SensorConfig(running=running),
    )


@pytest.mark.parametrize("running", [True, False])
def test_schedule_is_on_by_default_only_with_sensor_running(location: Build, running: bool) -> None:
    repository = location(many(1), component(running)).repository
    found = repository.get_schedule_def("freshness_schedule")
    assert found.job_name == "materialize_lineage"
    expected = DefaultScheduleStatus.RUNNING if running else DefaultScheduleStatus.STOPPED
    assert found.default_status is expected


def requests(built: Location) -> list[RunRequest]:
    schedule = built.repository.get_schedule_def("freshness_schedule")
    at = datetime(2026, 5, 1, 2, 37, tzinfo=UTC)
    context = build_schedule_context(scheduled_execution_time=at, repository_def=built.repository)
    return list(schedule.evaluate_tick(context).run_requests or [])


def test_scheduled_run_evaluates_only_the_freshness_check_of_every_table(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(2)
    create_tables(glue, w)
    brokers = Brokers()
    built = location(w, glue=Tables(region_name=REGION), confluent=brokers)
    (request,) = requests(built)
    assert request.asset_check_keys
    assert request.asset_selection == []
    # The scheduler and the process of the run select in the same way.
    job = built.definitions.resolve_job_def("materialize_lineage").get_subset(
        asset_selection=set(request.asset_selection), asset_check_selection=set(request.asset_check_keys)
    )
    result = job.execute_in_process(instance=instance)
    assert {each.check_name for each in result.get_asset_check_evaluations()} == {"table_fresh"}
    assert brokers.calls == [2]
    assert not result.get_asset_materialization_events()


def test_many_tables_are_split_into_several_runs(location: Build) -> None:
    built = location(many(1100))
    found = requests(built)
    assert [len(request.asset_check_keys or []) for request in found] == [500, 500, 100]
    keys = {key for request in found for key in request.asset_check_keys or []}
    assert len(keys) == 1100
    assert len({request.run_key for request in found}) == 3


def test_each_check_compares_the_offsets_with_those_of_the_previous_check(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(1)
    create_tables(glue, w)
    end_offsets = iter([4, 4, 9, None, 9])

    class Growing(FakeConfluent):
        def read_backlogs(
            self, since_ms: Iterable[tuple[Node, int | None]]
        ) -> Iterator[tuple[Node, Backlog | Exception]]:
            count = next(end_offsets)
            for topic, _ in since_ms:
                error = BrokerError("no response", hint="Check that it can be reached.")
                yield topic, error if count is None else Backlog(3, 900_000, written=count)

    built = location(w, glue=Tables(region_name=REGION), confluent=Growing())
    job = freshness_checks(built.definitions)
    seen: list[dict[str, Any]] = []
    for _ in range(5):
        (found,) = job.execute_in_process(instance=instance).get_asset_check_evaluations()
        seen.append(cast("dict[str, Any]", found.metadata[OFFSETS].value))
    first, same, grown, unread, again = seen
    assert (first["after_ms"], first["written"]) == (None, 4)
    assert same["by_ms"] == first["by_ms"]
    assert same["asked_ms"] > first["asked_ms"]
    assert grown["after_ms"] == same["asked_ms"]
    assert grown["by_ms"] > same["by_ms"]
    assert unread == grown
    assert (again["after_ms"], again["by_ms"]) == (grown["after_ms"], grown["by_ms"])


def test_without_limits_there_is_no_check_and_no_schedule(location: Build) -> None:
    off = location(many(1), component(warn_minutes="", fail_minutes="")).repository
    assert "table_fresh" not in {key.name for key in off.asset_graph.asset_check_keys}
    assert "freshness_schedule" not in {schedule.name for schedule in off.schedule_defs}
    unscheduled = location(many(1), component(check_cron="")).repository
    assert "table_fresh" in {key.name for key in unscheduled.asset_graph.asset_check_keys}
    assert "freshness_schedule" not in {schedule.name for schedule in unscheduled.schedule_defs}


def test_refresh_materializes_the_discovery_and_its_data_version_follows_the_content(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = iter([1, 1, 2])

    def discover(_self: Any, _last: Discovery | None, _progress: Any) -> Discovery:
        return many(next(sizes)).discovery()

    monkeypatch.setattr(LineageBridgeComponent, "_discover", discover)
    built = location(many(1))
    refresh = built.definitions.resolve_job_def("refresh")
    assert discovery_freshness(built, instance) is FreshnessState.UNKNOWN
    versions = []
    for _ in range(3):
        assert refresh.execute_in_process(instance=instance).success
        event = instance.get_latest_materialization_event(DISCOVERY)
        assert event
        assert event.asset_materialization
        versions.append((event.asset_materialization.tags or {})["dagster/data_version"])
        assert event.asset_materialization.metadata["complete"].value is True
    assert versions[0] == versions[1] != versions[2]
    assert discovery_freshness(built, instance) is FreshnessState.PASS


def discovery_freshness(built: Location, instance: DagsterInstance) -> FreshnessState:
    """The freshness of the discovery as evaluated by Dagster's freshness daemon, which is on by default."""
    assert instance.freshness_enabled
    node = built.repository.asset_graph.get(DISCOVERY)
    policy = node.freshness_policy_or_from_metadata
    assert policy
    evaluator = FRESHNESS_EVALUATORS_BY_POLICY_TYPE[type(policy)]()
    return asyncio.run(evaluator.evaluate_freshness(LoadingContextForTest(instance), node))


def test_only_the_discovery_has_a_dagster_freshness_policy(location: Build) -> None:
    graph = location(many(1), component()).repository.asset_graph
    assert isinstance(graph.get(DISCOVERY).freshness_policy_or_from_metadata, FreshnessPolicy)
    table = graph.get(AssetKey(["glue", EAST, "topic.00000"]))
    assert table.freshness_policy_or_from_metadata is None


def test_refresh_does_not_materialize_the_discovery_while_checks_are_off(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LineageBridgeComponent, "_discover", lambda *_: many(1).discovery())
    off = location(many(1), LineageBridgeComponent(aws={"region": REGION}, checks=False))
    assert off.definitions.resolve_job_def("refresh").execute_in_process(instance=instance).success
    assert instance.get_latest_materialization_event(DISCOVERY) is None
