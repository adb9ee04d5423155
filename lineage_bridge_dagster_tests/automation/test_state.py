"""Stored discoveries: reading, storing and removing versions of the state."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterInstance, DagsterRunStatus, RunsFilter, job
from dagster._core.definitions.repository_definition.repository_definition import RepositoryLoadData
from dagster._core.execution.api import create_execution_plan
from dagster._core.snap import snapshot_from_execution_plan
from dagster_shared.serdes.objects.models.defs_state_info import DefsStateInfo

from lineage_bridge_dagster.automation.state import StateStore, read_state
from lineage_bridge_dagster.errors import ConfigurationError
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


def test_an_unreadable_state_is_none_with_a_warning(
    tmp_path: Path, instance: DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "truncated"
    path.write_text('{"nodes": [')
    with caplog.at_level(logging.WARNING):
        assert read_state(path) is None
    assert "The stored discovery cannot be read" in caplog.text

    storage = instance.defs_state_storage
    assert storage
    storage.upload_state_from_path(KEY, "truncated", path)
    warnings: list[str] = []
    assert StateStore.of(instance, KEY).last_good(warnings.append) is None
    assert "nothing is carried over" in warnings[0]


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
