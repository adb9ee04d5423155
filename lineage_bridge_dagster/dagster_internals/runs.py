"""How runs are launched, and what their processes report: names that Dagster does not document."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dagster import DagsterEventType, DagsterInstance, DagsterRun, EventRecordsFilter, MetadataValue

#: Raised in a step that is to end: its run is terminated, or its process gets a signal.
from dagster._core.errors import DagsterExecutionInterruptedError

#: Where events of SQLite, which keeps each run's in a file of its own, are read from.
from dagster._core.event_api import RunShardedEventsCursor

#: Metadata of an event that a process reports about a run.
from dagster._core.events import EngineEventData

#: What a run launcher gets and returns.
from dagster._core.launcher.base import CheckRunHealthResult, LaunchRunContext, WorkerStatus

#: Statuses of queued and running runs.
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

#: Tags of runs: what started them, for which partition, and of which code location they are.
from dagster._core.storage.tags import (
    BACKFILL_ID_TAG,
    PARTITION_NAME_TAG,
    REPOSITORY_LABEL_TAG,
    SCHEDULE_NAME_TAG,
    SENSOR_NAME_TAG,
)

#: Where an object of the instance's settings is configured; how stored objects are read.
from dagster._serdes import deserialize_value

#: What the exit code of a run's process tells, such as a kill for want of memory.
from dagster._utils import get_run_crash_explanation

#: Imported for others; what is defined here is public too.
__all__ = [
    "BACKFILL_ID_TAG",
    "NOT_FINISHED_STATUSES",
    "PARTITION_NAME_TAG",
    "REPOSITORY_LABEL_TAG",
    "SCHEDULE_NAME_TAG",
    "SENSOR_NAME_TAG",
    "CheckRunHealthResult",
    "DagsterExecutionInterruptedError",
    "EngineEventData",
    "LaunchRunContext",
    "WorkerStatus",
    "get_run_crash_explanation",
]

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


#: What Dagster imports when it executes a run, beside what `dagster` does.
EXECUTION_MODULES = (
    "dagster._cli.api",
    "dagster._core.definitions.external_asset",
    "dagster._core.definitions.repository_definition.repository_data_builder",
    "dagster._core.execution.plan.active",
    "dagster._core.executor.in_process",
    "dagster._core.instance.factory",
    "dagster._core.storage.root",
    "dagster._core.storage.runs.sqlite.sqlite_run_storage",
    "dagster._core.storage.event_log.sqlite.sqlite_event_log",
    "dagster._core.storage.schedules.sqlite.sqlite_schedule_storage",
    "dagster._core.system_config.composite_descent",
    "dagster._core.utility_ops",
    "dagster._core.workspace.autodiscovery",
    "dagster._grpc.client",
    "dagster._utils.test.definitions",
    "dagster.components.core.snapshot",
    "dagster_shared.yaml_utils.sample_yaml",
)


def run_dagster_api(arguments: Sequence[str]) -> None:
    """Run a command of the internal group `dagster api` in this process."""
    from dagster._cli.api import api_cli

    api_cli.main(args=list(arguments), prog_name="dagster api")


def execution_arguments(run: DagsterRun, instance: DagsterInstance) -> tuple[str, ...]:
    """The arguments of `dagster api` that execute a run, as the launchers of containers give them."""
    from dagster._grpc.types import ExecuteRunArgs

    if run.job_code_origin is None:
        raise ValueError(f"Run {run.run_id} does not tell where its code is.")
    command = ExecuteRunArgs(run.job_code_origin, run.run_id, instance.get_ref()).get_command_args()
    return tuple(command[command.index("api") + 1 :])


def tag_run(arguments: Sequence[str], tags: Mapping[str, str]) -> None:
    """Tag the run that arguments of `execution_arguments` name; those of other commands name none."""
    from dagster._grpc.types import ExecuteRunArgs

    if arguments[0] != "execute_run":
        return
    execution = deserialize_value(arguments[-1], ExecuteRunArgs)
    if execution.instance_ref is None:
        raise ValueError(f"The arguments of run {execution.run_id} name no instance.")
    with DagsterInstance.from_ref(execution.instance_ref) as instance:
        instance.add_run_tags(execution.run_id, dict(tags))


def is_of_this_python(run: DagsterRun, locations: Container[str], hosts: Container[str] = ()) -> bool:
    """Whether the code of a run is loaded on this machine, by this Python and in no container of its own.

    Args:
        locations: code locations with a code server of their own, by name, that are known to be so.
        hosts: further hosts whose Python is known to be the same: containers of one image.
    """
    origin, remote = run.job_code_origin, run.remote_job_origin
    if origin is None or remote is None:
        return False
    code, location = origin.repository_origin, remote.repository_origin.code_location_origin
    # A code server that Dagster starts itself has no host in its origin.
    host = getattr(location, "host", None)
    is_here = host is None or ((host in _LOOPBACK or host in hosts) and location.location_name in locations)
    return is_here and code.executable_path == sys.executable and not code.container_image


def engine_events(
    instance: DagsterInstance, after_id: int, since: float
) -> Iterator[tuple[int, float, Mapping[str, MetadataValue]]]:
    """The engine events after an event, each with its id, its Unix time in seconds and its metadata.

    Args:
        after_id: of an event; SQLite, where each run has ids of its own, goes by `since` alone.
        since: Unix time in seconds; events of runs that were not updated since then may be left out.
    """
    cursor: Any = after_id
    if instance.event_log_storage.is_run_sharded:
        cursor = RunShardedEventsCursor(id=0, run_updated_after=datetime.fromtimestamp(since, tz=UTC))
    wanted = EventRecordsFilter(event_type=DagsterEventType.ENGINE_EVENT, after_cursor=cursor)
    for record in instance.event_log_storage.get_event_records(wanted, ascending=True):
        event = record.event_log_entry.dagster_event
        if event is not None and record.timestamp > since:
            yield record.storage_id, record.timestamp, event.engine_event_data.metadata


def newest_engine_event(instance: DagsterInstance) -> int:
    """The id of the newest engine event; 0 if there is none, or if each run has ids of its own."""
    if instance.event_log_storage.is_run_sharded:
        return 0
    found = instance.event_log_storage.get_event_records(
        EventRecordsFilter(DagsterEventType.ENGINE_EVENT), limit=1
    )
    return found[0].storage_id if found else 0
