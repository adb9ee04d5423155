"""Which old runs may go: a table of what is known of a run, and why it stays."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from lineage_bridge_dagster.automation.run_retention import (
    Kept,
    RetentionReport,
    RunFacts,
    RunRetention,
    retention_sentence,
)

NOW, DAY = 1_800_000_000.0, 86_400.0
OLD = RunFacts("push", NOW - 31 * DAY)
OWN = RunRetention(30, frozenset({"push"}), frozenset({"push"}), {"orders"})


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (OLD, None),
        (replace(OLD, ended=None), Kept.UNFINISHED),
        (replace(OLD, ended=NOW - 30 * DAY), Kept.RECENT),
        (replace(OLD, is_newest=True), Kept.NEWEST),
        (replace(OLD, is_origin=True), Kept.ORIGIN),
        (replace(OLD, in_backfill=True), Kept.BACKFILL),
        (replace(OLD, assets=frozenset({"orders"})), Kept.ASSET),
        (replace(OLD, assets=frozenset({"gone"})), None),
        (replace(OLD, assets=frozenset({"gone", "orders"})), Kept.ASSET),
    ],
)
def test_old_run_stays_for_one_reason_or_goes(run: RunFacts, reason: Kept | None) -> None:
    assert OWN.reason_to_keep(run, NOW) == reason


@pytest.mark.parametrize(
    ("retention", "run"),
    [
        (replace(OWN, own_assets=None), OLD),
        # Whether another job's asset still exists is not known.
        (RunRetention(30, None, frozenset({"push"}), {"orders"}), replace(OLD, job="theirs")),
    ],
)
def test_asset_that_may_exist_keeps_its_run(retention: RunRetention, run: RunFacts) -> None:
    assert retention.reason_to_keep(replace(run, assets=frozenset({"gone"})), NOW) is Kept.ASSET


def test_report_tells_what_was_deleted_what_stays_and_why() -> None:
    report = RetentionReport(Counter(push=1_200), Counter({Kept.NEWEST: 2}), snapshots=1, is_complete=False)
    assert retention_sentence(report) == (
        "1,200 old runs deleted; 1 snapshot of jobs and plans deleted that no run has any more; "
        "2 kept: the newest of its job, schedule, sensor or partition; the next time continues"
    )
    assert retention_sentence(RetentionReport(), dry_run=True) == "0 old runs would be deleted"
