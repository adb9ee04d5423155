"""The asset that loads slices of a topic again: a partition is a day or an hour of its records."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from dagster import (
    AssetExecutionContext,
    AssetMaterialization,
    AssetsDefinition,
    AssetSpec,
    BackfillPolicy,
    DailyPartitionsDefinition,
    HourlyPartitionsDefinition,
    In,
    Nothing,
    Out,
    TimeWindowPartitionsDefinition,
    op,
)

from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.spark.failures import readable
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.text import plural
from lineage_bridge_dagster.topic_to_iceberg.facts import rejected_records
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadInstance, backfill_key, topic_key
from lineage_bridge_dagster.topic_to_iceberg.loading.slices import SliceCounts, SliceReport, TimeSlice
from lineage_bridge_dagster.topic_to_iceberg.metadata import LoadMetadata
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import BackfillSlices, TopicLoad
from lineage_bridge_dagster.topic_to_iceberg.specs import table_spec


def slice_partitions(backfill: BackfillSlices) -> TimeWindowPartitionsDefinition:
    """Days or hours in UTC, up to the present one."""
    if backfill.partition == "hour":
        return HourlyPartitionsDefinition(f"{backfill.start}-00:00", end_offset=1)
    return DailyPartitionsDefinition(backfill.start, end_offset=1)


def backfill_assets(instance: LoadInstance, load: TopicLoad) -> AssetsDefinition:
    """Define the asset that loads slices of a topic again.

    Raises:
        ValueError: the table has no partitions to be loaded by.
    """
    backfill = load.backfill
    if backfill is None:
        raise ValueError(f"{load.topic} has no backfill")
    spec = _spec(instance, load, backfill)
    names, name = instance.names, spec.key.to_user_string()
    source = topic_key(instance.cluster, load.topic)
    input_name, output_name = keys.op_name("in", source.to_user_string()), keys.op_name("out", name)

    @op(
        name=keys.op_name(names.backfill, name),
        ins={input_name: In(Nothing)},
        # Each slice is an event of its own, with its own counts.
        out={output_name: Out(Nothing, is_required=False)},
        required_resource_keys={names.spark, names.confluent},
        # A limit of this pool keeps the runs of a backfill apart.
        pool=names.backfill,
    )
    def load_slices(context: AssetExecutionContext) -> Iterator[Any]:
        yield from _load_slices(instance, load, backfill, context)

    per_run = backfill.partitions_per_run
    return AssetsDefinition(
        node_def=load_slices,
        keys_by_input_name={input_name: source},
        keys_by_output_name={output_name: spec.key},
        specs=[spec],
        backfill_policy=BackfillPolicy.multi_run(per_run) if per_run else BackfillPolicy.single_run(),
    )


def _spec(instance: LoadInstance, load: TopicLoad, backfill: BackfillSlices) -> AssetSpec:
    return table_spec(
        instance,
        load,
        backfill_key(load),
        description=f"Loads the records of a {backfill.partition} of the topic `{load.topic}` into the "
        f"Iceberg table `{load.dotted}` again, beside `{instance.key_of[load.topic].to_user_string()}`, "
        "which loads new ones: rows that are missing are inserted, wrong ones are corrected, and those that "
        "are right stay. Rows whose records the topic no longer has stay too.",
        partitions=slice_partitions(backfill),
    )


def _load_slices(
    instance: LoadInstance, load: TopicLoad, backfill: BackfillSlices, context: AssetExecutionContext
) -> Iterator[AssetMaterialization]:
    """Load the run's partitions again, and materialize each one when it is done."""
    slices = _slices(slice_partitions(backfill), context.partition_keys)
    late = None if backfill.late_minutes is None else timedelta(minutes=backfill.late_minutes)
    context.log.info(
        "Loading %s of %s again: %s to %s",
        plural(len(slices), backfill.partition),
        load.topic,
        slices[0].name,
        slices[-1].name,
    )
    with readable_failures():
        loader = instance.open_loaders(context, ())(load)
        for number, report in enumerate(_readable(loader.backfill(slices, late)), start=1):
            context.log.info("%s of %s: %s", number, len(slices), _sentence(report))
            yield AssetMaterialization(
                backfill_key(load),
                partition=report.slice.name,
                metadata=_metadata(load, report.counts),
            )


def _readable(reports: Iterator[SliceReport]) -> Iterator[SliceReport]:
    """Turn what Spark says of a failure into what to do about it."""
    try:
        yield from reports
    except Exception as error:
        raise readable(error) from error


def _slices(partitions: TimeWindowPartitionsDefinition, names: list[str]) -> list[TimeSlice]:
    windows = sorted((partitions.time_window_for_partition_key(name), name) for name in names)
    return [TimeSlice(name, window.start, window.end) for window, name in windows]


def _sentence(report: SliceReport) -> str:
    counts = report.counts
    rejected = f", {plural(counts.skipped, 'record')} rejected" if counts.skipped else ""
    text = (
        f"{counts.inserted:,} inserted, {counts.updated:,} updated, {counts.deleted:,} deleted"
        if counts.changed
        else "unchanged"
    )
    return f"{report.slice.name}: {plural(counts.read, 'record')} read, {text}{rejected}"


def _metadata(load: TopicLoad, counts: SliceCounts) -> dict[str, Any]:
    logged = load.failures == "log"
    return {
        **LoadMetadata(
            outcome="changed" if counts.changed else "unchanged",
            records_read=counts.read,
            rows_inserted=counts.inserted,
            rows_updated=counts.updated,
            rows_deleted=counts.deleted,
            rows_unchanged=counts.unchanged,
            records_skipped=0 if logged else counts.skipped,
            dead_letters=counts.skipped if logged else 0,
            rejected_records=rejected_records(counts.rejections),
        )
    }
