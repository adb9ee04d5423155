"""How far a work over many tables is, as a run's log tells it: some twenty lines, however many they are."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable

from lineage_bridge_dagster.glue.results import TableResult
from lineage_bridge_dagster.text import counted

#: Share of the whole that is worth a line, the fewest things that are, and the longest silence in seconds.
_SHARE = 0.05
_FEWEST = 25
_SECONDS = 10.0

Log = Callable[[str], None]


class Progress:
    """Counts what is done, and says so now and then.

    >>> reading = Progress("Topics", 50)
    >>> for number in range(50):
    ...     reading.advance(print, "failed" if number == 7 else "read")
    Topics: 25 of 50 done, 1 failed, 24 read
    >>> reading.summary()
    'Topics: 50 of 50 done in 0 s, 1 failed, 49 read'
    """

    def __init__(self, what: str, total: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._total = total
        self._clock = clock
        self._began = self._said_at = clock()
        self._step = max(_FEWEST, math.ceil(total * _SHARE))
        self._done = self._said = 0
        self.outcomes: Counter[str] = Counter()

    def advance(self, log: Log, outcome: str) -> None:
        """One more is done. The last one is the summary's to say."""
        self.outcomes[outcome] += 1
        self._done += 1
        now = self._clock()
        if self._done - self._said < self._step and now - self._said_at < _SECONDS:
            return
        self._said, self._said_at = self._done, now
        if self._done < self._total:
            log(f"{self._what}: {self._done:,} of {self._total:,} done, {counted(self.outcomes)}")

    @property
    def complete(self) -> bool:
        return self._done >= self._total

    def summary(self) -> str:
        """All that was done, and how long it took."""
        seconds = f"{self._clock() - self._began:,.0f} s"
        outcomes = f", {counted(self.outcomes)}" if self.outcomes else ""
        return f"{self._what}: {self._done:,} of {self._total:,} done in {seconds}{outcomes}"


def by_table(progress: Progress, log: Log) -> Callable[[int, int, TableResult], None]:
    """The progress of a push, table by table."""
    return lambda _done, _total, result: progress.advance(log, str(result.status))
