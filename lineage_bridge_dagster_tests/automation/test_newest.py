"""Runs that were planned with an older discovery, because they waited or a server has not reloaded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.client import BaseClient
from dagster import DagsterInstance

from lineage_bridge_dagster import component as component_module
from lineage_bridge_dagster.automation.data_versions import pushed_versions
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster_tests.assets.location import Location, create_tables, latest
from lineage_bridge_dagster_tests.assets.world import EAST, World, many

KEY = "LineageBridgeComponent"
TABLE, CHAIN = f"glue/{EAST}/topic.00000", f"upstream_chain/{EAST}/topic.00000"
GONE = f"{EAST}/gone"

Build = Callable[[World], Location]


def older() -> World:
    """What was known before the connector was found, and a table that was dropped since."""
    w = World()
    for name in ("topic.00000", "gone"):
        w.topic(EAST, name)
        w.glue(EAST, name)
    return w


@pytest.fixture
def instance(local_instance: DagsterInstance) -> DagsterInstance:
    return local_instance


@pytest.fixture
def load(location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Store a discovery as the newest, and build the definitions from it."""

    def build(w: World) -> Location:
        version = StateStore.of(instance, KEY).store(w.discovery())
        monkeypatch.setattr(component_module, "loading_version", lambda _: version)
        return location(w)

    return build


def connectors(glue: BaseClient) -> str | None:
    table = glue.get_table(DatabaseName=EAST, Name="topic.00000")["Table"]
    return table["Parameters"].get("lineage_bridge.source_connectors")


@pytest.mark.parametrize("job", ["materialize_lineage", "push"])
def test_a_run_pushes_the_newest_discovery_and_not_the_one_it_was_planned_with(
    job: str, load: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    create_tables(glue, older())
    queued, newer = load(older()), load(many(1))
    assert newer.materialize(instance, CHAIN, TABLE).success
    pushed = latest(instance, TABLE)
    assert connectors(glue) == "generator"
    if job == "push":
        result = queued.definitions.resolve_job_def(job).execute_in_process(instance=instance)
        assert result.output_for_node("push") == {"unchanged": 1}
    else:
        keys = CHAIN, TABLE, f"upstream_chain/{GONE}", f"glue/{GONE}"
        assert queued.materialize(instance, *keys, job=job).success
        # The table that is gone has no push of its own, and does not stop the others.
        assert latest(instance, f"glue/{GONE}") is None
        assert [len(write) for write in queued.spark.writes] == [1]
    assert connectors(glue) == "generator"
    # So the sensor, which has the newer discovery, finds nothing to push again.
    versions = pushed_versions(instance, [pushed.asset_key])
    assert versions == {pushed.asset_key: pushed.tags["dagster/data_version"]}


def test_a_restored_discovery_is_pushed_though_a_later_one_was(
    load: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    create_tables(glue, older())
    assert load(many(1)).materialize(instance, TABLE).success
    assert connectors(glue) == "generator"
    assert load(older()).materialize(instance, TABLE).success
    assert connectors(glue) is None


def test_a_newer_discovery_that_cannot_be_read_does_not_stop_a_run(
    load: Build, glue: BaseClient, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_tables(glue, older())
    queued = load(older())
    StateStore.of(instance, KEY).store(many(1).discovery())

    def unreachable(*_: object) -> None:
        raise OSError("the bucket is down")

    monkeypatch.setattr(instance.defs_state_storage, "download_state_to_path", unreachable)
    assert queued.materialize(instance, TABLE).success
    assert latest(instance, TABLE).metadata["lineage_bridge/outcome"].value == "updated"
