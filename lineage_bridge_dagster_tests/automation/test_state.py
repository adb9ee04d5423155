"""Stored discoveries: reading, storing and removing versions of the state."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from dagster import DagsterInstance, DagsterRunStatus, RunsFilter, job
from dagster._core.definitions.repository_definition.repository_definition import RepositoryLoadData
from dagster._core.execution.api import create_execution_plan
from dagster._core.snap import snapshot_from_execution_plan
from dagster._core.storage.defs_state import UPathDefsStateStorage
from dagster_shared.serdes.objects.models.defs_state_info import DefsStateInfo
from s3fs import S3FileSystem
from upath import UPath

from lineage_bridge_dagster.automation.state import StateStore, UnreachableStateError
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.formats import NewerFormatError
from lineage_bridge_dagster_tests.assets.world import many

KEY = "LineageBridgeComponent"


@pytest.fixture
def instance(local_instance: DagsterInstance) -> DagsterInstance:
    return local_instance


def test_a_stored_state_is_the_newest_and_loads(instance: DagsterInstance) -> None:
    store = StateStore.of(instance, KEY)
    assert store.latest_version() is None
    assert store.load() is None
    versions = [store.store(many(count).discovery()) for count in (1, 2)]
    assert store.latest_version() == versions[-1] != versions[0]
    loaded = store.load()
    assert loaded is not None
    assert loaded.graph.nodes.keys() == many(2).graph.nodes.keys()
    # Another component's state is under another key.
    assert StateStore.of(instance, f"{KEY}[eu]").latest_version() is None


def _truncate(path: Path) -> None:
    path.write_text('{"nodes": [')


def _write_over(path: Path) -> None:
    path.write_bytes(b"\x00\xff\xfe" * 100)


def _remove(path: Path) -> None:
    path.unlink()


def _refuse(path: Path) -> None:
    """Permissions do not stop root, but a folder in the file's place stops everyone."""
    path.unlink()
    path.mkdir()


def _write_newer(path: Path) -> None:
    path.write_text('{"format": 9, "nodes": {}, "edges": {}}')


@pytest.mark.parametrize("damage", [_truncate, _write_over, _remove])
def test_after_a_damaged_state_the_last_good_one_is_the_one_before(
    instance: DagsterInstance, damage: Callable[[Path], None]
) -> None:
    versions = aged(instance, 2, 1, 0)
    damage(state_file(instance, versions[2]))
    warnings: list[str] = []
    found = StateStore.of(instance, KEY).last_good(warnings.append)
    assert found is not None
    assert found.graph.nodes.keys() == many(2).graph.nodes.keys()
    assert versions[2] in warnings[0]
    for version in versions[:2]:
        _truncate(state_file(instance, version))
    assert StateStore.of(instance, KEY).last_good(warnings.append) is None
    assert "nothing is carried over" in warnings[-1]


@pytest.mark.parametrize(
    ("damage", "error", "says"),
    [
        (_refuse, UnreachableStateError, ("IsADirectoryError", "defs_state_storage")),
        (_write_newer, NewerFormatError, ("format 9", "up to 1", "lineage-bridge migrate")),
    ],
)
def test_what_may_well_be_there_is_never_replaced_by_an_earlier_one(
    instance: DagsterInstance, damage: Callable[[Path], None], error: type[Exception], says: tuple[str, ...]
) -> None:
    newest = aged(instance, 1, 0)[-1]
    damage(state_file(instance, newest))
    with pytest.raises(error) as caught:
        StateStore.of(instance, KEY).last_good()
    for text in says:
        assert text in str(caught.value)


def test_a_bucket_that_refuses_is_not_an_empty_one(
    instance: DagsterInstance, strict_aws: StrictAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    # s3fs itself repeats calls, at growing intervals.
    monkeypatch.setattr(S3FileSystem, "retries", 1)
    client = boto3.client("s3", region_name="us-east-1")
    client.create_bucket(Bucket="states")
    options = {"retries": {"max_attempts": 1}, "read_timeout": 1}
    storage = UPathDefsStateStorage(UPath("s3://states/dagster", config_kwargs=options))
    storage.register_instance(instance)
    store = StateStore(storage, KEY)
    _, newest = (store.store(many(count).discovery()) for count in (1, 2))
    assert (found := store.load()) is not None
    assert found.graph.nodes.keys() == many(2).graph.nodes.keys()
    faults: tuple[dict[str, Any], ...] = (
        {"code": "AccessDenied", "status": 403},
        {"code": "SlowDown", "status": 503},
        {"drop": True},
        {"delay_seconds": 1.5},
    )
    for fault in faults:
        strict_aws.fail("*", times=None, **fault)
        with pytest.raises(UnreachableStateError):
            store.last_good()
        strict_aws.clear_faults()
    # Another process wrote it: no listing that is cached here may tell that it is missing.
    client.delete_object(Bucket="states", Key=f"dagster/{KEY}/{newest}")
    warnings: list[str] = []
    assert (found := store.last_good(warnings.append)) is not None
    assert found.graph.nodes.keys() == many(1).graph.nodes.keys()
    other = StateStore(UPathDefsStateStorage(UPath("s3://states/dagster", skip_instance_cache=True)), KEY)
    other._storage.register_instance(instance)  # type: ignore[attr-defined]
    other.store(many(3).discovery())
    assert (found := store.load()) is not None
    assert found.graph.nodes.keys() == many(3).graph.nodes.keys()
    nowhere = UPath("s3://nowhere/dagster", skip_instance_cache=True)
    monkeypatch.setattr(storage, "_base_path", nowhere)
    assert store.last_good(warnings.append) is None


def test_an_instance_without_state_storage_is_an_error_with_a_remedy() -> None:
    with pytest.raises(ConfigurationError, match="DAGSTER_HOME"):
        StateStore(None, KEY)


def aged(instance: DagsterInstance, *days: float) -> list[str]:
    """Store versions of the state as of so many days ago; returns them in that order."""
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


def remaining(instance: DagsterInstance, versions: list[str]) -> list[int]:
    return [place for place, version in enumerate(versions) if state_file(instance, version).exists()]


def test_a_state_is_removed_a_day_after_a_newer_one_replaced_it(instance: DagsterInstance) -> None:
    versions = aged(instance, 30, 3, 2, 0.5, 0)
    # The third was in use until half a day ago: a run may have been planned with it.
    assert StateStore.of(instance, KEY).prune(instance, keep_versions=0) == 2
    assert remaining(instance, versions) == [2, 3, 4]
    assert StateStore.of(instance, KEY).prune(instance, keep_versions=0) == 0


def test_the_last_states_are_kept_however_old(instance: DagsterInstance) -> None:
    versions = aged(instance, 90, 60, 30, 20)
    assert StateStore.of(instance, KEY).prune(instance, keep_versions=2) == 2
    assert remaining(instance, versions) == [2, 3]
    assert StateStore.of(instance, KEY).load() is not None


def test_an_unfinished_run_keeps_the_state_that_it_was_planned_with(
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
    monkeypatch.setattr(instance, "get_runs", lambda filters: [waiting] if matches_old_run(filters) else [])

    assert StateStore.of(instance, KEY).prune(instance, keep_versions=0) == 1
    assert remaining(instance, versions) == [0, 2, 3]


def matches_old_run(filters: RunsFilter) -> bool:
    """Whether a filter matches an unfinished run from two days ago."""
    before = filters.created_before
    assert before
    return {DagsterRunStatus.QUEUED, DagsterRunStatus.STARTED} <= set(
        filters.statuses
    ) and before.timestamp() > time.time() - 2 * 86_400
