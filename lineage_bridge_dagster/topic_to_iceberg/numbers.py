"""The numbers of a load, which its run reports for the metrics."""

from __future__ import annotations

import time
from collections.abc import Callable

from dagster import DagsterInstance, DagsterRun

from lineage_bridge_dagster.assets.run_reports import LoadRunReport, TopicReport, report_run
from lineage_bridge_dagster.assets.times import now_ms
from lineage_bridge_dagster.config.request_counts import RequestCounts
from lineage_bridge_dagster.topic_to_iceberg.facts import lag_seconds
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadReport

#: Seconds for which the reports of topics are collected, so that a run over 2,000 topics stores a few events.
_COLLECT_SECONDS = 60.0


class LoadNumbers:
    """Collects what a run tells of its topics, and reports it about once a minute.

    Args:
        instance: where the run's events are stored.
        run: the run.
        component: the name of the component's instance.
        counts: of the requests that the run's clients send.
        clock: seconds, from any beginning.
    """

    def __init__(
        self,
        instance: DagsterInstance,
        run: DagsterRun,
        component: str,
        counts: RequestCounts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._instance = instance
        self._run = run
        self._component = component
        self._counts = counts
        self._clock = clock
        self._began = clock()
        self._topics: dict[str, TopicReport] = {}

    def add(self, report: LoadReport) -> None:
        """Add what happened to a topic since its last report."""
        totals, status, error = report.totals, report.status, report.error
        before = self._topics.get(report.load.topic, TopicReport())
        self._topics[report.load.topic] = TopicReport(
            rows=before.rows + totals.rows,
            skipped=before.skipped + totals.skipped,
            dead_letters=before.dead_letters + totals.dead_letters,
            lag_records=status.lag_records if status else None,
            lag_seconds=round(lag_seconds(status, now_ms()), 1) if status else None,
            outcome=error.outcome if error else "loaded",
        )
        if self._clock() - self._began >= _COLLECT_SECONDS:
            self.report()

    def report(self) -> None:
        """Store what was collected."""
        if self._topics:
            seconds = round(self._clock() - self._began, 3)
            requests, retries = self._counts.take()
            report = LoadRunReport(
                component=self._component,
                seconds=seconds,
                topics=self._topics,
                requests=requests,
                retries=retries,
            )
            report_run(self._instance, self._run, report)
        self._topics, self._began = {}, self._clock()
