"""What a run reports of its topics for the metrics: sums, the newest lag, and few events."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.assets.run_reports import LoadRunReport
from lineage_bridge_dagster.config.request_counts import RequestCounts
from lineage_bridge_dagster.topic_to_iceberg import numbers
from lineage_bridge_dagster.topic_to_iceberg.loader import LoadStatus
from lineage_bridge_dagster.topic_to_iceberg.numbers import LoadNumbers
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadError, LoadReport, Totals
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad


def report(topic: str, rows: int, *, lag: int | None = 0, error: LoadError | None = None) -> LoadReport:
    load = TopicLoad(topic=topic, catalog="glue", database="lkc-1", table=topic)
    status = None if lag is None else LoadStatus(offsets={0: 10}, ends={0: 10 + lag}, columns={})
    totals = Totals(rows=rows, skipped=1, dead_letters=2)
    return LoadReport(load, totals, error, status, None, 1.0, True)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[LoadRunReport]:
    found: list[LoadRunReport] = []
    monkeypatch.setattr(numbers, "report_run", lambda _instance, _run, each: found.append(each))
    return found


def collected(seconds: list[float]) -> LoadNumbers:
    nothing: Any = None
    return LoadNumbers(nothing, nothing, "eu", RequestCounts(), clock=lambda: seconds[0])


def test_a_run_reports_the_sums_of_its_topics_once(stored: list[LoadRunReport]) -> None:
    found = collected([0.0])
    for each in (report("a", 3, lag=5), report("b", 1), report("a", 4, lag=2)):
        found.add(each)
    assert not stored
    found.report()
    (only,) = stored
    assert only.component == "eu"
    a, b = only.topics["a"], only.topics["b"]
    assert (a.rows, a.skipped, a.dead_letters, a.lag_records) == (7, 2, 4, 2)
    assert (b.rows, b.lag_records, b.outcome) == (1, 0, "loaded")


def test_a_run_of_hours_reports_once_a_minute_and_counts_nothing_twice(stored: list[LoadRunReport]) -> None:
    seconds = [0.0]
    found = collected(seconds)
    for _ in range(6):
        seconds[0] += 30
        found.add(report("a", 1))
    found.report()
    assert [each.topics["a"].rows for each in stored] == [2, 2, 2]


@pytest.mark.parametrize(
    ("error", "outcome"), [(LoadError("m"), "failed"), (LoadError("m", suspended=True), "suspended")]
)
def test_a_topic_that_is_not_loaded_says_so_and_its_lag_is_unknown(
    stored: list[LoadRunReport], error: LoadError, outcome: str
) -> None:
    found = collected([0.0])
    found.add(report("a", 0, lag=None, error=error))
    found.report()
    topic = stored[0].topics["a"]
    assert (topic.outcome, topic.lag_records, topic.lag_seconds) == (outcome, None, None)
