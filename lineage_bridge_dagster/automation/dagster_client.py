"""What a tick needs from Dagster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from dagster import AssetKey, DagsterInstance, DagsterRunStatus, RunsFilter, SensorEvaluationContext

from lineage_bridge_dagster.automation.data_versions import Written, pushed_versions, written_versions
from lineage_bridge_dagster.automation.jobs import tables_pushed
from lineage_bridge_dagster.automation.loaded import LoadedTable
from lineage_bridge_dagster.automation.reload import reload_code_location
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.dagster_internals.runs import NOT_FINISHED_STATUSES
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.specs.names import AssetNames

#: Reloads the definitions, given a sensor's context, and returns how.
Reload = Callable[[SensorEvaluationContext], str]


def reload_by_server(context: SensorEvaluationContext) -> str:
    """Reload through the code server that evaluates the sensor."""
    reloaded = reload_code_location(context.code_location_origin, context.instance)
    return f"{reloaded.how}, {reloaded.seconds:.1f} s"


class DagsterClient:
    """What a tick needs from Dagster, from the instance and the sensor's context."""

    def __init__(
        self,
        context: SensorEvaluationContext,
        state_key: str,
        names: AssetNames,
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
        """The version of the newest stored state."""
        return self._store.latest_version()

    def check_state(self) -> None:
        """Read the newest state; raises as `StateStore.load` does."""
        self._store.load()

    def store(self, discovery: Discovery) -> None:
        """Store a discovery as the newest state."""
        self._store.store(discovery)

    def refreshing(self) -> bool:
        """Whether a refresh is queued or running."""
        filters = RunsFilter(job_name=self._names.refresh_job, statuses=NOT_FINISHED_STATUSES)
        return self._instance.get_runs_count(filters) > 0

    def refreshed_since(self, since: float) -> bool:
        """Whether a refresh that started after a Unix time has succeeded."""
        filters = RunsFilter(
            job_name=self._names.refresh_job,
            statuses=[DagsterRunStatus.SUCCESS],
            created_after=datetime.fromtimestamp(since, tz=UTC),
        )
        return self._instance.get_runs_count(filters) > 0

    def in_flight(self) -> frozenset[AssetKey]:
        """The assets that queued and running runs will materialize."""
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
        """The data version of each asset's last materialization; None if there is none."""
        return pushed_versions(self._instance, keys)

    def written_versions(self, keys: Sequence[AssetKey]) -> Mapping[AssetKey, Written]:
        """What each asset's last push wrote, also one with options of its own."""
        return written_versions(self._instance, keys)

    def reload(self) -> str:
        """Reload the definitions from the newest state and return how; raises if that fails."""
        return self._reload(self._context)
