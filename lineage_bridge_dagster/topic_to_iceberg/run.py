"""Loads many topics in a few threads, which share a process and a Spark session.

Each thread has its own topics and takes one batch of each in turn, so that a long topic does not keep the
others waiting. A topic that fails does not stop the others: a run to the present leaves it, a continuous run
tries it again after a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from lineage_bridge_dagster.config.topic_loads import TopicLoad
from lineage_bridge_dagster.dead_letters.letter import Rejections
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.java_errors import is_jvm_gone
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.loader import Loader, OpenLoader, Step, TableLook

#: Seconds before a topic that failed is tried again, at first and at most.
_RETRY, _MAX_RETRY = 5.0, 300.0
#: Seconds between two looks at whether all threads have ended.
_TICK = 0.5


@dataclass(frozen=True, slots=True)
class Totals:
    """What the commits of one topic did since its last report."""

    rows: int = 0
    removed: int = 0
    skipped: int = 0
    dead_letters: int = 0
    commits: int = 0
    rejections: Rejections = field(default_factory=Rejections)

    def plus(self, step: Step) -> Totals:
        return Totals(
            self.rows + step.rows,
            self.removed + step.removed,
            self.skipped + step.skipped,
            self.dead_letters + step.dead_letters,
            self.commits + step.committed,
            self.rejections.plus(step.rejections),
        )

    @property
    def rejected(self) -> int:
        return self.skipped + self.dead_letters


@dataclass(frozen=True, slots=True)
class LoadError:
    """Why a topic is not loaded: `suspended` until somebody changes something, else for now."""

    message: str
    hint: str = ""
    suspended: bool = False

    @property
    def outcome(self) -> str:
        return "suspended" if self.suspended else "failed"

    @classmethod
    def of(cls, error: Exception) -> LoadError:
        from pyspark.errors import AnalysisException

        from lineage_bridge_dagster.spark.tableflow.config import SuspendedError

        suspended = isinstance(error, SuspendedError | AnalysisException)
        if isinstance(error, LineageBridgeError):
            return cls(error.message, error.hint, suspended)
        first = next(iter(str(error).splitlines()), "")
        return cls(first or type(error).__name__, "", suspended)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What happened to one topic since its last report.

    Attributes:
        look: the table now; None if it could not be read.
        columns_before: those that the table had when the run began with it.
        seconds: since the last report, or since the run began with the topic.
        final: whether the run is done with the topic.
    """

    load: TopicLoad
    totals: Totals
    error: LoadError | None
    look: TableLook | None
    columns_before: tuple[tuple[str, str], ...] | None
    seconds: float
    final: bool


@dataclass(slots=True)
class _Topic:
    load: TopicLoad
    loader: Loader | None = None
    targets: Offsets = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    error: LoadError | None = None
    columns_before: tuple[tuple[str, str], ...] | None = None
    failures: int = 0
    due: float = 0.0
    since: float = 0.0
    report_at: float = 0.0
    done: bool = False


class LoadRun:
    """One run over some topics.

    Args:
        loads: the topics.
        open_loader: opens the loader of one.
        threads: topics that are loaded at the same time.
        commit_seconds: of a continuous run, the least time between two commits of a topic that has caught up.
        report_seconds: of a continuous run, the time between two reports of a topic; None for a run that
            ends at the ends that the topics have when it begins with them.
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self,
        loads: Sequence[TopicLoad],
        open_loader: OpenLoader,
        *,
        threads: int,
        commit_seconds: float = 60.0,
        report_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open = open_loader
        self._commit_seconds = commit_seconds
        self._report_seconds = report_seconds
        self._clock = clock
        self._stop = threading.Event()
        self._reports: SimpleQueue[LoadReport] = SimpleQueue()
        self._fatal: Exception | None = None
        topics = [_Topic(load) for load in loads]
        shares = [topics[number::threads] for number in range(min(threads, len(topics)))]
        self._threads = [
            threading.Thread(target=self._work, args=(share,), name=f"topics-{number}", daemon=True)
            for number, share in enumerate(shares)
        ]

    def stop(self) -> None:
        """Let the threads end after the batches that they are at."""
        self._stop.set()

    def reports(self, until: float | None = None) -> Iterator[LoadReport]:
        """Run, and yield a report whenever there is one, until all threads have ended.

        Args:
            until: a time of the clock at which to stop.

        Raises:
            Exception: Spark is gone, so no topic can go on.
        """
        for thread in self._threads:
            if not thread.is_alive() and not self._stop.is_set():
                thread.start()
        yield from self._drain(until)

    def rest(self, seconds: float) -> Iterator[LoadReport]:
        """Stop, and yield the last reports of the topics whose batches end in time."""
        self.stop()
        deadline = self._clock() + seconds
        while self._is_alive() and self._clock() < deadline:
            yield from self._next()
        while not self._reports.empty():
            yield self._reports.get()

    def _drain(self, until: float | None) -> Iterator[LoadReport]:
        while self._is_alive():
            if until is not None and self._clock() >= until:
                self.stop()
            yield from self._next()
        while not self._reports.empty():
            yield self._reports.get()
        if self._fatal is not None:
            raise self._fatal

    def _next(self) -> Iterator[LoadReport]:
        try:
            # With a timeout, so that a signal interrupts the wait.
            yield self._reports.get(timeout=_TICK)
        except Empty:
            return

    def _is_alive(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def _work(self, topics: Sequence[_Topic]) -> None:
        try:
            while not self._stop.is_set() and any(not topic.done for topic in topics):
                for topic in topics:
                    if self._stop.is_set():
                        break
                    if not topic.done and topic.due <= self._clock():
                        self._step(topic)
                        self._report_if_due(topic)
                waits = [topic.due - self._clock() for topic in topics if not topic.done]
                if waits and (wait := min(waits)) > 0:
                    self._stop.wait(min(wait, _TICK))
            if self._stop.is_set():
                for topic in topics:
                    if not topic.done and topic.loader is not None:
                        self._report(topic, final=True)
        except Exception as error:
            # Only the loss of Spark arrives here; the other threads will see it, too.
            self._fatal = error
            self._stop.set()

    def _step(self, topic: _Topic) -> None:
        topic.since = topic.since or self._clock()
        try:
            loader = topic.loader or self._begin(topic)
            step = loader.advance()
        except Exception as error:
            if is_jvm_gone(error):
                raise
            topic.error = LoadError.of(error)
            topic.failures += 1
            topic.due = self._clock() + min(_MAX_RETRY, _RETRY * 2**topic.failures)
            # A commit may have succeeded, and the table may be another one the next time.
            topic.done = self._report_seconds is None
            return
        topic.error, topic.failures = None, 0
        topic.totals = topic.totals.plus(step)
        if self._report_seconds is None:
            reached = all(step.offsets.get(p, 0) >= end for p, end in topic.targets.items())
            topic.done = step.caught_up or reached
        elif step.caught_up:
            topic.due = self._clock() + self._commit_seconds

    def _begin(self, topic: _Topic) -> Loader:
        loader = self._open(topic.load)
        loader.ensure()
        topic.targets = loader.ends()
        topic.columns_before = tuple(loader.look().columns.items())
        topic.loader = loader
        topic.report_at = self._clock() + (self._report_seconds or 0.0)
        return loader

    def _report_if_due(self, topic: _Topic) -> None:
        # The first failure is reported at once: a check has to fail.
        is_new_failure = topic.failures == 1
        if topic.done or is_new_failure or (self._report_seconds and topic.report_at <= self._clock()):
            self._report(topic, final=topic.done)

    def _report(self, topic: _Topic, *, final: bool) -> None:
        look: TableLook | None = None
        try:
            look = topic.loader.look() if topic.loader else None
        except Exception as error:
            if is_jvm_gone(error):
                raise
            topic.error = topic.error or LoadError.of(error)
        now = self._clock()
        self._reports.put(
            LoadReport(
                topic.load, topic.totals, topic.error, look, topic.columns_before, now - topic.since, final
            )
        )
        topic.totals, topic.since = Totals(), now
        topic.columns_before = tuple(look.columns.items()) if look else topic.columns_before
        topic.report_at = now + (self._report_seconds or 0.0)
