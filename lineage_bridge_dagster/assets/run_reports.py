"""What a run did, as numbers in its event log, from which the exporter of metrics computes totals.

A run's process ends with the run, so nothing can scrape it. A report is an engine event: it is stored at
once, also by a step that then fails, and the page of the run shows it.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Literal

from dagster import DagsterInstance, DagsterRun, MetadataValue
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from lineage_bridge_dagster.assets.metadata import RunMetadata
from lineage_bridge_dagster.config.request_counts import RequestCounts, counting
from lineage_bridge_dagster.dagster_internals.runs import EngineEventData
from lineage_bridge_dagster.lineage.carried import carried_over
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_status import GlueStatus, glue_counts
from lineage_bridge_dagster.lineage.push_results import PushReport
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.text import counted

#: The metadata key of a report.
REPORT = RunMetadata.key("report")

_log = logging.getLogger(__name__)


class _Report(BaseModel):
    """What every report has. Newer versions may add fields, which older ones ignore.

    Attributes:
        component: the name of the component's instance; empty for one without.
        seconds: how long it took.
        requests: by API, then by status.
        retries: requests that repeated another one, by API.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    component: str = ""
    seconds: float = 0.0
    requests: Mapping[str, Mapping[str, int]] = Field(default_factory=dict)
    retries: Mapping[str, int] = Field(default_factory=dict)


class DiscoveryRunReport(_Report):
    """A refresh.

    Attributes:
        result: `failed` if it found nothing that could be stored.
        scopes: the number of scopes by status.
        tables: those that Tableflow syncs to Glue, by `GlueStatus`.
        carried_since: Unix time, in seconds, when the oldest of what is carried over was last seen; by API.
    """

    kind: Literal["discovery"] = "discovery"
    result: Literal["complete", "incomplete", "failed"] = "failed"
    scopes: Mapping[str, int] = Field(default_factory=dict)
    tables: Mapping[str, int] = Field(default_factory=dict)
    carried_since: Mapping[str, float] = Field(default_factory=dict)


class PushRunReport(_Report):
    """A push.

    Attributes:
        tables: the number of tables by outcome.
        every_table: whether it was asked for all of the component's tables.
    """

    kind: Literal["push"] = "push"
    tables: Mapping[str, int] = Field(default_factory=dict)
    every_table: bool = False


class TopicReport(BaseModel):
    """What a run did to a topic since its last report, and how far its table is behind it.

    Attributes:
        lag_records: None if the table or its topic could not be read; so is `lag_seconds`, the age of the
            oldest record that is not in the table.
        skipped: records that left no row.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    rows: int = 0
    skipped: int = 0
    dead_letters: int = 0
    lag_records: int | None = None
    lag_seconds: float | None = None
    outcome: Literal["loaded", "failed", "suspended"] = "loaded"


class LoadRunReport(_Report):
    """A load of topics, by the topic's name; a run that goes on for hours reports from time to time."""

    kind: Literal["load"] = "load"
    topics: Mapping[str, TopicReport] = Field(default_factory=dict)


RunReport = Annotated[DiscoveryRunReport | PushRunReport | LoadRunReport, Field(discriminator="kind")]
_ADAPTER: TypeAdapter[RunReport] = TypeAdapter(RunReport)


def discovery_report(found: Discovery) -> DiscoveryRunReport:
    """The numbers of a discovery."""
    scopes = Counter(str(report.status) for report in found.coverage)
    glue = glue_counts(found.graph)
    tables = {
        str(GlueStatus.FOUND): glue.found,
        str(GlueStatus.MISSING): sum(glue.missing.values()),
        str(GlueStatus.UNKNOWN): sum(glue.unknown.values()),
    }
    carried: dict[str, float] = {}
    for each in carried_over(found):
        if since := parse_iso(each.since):
            carried[each.scope.api] = min(carried.get(each.scope.api, since.timestamp()), since.timestamp())
    result: Literal["complete", "incomplete"] = "complete" if found.coverage.complete else "incomplete"
    return DiscoveryRunReport(result=result, scopes=scopes, tables=tables, carried_since=carried)


def push_report(report: PushReport, *, every_table: bool) -> PushRunReport:
    """The numbers of a push."""
    return PushRunReport(tables=report.counts, every_table=every_table)


class Measured:
    """What is measured of a part of a run; `report`, once it is set, tells what the part did."""

    def __init__(self, report: RunReport) -> None:
        self.report: RunReport = report


@contextmanager
def reported(
    instance: DagsterInstance, run: DagsterRun, component: str, unless_set: RunReport
) -> Iterator[Measured]:
    """Time a part of a run, count its requests, and report it, also if it fails.

    Args:
        component: the name of the component's instance.
        unless_set: what is reported if the part ends before it sets a report of its own.
    """
    measured, began = Measured(unless_set), time.monotonic()
    with counting(RequestCounts()) as counts:
        try:
            yield measured
        finally:
            requests, retries = counts.take()
            common = {
                "component": component,
                "seconds": round(time.monotonic() - began, 3),
                "requests": requests,
                "retries": retries,
            }
            report_run(instance, run, measured.report.model_copy(update=common))


def report_run(instance: DagsterInstance, run: DagsterRun, report: RunReport) -> None:
    """Store a report in the event log of a run. A run must not fail because of its numbers."""
    try:
        instance.report_engine_event(
            _sentence(report),
            run,
            EngineEventData({**RunMetadata(report=MetadataValue.json(report.model_dump(mode="json")))}),
        )
    except Exception:
        _log.warning("The numbers of run %s could not be stored", run.run_id, exc_info=True)


def parse_report(metadata: Mapping[str, MetadataValue]) -> RunReport | None:
    """The report in the metadata of an engine event; None if it has none that this version understands."""
    value = metadata.get(REPORT)
    if value is None:
        return None
    try:
        return _ADAPTER.validate_python(value.value)
    except ValidationError:
        return None


def _sentence(report: RunReport) -> str:
    if isinstance(report, DiscoveryRunReport):
        what = f"Discovery {report.result}"
    elif isinstance(report, PushRunReport):
        what = f"Pushed {counted({name: n for name, n in report.tables.items() if n}) or 'no table'}"
    else:
        what = f"Loaded {len(report.topics)} topics, {sum(each.rows for each in report.topics.values())} rows"
    requests = sum(sum(by_status.values()) for by_status in report.requests.values())
    return f"{what} in {report.seconds:.1f} s, {requests} requests"
