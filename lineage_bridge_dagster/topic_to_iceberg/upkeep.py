"""The job that compacts the tables of an instance and ends their old snapshots, and its schedule."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from dagster import (
    AssetObservation,
    Config,
    JobDefinition,
    OpExecutionContext,
    Out,
    ScheduleDefinition,
    op,
)
from pydantic import Field

from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.assets.one_op_job import one_op_job
from lineage_bridge_dagster.assets.upkeep_report import UpkeepRun, upkeep_metadata
from lineage_bridge_dagster.catalogs.iceberg.own_folders import given_paths
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.spark.iceberg_tables import exists
from lineage_bridge_dagster.spark.upkeep import Upkeep, UpkeepLimits
from lineage_bridge_dagster.text import first_few
from lineage_bridge_dagster.topic_to_iceberg.automation import INSTANCE, schedule
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadInstance
from lineage_bridge_dagster.topic_to_iceberg.loading.upkeep import keep_up_topic_table
from lineage_bridge_dagster.topic_to_iceberg.settings.load_runs import UpkeepConfig
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad


class UpkeepJobConfig(Config):
    """Options of one run."""

    tables: list[str] = Field(
        default_factory=list, description="Tables to look after, as database.table; empty means all of them."
    )


def limits(config: UpkeepConfig, load: TopicLoad) -> UpkeepLimits:
    """What an instance's configuration keeps of a table."""
    return UpkeepLimits(
        config.keep_snapshots,
        config.keep_hours,
        config.orphan_days or None,
        location=load.location or "",
        paths=given_paths(load.properties),
    )


def upkeep_job(instance: LoadInstance) -> JobDefinition:
    """One table after the other, in one process with one Spark session; one that fails stops no other."""
    names = instance.names

    @op(
        name=names.upkeep,
        description="Compacts the tables, expires their old snapshots and removes files without one.",
        required_resource_keys={names.spark},
        out=Out(dict[str, int], description="What was done in all tables."),
    )
    def upkeep(context: OpExecutionContext, config: UpkeepJobConfig) -> Iterator[Any]:
        with readable_failures():
            chosen = _chosen(instance.loads, config.tables)
        spark = getattr(context.resources, names.spark).spark_session

        def keep(load: TopicLoad) -> Upkeep | None:
            if not exists(spark, load.name):
                return None
            return keep_up_topic_table(spark, load.name, limits(instance.upkeep, load), utc_now())

        run = UpkeepRun(context.log, "table", len(chosen))
        for load in chosen:
            if (done := run.attempt(load.dotted, partial(keep, load))) is not None:
                yield AssetObservation(instance.key_of[load.topic], metadata=upkeep_metadata(done))
        yield run.output()

    return one_op_job(
        upkeep,
        "Keeps the tables small: compaction, old snapshots, files that nothing refers to. Loads "
        "may go on meanwhile.",
        tags={INSTANCE: names.upkeep},
    )


def upkeep_schedule(instance: LoadInstance, job: JobDefinition) -> list[ScheduleDefinition]:
    """The job's schedule; None without a cron expression."""
    config = instance.upkeep
    if not config.cron:
        return []
    return [
        schedule(
            f"{job.name}_schedule",
            job,
            config.cron,
            running=config.running,
            at_it="still at it",
            description=f"Runs `{job.name}`, unless a run is at it.",
        )
    ]


def _chosen(loads: Sequence[TopicLoad], tables: Sequence[str]) -> list[TopicLoad]:
    """The tables to look after.

    Raises:
        ConfigurationError: a name is not that of a table of the instance.
    """
    by_name = {load.dotted: load for load in loads}
    if unknown := [name for name in tables if name not in by_name]:
        raise ConfigurationError(
            f"This instance loads no table {first_few(unknown, 5)}.",
            hint=f"Name some of {first_few(sorted(by_name), 20)}.",
        )
    return [by_name[name] for name in dict.fromkeys(tables)] if tables else list(loads)
