"""What the counters of runs have counted, as a record that Dagster's storage keeps. Pure.

A restart of the exporter, and a second one, go on from the same record. What is older than `SETTLING` is
settled: it is added once, and never read again. What is newer is added to each page anew, because a process
may store it late.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lineage_bridge_dagster.assets.run_reports import (
    DiscoveryRunReport,
    LoadRunReport,
    PushRunReport,
    RunReport,
    TopicReport,
)
from lineage_bridge_dagster.formats import METRICS
from lineage_bridge_dagster.json_text import json_of

#: Seconds after which everything is stored that a process has to tell of a time.
SETTLING = 120.0
#: Seconds after which totals are stored that have not changed, so that less is read again.
_STORE_SECONDS = 3600.0
#: Seconds after which a topic that no run loads is left out.
FORGOTTEN = 24 * 3600.0


class FinishedRun(NamedTuple):
    """A run that has ended; times in Unix seconds."""

    job: str
    status: str
    ended: float
    seconds: float


class StoredReport(NamedTuple):
    """The Unix time in seconds of an event, its id, and the report in it; None for an event without one."""

    at: float
    event_id: int
    report: RunReport | None


class RunCount(BaseModel):
    """The runs of a job with one status."""

    model_config = ConfigDict(extra="ignore")

    count: int = 0
    seconds: float = 0.0
    last: float = 0.0


class MeasuredTopic(BaseModel):
    """A topic as a run left it; `at` in Unix seconds."""

    model_config = ConfigDict(extra="ignore")

    at: float
    outcome: str = "loaded"
    lag_records: int | None = None
    lag_seconds: float | None = None


class ComponentTotals(BaseModel):
    """What was counted of one instance of a component. Times are Unix seconds."""

    model_config = ConfigDict(extra="ignore")

    discoveries: dict[str, int] = Field(default_factory=dict)
    discovery_seconds: float = 0.0
    discovery_last: dict[str, float] = Field(default_factory=dict)
    #: Of the last discovery that found anything.
    found_at: float = 0.0
    #: Of the last discovery or push.
    last: float = 0.0
    scopes: dict[str, int] = Field(default_factory=dict)
    glue_tables: dict[str, int] = Field(default_factory=dict)
    carried_since: dict[str, float] = Field(default_factory=dict)

    requests: dict[str, dict[str, int]] = Field(default_factory=dict)
    retries: dict[str, int] = Field(default_factory=dict)

    pushes: int = 0
    push_seconds: float = 0.0
    pushed: dict[str, int] = Field(default_factory=dict)
    full_push_at: float = 0.0
    full_push: dict[str, int] = Field(default_factory=dict)

    rows: int = 0
    skipped: int = 0
    dead_letters: int = 0
    topics: dict[str, MeasuredTopic] = Field(default_factory=dict)

    @property
    def last_load(self) -> float:
        """Of the last load of topics."""
        return max((topic.at for topic in self.topics.values()), default=0.0)

    @property
    def last_report(self) -> float:
        return max(self.last, self.last_load)

    def add(self, at: float, report: RunReport) -> None:
        """Add a report of a Unix time."""
        for api, by_status in report.requests.items():
            _add(self.requests.setdefault(api, {}), by_status)
        _add(self.retries, report.retries)
        if isinstance(report, LoadRunReport):
            self._add_load(at, report)
            return
        self.last = max(self.last, at)
        if isinstance(report, DiscoveryRunReport):
            self._add_discovery(at, report)
        else:
            self._add_push(at, report)

    def _add_discovery(self, at: float, report: DiscoveryRunReport) -> None:
        _add(self.discoveries, {report.result: 1})
        self.discovery_seconds += report.seconds
        self.discovery_last[report.result] = max(at, self.discovery_last.get(report.result, 0.0))
        if report.result != "failed" and at >= self.found_at:
            self.found_at, self.scopes = at, dict(report.scopes)
            self.glue_tables, self.carried_since = dict(report.tables), dict(report.carried_since)

    def _add_push(self, at: float, report: PushRunReport) -> None:
        self.pushes += 1
        self.push_seconds += report.seconds
        _add(self.pushed, report.tables)
        if report.every_table and at >= self.full_push_at:
            self.full_push_at, self.full_push = at, dict(report.tables)

    def _add_load(self, at: float, report: LoadRunReport) -> None:
        for name, topic in report.topics.items():
            self.rows += topic.rows
            self.skipped += topic.skipped
            self.dead_letters += topic.dead_letters
            if name not in self.topics or at >= self.topics[name].at:
                self.topics[name] = _measured(at, topic)
        for name in [name for name, topic in self.topics.items() if at - topic.at > FORGOTTEN]:
            del self.topics[name]


class RunTotals(BaseModel):
    """What was counted of all runs.

    Attributes:
        began: Unix time in seconds from which on runs are counted.
        settled: Unix time in seconds up to which they are.
        event_id: id of an event before which nothing is left to count.
        runs: by job, then by status.
        components: by the name of the component's instance.
    """

    model_config = ConfigDict(extra="ignore")

    version: int = METRICS.version
    began: float
    settled: float
    event_id: int = 0
    runs: dict[str, dict[str, RunCount]] = Field(default_factory=dict)
    components: dict[str, ComponentTotals] = Field(default_factory=dict)

    @classmethod
    def begin(cls, now: float, event_id: int = 0) -> Self:
        """Count from now on."""
        return cls(began=now, settled=now, event_id=event_id)

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """A stored record; None if it is missing or cannot be read.

        Raises:
            NewerFormatError: a newer version of this project stored it.
        """
        found = json_of(text, dict)
        if not found:
            return None
        METRICS.check(found.get(METRICS.key), METRICS.place)
        try:
            return cls.model_validate(found)
        except ValidationError:
            return None

    def add_run(self, run: FinishedRun) -> None:
        """Add a run that has ended."""
        found = self.runs.setdefault(run.job, {}).setdefault(run.status, RunCount())
        found.count += 1
        found.seconds += run.seconds
        found.last = max(found.last, run.ended)

    def add_report(self, stored: StoredReport) -> None:
        """Add the report of a run."""
        if stored.report is None:
            return
        component = self.components.setdefault(stored.report.component, ComponentTotals())
        component.add(stored.at, stored.report)


@dataclass(frozen=True)
class Counted:
    """The totals of a scrape, and those that are settled.

    Attributes:
        changed: whether the settled ones differ from those before, and should be stored.
    """

    now: RunTotals
    settled: RunTotals
    changed: bool


def count(
    before: RunTotals, runs: Iterable[FinishedRun], reports: Iterable[StoredReport], now: float
) -> Counted:
    """Add what has ended since `before.settled`, which may be given again by each call until it settles."""
    until = max(before.settled, now - SETTLING)
    settled = before.model_copy(deep=True)
    late: list[FinishedRun | StoredReport] = []
    changed = until - before.settled >= _STORE_SECONDS
    for run in runs:
        if before.settled < run.ended <= until:
            settled.add_run(run)
            changed = True
        elif run.ended > until:
            late.append(run)
    for stored in sorted(reports, key=lambda each: each.at):
        if before.settled < stored.at <= until:
            settled.add_report(stored)
            settled.event_id = max(settled.event_id, stored.event_id)
            changed = changed or stored.report is not None
        elif stored.at > until:
            late.append(stored)
    settled.settled = until
    current = settled.model_copy(deep=True)
    for each in late:
        if isinstance(each, FinishedRun):
            current.add_run(each)
        else:
            current.add_report(each)
    return Counted(current, settled, changed)


def _measured(at: float, topic: TopicReport) -> MeasuredTopic:
    return MeasuredTopic(
        at=at, outcome=topic.outcome, lag_records=topic.lag_records, lag_seconds=topic.lag_seconds
    )


def _add(to: dict[str, int], numbers: Mapping[str, int]) -> None:
    for name, number in numbers.items():
        to[name] = to.get(name, 0) + number
