"""The sensor that puts new Tableflow tables into the graph and has their lineage pushed."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

from dagster import (
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
from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.assets.tables import wanted_version
from lineage_bridge_dagster.automation.cursor import Cursor
from lineage_bridge_dagster.automation.data_versions import pushed_versions
from lineage_bridge_dagster.automation.reload import reload_code_location
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.automation.tick import Dagster, Loaded, Outcome, Tick, WantedTable
from lineage_bridge_dagster.automation.watched_lists import Lister
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.dagster_internals import NOT_FINISHED_STATUSES, UnresolvedAssetJobDefinition
from lineage_bridge_dagster.specs.keys import tag_key
from lineage_bridge_dagster.specs.names import Names

#: Called with a sensor's context; reloads the definitions and says how.
Reload = Callable[[SensorEvaluationContext], str]


def reload_by_server(context: SensorEvaluationContext) -> str:
    """Reload through the code server that evaluates the sensor."""
    done = reload_code_location(context.code_location_origin, context.instance)
    return f"{done.how}, {done.seconds:.1f} s"


def loaded_tables(version: str, inventory: Inventory | None, push: Callable[[], PushSettings]) -> Loaded:
    """What the definitions hold, with each table's wanted version computed once and only when asked for."""
    if inventory is None:
        return Loaded(version)
    versions: dict[str, str] = {}
    settings = cache(push)

    def version_of(table_id: str) -> str:
        if table_id not in versions:
            versions[table_id] = wanted_version(chain_for(inventory, table_id), settings())
        return versions[table_id]

    tables = [
        WantedTable(
            name=asset.node.qualified_name.removeprefix("glue://").replace("/", "."),
            key=asset.key,
            chain_key=inventory.chain_key_of[asset.node.node_id],
            version=lambda table_id=asset.node.node_id: version_of(table_id),  # type: ignore[misc]
        )
        for asset in inventory.tables
        # Two topics fold to this table: it is never pushed, so there is nothing to wait for.
        if not asset.node.attributes.get("conflict")
    ]
    return Loaded(version, inventory.discovery, tables)


class InstanceDagster(Dagster):
    """Answers a tick from the instance and the sensor's own context."""

    def __init__(
        self, context: SensorEvaluationContext, state_key: str, names: Names, reload: Reload
    ) -> None:
        self._context = context
        self._instance: DagsterInstance = context.instance
        self._store = StateStore.of(context.instance, state_key)
        self._names = names
        self._reload = reload

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
            # Someone's run from the UI counts too: it has a selection, whichever job it is of.
            if run.asset_selection is not None:
                found |= run.asset_selection
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
    loaded: Loaded,
    lister: Lister,
    jobs: Sequence[JobDefinition | UnresolvedAssetJobDefinition],
    *,
    interval_seconds: int,
    running: bool,
    budget_seconds: float = 20.0,
    reload: Reload = reload_by_server,
) -> SensorDefinition:
    """Watches Tableflow and Glue, keeps the definitions up with the state, and asks for what is not pushed.

    Args:
        names: of the jobs that it asks for.
        state_key: under which the component's state is stored.
        loaded: what the definitions that hold this sensor were built from.
        lister: asks one cheap list.
        jobs: those it may ask for; the refresh, and the assets' where there are any.
        interval_seconds: least time between ticks.
        running: whether it is on without anyone turning it on.
        budget_seconds: after which a tick leaves the rest to the next.
        reload: has the definitions reloaded.
    """

    @sensor(
        name=names.sensor,
        jobs=jobs,
        minimum_interval_seconds=interval_seconds,
        default_status=DefaultSensorStatus.RUNNING if running else DefaultSensorStatus.STOPPED,
        description="Finds new Tableflow tables, puts their assets into the running graph and has their "
        "lineage pushed; asks again for what failed.",
    )
    def _sensor(context: SensorEvaluationContext) -> SensorResult:
        cursor, word = Cursor.read(context.cursor)
        if word:
            context.log.warning(word)
        dagster = InstanceDagster(context, state_key, names, reload)
        tick = Tick(loaded, dagster, lister, context.log, budget_seconds=budget_seconds)
        outcome = tick.run(cursor)
        requests = _run_requests(outcome, names)
        return SensorResult(
            run_requests=requests,
            # A result may say something only when it asks for nothing.
            skip_reason=None if requests else outcome.skip_reason,
            cursor=outcome.cursor.write(),
        )

    return _sensor


def _run_requests(outcome: Outcome, names: Names) -> list[RunRequest]:
    requests = [
        RunRequest(
            run_key=push.run_key,
            job_name=names.lineage_job,
            asset_selection=list(push.keys),
            tags={tag_key("tables"): str(push.tables)},
        )
        for push in outcome.pushes
    ]
    if outcome.refresh is not None:
        requests.append(RunRequest(run_key=outcome.refresh.run_key, job_name=names.refresh_job))
    return requests
