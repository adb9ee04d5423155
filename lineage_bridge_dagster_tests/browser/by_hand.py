"""Stops the running platform's automation, so that only the test changes anything."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lineage_bridge_dagster.embedded.wiping import wipe
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi, eventually
from lineage_bridge_dagster_tests.live import LiveStack

_AUTOMATION = """query($s: RepositorySelector!) { repositoryOrError(repositorySelector: $s) {
  ... on Repository { sensors { name sensorState { id status ticks(limit: 1) { status } } }
  schedules { name scheduleState { id status } } } } }"""
_STOP = """mutation($id: String!) { stopSensor(id: $id) { __typename
  ... on PythonError { message } ... on UnauthorizedError { message } } }"""
_STOP_SCHEDULE = """mutation($id: String!) { stopRunningSchedule(id: $id) { __typename
  ... on PythonError { message } ... on UnauthorizedError { message } } }"""
_START = """mutation($s: SensorSelector!) { startSensor(sensorSelector: $s) { __typename
  ... on PythonError { message } } }"""
_START_SCHEDULE = """mutation($s: ScheduleSelector!) { startSchedule(scheduleSelector: $s) { __typename
  ... on PythonError { message } } }"""

#: Seconds after which the daemon of a busy machine has begun the ticks of sensors that it found running.
_STILL_TO_COME = 10.0

_ACTIVE = {"QUEUED", "NOT_STARTED", "MANAGED", "STARTING", "STARTED", "CANCELING"}


@contextmanager
def automation_off(ui: DagsterUi) -> Iterator[None]:
    """Stop all sensors and schedules, wait for active runs and ticks to end, and restart them on exit."""
    sensors, schedules = _stop(ui)
    try:
        eventually(lambda: _stays_idle(ui) or None, 180, "the end of active runs and ticks")
        before = {run["runId"] for run in ui.runs()}
        yield
        automatic = [run for run in ui.runs() if run["runId"] not in before and _is_automatic(run)]
        assert not automatic, f"automation, which is off, has launched {automatic}"
    finally:
        for sensor in sensors:
            turn_on(ui, sensor)
        for schedule in schedules:
            _check(ui.query(_START_SCHEDULE, s={**ui.selector(), "scheduleName": schedule}))


def _stop(ui: DagsterUi) -> tuple[list[str], list[str]]:
    """Stop the sensors and the schedules that are on, and return their names."""
    repository = _automation(ui)
    sensors = [s for s in repository["sensors"] if s["sensorState"]["status"] == "RUNNING"]
    schedules = [s for s in repository["schedules"] if s["scheduleState"]["status"] == "RUNNING"]
    for sensor in sensors:
        _check(ui.query(_STOP, id=sensor["sensorState"]["id"]))
    for schedule in schedules:
        _check(ui.query(_STOP_SCHEDULE, id=schedule["scheduleState"]["id"]))
    return [sensor["name"] for sensor in sensors], [schedule["name"] for schedule in schedules]


def turn_on(ui: DagsterUi, sensor: str) -> None:
    """Start a sensor; a no-op if it is running."""
    _check(ui.query(_START, s={**ui.selector(), "sensorName": sensor}))


def wipe_lineage(stack: LiveStack, table: str) -> None:
    """Remove our lineage from the table `database.table`, as another catalog's sync does."""
    assert wipe(os.environ, stack.stack.tableflow_tables(), table).parameters


def _automation(ui: DagsterUi) -> dict[str, Any]:
    return dict(ui.query(_AUTOMATION, s=ui.selector())["repositoryOrError"])


def _idle(ui: DagsterUi) -> bool:
    ticking = any(
        tick["status"] == "STARTED"
        for sensor in _automation(ui)["sensors"]
        for tick in sensor["sensorState"]["ticks"]
    )
    return not ticking and not any(run["status"] in _ACTIVE for run in ui.runs())


def _stays_idle(ui: DagsterUi) -> bool:
    """Whether nothing runs, and nothing that the daemon began before the stop is still to come.

    A tick that begins or ends while its sensor is stopped may turn the sensor on again: the daemon writes the
    state that it read before. So they are stopped until all stay off.
    """
    if any(_stop(ui)) or not _idle(ui):
        return False
    time.sleep(_STILL_TO_COME)
    return not any(_stop(ui)) and _idle(ui)


def _is_automatic(run: Mapping[str, Any]) -> bool:
    return any(tag["key"] in ("dagster/sensor_name", "dagster/schedule_name") for tag in run["tags"])


def _check(response: dict[str, Any]) -> None:
    [result] = response.values()
    assert "message" not in result, result
