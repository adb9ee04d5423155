"""Loads many topics in a few threads, which share a process and a Spark session."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from queue import Empty, SimpleQueue

from lineage_bridge_dagster.topic_to_iceberg.loader import OpenLoader
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadReport
from lineage_bridge_dagster.topic_to_iceberg.rotation import Rotation
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

#: Seconds between checks whether all threads have ended.
_TICK = 0.5


class LoadRun:
    """One run over some topics, each thread with a rotation of its own.

    Args:
        loads: the topics.
        open_loader: opens the loader of one.
        threads: topics that are loaded at the same time.
        commit_seconds, report_seconds: see `Rotation`.
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
        self._clock = clock
        self._stop = threading.Event()
        self._reports: SimpleQueue[LoadReport] = SimpleQueue()
        self._fatal: Exception | None = None
        number = min(threads, len(loads))
        rotations = [
            Rotation(
                loads[start::number],
                open_loader,
                commit_seconds=commit_seconds,
                report_seconds=report_seconds,
                clock=clock,
            )
            for start in range(number)
        ]
        self._threads = [
            threading.Thread(
                # Its clients count their requests where those of this thread do.
                target=copy_context().run,
                args=(self._work, rotation),
                name=f"topics-{number}",
                daemon=True,
            )
            for number, rotation in enumerate(rotations)
        ]

    def stop(self) -> None:
        """Let the threads end after the batches that they are at."""
        self._stop.set()

    def reports(
        self, until: float | None = None, is_over: Callable[[], bool] = lambda: False
    ) -> Iterator[LoadReport]:
        """Run, and yield a report whenever there is one, until all threads have ended.

        Args:
            until: a time of the clock at which to stop.
            is_over: asked every half second whether to stop.

        Raises:
            Exception: Spark is gone, so no topic can go on.
        """
        for thread in self._threads:
            if not thread.is_alive() and not self._stop.is_set():
                thread.start()
        yield from self._drain(until, is_over)

    def rest(self, seconds: float) -> Iterator[LoadReport]:
        """Stop, and yield the last reports of the topics whose batches end in time."""
        self.stop()
        deadline = self._clock() + seconds
        while self._is_alive() and self._clock() < deadline:
            yield from self._next()
        while not self._reports.empty():
            yield self._reports.get()

    def _drain(self, until: float | None, is_over: Callable[[], bool]) -> Iterator[LoadReport]:
        while self._is_alive():
            if (until is not None and self._clock() >= until) or is_over():
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

    def _work(self, rotation: Rotation) -> None:
        try:
            while not self._stop.is_set() and not rotation.is_done:
                for report in rotation.turn(self._stop.is_set):
                    self._reports.put(report)
                if (wait := rotation.wait) > 0:
                    self._stop.wait(min(wait, _TICK))
            if self._stop.is_set():
                for report in rotation.rest():
                    self._reports.put(report)
        except Exception as error:
            # Only the loss of Spark arrives here; the other threads will see it, too.
            self._fatal = error
            self._stop.set()
