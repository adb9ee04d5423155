"""The assets that load topics: one op for all of an instance, of which a run may select any."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dagster import (
    AssetCheckKey,
    AssetCheckSpec,
    AssetDep,
    AssetExecutionContext,
    AssetMaterialization,
    AssetObservation,
    AssetsDefinition,
    AssetSpec,
    Failure,
    In,
    MaterializeResult,
    MetadataValue,
    Nothing,
    Out,
    op,
)

from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.assets.times import now_ms
from lineage_bridge_dagster.config.topic_loads import TopicLoad
from lineage_bridge_dagster.dagster_internals import DagsterExecutionInterruptedError
from lineage_bridge_dagster.lineage.times import iso, utc_now
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.metadata import LineageMetadata, StandardMetadata
from lineage_bridge_dagster.text import first_few, plural
from lineage_bridge_dagster.topic_to_iceberg.checks import DESCRIPTIONS, outcomes
from lineage_bridge_dagster.topic_to_iceberg.facts import LoadFacts, load_metadata
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadInstance, topic_key
from lineage_bridge_dagster.topic_to_iceberg.others import refuse_beside_others
from lineage_bridge_dagster.topic_to_iceberg.run import LoadReport, LoadRun

#: Tag of a run that goes on until it is ended; any other run reads to the ends that the topics have now.
CONTINUOUS = keys.tag_key("load_continuously")

#: Seconds that the batches of an ending run have; what they did not commit, the next run does.
_GRACE_SECONDS = 20.0

_DESCRIPTION = {
    "append": "Each record of the topic is a row.",
    "upsert": "Each key of the topic is a row, with its last record; a record without a value deletes it.",
    "debezium": "Each row that Debezium captured is a row, with its last state.",
}


def load_specs(instance: LoadInstance) -> list[AssetSpec]:
    """The assets that load the topics of an instance."""
    return [_spec(instance, load) for load in instance.loads]


def _spec(instance: LoadInstance, load: TopicLoad) -> AssetSpec:
    cluster = instance.cluster
    catalog = () if load.in_default_glue else (load.catalog,)
    tags = {"cluster": cluster.cluster_id, "environment": cluster.environment_id}
    return AssetSpec(
        instance.key_of[load.topic],
        deps=[AssetDep(topic_key(cluster, load.topic))],
        group_name=keys.group_name("topic_to_iceberg", *catalog, load.database),
        kinds={"spark", "iceberg", "kafka"},
        description=f"Loads the topic `{load.topic}` into the Iceberg table `{load.dotted}`. "
        f"{_DESCRIPTION[load.mode]}",
        tags={keys.tag_key(name): keys.tag_value(value) for name, value in tags.items() if value},
        metadata={
            **LineageMetadata(
                cluster_id=cluster.cluster_id,
                environment_id=cluster.environment_id or None,
                catalog=load.catalog,
                database=load.database,
                table=load.table,
                topic=load.topic,
                load_mode=load.mode,
                error_handling=load.failures,
                dead_letter_topic=load.dead_letter_topic if load.failures == "log" else None,
            ),
            **StandardMetadata(table_name=load.dotted),
        },
    )


def load_assets(instance: LoadInstance) -> list[AssetsDefinition]:
    """Define the assets with their checks; none for an instance without topics."""
    if not instance.loads:
        return []
    specs = load_specs(instance)
    names = {spec.key: spec.key.to_user_string() for spec in specs}
    outputs = {keys.op_name("out", name): key for key, name in names.items()}
    inputs = {
        keys.op_name("in", dep.asset_key.to_user_string()): dep.asset_key
        for spec in specs
        for dep in spec.deps
    }
    checks = {
        keys.op_name(check, name): AssetCheckSpec(check, asset=key, description=description)
        for key, name in names.items()
        for check, description in DESCRIPTIONS.items()
    }

    @op(
        name=instance.names.op,
        ins=dict.fromkeys(inputs, In(Nothing)),
        out={
            **dict.fromkeys(outputs, Out(Nothing, is_required=False)),
            **dict.fromkeys(checks, Out(Nothing, is_required=False)),
        },
        required_resource_keys={instance.names.spark, instance.names.confluent},
    )
    def load_topics(context: AssetExecutionContext) -> Iterator[Any]:
        yield from _load(instance, context)

    return [
        AssetsDefinition(
            node_def=load_topics,
            keys_by_input_name=inputs,
            keys_by_output_name=outputs,
            check_specs_by_output_name=checks,
            specs=specs,
            can_subset=True,
        )
    ]


def _load(instance: LoadInstance, context: AssetExecutionContext) -> Iterator[Any]:
    """Load the selected topics, judge the selected checks, and only then fail for those that failed."""
    selected = [load for load in instance.loads if instance.key_of[load.topic] in context.selected_asset_keys]
    if not selected:
        yield from _checks(instance, context, _last_facts(instance, context))
        return
    refuse_beside_others(context, [instance.key_of[load.topic] for load in selected])
    continuous = CONTINUOUS in context.run.tags
    with readable_failures():
        open_loader = instance.open_loaders(context)
    settings = instance.run
    run = LoadRun(
        selected,
        open_loader,
        threads=settings.threads,
        commit_seconds=settings.commit_seconds,
        report_seconds=settings.report_minutes * 60 if continuous else None,
    )
    until = time.monotonic() + settings.restart_hours * 3600 if continuous else None
    context.log.info(
        "Loading %s %s",
        plural(len(selected), "topic"),
        f"for {settings.restart_hours:g} hours" if continuous else "to their present ends",
    )
    last: dict[str, LoadReport] = {}
    try:
        for report in run.reports(until):
            last[report.load.topic] = report
            yield from _events(instance, context, report, done=report.final)
    except DagsterExecutionInterruptedError:
        context.log.info("Ending after the batches under way")
        for report in run.rest(_GRACE_SECONDS):
            yield from _events(instance, context, report, done=False)
        raise
    finally:
        # Also when Dagster closes the step between two events.
        run.stop()
    now = now_ms()
    facts = {topic: LoadFacts.of(report, now) for topic, report in last.items()}
    yield from _checks(instance, context, facts)
    failed = [report for report in last.values() if report.error is not None]
    if failed:
        raise _failure(failed, len(selected))


def _events(
    instance: LoadInstance, context: AssetExecutionContext, report: LoadReport, *, done: bool
) -> Iterator[Any]:
    """What a report adds to the event log: a materialization, or an observation of a topic that failed."""
    key, metadata = instance.key_of[report.load.topic], load_metadata(report)
    totals, error = report.totals, report.error
    if error is not None:
        context.log.warning("%s: %s %s", report.load.topic, error.message, error.hint)
        yield AssetObservation(key, metadata=metadata)
        if not done:
            yield from _check_events(instance, context, report)
        return
    lag = f", {plural(report.look.lag_records, 'record')} behind" if report.look else ""
    rejected = f", {plural(totals.rejected, 'record')} rejected" if totals.rejected else ""
    context.log.info(
        "%s: %s in %s%s%s",
        report.load.topic,
        plural(totals.rows, "row"),
        plural(totals.commits, "commit"),
        rejected,
        lag,
    )
    if done:
        yield MaterializeResult(asset_key=key, metadata=metadata)
    elif totals.commits or totals.rejected:
        yield AssetMaterialization(key, metadata=metadata)
        yield from _check_events(instance, context, report)
    else:
        yield AssetObservation(key, metadata=metadata)


def _check_events(
    instance: LoadInstance, context: AssetExecutionContext, report: LoadReport
) -> Iterator[Any]:
    """Evaluations during a continuous run, whose own results come when it ends."""
    key, at = instance.key_of[report.load.topic], iso(utc_now())
    selected = context.selected_asset_check_keys
    for check, outcome in outcomes(report.load, LoadFacts.of(report, now_ms())).items():
        if AssetCheckKey(key, check) in selected:
            result = outcome.result(key, check, at)
            yield result.to_asset_check_evaluation(context.get_step_execution_context())


def _checks(
    instance: LoadInstance, context: AssetExecutionContext, facts: Mapping[str, LoadFacts]
) -> Iterator[Any]:
    at = iso(utc_now())
    for load in instance.loads:
        key = instance.key_of[load.topic]
        wanted = [
            check for check in DESCRIPTIONS if AssetCheckKey(key, check) in context.selected_asset_check_keys
        ]
        if wanted:
            found = outcomes(load, facts.get(load.topic))
            for check in wanted:
                yield found[check].result(key, check, at)


def _last_facts(instance: LoadInstance, context: AssetExecutionContext) -> dict[str, LoadFacts]:
    """The facts of each topic's last event, for a run of checks alone."""
    found: dict[str, LoadFacts] = {}
    for load in instance.loads:
        key = instance.key_of[load.topic]
        if not any(check.asset_key == key for check in context.selected_asset_check_keys):
            continue
        event = context.instance.get_latest_materialization_event(key)
        observed = context.instance.fetch_observations(key, limit=1).records
        materialization = event.asset_materialization if event else None
        observation = observed[0].asset_observation if observed else None
        newer = event is None or (observed and observed[0].timestamp > event.timestamp)
        latest = observation if observation and newer else materialization
        if latest is not None:
            found[load.topic] = LoadFacts.parse(latest.metadata)
    return found


def _failure(failed: Sequence[LoadReport], topics: int) -> Failure:
    """One failure that names all topics that were not loaded, with the reasons as metadata."""
    ordered = sorted(failed, key=lambda report: report.load.topic)
    rows = [
        [report.load.topic, report.load.dotted, error.outcome, error.message, error.hint]
        for report in ordered
        if (error := report.error) is not None
    ]
    first = rows[0]
    return Failure(
        description=f"{len(failed)} of {plural(topics, 'topic')} not loaded: "
        f"{first_few([row[0] for row in rows], 20)}.\n{first[0]}: {first[3]}"
        + (f"\n  -> {first[4]}" if first[4] else ""),
        metadata={
            "topics": MetadataValue.md(
                markdown_table(["topic", "table", "outcome", "reason", "what to do"], rows)
            )
        },
        # The others are loaded, and the next run continues with these.
        allow_retries=False,
    )
