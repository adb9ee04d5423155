"""The job that keeps the lineage tables and Dagster's database small, and their history as long as wanted."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dagster import (
    JobDefinition,
    OpExecutionContext,
    Out,
    Output,
    op,
)
from sqlalchemy.exc import SQLAlchemyError

from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.one_op_job import one_op_job
from lineage_bridge_dagster.assets.upkeep_report import UpkeepRun
from lineage_bridge_dagster.automation.old_runs import delete_old_runs
from lineage_bridge_dagster.automation.run_retention import RetentionReport, RunRetention, retention_sentence
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.text import plural

#: Seconds that a run spends on old runs; the next one continues.
_RUN_SECONDS = 900.0


def upkeep_job(
    instance: ComponentInstance, history_days: float, retention: RunRetention | None = None
) -> JobDefinition:
    """Maintain the lineage tables one after the other, in one process; a failure does not stop the others.

    Args:
        instance: whose lineage tables.
        history_days: age up to which all of their snapshots are kept.
        retention: which old runs are deleted first; None for none.
    """
    names = instance.names

    @op(
        name=names.upkeep_job,
        description="Compacts the lineage tables, expires old snapshots, removes orphan files and old runs.",
        required_resource_keys={names.spark},
        out=Out(dict[str, int], description="What was done in all tables."),
    )
    def upkeep(context: OpExecutionContext) -> Output[dict[str, int]]:
        try:
            deleted = _delete_runs(instance, context, retention) if retention else {}
        except SQLAlchemyError as error:
            # The tables do not depend on it, and the next run deletes what this one has not.
            context.log.warning("Old runs were not deleted: %s", error)
            deleted = {"runs": "not deleted, see the run's log"}
        return _look_after(instance, context, history_days, deleted)

    return one_op_job(
        upkeep,
        "Keeps the lineage tables small: compacts them, expires snapshots that are older than "
        "their history, and removes files that no snapshot refers to. Runs may write lineage meanwhile. "
        "Deletes old runs too, if sensor.run_days is set.",
    )


def _delete_runs(
    instance: ComponentInstance, context: OpExecutionContext, retention: RunRetention
) -> dict[str, Any]:
    keys = (*instance.inventory.deps_of, instance.names.discovery_key)
    retention = replace(
        retention,
        own_jobs=frozenset(instance.names.jobs),
        own_assets={key.to_string() for key in keys},
    )

    def progress(report: RetentionReport) -> None:
        context.log.debug("%s deleted", plural(report.deleted.total(), "old run"))

    report = delete_old_runs(context.instance, retention, seconds=_RUN_SECONDS, progress=progress)
    text = retention_sentence(report)
    context.log.info(text)
    if report.logs_problem:
        context.log.warning("What the runs had printed was not deleted: %s", report.logs_problem)
    return {"runs": text}


def _look_after(
    instance: ComponentInstance,
    context: OpExecutionContext,
    history_days: float,
    deleted: Mapping[str, Any],
) -> Output[dict[str, int]]:
    # Imported here: definitions load without PySpark.
    from lineage_bridge_dagster.spark.chains.lineage_tables import COLUMNS
    from lineage_bridge_dagster.spark.iceberg_tables import TableName, exists
    from lineage_bridge_dagster.spark.upkeep import Upkeep, UpkeepLimits, keep_up

    with readable_failures():
        catalogs = instance.spark(context).all_catalogs
        catalog = catalogs.writable(catalogs.lineage.name).name
        spark = instance.spark(context).spark_session
    limits = UpkeepLimits(snapshots=1, hours=history_days * 24)

    def keep(name: TableName) -> Upkeep | None:
        return keep_up(spark, name, limits, utc_now()) if exists(spark, name) else None

    run = UpkeepRun(context.log, "lineage table", len(COLUMNS))
    for table in COLUMNS:
        name = TableName(catalog, instance.namespace, table)
        run.attempt(str(name), partial(keep, name))
    return run.output(history_days=history_days, **deleted)
