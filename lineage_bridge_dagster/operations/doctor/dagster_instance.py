"""The Dagster instance: its home, its daemon, the lineage sensor, and the age of the stored discovery."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.operations.doctor.context import Context, StoredDiscovery
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, skipped, warning
from lineage_bridge_dagster.text import duration, first_few

if TYPE_CHECKING:
    from dagster import DagsterInstance

_HOME = "DAGSTER_HOME"
#: Start of the keys under which `LineageBridgeComponent` stores its states.
STATE_PREFIX = "LineageBridge"
#: Seconds after which a stored discovery counts as old, whatever the schedules are.
_OLD_SECONDS = 48 * 3600.0
#: Characters of a tick's error that are shown.
_ERROR_WIDTH = 300


def home(context: Context) -> Iterator[Finding]:
    """The folder of the instance."""
    tried = f"Looked at {_HOME}."
    path = context.variables.get(_HOME)
    if not path:
        yield warning(
            tried,
            "It is not set: `dagster dev` then keeps runs, ticks and discoveries in a temporary folder.",
            f"Set {_HOME} to the absolute path of a permanent folder with a dagster.yaml; the commands of "
            "`lineage-bridge` work without it.",
        )
    elif not Path(path).is_absolute():
        yield failed(tried, f"{path} is not an absolute path.", "Dagster requires one: correct it.")
    elif not Path(path).is_dir():
        yield failed(tried, f"The folder {path} does not exist.", "Create it, or correct the variable.")
    elif not (Path(path) / "dagster.yaml").exists():
        yield warning(
            tried,
            f"{path} has no dagster.yaml, so that Dagster's defaults apply.",
            "Run lineage-bridge init in your project: its dagster.yaml limits how many runs execute at once.",
        )
    else:
        yield ok(tried, f"{path} has a dagster.yaml.")


def _instance(context: Context) -> DagsterInstance | None:
    """The instance of DAGSTER_HOME; None if there is none. Creates nothing."""
    path = Path(context.variables.get(_HOME) or "")
    if not context.variables.get(_HOME) or not path.is_dir():
        return None
    from dagster import DagsterInstance

    return DagsterInstance.from_config(str(path))


def _no_instance(tried: str) -> Finding:
    return skipped(tried, "There is no Dagster instance.", "See the check dagster.home.")


def daemon(context: Context) -> Iterator[Finding]:
    """The daemon's heartbeats."""
    tried = "Read the heartbeats of Dagster's daemon."
    instance = _instance(context)
    if instance is None:
        yield _no_instance(tried)
        return
    with instance:
        statuses = instance.get_daemon_statuses()
    silent = sorted(name for name, status in statuses.items() if status.required and not status.healthy)
    if not silent:
        yield ok(tried, f"All are recent: {', '.join(sorted(statuses))}.")
        return
    beats = [status.last_heartbeat.timestamp for status in statuses.values() if status.last_heartbeat]
    last = f"the last was {_ago(max(beats))}" if beats else "there has never been one"
    yield failed(
        tried,
        f"The daemon is not running: no recent heartbeat of {first_few(silent)}; {last}.",
        "Start `dagster dev`, or `dagster-daemon run` with this DAGSTER_HOME. Without it, sensors, schedules "
        "and queued runs do not run.",
    )


def sensor(context: Context) -> Iterator[Finding]:
    """Whether the lineage sensors are on, and how their last ticks ended."""
    tried = "Read the state and the last tick of the lineage sensors."
    instance = _instance(context)
    if instance is None:
        yield _no_instance(tried)
        return
    with instance:
        states = [
            state
            for state in instance.all_instigator_state()
            if state.instigator_type.value == "SENSOR" and state.name.endswith("lineage_sensor")
        ]
        if not states:
            yield warning(
                tried,
                "No sensor has ever been turned on in this instance.",
                "Turn the lineage sensor on in Dagster's UI (Automation), or set LINEAGE_BRIDGE_SENSORS=on.",
            )
        for state in states:
            yield _sensor(instance, state, tried)


def _sensor(instance: DagsterInstance, state: Any, tried: str) -> Finding:
    name = state.name
    if not state.is_running:
        return warning(tried, f"{name} is off.", "Turn it on in Dagster's UI (Automation).")
    ticks = instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=1)
    if not ticks:
        return warning(tried, f"{name} is on and has had no tick.", "Check the daemon (dagster.daemon).")
    tick: Any = ticks[0]
    when = _ago(tick.timestamp)
    if tick.status.value == "FAILURE":
        message = " ".join(str(tick.error.message if tick.error else "no message").split())[:_ERROR_WIDTH]
        return failed(
            tried,
            f"{name} is on, and its last tick, {when}, failed: {message}",
            "The error says what to do; read it in full on the sensor's page in Dagster's UI.",
        )
    return ok(tried, f"{name} is on; its last tick, {when}, ended with {tick.status.value}.")


def state(context: Context) -> Iterator[Finding]:
    """The age of each stored discovery."""
    tried = "Read the newest stored discovery."
    instance = _instance(context)
    if instance is None:
        yield _no_instance(tried)
        return
    with instance:
        versions = _versions(instance)
    if not versions:
        yield warning(
            tried, "None is stored.", "Turn on the sensor, or launch the `refresh` job in Dagster's UI."
        )
    for key, (version, stored_at) in versions.items():
        age = time.time() - stored_at
        text = f"{key}: version {version[:8]} was stored {_ago(stored_at)}."
        if age > _OLD_SECONDS:
            yield warning(
                tried,
                text,
                "Nothing may have changed since; if it did, launch the `refresh` job, and check the daemon "
                "and the sensor.",
            )
        else:
            yield ok(tried, text)


def stored_discovery(context: Context) -> StoredDiscovery | None:
    """The newest discovery that the instance of DAGSTER_HOME has; None if there is none."""
    instance = _instance(context)
    if instance is None:
        return None
    from lineage_bridge_dagster.lineage import graph_json

    with instance:
        versions = _versions(instance)
        storage = instance.defs_state_storage
        if not versions or storage is None:
            return None
        key, (version, stored_at) = max(versions.items(), key=lambda item: item[1][1])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lineage_graph.json"
            storage.download_state_to_path(key, version, path)
            when = datetime.fromtimestamp(stored_at, UTC)
            return StoredDiscovery(graph_json.load(path), f"the discovery of {when:%Y-%m-%d %H:%M} UTC")


def _versions(instance: DagsterInstance) -> Mapping[str, tuple[str, float]]:
    """This project's keys in the state storage, each with its newest version and that version's Unix time."""
    storage = instance.defs_state_storage
    info = storage.get_latest_defs_state_info() if storage else None
    return {
        key: (entry.version, entry.create_timestamp)
        for key, entry in (info.info_mapping if info else {}).items()
        if entry is not None and key.startswith(STATE_PREFIX)
    }


def _ago(timestamp: float) -> str:
    return f"{duration(max(0, round((time.time() - timestamp) * 1000)))} ago"
