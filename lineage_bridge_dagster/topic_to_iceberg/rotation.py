"""The loop over topics that share a thread: one batch of each in turn.

A long topic does not keep the others waiting, and one that fails does not stop them: a run to the present
leaves it, a continuous run tries it again after a while.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.api.errors import TopicNotFoundError
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.java_errors import is_jvm_gone
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.loader import Loader, LoadStatus, OpenLoader
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadError, LoadReport, Totals
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

#: Seconds before a topic that failed is tried again, at first and at most.
_RETRY, _MAX_RETRY = 5.0, 300.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Topic:
    load: TopicLoad
    loader: Loader | None = None
    #: Whether the table was created or checked since the last failure.
    ensured: bool = False
    targets: Offsets = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    error: LoadError | None = None
    columns_before: tuple[tuple[str, str], ...] | None = None
    failures: int = 0
    due: float = 0.0
    since: float = 0.0
    report_at: float = 0.0
    #: The error that was reported last, if it was one; and whether a snapshot was.
    told: LoadError | None = None
    is_told: bool = False
    is_begun: bool = False
    done: bool = False


class Rotation:
    """Topics in turn. It is used by one thread.

    Args:
        loads: the topics.
        open_loader: opens the loader of one.
        commit_seconds: of a continuous run, the least time between two commits of a topic that has caught up.
        report_seconds: of a continuous run, the most time between two reports of a topic, whose failures and
            recoveries are reported at once; None for a run that ends at the ends that the topics have when it
            begins with them.
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self,
        loads: Sequence[TopicLoad],
        open_loader: OpenLoader,
        *,
        commit_seconds: float = 60.0,
        report_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open = open_loader
        self._commit_seconds = commit_seconds
        self._report_seconds = report_seconds
        self._clock = clock
        self._topics = [_Topic(load) for load in loads]

    def follow(self, loads: Sequence[TopicLoad]) -> None:
        """Load these topics from now on. Those that were loaded before in the same way go on."""
        known = self._topics
        self._topics = [
            next((each for each in known if each.load == load), None) or _Topic(load) for load in loads
        ]

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do; never in a continuous run."""
        return all(topic.done for topic in self._topics)

    @property
    def wait(self) -> float:
        """Seconds until a topic is due; 0 if one is."""
        waits = [topic.due - self._clock() for topic in self._topics if not topic.done]
        return max(0.0, min(waits, default=0.0))

    def turn(self, stopped: Callable[[], bool]) -> Iterator[LoadReport]:
        """Load a batch of each topic that is due, and yield the reports that are.

        Args:
            stopped: asked before each topic whether to end.

        Raises:
            Exception: Spark is gone, so no topic can go on.
        """
        for topic in self._topics:
            if stopped():
                return
            if not topic.done and topic.due <= self._clock():
                self._step(topic)
                if self._is_report_due(topic):
                    yield self._report(topic, final=topic.done)

    def rest(self) -> Iterator[LoadReport]:
        """The last reports of topics that were begun and are not done."""
        for topic in self._topics:
            if not topic.done and topic.columns_before is not None:
                yield self._report(topic, final=True)

    def _step(self, topic: _Topic) -> None:
        topic.since = topic.since or self._clock()
        try:
            step = self._ready(topic).advance()
        except Exception as error:
            if is_jvm_gone(error):
                raise
            if not isinstance(error, LineageBridgeError):
                _log.warning("%s was not expected to fail like this", topic.load.dotted, exc_info=True)
            topic.error = LoadError.of(error)
            topic.failures += 1
            # A commit may have succeeded, and somebody may have dropped the table.
            topic.ensured = False
            topic.due = self._clock() + self._delay(topic, error)
            topic.done = self._report_seconds is None
            return
        topic.error, topic.failures = None, 0
        topic.totals = topic.totals.plus(step)
        if self._report_seconds is None:
            reached = all(step.offsets.get(p, 0) >= end for p, end in topic.targets.items())
            topic.done = step.caught_up or reached
        elif step.caught_up:
            topic.due = self._clock() + self._commit_seconds

    def _delay(self, topic: _Topic, error: Exception) -> float:
        if isinstance(error, TopicNotFoundError):
            # Nothing is broken: it is looked for as often as new records are.
            return self._commit_seconds
        return min(_MAX_RETRY, _RETRY * 2.0**topic.failures)

    def _ready(self, topic: _Topic) -> Loader:
        """The topic's loader, with its table."""
        loader = topic.loader = topic.loader or self._open(topic.load)
        if not topic.ensured:
            loader.ensure()
            topic.ensured = True
        if topic.columns_before is None:
            topic.targets = loader.ends()
            topic.columns_before = tuple(loader.columns().items())
            topic.report_at = self._clock() + (self._report_seconds or 0.0)
        return loader

    def _is_report_due(self, topic: _Topic) -> bool:
        if topic.done or self._report_seconds is None:
            return topic.done
        # At once, as a check has to fail, or to pass again.
        is_first_commit = bool(topic.totals.commits) and not topic.is_begun
        is_news = not topic.is_told or topic.told != topic.error or is_first_commit
        return is_news or topic.report_at <= self._clock()

    def _report(self, topic: _Topic, *, final: bool) -> LoadReport:
        status: LoadStatus | None = None
        try:
            if topic.loader is not None and topic.columns_before is not None:
                status = topic.loader.status()
        except Exception as error:
            if is_jvm_gone(error):
                raise
            topic.error = topic.error or LoadError.of(error)
        now = self._clock()
        report = LoadReport(
            topic.load, topic.totals, topic.error, status, topic.columns_before, now - topic.since, final
        )
        topic.totals, topic.since = Totals(), now
        topic.columns_before = tuple(status.columns.items()) if status else topic.columns_before
        topic.report_at = now + (self._report_seconds or 0.0)
        topic.told, topic.is_told = topic.error, True
        topic.is_begun = topic.is_begun or bool(status and status.snapshot_id is not None)
        return report
