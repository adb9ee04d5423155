"""How far apart a table's commits of rows usually are, by its own snapshots.

Tableflow has no setting for it: it commits within minutes where much arrives, and hours apart where little
does. So the table's history tells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

#: Commits less than this apart are one: a writer that catches up makes many at once.
BURST_MS = 60_000
#: Intervals below which the history is too short to show a cadence.
MIN_INTERVALS = 3
#: The share of intervals that the cadence covers: the longest may be an outage, or a night without records.
QUANTILE = 0.9


@dataclass(frozen=True, slots=True)
class Cadence:
    """The usual time between commits of rows: `QUANTILE` of these intervals do not exceed it."""

    interval_ms: int
    intervals: int

    @classmethod
    def of(cls, commits_ms: Iterable[int]) -> Cadence | None:
        """The cadence of commits, given their times in any order; None if they are too few.

        >>> Cadence.of([0, 900_000, 1_800_000, 2_700_000])
        Cadence(interval_ms=900000, intervals=3)
        """
        times = sorted(commits_ms)
        gaps = sorted(gap for before, after in pairwise(times) if (gap := after - before) >= BURST_MS)
        if len(gaps) < MIN_INTERVALS:
            return None
        return cls(gaps[math.ceil(QUANTILE * len(gaps)) - 1], len(gaps))
