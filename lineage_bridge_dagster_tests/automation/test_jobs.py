"""The jobs as the launchpad, GraphQL and the sensor run them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from dagster import (
    AssetCheckKey,
    AssetKey,
    DagsterInstance,
    DagsterInvalidConfigError,
    DagsterRunStatus,
    ExecuteInProcessResult,
    RunsFilter,
    job,
)
from dagster._core.definitions.repository_definition.repository_definition import RepositoryLoadData
from dagster._core.execution.api import create_execution_plan
from dagster._core.snap import snapshot_from_execution_plan
from dagster_shared.serdes.objects.models.defs_state_info import DefsStateInfo

from lineage_bridge_dagster import component as component_module
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster_tests.assets.location import Location, create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, many, world

Build = Callable[..., Location]
KEY = "LineageBridgeComponent"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    with DagsterInstance.local_temp(str(tmp_path)) as made:
        yield made


def run(location: Location, instance: DagsterInstance, job: str, **config: Any) -> ExecuteInProcessResult:
    run_config = {"ops": {job: {"config": config}}} if config else None
    return location.definitions.resolve_job_def(job).execute_in_process(
        instance=instance, run_config=run_config, raise_on_error=False
    )


def failure_of(result: ExecuteInProcessResult) -> str:
    data = next(event for event in result.all_events if event.is_step_failure).event_specific_data
    return str(data.user_failure_data.description)  # type: ignore[union-attr]


def test_push_counts_what_it_did_and_shows_on_the_assets(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(5)
    create_tables(glue, w)
    built = location(w)
    assert run(built, instance, "push").output_for_node("push") == {"updated": 5}
    assert run(built, instance, "push").output_for_node("push") == {"unchanged": 5}
    event = instance.get_latest_materialization_event(AssetKey(["glue", EAST, "topic.00003"]))
    assert event
    assert event.asset_materialization
    # The second changed nothing: an event of its own would make the checks look older than the table.
    assert event.asset_materialization.metadata["lineage_bridge/outcome"].value == "updated"


def test_a_push_shows_on_an_asset_that_did_not_show_its_lineage_yet(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(1)
    create_tables(glue, w)
    built = location(w)
    with DagsterInstance.ephemeral() as elsewhere:
        assert run(built, elsewhere, "push").output_for_node("push") == {"updated": 1}
    assert run(built, instance, "push").output_for_node("push") == {"unchanged": 1}
    event = instance.get_latest_materialization_event(AssetKey(["glue", EAST, "topic.00000"]))
    assert event
    assert event.asset_materialization
    assert event.asset_materialization.metadata["lineage_bridge/outcome"].value == "unchanged"


def test_a_dry_run_writes_nothing_and_materializes_nothing(
    location: Build, glue: BaseClient, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    w = many(2)
    create_tables(glue, w)
    result = run(location(w), instance, "push", dry_run=True)
    assert result.output_for_node("push") == {"updated": 2}
    assert strict_aws.calls.get("UpdateTable", 0) == 0
    assert instance.get_latest_materialization_event(AssetKey(["glue", EAST, "topic.00000"])) is None


def test_options_of_one_run_say_which_tables_and_what_of_them(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(2)
    create_tables(glue, w)
    result = run(
        location(w), instance, "push", tables=[f"{EAST}.topic.00001"], set_description=False, sql="none"
    )
    assert result.output_for_node("push") == {"updated": 1}
    one, other = (glue.get_table(DatabaseName=EAST, Name=f"topic.0000{n}")["Table"] for n in (0, 1))
    assert "lineage_bridge.digest" not in one["Parameters"]
    assert "lineage_bridge.upstream_chain" in other["Parameters"]
    assert other["Description"] == "Kept by the data team."


def test_a_table_that_is_not_there_fails_the_push_by_name(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(2)
    create_tables(glue, w, skip=["topic.00001"])
    result = run(location(w), instance, "push")
    assert f"{EAST}.topic.00001 (failed)" in failure_of(result)
    assert (
        "lineage_bridge.digest"
        in glue.get_table(DatabaseName=EAST, Name="topic.00000")["Table"]["Parameters"]
    )


def test_a_way_to_show_sql_that_is_none_is_refused_before_anything_is_written(
    location: Build, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    assert "full, redacted, hash or none" in failure_of(run(location(many(1)), instance, "push", sql="all"))
    assert strict_aws.calls.get("UpdateTable", 0) == 0


def discovering(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Discovery | None], Discovery]) -> None:
    def discover(_self: Any, last: Discovery | None, progress: Callable[[str], None]) -> Discovery:
        progress("asking")
        return answer(last)

    monkeypatch.setattr(component_module.LineageBridgeComponent, "_discover", discover)


def test_a_refresh_stores_a_state_on_top_of_the_last_one(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Discovery | None] = []

    def answer(last: Discovery | None) -> Discovery:
        seen.append(last)
        w = many(len(seen))
        w.report("connect", EAST, Status.FAILED, "HTTP 500")
        return w.discovery()

    discovering(monkeypatch, answer)
    built = location(world())
    store = StateStore.of(instance, KEY)
    first = run(built, instance, "refresh").output_for_node("refresh")
    assert store.latest_version() == first
    second = run(built, instance, "refresh")
    assert store.latest_version() == second.output_for_node("refresh") != first
    assert seen[0] is None
    assert seen[1] is not None
    assert len(seen[1].graph) == 4
    output = next(e for e in second.all_events if e.event_type_value == "STEP_OUTPUT").event_specific_data
    assert "HTTP 500" in output.metadata["coverage"].value  # type: ignore[union-attr]


def test_a_refresh_that_finds_the_same_keeps_the_state_and_still_says_when(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = iter(range(1, 9))

    def answer(_last: Discovery | None) -> Discovery:
        day = next(days)
        w = many(2)
        if day >= 4:
            w.report("connect", EAST, Status.DENIED, "Grant the key's account DeveloperRead")
        node = w.graph.nodes[w.glue(EAST, "topic.00000")]
        w.graph.nodes[node.node_id] = node.with_attributes(update_time=f"2026-05-0{day}T00:00:00Z")
        return w.discovery(f"2026-05-0{day}T12:00:00Z")

    discovering(monkeypatch, answer)
    built = location(world())
    key = AssetKey(["lineage_bridge", "discovery"])
    versions, times, green = [], [], []
    for _ in range(5):
        result = run(built, instance, "refresh")
        versions.append(result.output_for_node("refresh"))
        event = instance.get_latest_materialization_event(key)
        assert event
        assert event.asset_materialization
        times.append(event.asset_materialization.metadata["discovered_at"].value)
        check = AssetCheckKey(key, "discovery_complete")
        record = instance.event_log_storage.get_asset_check_execution_history(check, limit=1)[0]
        assert record.event
        assert record.event.dagster_event
        evaluation = record.event.dagster_event.asset_check_evaluation_data
        green.append(evaluation.passed)
        assert evaluation.metadata["lineage_bridge/discovered_at"].value == times[-1]
    assert versions == [versions[0]] * 3 + [versions[3]] * 2
    assert versions[0] != versions[3]
    assert times == [f"2026-05-0{day}T12:00:00Z" for day in range(1, 6)]
    assert green == [True] * 3 + [False] * 2


def test_a_refresh_that_fails_keeps_the_last_state_and_says_what_to_do(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(_last: Discovery | None) -> Discovery:
        raise LineageBridgeError(
            "401 from the control plane", hint="Set LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY."
        )

    store = StateStore.of(instance, KEY)
    version = store.store(world().discovery())
    discovering(monkeypatch, answer)
    result = run(location(world()), instance, "refresh")
    assert "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY" in failure_of(result)
    assert store.latest_version() == version


def test_a_state_that_cannot_be_read_does_not_keep_a_refresh_from_running(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.write_text('{"nodes": [')
    storage = instance.defs_state_storage
    assert storage
    storage.upload_state_from_path(KEY, "broken", broken)
    discovering(monkeypatch, lambda last: many(1).discovery() if last is None else Discovery())
    assert run(location(world()), instance, "refresh").success


def aged(instance: DagsterInstance, *days: float) -> list[str]:
    """Versions of the state stored this many days ago, the oldest first."""
    store = StateStore.of(instance, KEY)
    versions = []
    for number, age in enumerate(days):
        versions.append(store.store(many(number + 1).discovery()))
        modified = time.time() - age * 86_400
        os.utime(state_file(instance, versions[-1]), (modified, modified))
    return versions


def state_file(instance: DagsterInstance, version: str) -> Path:
    storage: Any = instance.defs_state_storage
    return Path(str(storage.base_path / storage._sanitize_key(KEY) / version))


def held(instance: DagsterInstance, versions: list[str]) -> list[int]:
    return [place for place, version in enumerate(versions) if state_file(instance, version).exists()]


def test_a_state_is_removed_a_day_after_a_newer_one_took_its_place(instance: DagsterInstance) -> None:
    versions = aged(instance, 30, 3, 2, 0.5, 0)
    # The third stood until half a day ago, and a run may have been planned with it then.
    assert StateStore.of(instance, KEY).prune(instance, keep_versions=0) == 2
    assert held(instance, versions) == [2, 3, 4]
    assert StateStore.of(instance, KEY).prune(instance, keep_versions=0) == 0


def test_the_last_states_are_kept_however_old(instance: DagsterInstance) -> None:
    versions = aged(instance, 90, 60, 30, 20)
    assert StateStore.of(instance, KEY).prune(instance, keep_versions=2) == 2
    assert held(instance, versions) == [2, 3]
    assert StateStore.of(instance, KEY).load() is not None


def test_a_run_that_waits_for_longer_keeps_the_state_that_it_was_planned_with(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = aged(instance, 9, 8, 7, 0)
    info = DefsStateInfo.add_version(None, KEY, versions[0])

    @job
    def any_job() -> None: ...

    plan = snapshot_from_execution_plan(create_execution_plan(any_job), any_job.get_job_snapshot_id())
    plan = plan._replace(repository_load_data=RepositoryLoadData(defs_state_info=info))
    run = instance.create_run_for_job(any_job, status=DagsterRunStatus.STARTED)
    snapshot_id = instance.run_storage.add_execution_plan_snapshot(plan)
    waiting = run._replace(execution_plan_snapshot_id=snapshot_id)
    monkeypatch.setattr(instance, "get_runs", lambda filters: [waiting] if asked_for(filters) else [])

    assert StateStore.of(instance, KEY).prune(instance, keep_versions=0) == 1
    assert held(instance, versions) == [0, 2, 3]


def asked_for(filters: RunsFilter) -> bool:
    """Whether a run that was started two days ago is among those asked for."""
    before = filters.created_before
    assert before
    return {DagsterRunStatus.QUEUED, DagsterRunStatus.STARTED} <= set(
        filters.statuses
    ) and before.timestamp() > time.time() - 2 * 86_400


def test_the_component_says_no_secret_of_its_environment(
    location: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_KAFKA_API_KEY", "KEY123")
    monkeypatch.setenv("LINEAGE_BRIDGE_KAFKA_API_SECRET", "s3cr3t-value")
    built = location(world(), LineageBridgeComponent(aws={"region": REGION}))
    assert "s3cr3t-value" not in repr(built.component) + repr(built.definitions)
    assert "s3cr3t-value" not in repr(built.component._settings()())


def test_a_table_that_no_graph_knows_fails_the_push_by_name_and_the_others_are_pushed(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(1)
    create_tables(glue, w)
    result = run(location(w), instance, "push", tables=["sales.nowhere", f"{EAST}.topic.00000"])
    assert "1 tables were not pushed: sales.nowhere (failed)" in failure_of(result)
    assert "  -> " in failure_of(result)
    table = glue.get_table(DatabaseName=EAST, Name="topic.00000")["Table"]
    assert "lineage_bridge.digest" in table["Parameters"]


@pytest.mark.parametrize(
    ("config", "named"), [({"dryrun": True}, "dryrun"), ({"tables": "a.b"}, "tables"), ({"sql": 3}, "sql")]
)
def test_a_run_config_that_is_wrong_starts_nothing_and_names_the_field(
    location: Build, strict_aws: StrictAws, instance: DagsterInstance, config: dict[str, Any], named: str
) -> None:
    with pytest.raises(DagsterInvalidConfigError, match=named):
        run(location(many(1)), instance, "push", **config)
    assert not strict_aws.calls
