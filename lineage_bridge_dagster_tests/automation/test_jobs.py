"""The refresh and push jobs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from dagster import (
    AssetCheckKey,
    AssetKey,
    DagsterInstance,
    DagsterInvalidConfigError,
    ExecuteInProcessResult,
)

from lineage_bridge_dagster import component as component_module
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Note, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster_tests.assets.location import Location, create_tables, failure_of
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, REGION, WEST, many, world
from lineage_bridge_dagster_tests.openlineage.collector import collecting, configure_nothing

Build = Callable[..., Location]
KEY = "LineageBridgeComponent"


@pytest.fixture
def instance(local_instance: DagsterInstance) -> DagsterInstance:
    return local_instance


def run(location: Location, instance: DagsterInstance, job: str, **config: Any) -> ExecuteInProcessResult:
    run_config = {"ops": {job: {"config": config}}} if config else None
    return location.definitions.resolve_job_def(job).execute_in_process(
        instance=instance, run_config=run_config, raise_on_error=False
    )


def test_push_counts_outcomes_and_materializes_the_assets(
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
    # The second push changed nothing: an event for it would make the checks look outdated.
    assert event.asset_materialization.metadata["lineage_bridge/outcome"].value == "updated"


def test_a_push_materializes_an_asset_that_does_not_show_its_lineage_yet(
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


def observed(result: ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    """The metadata of the run's observations, by the last part of the asset's key."""
    found = {}
    for event in result.all_events:
        if event.is_asset_observation:
            observation = event.asset_observation_data.asset_observation
            values = {name: value.value for name, value in observation.metadata.items()}
            found[observation.asset_key.path[-1]] = values
    return found


def test_a_dry_run_shows_the_changes_of_each_table(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(3)
    create_tables(glue, w, skip=["topic.00002"])
    built = location(w)
    assert run(built, instance, "push", tables=[f"{EAST}.topic.00000"]).success
    seen = observed(run(built, instance, "push", dry_run=True))
    # The first table is in sync, and this run does not name its tables.
    assert set(seen) == {"topic.00001", "topic.00002"}
    changed, missing = seen["topic.00001"], seen["topic.00002"]
    assert changed["lineage_bridge/outcome"] == "updated"
    diff = changed["lineage_bridge/diff"]
    lines = [line for line in diff.splitlines() if line.startswith(("+", "-"))]
    assert diff.startswith(f"{len(lines)} lines would change")
    assert "+ lineage_bridge.source_topics: topic.00001" in diff
    assert "+   Managed by LineageBridge" in changed["lineage_bridge/result"]["diff"]
    assert missing["lineage_bridge/outcome"] == "failed"
    assert "does not exist in Glue" in missing["lineage_bridge/reason"]
    assert missing["lineage_bridge/next_step"]


def test_each_table_that_a_run_names_has_an_event(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(2)
    create_tables(glue, w)
    built = location(w)
    name = f"{EAST}.topic.00000"
    pushed = run(built, instance, "push", tables=[name])
    (event,) = pushed.get_asset_materialization_events()
    result = event.materialization.metadata["lineage_bridge/result"].value
    assert result["name"] == name  # type: ignore[index,call-overload]
    assert result["status"] == "updated"  # type: ignore[index,call-overload]
    assert result["diff"]  # type: ignore[index,call-overload]
    assert not observed(pushed)
    again = observed(run(built, instance, "push", tables=[name]))
    assert {table: values["lineage_bridge/outcome"] for table, values in again.items()} == {
        "topic.00000": "unchanged"
    }
    assert not observed(run(built, instance, "push", tables=[f"{EAST}.topic.00001"]))
    assert not observed(run(built, instance, "push"))


def test_a_run_can_select_tables_and_what_is_written(
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


def test_a_push_that_misses_a_table_fails_and_names_it(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(2)
    create_tables(glue, w, skip=["topic.00001"])
    result = run(location(w), instance, "push")
    assert f"{EAST}.topic.00001 (failed)" in failure_of(result)
    pushed = [event.asset_key.path[-1] for event in result.get_asset_materialization_events()]  # type: ignore[union-attr]
    assert pushed == ["topic.00000"]
    assert (
        "lineage_bridge.digest"
        in glue.get_table(DatabaseName=EAST, Name="topic.00000")["Table"]["Parameters"]
    )


def test_an_unknown_sql_mode_is_refused_before_anything_is_written(
    location: Build, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    assert "full, redacted, hash or none" in failure_of(run(location(many(1)), instance, "push", sql="all"))
    assert strict_aws.calls.get("UpdateTable", 0) == 0


def test_a_push_that_would_write_nothing_is_refused(
    location: Build, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    result = run(location(many(1)), instance, "push", set_parameters=False, set_description=False)
    assert "set_parameters and set_description are both false" in failure_of(result)
    assert not strict_aws.calls


def test_the_log_tells_how_long_options_of_one_push_last(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(1)
    create_tables(glue, w)
    built = location(w)
    logged = [
        entry.user_message
        for config in ({"set_description": False, "sql": "redacted"}, {}, {"sql": "none", "dry_run": True})
        for entry in instance.all_logs(run(built, instance, "push", **config).run_id)
        if entry.level == logging.WARNING
    ]
    assert len(logged) == 1
    assert "options of its own: set_description=false." in logged[0]


def discovering(monkeypatch: pytest.MonkeyPatch, result: Callable[[Discovery | None], Discovery]) -> None:
    def discover(_self: Any, last: Discovery | None, progress: Callable[[str], None]) -> Discovery:
        progress("reading")
        return result(last)

    monkeypatch.setattr(component_module.LineageBridgeComponent, "_discover", discover)


def test_a_refresh_stores_a_state_on_top_of_the_last_one(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Discovery | None] = []

    def result(last: Discovery | None) -> Discovery:
        seen.append(last)
        w = many(len(seen))
        w.report("connect", EAST, Status.FAILED, "HTTP 500")
        note = Note("connector_class", ("crm",))
        w.reports.append(ScopeReport(Scope("connect", ENV, WEST), Status.COMPLETE, notes=(note,)))
        return w.discovery()

    discovering(monkeypatch, result)
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
    coverage = output.metadata["coverage"].value  # type: ignore[union-attr]
    assert "HTTP 500" in coverage
    assert "1 connector of an unknown class: crm" in coverage


def test_a_refresh_sends_what_changed_and_the_ends_of_what_is_gone(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configure_nothing(monkeypatch, tmp_path)
    tables = iter((3, 3, 2))
    discovering(monkeypatch, lambda _last: many(next(tables)).discovery())
    built = location(world(), LineageBridgeComponent(aws={"region": REGION}, openlineage={"send": True}))
    texts = []
    with collecting() as collector:
        monkeypatch.setenv("OPENLINEAGE_URL", collector.url)
        for _ in range(3):
            result = run(built, instance, "refresh")
            output = next(e for e in result.all_events if e.event_type_value == "STEP_OUTPUT")
            text = str(output.event_specific_data.metadata["openlineage"].value)  # type: ignore[union-attr]
            texts.append(text.partition("): ")[2])
            seen = [e for e in result.all_events if e.is_asset_observation]
            assert len(seen) == (not text.endswith("0 sent, 6 unchanged"))
    assert texts == ["6 sent, 0 unchanged", "0 sent, 6 unchanged", "2 sent, 4 unchanged"]
    assert [event["eventType"] for _, _, event in collector.requests] == [*["RUNNING"] * 6, *["ABORT"] * 2]


def test_a_refresh_warns_of_variables_that_nothing_reads(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_DATABRICKS_TOKEN", "top-secret")
    discovering(monkeypatch, lambda _last: many(1).discovery())
    refreshed = run(location(world()), instance, "refresh")
    warnings = [
        entry.user_message for entry in instance.all_logs(refreshed.run_id) if entry.level == logging.WARNING
    ]
    assert any(text.startswith("LINEAGE_BRIDGE_DATABRICKS_TOKEN is set, but") for text in warnings)
    assert "top-secret" not in " ".join(warnings)


def test_a_refresh_that_finds_no_change_keeps_the_state_and_updates_its_time(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = iter(range(1, 9))

    def result(_last: Discovery | None) -> Discovery:
        day = next(days)
        w = many(2)
        if day >= 4:
            w.report("connect", EAST, Status.DENIED, "Grant the key's account DeveloperRead")
        node = w.graph.nodes[w.glue(EAST, "topic.00000")]
        w.graph.nodes[node.node_id] = node.with_attributes(update_time=f"2026-05-0{day}T00:00:00Z")
        return w.discovery(f"2026-05-0{day}T12:00:00Z")

    discovering(monkeypatch, result)
    built = location(world())
    key = AssetKey(["lineage_bridge", "discovery"])
    versions, times, green = [], [], []
    for _ in range(5):
        refresh = run(built, instance, "refresh")
        versions.append(refresh.output_for_node("refresh"))
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


def test_a_refresh_that_fails_keeps_the_last_state_and_gives_a_remedy(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def result(_last: Discovery | None) -> Discovery:
        raise LineageBridgeError(
            "401 from the control plane", hint="Set LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY."
        )

    store = StateStore.of(instance, KEY)
    version = store.store(world().discovery())
    discovering(monkeypatch, result)
    refresh = run(location(world()), instance, "refresh")
    assert "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY" in failure_of(refresh)
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


def test_secrets_of_the_environment_are_not_in_the_definitions(
    location: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_KAFKA_API_KEY", "KEY123")
    monkeypatch.setenv("LINEAGE_BRIDGE_KAFKA_API_SECRET", "s3cr3t-value")
    built = location(world(), LineageBridgeComponent(aws={"region": REGION}))
    assert "s3cr3t-value" not in repr(built.component) + repr(built.definitions)
    assert "s3cr3t-value" not in repr(built.component._settings()())


def test_an_unknown_table_fails_the_push_by_name_and_the_others_are_pushed(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(1)
    create_tables(glue, w)
    result = run(location(w), instance, "push", tables=["sales.nowhere", f"{EAST}.topic.00000"])
    assert "1 table not pushed: sales.nowhere (failed)" in failure_of(result)
    assert "  -> " in failure_of(result)
    similar = failure_of(run(location(w), instance, "push", tables=[f"{EAST}.topic.0000"]))
    assert f"Did you mean {EAST}.topic.00000?" in similar
    table = glue.get_table(DatabaseName=EAST, Name="topic.00000")["Table"]
    assert "lineage_bridge.digest" in table["Parameters"]


@pytest.mark.parametrize(
    ("config", "named"), [({"dryrun": True}, "dryrun"), ({"tables": "a.b"}, "tables"), ({"sql": 3}, "sql")]
)
def test_a_wrong_run_config_starts_nothing_and_the_error_names_the_field(
    location: Build, strict_aws: StrictAws, instance: DagsterInstance, config: dict[str, Any], named: str
) -> None:
    with pytest.raises(DagsterInvalidConfigError, match=named):
        run(location(many(1)), instance, "push", **config)
    assert not strict_aws.calls
