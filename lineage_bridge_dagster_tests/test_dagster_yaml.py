"""The settings of Dagster's instance that the repository gives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance
from dagster._core.run_coordinator.queued_run_coordinator import QueuedRunCoordinator

from lineage_bridge_dagster.launcher.run_launcher import ForkServerRunLauncher

ROOT = Path(__file__).parents[1]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    with DagsterInstance.from_config(str(tmp_path)) as found:
        yield found


def test_runs_wait_a_second_at_most_for_a_look_at_the_queue(instance: DagsterInstance) -> None:
    assert isinstance(instance.run_coordinator, QueuedRunCoordinator)
    assert instance.run_coordinator.dequeue_interval_seconds == 1


def test_runs_with_a_spark_of_their_own_wait_for_one_another(instance: DagsterInstance) -> None:
    config = instance.get_concurrency_config()
    assert config.pool_config.default_pool_limit == 1
    assert config.pool_config.pool_granularity is not None
    assert config.pool_config.pool_granularity.value == "run"
    assert config.run_queue_config is not None
    assert config.run_queue_config.max_concurrent_runs == 2


def test_runs_are_forked_and_those_whose_process_is_gone_fail(instance: DagsterInstance) -> None:
    assert isinstance(instance.run_launcher, ForkServerRunLauncher)
    assert instance.run_monitoring_enabled
    assert instance.run_launcher.supports_check_run_worker_health
