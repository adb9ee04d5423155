"""What a page of metrics is computed from: a few queries to the storage of Dagster's instance.

None of them grows with the number of tables. Results of checks are read once, as the storage adds them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from dagster import DagsterInstance, DagsterRunStatus, RunsFilter
from pydantic import ValidationError

from lineage_bridge_dagster.assets.checks import IN_SYNC, SCHEMA, TABLEFLOW
from lineage_bridge_dagster.assets.discovery import CHECK as DISCOVERY_COMPLETE
from lineage_bridge_dagster.assets.run_reports import parse_report
from lineage_bridge_dagster.assets.table_commits import FRESH
from lineage_bridge_dagster.automation.cursor import Cursor
from lineage_bridge_dagster.dagster_internals.instance import (
    AutomationState,
    automations,
    check_rows,
    failed_check_rows,
    first_check_row,
    keep_values,
    read_values,
)
from lineage_bridge_dagster.dagster_internals.runs import (
    NOT_FINISHED_STATUSES,
    engine_events,
    newest_engine_event,
)
from lineage_bridge_dagster.operations.metrics.totals import (
    FinishedRun,
    RunTotals,
    StoredReport,
    count,
)
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster.topic_to_iceberg.checks import DESCRIPTIONS as TOPIC_CHECKS
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadNames

#: Where the totals of runs are kept in the storage of the instance.
TOTALS_KEY = "lineage_bridge:metrics"
#: Seconds after which the result of a check no longer counts: every check is evaluated once a day, so that
#: the result of a table that was dropped goes away.
CHECKED_WITHIN = 26 * 3600.0
#: Seconds after which a job, a component or a code location that reports nothing is taken for removed.
REMOVED_AFTER = 7 * 24 * 3600.0
#: Seconds after which a check that was planned is taken for one that no run will evaluate.
_PLANNED_FOR = 6 * 3600.0

_FINISHED = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
_NAMES, _LOADS = AssetNames(), LoadNames()
_JOBS = (
    *_NAMES.jobs,
    _LOADS.job, _LOADS.upkeep,
)  # fmt: skip
_AUTOMATIONS = (
    _NAMES.sensor, _NAMES.refresh_schedule, _NAMES.push_schedule, _NAMES.nightly_schedule,
    _NAMES.freshness_schedule, _NAMES.upkeep_schedule, _LOADS.schedule, _LOADS.sensor,
    f"{_LOADS.upkeep}_schedule",
)  # fmt: skip
_CHECKS = (IN_SYNC, SCHEMA, TABLEFLOW, FRESH, DISCOVERY_COMPLETE, *TOPIC_CHECKS)


class UnfinishedRun(NamedTuple):
    """A queued or running run; the time in Unix seconds."""

    job: str
    status: str
    created: float


class Sensor(NamedTuple):
    """The lineage sensor of a component, as its last tick left it; without a cursor before a good one."""

    component: str
    location: str
    cursor: Cursor | None


@dataclass(frozen=True)
class InstanceReading:
    """What the storage tells at a Unix time in seconds, as all times are."""

    now: float
    totals: RunTotals
    unfinished: tuple[UnfinishedRun, ...] = ()
    automations: tuple[AutomationState, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    checks: Mapping[tuple[str, str], int] = field(default_factory=dict)
    heartbeats: Mapping[str, float] = field(default_factory=dict)


#: A sensor or schedule, with the cursor of one that is a lineage sensor.
_Automation = tuple[AutomationState, Cursor | None]
_Automations = Sequence[_Automation]


class InstanceReader:
    """Reads one instance, one scrape after the other."""

    def __init__(self, instance: DagsterInstance, clock: Callable[[], float]) -> None:
        self._instance = instance
        self._clock = clock
        self._lock = threading.Lock()
        self._checks = _CheckResults(instance)

    def read(self) -> InstanceReading:
        """Read everything; any error of the storage is raised, so that no page shows zeros instead."""
        with self._lock:
            now = self._clock()
            known = [
                (each, _cursor(each))
                for each in automations(self._instance)
                if _base(each.name, _AUTOMATIONS)
            ]
            totals = self._totals(now)
            found = list(_existing(known, totals, now))
            return InstanceReading(
                now,
                totals,
                tuple(self._unfinished()),
                tuple(each for each, _ in found),
                tuple(_sensors(found)),
                self._checks.counts(now),
                {
                    name: heartbeat.timestamp
                    for name, heartbeat in sorted(self._instance.get_daemon_heartbeats().items())
                },
            )

    def _totals(self, now: float) -> RunTotals:
        instance = self._instance
        before = RunTotals.parse(read_values(instance, [TOTALS_KEY]).get(TOTALS_KEY))
        if before is None:
            before = RunTotals.begin(now, newest_engine_event(instance))
            keep_values(instance, {TOTALS_KEY: before.model_dump_json()})
        counted = count(before, self._finished(before.settled), self._reports(before), now)
        if counted.changed:
            keep_values(instance, {TOTALS_KEY: counted.settled.model_dump_json()})
        return counted.now

    def _finished(self, since: float) -> Iterator[FinishedRun]:
        filters = RunsFilter(statuses=_FINISHED, updated_after=datetime.fromtimestamp(since, tz=UTC))
        for record in self._instance.get_run_records(filters):
            run, ended = record.dagster_run, record.end_time
            if ended is not None and _base(run.job_name, _JOBS):
                began = record.start_time or ended
                yield FinishedRun(run.job_name, run.status.value.lower(), ended, ended - began)

    def _reports(self, totals: RunTotals) -> Iterator[StoredReport]:
        for event_id, at, metadata in engine_events(self._instance, totals.event_id, totals.settled):
            yield StoredReport(at, event_id, parse_report(metadata))

    def _unfinished(self) -> Iterator[UnfinishedRun]:
        for record in self._instance.get_run_records(RunsFilter(statuses=NOT_FINISHED_STATUSES)):
            run = record.dagster_run
            if _base(run.job_name, _JOBS):
                created = record.create_timestamp.replace(tzinfo=UTC).timestamp()
                yield UnfinishedRun(run.job_name, run.status.value.lower(), created)


class _Result(NamedTuple):
    id: int
    at: float
    status: str


class _CheckResults:
    """The last result of each check, kept from scrape to scrape."""

    def __init__(self, instance: DagsterInstance) -> None:
        self._instance = instance
        self._after: int | None = None
        self._latest: dict[tuple[str, str], _Result] = {}

    def counts(self, now: float) -> Mapping[tuple[str, str], int]:
        """The number of results by check and status."""
        if self._after is None:
            self._after = first_check_row(self._instance, now - CHECKED_WITHIN)
        planned: list[int] = []
        last = self._after
        new: dict[tuple[str, str], _Result] = {}
        for row in check_rows(self._instance, self._after, _CHECKS):
            last = row.id
            key = (row.asset, row.check)
            if row.passed is None:
                if now - row.at < _PLANNED_FOR:
                    planned.append(row.id)
            elif key not in self._latest or row.id > self._latest[key].id:
                new[key] = _Result(row.id, row.at, "passed" if row.passed else "warning")
        failed = [result.id for result in new.values() if result.status != "passed"]
        errors: set[int] = set()
        for start in range(0, len(failed), 500):
            errors |= failed_check_rows(self._instance, failed[start : start + 500])
        for key, result in new.items():
            self._latest[key] = result._replace(status="failed") if result.id in errors else result
        # A row that is planned gets its result later, and keeps its id.
        self._after = min([last, *(number - 1 for number in planned)])
        found: dict[tuple[str, str], int] = {}
        for key in [key for key, result in self._latest.items() if now - result.at > CHECKED_WITHIN]:
            del self._latest[key]
        for (_, check), result in self._latest.items():
            found[check, result.status] = found.get((check, result.status), 0) + 1
        return found


def component_of(name: str, base: str) -> str:
    """The component's name in that of one of its definitions: `eu` for `eu_push` and `push`."""
    return name.removesuffix(base).removesuffix("_")


def _base(name: str, names: tuple[str, ...]) -> str | None:
    """Which of these names a definition has, with or without the name of its component before it."""
    # The longest one: `lineage_upkeep_schedule` is no `schedule` of a component `lineage_upkeep`.
    found = [base for base in names if name == base or name.endswith(f"_{base}")]
    return max(found, key=len, default=None)


def _existing(known: _Automations, totals: RunTotals, now: float) -> Iterator[_Automation]:
    """Those that their code location still has, as far as the last tick of one of its lineage sensors tells.

    Dagster keeps the state of a sensor or schedule that was removed, and of a removed code location.
    """
    newest: dict[str, Cursor] = {}
    reported: dict[str, float] = {}
    for each, cursor in known:
        runs = totals.components.get(component_of(each.name, _base(each.name, _AUTOMATIONS) or ""))
        reported[each.location] = max(reported.get(each.location, 0.0), runs.last_report if runs else 0.0)
        if cursor and cursor.automations:
            newest[each.location] = max(
                cursor, newest.get(each.location, cursor), key=lambda found: found.totals.at
            )
    for each, cursor in known:
        last = newest.get(each.location)
        # While the lineage sensor is off, runs tell that the location is still there.
        heard = max(last.totals.at, reported[each.location]) if last else now
        if last is None or (each.name in last.automations and now - heard <= REMOVED_AFTER):
            yield each, cursor


def _sensors(found: _Automations) -> Iterator[Sensor]:
    for each, cursor in found:
        # What one that is off knew may be long outdated.
        if each.running and _base(each.name, _AUTOMATIONS) == _NAMES.sensor:
            yield Sensor(component_of(each.name, _NAMES.sensor), each.location, cursor)


def _cursor(state: AutomationState) -> Cursor | None:
    if not state.cursor or _base(state.name, _AUTOMATIONS) != _NAMES.sensor:
        return None
    try:
        return Cursor.model_validate_json(state.cursor)
    except ValidationError:
        return None
