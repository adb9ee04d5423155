"""Checks of tables as runs evaluate them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.client import BaseClient
from dagster import (
    AssetCheckEvaluation,
    AssetCheckKey,
    AssetCheckSeverity,
    AssetKey,
    DagsterInstance,
)

from lineage_bridge_dagster.assets import bundles
from lineage_bridge_dagster.assets.check_outcomes import tableflow_healthy
from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import (
    Status,
)
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster_tests.assets.check_runs import (
    DISCOVERY,
    NAMES,
    TABLE,
    Build,
    missing,
    only,
    outcomes,
    run_checks,
    small,
    subset,
)
from lineage_bridge_dagster_tests.assets.location import create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, REGION, World, many, world


def test_every_table_has_its_checks_even_if_names_differ_only_in_punctuation(location: Build) -> None:
    found = location(world()).repository.asset_graph.asset_check_keys
    for name in ("o.v1", "o-v1", "o_v1"):
        key = AssetKey(["glue", EAST, name])
        assert {check.name for check in found if check.asset_key == key} == NAMES
    assert AssetCheckKey(AssetKey(["lineage_bridge", "discovery"]), "discovery_complete") in found


def test_each_check_can_be_run_alone(location: Build) -> None:
    """The UI can run a check alone only if nothing else has to run with it."""
    graph = location(world()).repository.asset_graph
    for check in graph.asset_check_keys:
        assert graph.get_execution_set_asset_and_check_keys(check) == {check}


def test_checks_can_be_switched_off(location: Build) -> None:
    off = location(world(), LineageBridgeComponent(aws={"region": REGION}, checks=False))
    assert not off.repository.asset_graph.asset_check_keys
    shown = off.keys()
    assert DISCOVERY not in shown


def test_in_sync_turns_red_when_the_lineage_is_wiped_and_green_after_a_push(
    location: Build, glue: Any, instance: DagsterInstance
) -> None:
    w = small()
    create_tables(glue, w)
    loaded = location(w)
    key = f"glue/{EAST}/t"

    before = only(run_checks(loaded, instance, (key, "lineage_in_sync")))
    assert not before.passed
    assert before.severity is AssetCheckSeverity.ERROR
    assert "Materialize" in str(before.description)
    assert f"--table {EAST}.t" in str(before.description)
    assert "lineage_bridge.upstream_chain" not in glue.get_table(DatabaseName=EAST, Name="t")["Table"].get(
        "Parameters", {}
    )

    pushed = loaded.materialize(instance, key)
    assert pushed.success
    assert outcomes(pushed)[key, "lineage_in_sync"].passed

    table = glue.get_table(DatabaseName=EAST, Name="t")["Table"]
    glue.update_table(
        DatabaseName=EAST,
        TableInput={
            "Name": "t",
            "TableType": table["TableType"],
            "StorageDescriptor": table["StorageDescriptor"],
            "Parameters": {"table_type": "ICEBERG", "metadata_location": "s3://b/2.json"},
        },
    )
    assert not only(run_checks(loaded, instance, (key, "lineage_in_sync"))).passed
    assert loaded.materialize(instance, key).success
    assert only(run_checks(loaded, instance, (key, "lineage_in_sync"))).passed


def test_one_table_of_a_bundle_can_be_checked_alone(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    create_tables(glue, world())
    found = outcomes(run_checks(location(world()), instance, (TABLE, "tableflow_healthy")))
    assert list(found) == [(TABLE, "tableflow_healthy")]


def test_checking_a_table_pushes_nothing(
    location: Build, glue: BaseClient, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    create_tables(glue, world())
    result = run_checks(location(world()), instance, *((TABLE, name) for name in NAMES))
    assert result.success
    assert set(outcomes(result)) == {(TABLE, name) for name in NAMES}
    assert not result.get_asset_materialization_events()
    assert strict_aws.calls.get("UpdateTable", 0) == 0


def test_tables_that_are_refused_or_fail_are_checked_in_the_same_run(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = world()
    create_tables(glue, w, skip=["customers"])
    keys = [f"glue/{EAST}/{name}" for name in ("o.v1", "o-v1", "customers", "orders")]
    result = location(w).materialize(instance, *keys)
    assert not result.success
    found = outcomes(result)
    assert set(found) == {(key, name) for key in keys for name in NAMES}
    assert found[f"glue/{EAST}/o.v1", "lineage_in_sync"].passed
    assert "cannot be written safely" in str(found[f"glue/{EAST}/orders", "lineage_in_sync"].description)
    assert not found[f"glue/{EAST}/customers", "lineage_in_sync"].passed
    assert result.get_failed_step_keys() == {"glue_tables"}


def test_tables_that_are_held_back_are_checked_in_the_same_run(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = small()
    create_tables(glue, w)
    key = f"glue/{EAST}/t"
    assert location(w).materialize(instance, key).success
    shorter = World()
    shorter.tableflow(EAST, "t")
    shorter.glue(EAST, "t")
    shorter.graph.edges.clear()
    shorter.report("tableflow", EAST, Status.FAILED, "503 from api.confluent.cloud")
    found = outcomes(location(shorter).materialize(instance, key))
    assert {name for _, name in found} == NAMES
    assert "held back" in str(found[key, "lineage_in_sync"].description)


def test_every_table_is_checked_even_if_glue_cannot_be_reached(
    location: Build, instance: DagsterInstance
) -> None:
    """No region is set: the push of all tables fails at once."""
    keys = [f"glue/{EAST}/{name}" for name in ("o.v1", "customers")]
    result = location(world(), LineageBridgeComponent(aws={})).materialize(instance, *keys)
    assert not result.success
    found = outcomes(result)
    assert set(found) == {(key, name) for key in keys for name in NAMES}
    assert "LINEAGE_BRIDGE_AWS_REGION" in str(found[keys[0], "lineage_in_sync"].description)


def test_tables_are_materialized_without_checks_if_none_is_selected(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    create_tables(glue, world())
    result = subset(location(world()), {TABLE}, set()).execute_in_process(instance=instance)
    assert len(result.get_asset_materialization_events()) == 1
    assert not outcomes(result)


def test_a_run_may_push_one_table_and_check_two(
    location: Build,
    glue: BaseClient,
    strict_aws: StrictAws,
    instance: DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pushed table is in the last op: the checks of the others must not compare it too early."""
    monkeypatch.setattr(bundles, "SIZE", 10)
    w = many(30)
    create_tables(glue, w)
    built = location(w)
    tables = build_inventory(w.discovery(), LineageBridgeComponent().get_asset_spec).tables
    pushed = bundles.bundles("glue_tables", tables)[-1].assets[0].key.to_user_string()
    keys = [table.key.to_user_string() for table in tables]
    job = subset(built, {pushed}, {(key, "lineage_in_sync") for key in keys})
    found = outcomes(job.execute_in_process(instance=instance))
    assert len(found) == 30
    assert [key for (key, _), each in found.items() if each.passed] == [pushed]
    assert strict_aws.calls.get("UpdateTable", 0) == 1


def test_a_run_over_many_tables_reads_glue_by_pages(
    location: Build, glue: BaseClient, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    w = many(110)
    create_tables(glue, w)
    loaded = location(w)
    shown = loaded.keys()
    keys = sorted(key for key in shown if key.startswith("glue/"))
    calls: list[str] = []
    resource = loaded.definitions.resources["glue"]  # type: ignore[index]
    counted = _Counted(resource, calls)
    loaded = location(w, glue=counted)
    found = outcomes(run_checks(loaded, instance, *((key, "lineage_in_sync") for key in keys)))
    assert len(found) == 110
    assert not any(each.passed for each in found.values())
    assert calls == ["GetTables"] * 2


class _Counted:
    """A Glue resource that records its calls."""

    def __init__(self, resource: Any, calls: list[str]) -> None:
        self._resource, self._calls = resource, calls

    def client(self) -> Any:
        client = self._resource.client()
        client.meta.events.register("before-call.glue", lambda model, **_: self._calls.append(model.name))
        return client


def test_a_table_missing_in_glue_is_a_warning_and_not_a_failed_run(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    """The table was never created in Glue."""
    found = only(run_checks(location(small()), instance, (f"glue/{EAST}/t", "lineage_in_sync")))
    assert not found.passed
    assert found.severity is AssetCheckSeverity.WARN


def check(location: Build, instance: DagsterInstance, w: World, name: str) -> AssetCheckEvaluation:
    return only(run_checks(location(w, glue=object()), instance, (f"glue/{EAST}/t", name)))


def test_schema_that_matches_the_table_passes(location: Build, instance: DagsterInstance) -> None:
    found = check(location, instance, small(), "schema_matches")
    assert found.passed
    assert "All 2 fields of t-value version 2" in str(found.description)


def test_missing_columns_and_wrong_types_are_named(location: Build, instance: DagsterInstance) -> None:
    w = small()
    topic = ids.topic_id(ENV, EAST, "t")
    fields = [{"name": "id", "type": "string"}, {"name": "note", "type": "string"}]
    w.graph.nodes[topic] = w.graph.nodes[topic].with_attributes(schema_fields=fields)
    found = check(location, instance, w, "schema_matches")
    assert not found.passed
    assert "id is string, its column is bigint" in str(found.description)
    assert "note has no column" in str(found.description)
    assert "`refresh`" in str(found.description)


def test_a_type_that_cannot_be_compared_is_reported_and_passes(
    location: Build, instance: DagsterInstance
) -> None:
    w = small()
    topic = ids.topic_id(ENV, EAST, "t")
    fields = [{"name": "id", "type": "com.shop.Id"}]
    w.graph.nodes[topic] = w.graph.nodes[topic].with_attributes(schema_fields=fields)
    found = check(location, instance, w, "schema_matches")
    assert found.passed
    assert "cannot be compared: id" in str(found.description)


@pytest.mark.parametrize(
    ("state", "severity", "word"),
    [
        ({"phase": "FAILED", "error": "no bucket"}, "ERROR", "confluent tableflow topic describe t"),
        ({"phase": "PENDING"}, "WARN", "being set up"),
        ({"phase": "NEW_WORD"}, "WARN", "NEW_WORD"),
        ({"suspended": True}, "WARN", "Resume"),
        (
            {"failing_table_formats": [{"format": "ICEBERG", "error": "x"}]},
            "ERROR",
            "Its ICEBERG format is failing: x",
        ),
        (
            {"failing_table_formats": [{"format": "DELTA", "error": "x"}]},
            "WARN",
            "Its DELTA format is failing",
        ),
        ({"catalog_sync": [{"type": "AWS_GLUE", "status": "FAILED"}]}, "ERROR", "glue:UpdateTable"),
        ({"catalog_sync": [{"type": "AWS_GLUE", "status": "PENDING"}]}, "WARN", "PENDING"),
        ({"catalog_sync": [{"type": "UNITY", "status": "FAILED"}]}, "WARN", "sync to UNITY is FAILED"),
        ({"stale_since": "2026-04-30T11:00:00Z"}, "WARN", "discovery_complete"),
    ],
)
def test_tableflow_problems_are_reported_with_the_next_step(
    location: Build, instance: DagsterInstance, state: dict[str, Any], severity: str, word: str
) -> None:
    found = check(location, instance, small(**state), "tableflow_healthy")
    assert not found.passed
    assert found.severity.value == severity
    assert word in str(found.description)


def test_most_severe_finding_comes_first(location: Build, instance: DagsterInstance) -> None:
    w = small(suspended=True, catalog_sync=[{"type": "AWS_GLUE", "status": "DISCONNECTED"}])
    found = check(location, instance, w, "tableflow_healthy")
    assert found.severity is AssetCheckSeverity.ERROR
    assert "sync to Glue is disconnected" in str(found.description)
    assert "suspended" in str(found.description)
    assert "to the IAM role that" in str(found.description)


def test_a_running_tableflow_passes(location: Build, instance: DagsterInstance) -> None:
    assert check(location, instance, small(), "tableflow_healthy").passed


INTEGRATION = {"id": "tci-1", "name": "lake", "type": "AWS_GLUE", "phase": "CONNECTED"}


@pytest.mark.parametrize(
    ("state", "severity", "word"),
    [
        ({"phase": "FAILED", "error": "role gone"}, "ERROR", "integration lake (tci-1) failed: role gone"),
        ({"phase": "FAILED", "type": "SNOWFLAKE"}, "WARN", "integration lake (tci-1) failed"),
        ({"phase": "PENDING"}, "WARN", "integration lake (tci-1) is PENDING"),
        ({"suspended": True}, "WARN", "integration lake (tci-1) is suspended"),
    ],
)
def test_problems_of_a_catalog_integration_are_reported(
    location: Build, instance: DagsterInstance, state: dict[str, Any], severity: str, word: str
) -> None:
    w = small(catalog_integrations=[{**INTEGRATION, **state}])
    found = check(location, instance, w, "tableflow_healthy")
    assert (found.passed, found.severity.value) == (False, severity)
    assert word in str(found.description)


def test_last_sync_of_a_catalog_integration_is_shown(location: Build, instance: DagsterInstance) -> None:
    w = small(
        catalog_integrations=[INTEGRATION],
        catalog_last_sync={"tci-1": "2026-04-30T11:00:00Z"},
        phase="FAILED",
    )
    found = check(location, instance, w, "tableflow_healthy")
    row = "| integration lake (tci-1) with AWS_GLUE | CONNECTED | last sync at 2026-04-30T11:00:00Z |"
    assert row in str(found.metadata["details"].value)


def test_a_missing_table_fails_one_check_with_the_reason(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    table = f"glue/{EAST}/t"
    found = outcomes(run_checks(location(missing()), instance, *((table, name) for name in NAMES)))
    failed = [evaluation for evaluation in found.values() if not evaluation.passed]
    assert [evaluation.check_name for evaluation in failed] == ["tableflow_healthy"]
    assert failed[0].severity is AssetCheckSeverity.ERROR
    assert str(failed[0].description) == (
        f"Tableflow is enabled, but Glue has no such table in {REGION}, because its sync to Glue failed: "
        "no rights. What to do: Grant them."
    )
    for name in NAMES - {"tableflow_healthy"}:
        assert "Glue has no such table; see tableflow_healthy" in str(found[table, name].description)


def test_a_table_of_which_nothing_is_known_is_a_warning(location: Build, instance: DagsterInstance) -> None:
    found = check(location, instance, missing("glue_unread", "unknown"), "tableflow_healthy")
    assert (found.passed, found.severity) == (False, AssetCheckSeverity.WARN)
    assert f"whether Glue has the table in {REGION} is unknown" in str(found.description)


@pytest.mark.parametrize(
    ("minutes", "is_error"), [(10, False), (120, True)], ids=["enabled just now", "enabled long ago"]
)
def test_first_sync_has_an_hour_before_it_is_an_error(minutes: int, is_error: bool) -> None:
    now = datetime(2026, 4, 30, 12, tzinfo=UTC)
    w = missing("not_synced_yet", created_at=iso(now - timedelta(minutes=minutes)))
    table = w.graph.nodes[ids.glue_table_id(ENV, GluePlace(EAST, "t"))]
    found = tableflow_healthy(table, GraphView.of(w.discovery()), lambda: now)
    assert (found.passed, found.error) == (False, is_error)


def test_materializing_a_missing_table_fails_its_check_and_not_the_run(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    table = f"glue/{EAST}/t"
    job = subset(location(missing()), {table}, {(table, "tableflow_healthy")})
    result = job.execute_in_process(instance=instance, raise_on_error=False)
    assert result.success
    assert not result.get_asset_materialization_events()
    assert not only(result).passed
