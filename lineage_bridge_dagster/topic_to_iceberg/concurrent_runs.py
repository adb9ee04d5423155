"""Two runs that load one table: the second one is refused before it starts Spark.

The commits refuse a second writer, too; this says so earlier, and names the run.
"""

from __future__ import annotations

from collections.abc import Collection

from dagster import AssetExecutionContext, AssetKey, DagsterRunStatus, Failure, RunsFilter

_ACTIVE = [DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]


def refuse_concurrent_runs(context: AssetExecutionContext, selected: Collection[AssetKey]) -> None:
    """Check that no run that began earlier is loading one of these assets.

    Raises:
        Failure: one is; it names the run.
    """
    records = context.instance.get_run_records(RunsFilter(statuses=_ACTIVE))
    own = next((record for record in records if record.dagster_run.run_id == context.run.run_id), None)
    for record in records:
        run = record.dagster_run
        if run.run_id == context.run.run_id or (own and record.storage_id > own.storage_id):
            continue
        shared = sorted(set(selected) & set(run.asset_selection or ()))
        if shared:
            raise Failure(
                description=f"Run {run.run_id} is loading {shared[0].to_user_string()} already.\n"
                "  -> Let it end, or terminate it. If its process is gone, mark it as canceled in the UI.",
                allow_retries=False,
            )
