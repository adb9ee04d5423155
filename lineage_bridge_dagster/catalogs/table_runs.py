"""Writing to many tables at once: the calls run concurrently, and each table has one result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from lineage_bridge_dagster.catalogs.lineage_catalog import R, T
from lineage_bridge_dagster.lineage.push_results import TableResult

#: Called after each table with the number of tables done, the total, and the table's result; never
#: concurrently.
ProgressCallback = Callable[[int, int, TableResult], None]

#: The most tables that are read but not written yet; the record of a table may be 100 kB.
_READ_AHEAD = 200

#: Writes a table with its record, or with None if it has to be read on its own.
Write = Callable[[T, R | None], TableResult]


class TableRun:
    """One run over many tables.

    Args:
        max_concurrency: tables that are written at the same time.
        progress: called after each table.

    Attributes:
        results: by the table's node id, or by the name in a selection if there is no such table.
        total: how many tables there will be results of.
    """

    def __init__(self, max_concurrency: int, progress: ProgressCallback | None = None) -> None:
        self.results: dict[str, TableResult] = {}
        self.total = 0
        self._max_concurrency = max_concurrency
        self._progress = progress
        self._lock = threading.Lock()

    def each(self, readings: Iterable[tuple[T, R | None]], write: Write[T, R]) -> None:
        """Write each table as it is read: with its record, or None if it has to be read on its own."""
        free = threading.BoundedSemaphore(_READ_AHEAD)

        def one(target: T, record: R | None) -> None:
            try:
                try:
                    result = write(target, record)
                except Exception as error:  # a bug with one table must not stop the others
                    result = target.bug(error)
                self.done(result)
            finally:
                free.release()

        pool = ThreadPoolExecutor(self._max_concurrency, thread_name_prefix="push")
        try:
            futures = []
            for target, record in readings:
                free.acquire()
                futures.append(pool.submit(one, target, record))
            for future in futures:
                future.result()
        finally:
            # After an interrupt, writes that have started are completed, and no others start.
            pool.shutdown(wait=True, cancel_futures=True)

    def done(self, result: TableResult) -> None:
        with self._lock:
            self.results[result.table] = result
            if self._progress is not None:
                self._progress(len(self.results), self.total, result)
