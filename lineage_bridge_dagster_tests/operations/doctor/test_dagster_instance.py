"""The instance of DAGSTER_HOME: its home, daemon, sensor and stored discovery."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from dagster import DagsterInstance
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import (
    InProcessCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, TickData, TickStatus
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._daemon.types import DaemonHeartbeat
from dagster_shared.error import SerializableErrorInfo

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import dagster_instance
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table, discovery
from lineage_bridge_dagster_tests.operations.doctor.examined import context_of, examine, worst

KEY = "LineageBridgeComponent"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    return tmp_path


def _context(home: Path) -> Context:
    return context_of({"DAGSTER_HOME": str(home)})


def _store(home: Path) -> None:
    graph = Graph()
    add_table(graph, "orders.v1")
    with DagsterInstance.from_config(str(home)) as instance:
        StateStore.of(instance, KEY).store(discovery(graph))


def test_a_home_that_is_unset_relative_or_gone_says_what_to_set(home: Path) -> None:
    assert "temporary folder" in worst(examine(dagster_instance.home, context_of())).result
    for path, problem in (("dagster", "not an absolute path"), (str(home / "gone"), "does not exist")):
        found = worst(examine(dagster_instance.home, context_of({"DAGSTER_HOME": path})))
        assert problem in found.result
    assert [one.status for one in examine(dagster_instance.home, _context(home))] == [CheckStatus.OK]


def test_without_an_instance_its_checks_are_skipped_and_create_nothing(tmp_path: Path) -> None:
    missing = tmp_path / "gone"
    for check in (dagster_instance.daemon, dagster_instance.sensor, dagster_instance.state):
        assert [one.status for one in examine(check, _context(missing))] == [CheckStatus.SKIPPED]
    assert not missing.exists()


def test_a_daemon_that_never_ran_fails(home: Path) -> None:
    found = worst(examine(dagster_instance.daemon, _context(home)))
    assert "there has never been one" in found.result
    assert "dagster-daemon run" in found.remedy


def test_a_daemon_with_recent_heartbeats_is_well_and_one_that_stopped_fails(home: Path) -> None:
    with DagsterInstance.from_config(str(home)) as instance:
        for name in instance.get_required_daemon_types():
            instance.add_daemon_heartbeat(DaemonHeartbeat(time.time(), name, "id"))
        assert [one.status for one in examine(dagster_instance.daemon, _context(home))] == [CheckStatus.OK]
        for name in instance.get_required_daemon_types():
            instance.add_daemon_heartbeat(DaemonHeartbeat(time.time() - 7200, name, "id"))
    assert "the last was 2 hours ago" in worst(examine(dagster_instance.daemon, _context(home))).result


def _sensor(home: Path, status: InstigatorStatus, tick: TickStatus | None = None) -> None:
    """Put the state of a lineage sensor, and its last tick, into the instance."""
    location = InProcessCodeLocationOrigin(LoadableTargetOrigin(module_name="x"), location_name="x")
    origin = RemoteInstigatorOrigin(RemoteRepositoryOrigin(location, "__repository__"), "lineage_sensor")
    state = InstigatorState(origin, InstigatorType.SENSOR, status)
    with DagsterInstance.from_config(str(home)) as instance:
        instance.add_instigator_state(state)
        if tick is not None:
            instance.create_tick(
                TickData(
                    state.instigator_origin_id,
                    state.name,
                    InstigatorType.SENSOR,
                    tick,
                    time.time() - 60,
                    selector_id=state.selector_id,
                    error=SerializableErrorInfo("No region is set.", [], "ConfigurationError")
                    if tick is TickStatus.FAILURE
                    else None,
                )
            )


def test_the_error_of_the_sensors_last_tick_is_shown(home: Path) -> None:
    _sensor(home, InstigatorStatus.RUNNING, TickStatus.FAILURE)
    found = worst(examine(dagster_instance.sensor, _context(home)))
    assert found.status is CheckStatus.FAILED
    assert "lineage_sensor is on, and its last tick, 1 minute" in found.result
    assert "No region is set." in found.result


def test_a_sensor_that_is_on_and_ticks_is_well(home: Path) -> None:
    _sensor(home, InstigatorStatus.RUNNING, TickStatus.SKIPPED)
    assert [one.status for one in examine(dagster_instance.sensor, _context(home))] == [CheckStatus.OK]


@pytest.mark.parametrize(
    ("status", "problem"),
    [(InstigatorStatus.STOPPED, "is off"), (InstigatorStatus.RUNNING, "has had no tick")],
)
def test_a_sensor_that_is_off_or_never_ticked_is_a_warning(
    home: Path, status: InstigatorStatus, problem: str
) -> None:
    _sensor(home, status)
    found = worst(examine(dagster_instance.sensor, _context(home)))
    assert found.status is CheckStatus.WARNING
    assert problem in found.result


def test_a_sensor_that_was_never_turned_on_is_a_warning(home: Path) -> None:
    found = worst(examine(dagster_instance.sensor, _context(home)))
    assert found.status is CheckStatus.WARNING
    assert "LINEAGE_BRIDGE_SENSORS" in found.remedy


def test_the_age_of_the_stored_discovery_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "None is stored" in worst(examine(dagster_instance.state, _context(home))).result
    _store(home)
    (found,) = examine(dagster_instance.state, _context(home))
    assert found.status is CheckStatus.OK
    assert found.result.startswith(f"{KEY}: version ")
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3 * 24 * 3600)
    (found,) = examine(dagster_instance.state, _context(home))
    assert found.status is CheckStatus.WARNING
    assert "3 days ago" in found.result


def test_the_newest_stored_discovery_is_what_other_checks_compare_with(home: Path) -> None:
    assert dagster_instance.stored_discovery(_context(home)) is None
    _store(home)
    stored = dagster_instance.stored_discovery(_context(home))
    assert stored is not None
    assert stored.source.startswith("the discovery of ")
    assert any(node.qualified_name == "orders.v1" for node in stored.discovery.graph.nodes.values())
