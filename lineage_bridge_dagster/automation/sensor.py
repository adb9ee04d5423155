"""The sensor that adds new Tableflow tables to the graph and pushes their lineage."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from dagster import (
    AssetCheckEvaluation,
    AssetCheckResult,
    AssetKey,
    DagsterInstance,
    DagsterRunStatus,
    DefaultSensorStatus,
    JobDefinition,
    RunRequest,
    RunsFilter,
    SensorDefinition,
    SensorEvaluationContext,
    SensorResult,
    sensor,
)

from lineage_bridge_dagster.assets.chains import chain_for
from lineage_bridge_dagster.assets.check_outcomes import tableflow_healthy
from lineage_bridge_dagster.assets.checks import TABLEFLOW
from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.assets.tables import wanted_version
from lineage_bridge_dagster.automation.cursor import Cursor
from lineage_bridge_dagster.automation.data_versions import pushed_versions
from lineage_bridge_dagster.automation.jobs import tables_pushed
from lineage_bridge_dagster.automation.reload import reload_code_location
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.automation.tick import (
    AbsentTable,
    LoadedState,
    LoadedTable,
    Tick,
    TickResult,
)
from lineage_bridge_dagster.automation.watched_lists import ListReader
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.dagster_internals import NOT_FINISHED_STATUSES, UnresolvedAssetJobDefinition
from lineage_bridge_dagster.lineage.glue_status import is_in_glue
from lineage_bridge_dagster.lineage.nodes import NodeView
from lineage_bridge_dagster.specs.keys import tag_key
from lineage_bridge_dagster.specs.names import Names

#: Reloads the definitions, given a sensor's context, and returns how.
Reload = Callable[[SensorEvaluationContext], str]


def reload_by_server(context: SensorEvaluationContext) -> str:
    """Reload through the code server that evaluates the sensor."""
    reloaded = reload_code_location(context.code_location_origin, context.instance)
    return f"{reloaded.how}, {reloaded.seconds:.1f} s"


class WantedVersions:
    """The data versions of tables whose lineage is pushed with the settings in force.

    Each is computed once per settings: the chains of ten thousand tables take seconds.
    """

    def __init__(self, inventory: Inventory, push: Callable[[], PushSettings]) -> None:
        self._inventory = inventory
        self._push = push
        self._settings: PushSettings | None = None
        self._versions: dict[str, str] = {}

    def read_settings(self) -> str:
        """Read the settings, which count from then on, and return them as text.

        Raises:
            ConfigurationError: a setting is malformed or cannot be read.
        """
        return self._read().model_dump_json()

    def of(self, table_id: str) -> str:
        settings = self._settings or self._read()
        if table_id not in self._versions:
            self._versions[table_id] = wanted_version(chain_for(self._inventory, table_id), settings)
        return self._versions[table_id]

    def _read(self) -> PushSettings:
        settings = self._push()
        if settings != self._settings:
            self._settings, self._versions = settings, {}
        return settings


def loaded_tables(version: str, inventory: Inventory | None, push: Callable[[], PushSettings]) -> LoadedState:
    """The state and the tables of the definitions."""
    if inventory is None:
        return LoadedState(version)
    versions = WantedVersions(inventory, push)
    tables = [
        LoadedTable(
            name=_name(asset),
            key=asset.key,
            chain_key=inventory.chain_key_of[asset.node.node_id],
            version=partial(versions.of, asset.node.node_id),
        )
        for asset in inventory.tables
        # A table that several topics claim is never pushed, nor is one that is not there.
        if not NodeView.of(asset.node).conflict and is_in_glue(asset.node)
    ]
    absent = [_absent_table(asset, inventory) for asset in inventory.tables if not is_in_glue(asset.node)]
    return LoadedState(version, inventory.discovery, tables, versions.read_settings, absent)


def _absent_table(asset: Asset, inventory: Inventory) -> AbsentTable:
    def outcome() -> AssetCheckResult:
        found = tableflow_healthy(asset.node, inventory.view)
        return found.result(asset.key, TABLEFLOW, inventory.discovery.discovered_at)

    return AbsentTable(_name(asset), asset.key, outcome)


def _name(asset: Asset) -> str:
    return asset.node.qualified_name.removeprefix("glue://").replace("/", ".")


class InstanceClient:
    """What a tick needs from Dagster, from the instance and the sensor's context."""

    def __init__(
        self,
        context: SensorEvaluationContext,
        state_key: str,
        names: Names,
        reload: Reload,
        tables: Sequence[LoadedTable] = (),
    ) -> None:
        self._context = context
        self._instance: DagsterInstance = context.instance
        self._store = StateStore.of(context.instance, state_key)
        self._names = names
        self._reload = reload
        self._tables = tables

    def latest_version(self) -> str | None:
        return self._store.latest_version()

    def refreshing(self) -> bool:
        filters = RunsFilter(job_name=self._names.refresh_job, statuses=NOT_FINISHED_STATUSES)
        return self._instance.get_runs_count(filters) > 0

    def refreshed_since(self, since: float) -> bool:
        filters = RunsFilter(
            job_name=self._names.refresh_job,
            statuses=[DagsterRunStatus.SUCCESS],
            created_after=datetime.fromtimestamp(since, tz=UTC),
        )
        return self._instance.get_runs_count(filters) > 0

    def in_flight(self) -> frozenset[AssetKey]:
        found: set[AssetKey] = set()
        for run in self._instance.get_runs(RunsFilter(statuses=NOT_FINISHED_STATUSES)):
            # Runs that people launch in the UI count too: they have a selection, whatever their job.
            if run.asset_selection is not None:
                found |= run.asset_selection
            elif run.job_name == self._names.push_job:
                pushed = tables_pushed(run.run_config, self._names.push_job)
                found |= {t.key for t in self._tables if pushed is None or t.name.lower() in pushed}
            elif (
                run.asset_check_selection is None
                and run.job_name == self._names.lineage_job
                and self._context.repository_def is not None
            ):
                found |= self._context.repository_def.asset_graph.materializable_asset_keys
        return frozenset(found)

    def pushed_versions(self, keys: Sequence[AssetKey]) -> Mapping[AssetKey, str | None]:
        return pushed_versions(self._instance, keys)

    def reload(self) -> str:
        return self._reload(self._context)


def lineage_sensor(
    names: Names,
    state_key: str,
    loaded: LoadedState,
    read_list: ListReader,
    jobs: Sequence[JobDefinition | UnresolvedAssetJobDefinition],
    *,
    interval_seconds: int,
    running: bool,
    budget_seconds: float = 20.0,
    checks: bool = True,
    reload: Reload = reload_by_server,
) -> SensorDefinition:
    """Watch Tableflow and Glue, keep the definitions up to date with the state, and request missing pushes.

    Args:
        names: names of the jobs that it requests.
        state_key: key under which the component's state is stored.
        loaded: the state that the definitions were built from.
        read_list: reads a list from Confluent or Glue.
        jobs: the jobs that it may request: the refresh and the lineage job.
        interval_seconds: minimum time between ticks.
        running: whether it is on by default.
        budget_seconds: time after which a tick leaves the rest to the next one.
        checks: whether the tables have checks, whose results it records for tables that Glue lacks.
        reload: reloads the definitions.
    """

    @sensor(
        name=names.sensor,
        jobs=jobs,
        minimum_interval_seconds=interval_seconds,
        default_status=DefaultSensorStatus.RUNNING if running else DefaultSensorStatus.STOPPED,
        description="Watches Tableflow and Glue for new tables, adds their assets to the graph and pushes "
        "their lineage. Retries failed refreshes and pushes.",
    )
    def _sensor(context: SensorEvaluationContext) -> SensorResult:
        cursor, warning = Cursor.read(context.cursor)
        if warning:
            context.log.warning(warning)
        client = InstanceClient(context, state_key, names, reload, loaded.tables)
        tick = Tick(loaded, client, read_list, context.log, budget_seconds=budget_seconds)
        result = tick.run(cursor)
        requests = _run_requests(result, names)
        return SensorResult(
            run_requests=requests,
            # Dagster accepts a skip reason only without requests.
            skip_reason=None if requests else result.skip_reason,
            cursor=result.cursor.write(),
            asset_events=[_evaluation(each) for each in result.checks] if checks else [],
        )

    return _sensor


def _evaluation(result: AssetCheckResult) -> AssetCheckEvaluation:
    if result.asset_key is None or result.check_name is None:
        raise ValueError("the result of a check names its asset and its check")
    return AssetCheckEvaluation(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=result.passed,
        metadata=result.metadata,
        severity=result.severity,
        description=result.description,
    )


def _run_requests(result: TickResult, names: Names) -> list[RunRequest]:
    requests = [
        RunRequest(
            run_key=push.run_key,
            job_name=names.lineage_job,
            asset_selection=list(push.keys),
            tags={tag_key("tables"): str(push.tables)},
        )
        for push in result.pushes
    ]
    if result.refresh is not None:
        requests.append(RunRequest(run_key=result.refresh.run_key, job_name=names.refresh_job))
    return requests
