"""Deletes old runs of a Dagster instance, page by page, while its other processes go on.

Dagster keeps all runs. Its `delete_run` removes a run with its tags and events, and leaves its check results,
its snapshots and what it printed; an asset's page loses the events that were in it. So a run stays as long as
an asset shows something of it.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from dagster import DagsterEventType, DagsterInstance, DagsterRun, DagsterRunStatus, RunRecord, RunsFilter
from sqlalchemy import delete, func, select

from lineage_bridge_dagster.automation.run_retention import RetentionReport, RunFacts, RunRetention
from lineage_bridge_dagster.dagster_internals.instance import (
    AssetCheckExecutionsTable,
    RunsTable,
    SnapshotsTable,
    SqlEventLogStorageTable,
    index_connection,
    run_connection,
)
from lineage_bridge_dagster.dagster_internals.runs import (
    BACKFILL_ID_TAG,
    NOT_FINISHED_STATUSES,
    PARTITION_NAME_TAG,
    REPOSITORY_LABEL_TAG,
    SCHEDULE_NAME_TAG,
    SENSOR_NAME_TAG,
)

_FINISHED = [status for status in DagsterRunStatus if status not in NOT_FINISHED_STATUSES]
#: Runs that are read at once.
_PAGE = 50
#: Values of a query's condition, of which SQLite takes 32,766.
_VALUES = 1_000
#: The kinds of events of which an asset shows the last one. A planned one tells which run was the last.
_SHOWN = [
    DagsterEventType.ASSET_MATERIALIZATION.value,
    DagsterEventType.ASSET_MATERIALIZATION_PLANNED.value,
    DagsterEventType.ASSET_OBSERVATION.value,
]
#: Ids of snapshots in the JSON of a run, and in that of a job's snapshot.
_PLAN = re.compile(r'"execution_plan_snapshot_id": "(\w+)"')
_PARENT = re.compile(rb'"parent_snapshot_id": "(\w+)"')

T = TypeVar("T")


def delete_old_runs(
    instance: DagsterInstance,
    retention: RunRetention,
    *,
    now: float | None = None,
    dry_run: bool = False,
    seconds: float | None = None,
    progress: Callable[[RetentionReport], None] | None = None,
) -> RetentionReport:
    """Delete the old runs that nothing needs, job by job. Where it is interrupted, the next call continues.

    Args:
        now: Unix time in seconds; None for the current time.
        dry_run: count only.
        seconds: time after which no further page is begun, after the first one; None for no limit.
        progress: is called after each page.
    """
    began, now = time.monotonic(), time.time() if now is None else now
    report = RetentionReport()
    facts = _Facts(instance)
    before = datetime.fromtimestamp(retention.before(now), tz=UTC)
    for job in sorted(retention.jobs) if retention.jobs is not None else [None]:
        # The id of a run: the deleted ones before it are gone, so it has to be one that stays.
        cursor = None
        while page := instance.get_run_records(
            RunsFilter(job_name=job, statuses=_FINISHED, updated_before=before),
            limit=_PAGE,
            cursor=cursor,
            ascending=True,
        ):
            is_late = seconds is not None and time.monotonic() - began > seconds
            if is_late and (report.deleted or report.kept):
                report.is_complete = False
                break
            old = []
            for record, known in zip(page, facts.of(page), strict=True):
                run, reason = record.dagster_run, retention.reason_to_keep(known, now)
                if reason is None:
                    old.append(run.run_id)
                    report.deleted[run.job_name] += 1
                else:
                    report.kept[reason] += 1
                if reason is not None or dry_run:
                    cursor = run.run_id
            if not dry_run:
                _delete(instance, old, report)
            if progress is not None:
                progress(report)
    if not dry_run:
        report.snapshots = _delete_unused_snapshots(instance)
    return report


class _Facts:
    """What is known of runs. What is newest is looked up once: a newer run only lets more of them go."""

    def __init__(self, instance: DagsterInstance) -> None:
        self._instance = instance
        self._newest: dict[str, str | None] = {}
        #: The ids of the events, and of the executions of checks, that the assets looked up show.
        self._events: set[int] = set()
        self._checks: set[int] = set()
        self._looked_up: set[str] = set()

    def of(self, page: Sequence[RunRecord]) -> Iterator[RunFacts]:
        """The facts of each run of a page."""
        shown = self._shown([record.dagster_run.run_id for record in page])
        unfinished = self._instance.get_runs(RunsFilter(statuses=NOT_FINISHED_STATUSES))
        origins = {origin for run in unfinished for origin in (run.parent_run_id, run.root_run_id)}
        for record in page:
            run = record.dagster_run
            yield RunFacts(
                job=run.job_name,
                ended=record.update_timestamp.timestamp() if run.is_finished else None,
                is_newest=any(self._is_newest(run, group) for group in _groups(run)),
                is_origin=run.run_id in origins,
                in_backfill=self._in_backfill(run),
                assets=frozenset(shown.get(run.run_id, ())),
            )

    def _is_newest(self, run: DagsterRun, group: RunsFilter) -> bool:
        key = repr(group)
        if key not in self._newest:
            found = self._instance.get_run_records(group, limit=1)
            self._newest[key] = found[0].dagster_run.run_id if found else None
        return self._newest[key] == run.run_id

    def _in_backfill(self, run: DagsterRun) -> bool:
        name = run.tags.get(BACKFILL_ID_TAG)
        backfill = self._instance.get_backfill(name) if name else None
        return backfill is not None and backfill.status.value in ("REQUESTED", "CANCELING", "FAILING")

    def _shown(self, run_ids: Sequence[str]) -> Mapping[str, set[str]]:
        """The assets that show something of these runs, by run."""
        events, checks = SqlEventLogStorageTable.c, AssetCheckExecutionsTable.c
        event = (events.asset_key, events.dagster_event_type, events.partition)
        check = (checks.asset_key, checks.check_name, checks.partition)
        is_shown = events.dagster_event_type.in_(_SHOWN), events.asset_key.is_not(None)
        # A result is shown beside a later execution that has none yet.
        has_result = checks.execution_status != "PLANNED"
        with index_connection(self._instance) as connection:

            def own(table: Any, *conditions: Any) -> list[Any]:
                query = select(table.run_id, table.asset_key, table.id)
                return list(connection.execute(query.where(table.run_id.in_(run_ids), *conditions)))

            def last(number: Any, group: Sequence[Any], *conditions: Any) -> Iterator[int]:
                query = select(func.max(number)).where(*conditions).group_by(*group)
                return (row[0] for row in connection.execute(query))

            own_events, own_checks = own(events, *is_shown), own(checks)
            assets = {row[1] for row in (*own_events, *own_checks)} - self._looked_up
            for part in _parts(sorted(assets)):
                self._events.update(last(events.id, event, events.asset_key.in_(part), *is_shown))
                self._checks.update(last(checks.id, check, checks.asset_key.in_(part)))
                self._checks.update(last(checks.id, check, checks.asset_key.in_(part), has_result))
            self._looked_up |= assets
        shown: dict[str, set[str]] = {}
        for rows, numbers in ((own_events, self._events), (own_checks, self._checks)):
            for run_id, asset, number in rows:
                if number in numbers:
                    shown.setdefault(run_id, set()).add(asset)
        return shown


def _groups(run: DagsterRun) -> Iterator[RunsFilter]:
    """The groups of runs of which the newest stays: it shows what a job, schedule or sensor did last."""
    tags = run.tags
    where = {name: tags[name] for name in (REPOSITORY_LABEL_TAG,) if name in tags}
    yield RunsFilter(job_name=run.job_name, tags=where)
    if run.status is DagsterRunStatus.SUCCESS:
        yield RunsFilter(job_name=run.job_name, tags=where, statuses=[run.status])
    for name in (SCHEDULE_NAME_TAG, SENSOR_NAME_TAG, PARTITION_NAME_TAG):
        if name in tags:
            yield RunsFilter(job_name=run.job_name, tags={**where, name: tags[name]})


def _delete(instance: DagsterInstance, run_ids: Sequence[str], report: RetentionReport) -> None:
    """Delete runs; each is listed until all else of it is gone, so that a next call can finish this one."""
    with index_connection(instance) as connection:
        connection.execute(
            delete(AssetCheckExecutionsTable).where(AssetCheckExecutionsTable.c.run_id.in_(run_ids))
        )
    for run_id in run_ids:
        if not report.logs_problem:
            try:
                instance.compute_log_manager.delete_logs(prefix=[run_id])
            except Exception as error:
                # Whatever their storage raises: what is left there costs a little space.
                report.logs_problem = f"{type(error).__name__}: {error}"
        instance.event_log_storage.delete_events(run_id)
        instance.delete_run(run_id)
        _delete_file(instance, run_id)


def _delete_file(instance: DagsterInstance, run_id: str) -> None:
    """Delete the file that SQLite has for the events of each run."""
    storage: Any = instance.event_log_storage
    if storage.is_run_sharded:
        for suffix in ("", "-wal", "-shm"):
            Path(storage.path_for_shard(run_id) + suffix).unlink(missing_ok=True)


def _delete_unused_snapshots(instance: DagsterInstance) -> int:
    """Delete the snapshots of jobs and plans that no run uses, itself or as the parent of its job's snapshot.

    A snapshot is stored before its run, so one that is stored from now on stays. A run that begins right now
    with a snapshot that no run has had for so long fails, and its sensor or schedule tries again.
    """
    snapshots, runs = SnapshotsTable.c, RunsTable.c
    with run_connection(instance) as connection:
        stored = {row[1]: row[0] for row in connection.execute(select(snapshots.id, snapshots.snapshot_id))}
    used: set[str] = set()
    jobs: set[str] = set()
    last = 0
    while True:
        query = select(runs.id, runs.snapshot_id, runs.run_body).where(runs.id > last).order_by(runs.id)
        with run_connection(instance) as connection:
            rows = connection.execute(query.limit(_VALUES)).fetchall()
        if not rows:
            break
        last = rows[-1][0]
        jobs.update(row[1] for row in rows if row[1])
        used.update(plan for row in rows for plan in _PLAN.findall(row[2]))
    while jobs:
        used |= jobs
        parents: set[str] = set()
        for part in _parts(sorted(jobs), 20):
            query = select(snapshots.snapshot_body).where(snapshots.snapshot_id.in_(part))
            with run_connection(instance) as connection:
                bodies = [zlib.decompress(row[0]) for row in connection.execute(query)]
            parents.update(name.decode() for body in bodies for name in _PARENT.findall(body))
        jobs = parents - used
    unused = [number for name, number in stored.items() if name not in used]
    for part in _parts(unused):
        with run_connection(instance) as connection:
            connection.execute(delete(SnapshotsTable).where(snapshots.id.in_(part)))
    return len(unused)


def _parts(values: Sequence[T], size: int = _VALUES) -> Iterator[Sequence[T]]:
    return (values[start : start + size] for start in range(0, len(values), size))
