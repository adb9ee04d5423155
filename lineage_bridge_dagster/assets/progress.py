"""Progress of a long operation in a run's log: about twenty lines, whatever the number of items."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable

from lineage_bridge_dagster.lineage.push_results import TableResult
from lineage_bridge_dagster.text import counted

#: A line is logged after this share of the total, or this many items if that is more, or these seconds.
_SHARE = 0.05
_FEWEST = 25
_SECONDS = 10.0

Log = Callable[[str], None]


class Progress:
    """Counts items by outcome and logs the counts now and then.

    >>> progress = Progress("Topics", 50)
    >>> for number in range(50):
    ...     progress.advance(print, "failed" if number == 7 else "read")
    Topics: 25 of 50 done, 1 failed, 24 read
    >>> progress.summary()
    'Topics: 50 of 50 done in 0 s, 1 failed, 49 read'
    """

    def __init__(self, label: str, total: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._label = label
        self._total = total
        self._clock = clock
        self._started = self._logged_at = clock()
        self._step = max(_FEWEST, math.ceil(total * _SHARE))
        self._done = self._logged = 0
        self.outcomes: Counter[str] = Counter()

    def advance(self, log: Log, outcome: str) -> None:
        """Count one more item. The last one is left to the summary."""
        self.outcomes[outcome] += 1
        self._done += 1
        now = self._clock()
        if self._done - self._logged < self._step and now - self._logged_at < _SECONDS:
            return
        self._logged, self._logged_at = self._done, now
        if self._done < self._total:
            log(f"{self._label}: {self._done:,} of {self._total:,} done, {counted(self.outcomes)}")

    @property
    def complete(self) -> bool:
        return self._done >= self._total

    def summary(self) -> str:
        """Return the counts and the time that the operation took."""
        seconds = f"{self._clock() - self._started:,.0f} s"
        outcomes = f", {counted(self.outcomes)}" if self.outcomes else ""
        return f"{self._label}: {self._done:,} of {self._total:,} done in {seconds}{outcomes}"


def by_table(progress: Progress, log: Log) -> Callable[[int, int, TableResult], None]:
    """Return the callback with which a push reports each table."""
    return lambda _done, _total, result: progress.advance(log, str(result.status))
