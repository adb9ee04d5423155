"""Old runs are deleted from SQLite with all that is stored of them; `production/` does it on PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetCheckKey, DagsterInstance, DagsterRunStatus
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from sqlalchemy import select

from lineage_bridge_dagster.automation.old_runs import delete_old_runs
from lineage_bridge_dagster.automation.run_retention import Kept, RetentionReport, RunRetention
from lineage_bridge_dagster.dagster_internals.instance import (
    AssetCheckExecutionsTable,
    SnapshotsTable,
    SqlEventLogStorageTable,
    index_connection,
    run_connection,
)
from lineage_bridge_dagster_tests.automation import played_runs
from lineage_bridge_dagster_tests.automation.played_runs import (
    CUSTOMERS,
    GONE,
    LINEAGE,
    NEEDED,
    OLD,
    ORDERS,
    REFRESH,
    PlayedRuns,
)

LATER = time.time() + 40 * 86_400
OWN = RunRetention(30, frozenset({LINEAGE, REFRESH}))


@pytest.fixture
def instance() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as made:
        yield made


def rows(instance: DagsterInstance, column: Any) -> list[Any]:
    connect = run_connection if column.table is SnapshotsTable else index_connection
    with connect(instance) as connection:
        return [row[0] for row in connection.execute(select(column))]


def test_runs_that_nothing_shows_go_with_all_that_is_stored_of_them(tmp_path: Path) -> None:
    with DagsterInstance.local_temp(str(tmp_path)) as instance:
        deleted = _deleted(instance)
    assert not any(run_id in path.name for path in tmp_path.rglob("*") for run_id in deleted)


def _deleted(instance: DagsterInstance) -> set[str]:
    runs = played_runs.play(instance)
    before = {key: instance.fetch_materializations(key, limit=1).records[0] for key in (ORDERS, CUSTOMERS)}
    planned = delete_old_runs(instance, OWN, now=LATER, dry_run=True)
    assert runs.left == set(runs.ids)
    pages: list[RetentionReport] = []
    report = delete_old_runs(instance, OWN, now=LATER, progress=pages.append)
    assert report.deleted == planned.deleted == {LINEAGE: 2, REFRESH: 2}
    assert report.kept == planned.kept == {Kept.NEWEST: 4, Kept.ASSET: 2}
    assert len(pages) == 2
    assert runs.left == NEEDED | {"theirs 1", "theirs 2"}
    gone = {runs.ids[name] for name in OLD}
    for column in (SqlEventLogStorageTable.c.run_id, AssetCheckExecutionsTable.c.run_id):
        assert not gone.intersection(rows(instance, column))
    # What the assets' pages show.
    for key, record in before.items():
        assert instance.fetch_materializations(key, limit=1).records == [record]
    check = AssetCheckKey(ORDERS, "valid")
    summary = instance.event_log_storage.get_asset_check_summary_records([check])[check]
    assert summary.last_run_id == runs.ids["orders 3"]
    assert instance.fetch_observations(CUSTOMERS, limit=1).records[0].run_id == runs.ids["refresh 2 observes"]
    assert delete_old_runs(instance, OWN, now=LATER).deleted == {}
    return gone


def test_all_runs_go_if_that_is_wanted_and_recent_ones_do_not(instance: DagsterInstance) -> None:
    runs = played_runs.play(instance)
    assert delete_old_runs(instance, RunRetention(30, None)).deleted == {}
    assert delete_old_runs(instance, RunRetention(30, None), now=LATER).deleted["theirs"] == 1
    assert runs.left == NEEDED | {"theirs 2"}


def test_last_run_of_an_asset_that_is_gone_goes_only_where_that_is_known(instance: DagsterInstance) -> None:
    runs = PlayedRuns(instance)
    runs.materialize("gone", GONE)
    runs.materialize("orders", ORDERS)
    assert delete_old_runs(instance, OWN, now=LATER).deleted == {}
    known = RunRetention(30, OWN.jobs, frozenset({LINEAGE}), {ORDERS.to_string()})
    assert delete_old_runs(instance, known, now=LATER).deleted == {LINEAGE: 1}
    assert runs.left == {"orders"}


def test_last_result_of_a_check_stays_beside_later_runs_without_one(instance: DagsterInstance) -> None:
    runs = PlayedRuns(instance)
    runs.materialize("passed", ORDERS)
    for name in ("failed", "failed again", "failed last"):
        runs.materialize(name, ORDERS, fails=True)
    assert delete_old_runs(instance, OWN, now=LATER).deleted == {LINEAGE: 2}
    assert runs.left == {"passed", "failed last"}


def test_run_that_an_unfinished_run_repeats_stays(instance: DagsterInstance) -> None:
    runs = PlayedRuns(instance)
    for name in ("first", "second", "third"):
        runs.work(name)
    first = instance.get_run_by_id(runs.ids["first"])
    assert first
    instance.create_run_for_job(
        played_runs.refresh,
        parent_run_id=first.run_id,
        root_run_id=first.run_id,
        run_config=first.run_config,
        status=DagsterRunStatus.STARTED,
    )
    assert delete_old_runs(instance, OWN, now=LATER).kept[Kept.ORIGIN] == 1
    assert runs.left == {"first", "third"}


def test_newest_run_of_each_partition_stays_and_all_of_a_backfill_that_goes_on(
    instance: DagsterInstance,
) -> None:
    runs = PlayedRuns(instance)
    backfill = PartitionBackfill("b", BulkActionStatus.REQUESTED, False, {}, time.time())
    instance.add_backfill(backfill)
    for partition in ("monday", "tuesday"):
        for number in (1, 2, 3):
            tags = {"dagster/partition": partition, **({"dagster/backfill": "b"} if number == 1 else {})}
            runs.work(f"{partition} {number}", tags=tags)
    report = delete_old_runs(instance, OWN, now=LATER)
    assert (report.deleted, report.kept) == ({REFRESH: 2}, {Kept.NEWEST: 2, Kept.BACKFILL: 2})
    assert runs.left == {"monday 1", "monday 3", "tuesday 1", "tuesday 3"}
    instance.update_backfill(backfill.with_status(BulkActionStatus.COMPLETED_SUCCESS))
    delete_old_runs(instance, OWN, now=LATER)
    assert runs.left == {"monday 3", "tuesday 3"}


def test_snapshots_go_with_the_last_run_that_has_them(instance: DagsterInstance) -> None:
    runs = PlayedRuns(instance)
    runs.materialize("orders", ORDERS)
    runs.materialize("gone", GONE)
    runs.materialize("customers", CUSTOMERS)
    stored = set(rows(instance, SnapshotsTable.c.snapshot_id))
    known = RunRetention(30, OWN.jobs, frozenset({LINEAGE}), {ORDERS.to_string()})
    # The plan, the job, and the job of which it was a part.
    assert delete_old_runs(instance, known, now=LATER).snapshots == 3
    for name in ("orders", "customers"):
        run = instance.get_run_by_id(runs.ids[name])
        assert run
        assert run.job_snapshot_id
        assert run.execution_plan_snapshot_id
        snapshot = instance.get_job_snapshot(run.job_snapshot_id)
        assert snapshot.lineage_snapshot
        assert instance.get_job_snapshot(snapshot.lineage_snapshot.parent_snapshot_id)
        assert instance.get_execution_plan_snapshot(run.execution_plan_snapshot_id)
    assert len(stored - set(rows(instance, SnapshotsTable.c.snapshot_id))) == 3


def test_interrupted_deletion_is_finished_by_the_next(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = played_runs.play(instance)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(instance, "delete_run", fail)
        with pytest.raises(KeyboardInterrupt):
            delete_old_runs(instance, OWN, now=LATER)
    assert runs.left == set(runs.ids)
    delete_old_runs(instance, OWN, now=LATER)
    assert runs.left == NEEDED | {"theirs 1", "theirs 2"}


def test_time_limit_ends_it_after_a_page_and_logs_that_stay_are_told(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = PlayedRuns(instance)
    for number in range(4):
        runs.work(str(number))
    monkeypatch.setattr("lineage_bridge_dagster.automation.old_runs._PAGE", 2)

    def refuse(**_: object) -> None:
        raise PermissionError("AccessDenied")

    monkeypatch.setattr(instance.compute_log_manager, "delete_logs", refuse)
    report = delete_old_runs(instance, OWN, now=LATER, seconds=0)
    assert (report.deleted.total(), report.is_complete) == (2, False)
    assert report.logs_problem == "PermissionError: AccessDenied"
    assert delete_old_runs(instance, OWN, now=LATER).deleted.total() == 1
    assert runs.left == {"3"}
