"""Runs of a small code location, most of which nothing needs any more."""

from dataclasses import dataclass, field
from typing import Any

from dagster import (
    AssetCheckResult,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetObservation,
    AssetSelection,
    DagsterInstance,
    Definitions,
    Field,
    MaterializeResult,
    OpExecutionContext,
    asset,
    define_asset_job,
    in_process_executor,
    job,
    op,
)

PREFIX = "played_runs"
ORDERS, CUSTOMERS, GONE = (AssetKey([PREFIX, name]) for name in ("orders", "customers", "gone"))
#: Names of the component's own jobs, and of somebody else's.
LINEAGE, REFRESH, THEIRS = "materialize_lineage", "refresh", "theirs"


@asset(
    key=ORDERS,
    check_specs=[AssetCheckSpec("valid", asset=ORDERS)],
    config_schema={"fails": Field(bool, default_value=False)},
)
def orders(context: AssetExecutionContext) -> MaterializeResult:
    if context.op_execution_context.op_config["fails"]:
        raise ValueError("on purpose")
    return MaterializeResult(
        metadata={"rows": 7}, check_results=[AssetCheckResult(passed=True, metadata={"seen": 7})]
    )


@asset(key=CUSTOMERS)
def customers() -> MaterializeResult:
    return MaterializeResult(metadata={"rows": 8})


@asset(key=GONE)
def gone() -> MaterializeResult:
    return MaterializeResult(metadata={"rows": 9})


@op(config_schema={"fails": bool, "observes": bool})
def work(context: OpExecutionContext) -> None:
    if context.op_config["observes"]:
        context.log_event(AssetObservation(CUSTOMERS, metadata={"lag": 3}))
    if context.op_config["fails"]:
        raise ValueError("on purpose")


@job(name=REFRESH, executor_def=in_process_executor)
def refresh() -> None:
    work()


@job(name=THEIRS, executor_def=in_process_executor)
def theirs() -> None:
    work()


DEFINITIONS = Definitions(
    assets=[orders, customers, gone],
    jobs=[define_asset_job(LINEAGE, AssetSelection.all(), executor_def=in_process_executor), refresh, theirs],
)


@dataclass
class PlayedRuns:
    """The runs by name, those that may go and those that stay."""

    instance: DagsterInstance
    ids: dict[str, str] = field(default_factory=dict)

    def materialize(self, name: str, *keys: AssetKey, fails: bool = False) -> None:
        config = {"ops": {f"{PREFIX}__orders": {"config": {"fails": True}}}} if fails else None
        found = DEFINITIONS.resolve_job_def(LINEAGE).execute_in_process(
            instance=self.instance, asset_selection=list(keys), run_config=config, raise_on_error=False
        )
        self.ids[name] = found.run_id

    def work(self, name: str, job_name: str = REFRESH, **options: Any) -> None:
        config = {"fails": False, "observes": False, **options}
        tags = config.pop("tags", None)
        found = DEFINITIONS.resolve_job_def(job_name).execute_in_process(
            instance=self.instance,
            run_config={"ops": {"work": {"config": config}}},
            tags=tags,
            raise_on_error=False,
        )
        self.ids[name] = found.run_id

    @property
    def left(self) -> set[str]:
        """The names of the runs that are still stored."""
        stored = {run.run_id for run in self.instance.get_runs()}
        return {name for name, run_id in self.ids.items() if run_id in stored}


#: Names of runs of `play` that nothing needs.
OLD = {"orders 1", "orders 2", "refresh 1", "refresh 3"}
#: Those that stay whatever their age, each for a reason of its own.
NEEDED = {"all", "orders 3", "refresh 2 observes", "refresh 4", "refresh 5 fails", "scheduled"}


def play(instance: DagsterInstance) -> PlayedRuns:
    """Some runs of the component's jobs and of another one."""
    runs = PlayedRuns(instance)
    runs.materialize("orders 1", ORDERS)
    runs.materialize("all", ORDERS, CUSTOMERS)
    runs.materialize("orders 2", ORDERS)
    runs.materialize("orders 3", ORDERS)
    runs.work("refresh 1")
    runs.work("refresh 2 observes", observes=True)
    runs.work("refresh 3")
    runs.work("scheduled", tags={"dagster/schedule_name": "refresh_schedule"})
    runs.work("refresh 4")
    runs.work("refresh 5 fails", fails=True)
    runs.work("theirs 1", THEIRS)
    runs.work("theirs 2", THEIRS)
    return runs
