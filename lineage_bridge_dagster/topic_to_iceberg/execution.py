"""A run of the op: loads the selected topics, and tells what happened as events of their assets."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dagster import (
    AssetCheckKey,
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetObservation,
    DagsterRunStatus,
    EventLogRecord,
    Failure,
    MaterializeResult,
    RunsFilter,
)

from lineage_bridge_dagster.assets.failures import failure_of, readable_failures
from lineage_bridge_dagster.assets.times import now_ms
from lineage_bridge_dagster.config.request_counts import RequestCounts, counting
from lineage_bridge_dagster.dagster_internals.runs import DagsterExecutionInterruptedError
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.text import plural
from lineage_bridge_dagster.topic_to_iceberg.checks import DESCRIPTIONS, outcomes
from lineage_bridge_dagster.topic_to_iceberg.facts import LoadFacts, load_metadata
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadInstance
from lineage_bridge_dagster.topic_to_iceberg.key_watch import KeyWatch
from lineage_bridge_dagster.topic_to_iceberg.metadata import LoadMetadata
from lineage_bridge_dagster.topic_to_iceberg.numbers import LoadNumbers
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadReport
from lineage_bridge_dagster.topic_to_iceberg.run import LoadRun
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

#: Tag of a run that goes on until it is ended; any other run reads to the ends that the topics have now.
CONTINUOUS = keys.tag_key("load_continuously")

#: Seconds that the batches of an ending run have; what they did not commit, the next run does.
_GRACE_SECONDS = 20.0
_ACTIVE = [DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]
#: Observations of a table to look back at.
_OBSERVATIONS = 10


def load(instance: LoadInstance, context: AssetExecutionContext) -> Iterator[Any]:
    """Load the selected topics, judge the selected checks, and only then fail for those that failed.

    A run of checks alone judges what the last run told.
    """
    selected = [load for load in instance.loads if instance.key_of[load.topic] in context.selected_asset_keys]
    if not selected:
        yield from _check_results(instance, context, _last_facts(instance, context))
        return
    _refuse_concurrent_runs(context, [instance.key_of[load.topic] for load in selected])
    continuous = CONTINUOUS in context.run.tags
    settings = instance.run
    with readable_failures(), counting(RequestCounts()) as counts:
        run = LoadRun(
            selected,
            instance.open_loaders(context, () if continuous else selected),
            threads=settings.threads,
            commit_seconds=settings.commit_seconds,
            report_seconds=settings.report_minutes * 60 if continuous else None,
        )
    until = time.monotonic() + settings.restart_hours * 3600 if continuous else None
    rotated = KeyWatch(getattr(context.resources, instance.names.confluent).settings) if continuous else None
    context.log.info(
        "Loading %s %s",
        plural(len(selected), "topic"),
        f"for {settings.restart_hours:g} hours" if continuous else "to their present ends",
    )
    events = _Events(instance, context)
    numbers = LoadNumbers(context.instance, context.run, instance.names.prefix, counts)
    try:
        for report in run.reports(until, rotated or (lambda: False)):
            numbers.add(report)
            yield from events.of(report, done=report.final)
    except DagsterExecutionInterruptedError:
        context.log.info("Ending after the batches under way")
        for report in run.rest(_GRACE_SECONDS):
            numbers.add(report)
            yield from events.of(report, done=False)
        raise
    finally:
        # Also when Dagster closes the step between two events.
        run.stop()
        numbers.report()
    yield from _check_results(instance, context, events.facts)
    if failed := [report for report in events.last.values() if report.error is not None]:
        raise _failure(failed, len(selected))


def _refuse_concurrent_runs(context: AssetExecutionContext, selected: Collection[AssetKey]) -> None:
    """Check that no run that began earlier is loading one of these assets, before this one starts Spark.

    The commits refuse a second writer, too; this says so earlier, and names the run.

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


class _Events:
    """What the reports of a run add to the event log.

    Attributes:
        last: the last report of each topic.
        facts: of each topic, for its checks. The records that were left out are those of the whole run, so
            that a check which failed early in a long run does not pass a moment later.
    """

    def __init__(self, instance: LoadInstance, context: AssetExecutionContext) -> None:
        self._instance = instance
        self._context = context
        self.last: dict[str, LoadReport] = {}
        self.facts: dict[str, LoadFacts] = {}

    def of(self, report: LoadReport, *, done: bool) -> Iterator[Any]:
        """The events of a report: `done` if the run is done with the topic, and its result is due."""
        topic, totals, error = report.load.topic, report.totals, report.error
        self.last[topic] = report
        facts, before = LoadFacts.of(report, now_ms()), self.facts.get(topic)
        if before is not None:
            facts = replace(
                facts,
                skipped=facts.skipped + before.skipped,
                dead_letters=facts.dead_letters + before.dead_letters,
                rejections=before.rejections.plus(facts.rejections),
            )
        self.facts[topic] = facts
        self._log(report)
        key, metadata = self._instance.key_of[topic], load_metadata(report)
        if error is None and done:
            # The results of the checks follow when all topics are done.
            yield MaterializeResult(asset_key=key, metadata=metadata)
            return
        if totals.commits and not done:
            yield AssetMaterialization(key, metadata=metadata)
        else:
            yield AssetObservation(key, metadata=metadata)
        if not done:
            yield from self._evaluations(report.load, facts)

    def _log(self, report: LoadReport) -> None:
        totals, error = report.totals, report.error
        if error is not None:
            self._context.log.warning("%s: %s %s", report.load.topic, error.message, error.hint)
        lag = f", {plural(report.status.lag_records, 'record')} behind" if report.status else ""
        rejected = f", {plural(totals.rejected, 'record')} rejected" if totals.rejected else ""
        self._context.log.info(
            "%s: %s in %s%s%s",
            report.load.topic,
            plural(totals.rows, "row"),
            plural(totals.commits, "commit"),
            rejected,
            lag,
        )

    def _evaluations(self, load: TopicLoad, facts: LoadFacts) -> Iterator[Any]:
        """Evaluations while a run goes on, whose results come when it ends."""
        key = self._instance.key_of[load.topic]
        for check, outcome in outcomes(load, facts).items():
            if AssetCheckKey(key, check) in self._context.selected_asset_check_keys:
                result = outcome.result(key, check)
                yield result.to_asset_check_evaluation(self._context.get_step_execution_context())


def _check_results(
    instance: LoadInstance, context: AssetExecutionContext, facts: Mapping[str, LoadFacts]
) -> Iterator[Any]:
    for each in instance.loads:
        key = instance.key_of[each.topic]
        selected = context.selected_asset_check_keys
        wanted = [check for check in DESCRIPTIONS if AssetCheckKey(key, check) in selected]
        if wanted:
            found = outcomes(each, facts.get(each.topic))
            for check in wanted:
                yield found[check].result(key, check)


def _last_facts(instance: LoadInstance, context: AssetExecutionContext) -> dict[str, LoadFacts]:
    """The facts of each topic's last event, for a run of checks alone."""
    found: dict[str, LoadFacts] = {}
    for each in instance.loads:
        key = instance.key_of[each.topic]
        if not any(check.asset_key == key for check in context.selected_asset_check_keys):
            continue
        event = context.instance.get_latest_materialization_event(key)
        materialization = event.asset_materialization if event else None
        loads = filter(_is_of_load, context.instance.fetch_observations(key, _OBSERVATIONS).records)
        observed = next(loads, None)
        observation = observed.asset_observation if observed else None
        newer = event is None or (observed and observed.timestamp > event.timestamp)
        latest = observation if observation and newer else materialization
        if latest is not None:
            found[each.topic] = LoadFacts.parse(latest.metadata)
    return found


def _is_of_load(record: EventLogRecord) -> bool:
    """Whether an observation is of a load: upkeep observes tables too, and knows nothing of loads."""
    observation = record.asset_observation
    return observation is not None and LoadMetadata.key("load_mode") in observation.metadata


def _failure(failed: Sequence[LoadReport], topics: int) -> Failure:
    """One failure that names all topics that were not loaded, with the reasons as metadata."""
    ordered = sorted(failed, key=lambda report: report.load.topic)
    # The others are loaded, and the next run continues with these.
    return failure_of(
        f"{len(failed)} of {plural(topics, 'topic')} not loaded",
        [
            [report.load.topic, report.load.dotted, error.outcome, error.message, error.hint]
            for report in ordered
            if (error := report.error) is not None
        ],
        columns=["topic", "table", "outcome", "reason", "what to do"],
        metadata_key="topics",
    )
