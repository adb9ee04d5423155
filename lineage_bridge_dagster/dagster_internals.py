"""The only module that uses names that Dagster does not document.

None of these has a public equivalent in Dagster 1.13, to which `pyproject.toml` pins this project. After an
upgrade, check these names first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from dagster import (
    AssetCheckSeverity,
    AssetDep,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
    ComponentLoadContext,
    DagsterEventType,
    DagsterInstance,
    DagsterRun,
    Definitions,
    EventLogEntry,
    EventRecordsFilter,
    In,
    JobDefinition,
    MetadataValue,
    Out,
)

#: Raised where a step's context has no repository.
from dagster._check import CheckError

#: Materialization data that a check evaluation reported outside a run points to.
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)

#: Name prefix of the inputs through which one output of a `multi_asset` depends on another.
from dagster._core.definitions.assets.definition.assets_definition import ASSET_SUBSET_INPUT_PREFIX

#: What Dagster builds jobs of assets from.
from dagster._core.definitions.assets.graph.asset_graph import AssetGraph
from dagster._core.definitions.assets.job.asset_job import build_asset_job

#: Tag of a materialization with the asset's data version; `DataVersion` works only for outputs of ops.
from dagster._core.definitions.data_version import DATA_VERSION_TAG

#: The function of an op.
from dagster._core.definitions.decorators.op_decorator import DecoratedOpFunction

#: The state version from which the definitions are being loaded.
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, DefinitionsLoadType

#: Typed metadata under one namespace.
from dagster._core.definitions.metadata.metadata_set import NamespacedMetadataSet

#: What `define_asset_job` returns.
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

#: Raised in a step that is to end: its run is terminated, or its process gets a signal.
from dagster._core.errors import DagsterExecutionInterruptedError

#: Where events of SQLite, which keeps each run's in a file of its own, are read from.
from dagster._core.event_api import RunShardedEventsCursor

#: Metadata of an event that a process reports about a run.
from dagster._core.events import EngineEventData

#: What a run launcher gets and returns.
from dagster._core.launcher.base import CheckRunHealthResult, LaunchRunContext, WorkerStatus

#: What the storage keeps of a sensor between its ticks.
from dagster._core.scheduler.instigation import SensorInstigatorData

#: Statuses of queued and running runs.
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

#: Storage of the components' states; `DagsterInstance.defs_state_storage` is one.
from dagster._core.storage.defs_state.base import DefsStateStorage

#: The events of assets and the results of checks: the instance has no function for those of many.
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, SqlEventLogStorageTable

#: Which runs use which snapshots of jobs and plans: the instance has no function that deletes snapshots.
from dagster._core.storage.runs.schema import RunsTable, SnapshotsTable

#: Tags of runs: what started them, for which partition, and of which code location they are.
from dagster._core.storage.tags import (
    BACKFILL_ID_TAG,
    PARTITION_NAME_TAG,
    REPOSITORY_LABEL_TAG,
    SCHEDULE_NAME_TAG,
    SENSOR_NAME_TAG,
)

#: Where an object of the instance's settings is configured; how stored objects are read.
from dagster._serdes import ConfigurableClassData, deserialize_value

#: What the exit code of a run's process tells, such as a kill for want of memory.
from dagster._utils import get_run_crash_explanation

#: Cron expressions as Dagster's scheduler validates and iterates them.
from dagster._utils.schedules import (
    cron_string_iterator,
    is_valid_cron_schedule,
    reverse_cron_string_iterator,
)
from dagster_shared.record import replace
from sqlalchemy import func, select

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

__all__ = [
    "ASSET_SUBSET_INPUT_PREFIX",
    "BACKFILL_ID_TAG",
    "DATA_VERSION_TAG",
    "EXECUTION_MODULES",
    "NOT_FINISHED_STATUSES",
    "PARTITION_NAME_TAG",
    "REPOSITORY_LABEL_TAG",
    "SCHEDULE_NAME_TAG",
    "SENSOR_NAME_TAG",
    "AssetCheckEvaluationTargetMaterializationData",
    "AssetCheckExecutionsTable",
    "AutomationState",
    "CheckRow",
    "CheckRunHealthResult",
    "CodeServer",
    "ConfigurableClassData",
    "CopiedIn",
    "CopiedOut",
    "DagsterExecutionInterruptedError",
    "DefinitionsLoadContext",
    "DefsStateStorage",
    "EngineEventData",
    "LaunchRunContext",
    "LocationJob",
    "NamespacedMetadataSet",
    "RunsTable",
    "SnapshotsTable",
    "SqlEventLogStorageTable",
    "UnresolvedAssetJobDefinition",
    "WorkerStatus",
    "assets_beside",
    "automations",
    "check_rows",
    "code_server",
    "copied",
    "cron_string_iterator",
    "engine_events",
    "execution_arguments",
    "failed_check_rows",
    "first_check_row",
    "get_run_crash_explanation",
    "index_connection",
    "is_of_this_python",
    "is_reloading",
    "is_valid_cron_schedule",
    "keep_values",
    "newest_engine_event",
    "other_definitions",
    "pin_newest_state",
    "read_values",
    "reverse_cron_string_iterator",
    "run_connection",
    "run_dagster_api",
    "state_files",
    "state_folder",
    "stored_instance_id",
    "tag_run",
    "with_compute",
    "with_deps",
    "with_metadata",
]


class CodeServer(Protocol):
    """The calls of a code server's undocumented gRPC API that reload its definitions."""

    def reload_code_with_state(self, serialized_defs_state_info: str, timeout: int) -> Any: ...

    def reload_code(self, timeout: int) -> Any: ...

    def get_server_id(self, timeout: int) -> Any: ...


def code_server(origin: Any) -> CodeServer | None:
    """The client of the code server behind a code location's origin; None if it has no server."""
    create = getattr(origin, "create_client", None)
    return create() if create else None


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


def assets_beside(step_context: Any) -> Iterator[tuple[AssetKey, Mapping[str, Any]]]:
    """Each asset, with its definition's metadata, of the code location that a step belongs to.

    A run without a code location, as of `materialize`, has the assets of its job.
    """
    try:
        graph = step_context.repository_def.asset_graph
    except CheckError:
        graph = step_context.job_def.asset_layer.asset_graph
    for node in graph.asset_nodes:
        yield node.key, node.metadata


def with_metadata(spec: AssetSpec, metadata: Mapping[str, Any]) -> AssetSpec:
    """A copy of a spec with other metadata.

    `AssetSpec.replace_attributes` validates everything again, and changes the filters of warnings twice: for
    each of a load's assets that is a fifth of the time.
    """
    return spec._replace(metadata=metadata)


def copied(spec: AssetSpec) -> AssetSpec:
    """A copy of a spec with metadata and tags of its own."""
    return spec._replace(metadata={**spec.metadata}, tags={**spec.tags})


def with_deps(spec: AssetSpec, deps: Iterable[AssetDep]) -> AssetSpec:
    """A copy of a spec with other dependencies, each given once; as fast as `with_metadata`."""
    return spec._replace(deps=[*deps])


class LocationJob(UnresolvedAssetJobDefinition):
    """A job over assets and checks, which may be all that a code location can execute.

    Then it has the location's graph, as the job in which Dagster materializes assets has. A graph of its own
    takes seconds for ten thousand tables.
    """

    def resolve(
        self, asset_graph: AssetGraph, default_executor_def: Any = None, resource_defs: Any = None
    ) -> JobDefinition:
        selected = self.selection.resolve(asset_graph), self.selection.resolve_checks(asset_graph)
        if selected != (asset_graph.executable_asset_keys, asset_graph.asset_check_keys):
            return super().resolve(asset_graph, default_executor_def, resource_defs)
        return build_asset_job(
            self.name,
            asset_graph,
            allow_different_partitions_defs=False,
            resource_defs=resource_defs,
            description=self.description,
            executor_def=self.executor_def or default_executor_def,
        )


def with_compute(assets: AssetsDefinition, compute: Callable[..., Any]) -> AssetsDefinition:
    """A copy of a definition whose op calls another function of the same parameters."""
    op_definition, found = copy(assets.op), copy(assets)
    op_definition._compute_fn = DecoratedOpFunction(compute)
    assert assets._computation is not None  # noqa: S101 - it has an op
    found._computation = replace(assets._computation, node_def=op_definition)
    return found


class CopiedIn(In):
    """An input of which an op has many: see `CopiedOut`."""

    @cached_property
    def _first(self) -> Any:
        return super().to_definition("first")

    def to_definition(self, name: str) -> Any:
        return _named(self._first, name)


class CopiedOut(Out):
    """An output of which an op has many: each definition is a copy of the first one.

    To resolve its type again takes eight times as long, which is seconds for the outputs and inputs of ten
    thousand tables. Names are not checked.
    """

    @cached_property
    def _first(self) -> Any:
        return super().to_definition(Any, "first", None, None)

    def to_definition(self, annotation_type: Any, name: Any, description: Any, code_version: Any) -> Any:  # noqa: ARG002 - an `Any`, without a description or a version
        return _named(self._first, name)


def _named(definition: Any, name: str) -> Any:
    found = copy(definition)
    found._name = name
    return found


def pin_newest_state(key: str) -> None:
    """Have a load that is given no versions of states use the newest one of a component.

    `dg launch` and `dagster job execute` plan a run with the newest states, and then load the definitions
    again without them: the run would lack what depends on a state. Loads that follow use the same version.
    """
    context, storage = DefinitionsLoadContext.get(), DefsStateStorage.get()
    is_told = context._repository_load_data is not None
    if context.load_type is DefinitionsLoadType.INITIALIZATION or is_told or storage is None:
        return
    known = context._defs_state_info
    newest = storage.get_latest_defs_state_info()
    found = newest.info_mapping.get(key) if newest else None
    if found is not None and not (known and known.info_mapping.get(key)):
        context.add_defs_state_info(key, found.version, found.create_timestamp)


#: The first load of each component's state in this process.
_first_loads: dict[str, DefinitionsLoadContext] = {}


def is_reloading(key: str) -> bool:
    """Whether a code server is rebuilding a component: it then keeps its definitions if this fails."""
    context = DefinitionsLoadContext.get()
    if context.load_type is not DefinitionsLoadType.INITIALIZATION or context._repository_load_data is None:
        return False
    return _first_loads.setdefault(key, context) is not context


def other_definitions(context: ComponentLoadContext) -> Iterator[Definitions]:
    """The definitions of everything else in the `defs` folder of the component that is being built.

    They are built once for all: each is kept for the load that goes on. What the component is part of is not
    among them, as it cannot be built yet.
    """
    own = context.component_decl.loc
    pending: list[Any] = [context.component_tree.find_root_decl()]
    while pending:
        for each in pending.pop().iterate_child_component_decls():
            if own not in dict(each.iterate_loc_component_decl_pairs()):
                yield context.build_defs(each.loc)
            elif each.loc != own:
                pending.append(each)


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
        run: the run.
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
        instance: the Dagster instance.
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
