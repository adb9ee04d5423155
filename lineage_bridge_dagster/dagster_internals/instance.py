"""How the storage of an instance is read: names that Dagster does not document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from dagster import AssetCheckSeverity, DagsterInstance, EventLogEntry

#: What the storage keeps of a sensor between its ticks.
from dagster._core.scheduler.instigation import SensorInstigatorData

#: Storage of the components' states; `DagsterInstance.defs_state_storage` is one.
from dagster._core.storage.defs_state.base import DefsStateStorage

#: The events of assets and the results of checks: the instance has no function for those of many.
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, SqlEventLogStorageTable

#: Which runs use which snapshots of jobs and plans: the instance has no function that deletes snapshots.
from dagster._core.storage.runs.schema import RunsTable, SnapshotsTable

#: Where an object of the instance's settings is configured; how stored objects are read.
from dagster._serdes import ConfigurableClassData, deserialize_value
from sqlalchemy import func, select

#: Imported for others; what is defined here is public too.
__all__ = [
    "AssetCheckExecutionsTable",
    "ConfigurableClassData",
    "DefsStateStorage",
    "RunsTable",
    "SnapshotsTable",
    "SqlEventLogStorageTable",
]


def stored_instance_id() -> str:
    """The id of the instance in DAGSTER_HOME, which its storage keeps and all of its hosts share."""
    with DagsterInstance.get() as instance:
        storage: Any = instance.run_storage
        return str(storage.get_run_storage_id())


def read_values(instance: DagsterInstance, keys: Iterable[str]) -> Mapping[str, str]:
    """What the instance's storage keeps for these keys."""
    storage: Any = instance.run_storage
    found: Mapping[str, str] = storage.get_cursor_values(set(keys))
    return found


def keep_values(instance: DagsterInstance, values: Mapping[str, str]) -> None:
    """Keep values in the instance's storage.

    Given known and new keys at once, Dagster's own call updates the known ones only.
    """
    storage: Any = instance.run_storage
    known = read_values(instance, values).keys()
    for part in (values.keys() & known, values.keys() - known):
        if part:
            storage.set_cursor_values({key: values[key] for key in sorted(part)})


def state_folder(storage: DefsStateStorage, key: str) -> Any:
    """The folder (a `UPath`) with the state versions of a component; None if the storage has no folders."""
    base = getattr(storage, "base_path", None)
    return None if base is None else base / storage._sanitize_key(key)


def state_files(folder: Any) -> list[tuple[float, Any]]:
    """The files in such a folder with their Unix times, newest first; none if it does not exist."""
    try:
        found = [(path.stat().st_mtime, path) for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    finally:
        # s3fs caches the listing, which would hide whatever other processes store from now on.
        folder.fs.invalidate_cache()
    return sorted(found, key=lambda pair: pair[0], reverse=True)


class AutomationState(NamedTuple):
    """A sensor or a schedule; `cursor` is None for a schedule, and for a sensor without one."""

    name: str
    location: str
    running: bool
    cursor: str | None = None


def automations(instance: DagsterInstance) -> Iterator[AutomationState]:
    """The sensors and schedules that have been on, or were turned off, in every code location."""
    for state in instance.all_instigator_state():
        data = state.instigator_data
        cursor = data.cursor if isinstance(data, SensorInstigatorData) else None
        location = state.repository_selector.location_name
        yield AutomationState(state.instigator_name, location, state.is_running, cursor)


class CheckRow(NamedTuple):
    """An execution of an asset check: planned, or with its result.

    Attributes:
        at: Unix time in seconds.
        passed: None if it is only planned.
    """

    id: int
    asset: str
    check: str
    at: float
    passed: bool | None


def first_check_row(instance: DagsterInstance, since: float) -> int:
    """The id before those of the executions that were planned since a Unix time; reads the whole table."""
    table = AssetCheckExecutionsTable.c
    time = datetime.fromtimestamp(since, tz=UTC).replace(tzinfo=None)
    query = select(func.max(table.id)).where(table.evaluation_event_timestamp < time)
    with index_connection(instance) as connection:
        return connection.execute(query).scalar() or 0


def check_rows(instance: DagsterInstance, after_id: int, checks: Iterable[str]) -> Iterator[CheckRow]:
    """The executions of checks with these names after one, in the order in which they were planned."""
    table = AssetCheckExecutionsTable.c
    columns = (
        table.id, table.asset_key, table.check_name, table.evaluation_event_timestamp, table.execution_status,
    )  # fmt: skip
    query = select(*columns).where(table.id > after_id, table.check_name.in_(checks)).order_by(table.id)
    with index_connection(instance) as connection:
        rows = connection.execute(query).fetchall()
    for number, asset, check, time, status in rows:
        passed = None if status == "PLANNED" else status == "SUCCEEDED"
        yield CheckRow(number, asset, check, time.replace(tzinfo=UTC).timestamp(), passed)


def failed_check_rows(instance: DagsterInstance, ids: Sequence[int]) -> set[int]:
    """Those of these executions that failed as an error, and not as a warning."""
    table = AssetCheckExecutionsTable.c
    query = select(table.id, table.evaluation_event).where(table.id.in_(ids))
    with index_connection(instance) as connection:
        rows = connection.execute(query).fetchall()
    found = set()
    for number, text in rows:
        event = deserialize_value(text, EventLogEntry).dagster_event
        if event is None or event.asset_check_evaluation_data.severity is not AssetCheckSeverity.WARN:
            found.add(number)
    return found


def index_connection(instance: DagsterInstance) -> Any:
    """A transaction on the storage of the events of assets and of the results of checks."""
    storage: Any = instance.event_log_storage
    return storage.index_connection()


def run_connection(instance: DagsterInstance) -> Any:
    """A transaction on the storage of runs and snapshots."""
    storage: Any = instance.run_storage
    return storage.connect()
