"""Among how many tasks a batch is divided, each of which reads records and writes a file. Pure.

A task for each partition of the topic is what Spark would make of a batch: a topic of 64 partitions would get
64 files from each, however few records come, and one of a single partition would be read by one core alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

#: Bytes of keys and values for which another task pays, and the most that one has, and so a file.
LEAST, MOST = 8 << 20, 128 << 20

#: Tasks for each core, so that a core that is done sooner takes another one.
_PER_CORE = 2

#: Rows of a table, of which only the keys and the places are read, that one task finds keys among.
_MOST_ROWS = 500_000


def tasks(size: float, cores: int) -> int:
    """The tasks of a batch.

    Args:
        size: of its records' keys and values in bytes, as far as known.
        cores: tasks that run at once.
    """
    return max(1, min(ceil(size / LEAST), max(_PER_CORE * cores, ceil(size / MOST))))


def matching_tasks(tasks: int, rows: int) -> int:
    """The tasks by which the records of a batch find the rows of their keys."""
    return max(tasks, ceil(rows / _MOST_ROWS))


def most_of_partition(records: Iterable[int], tasks: int) -> int:
    """The records of one partition that a task reads at most, so that long partitions are shared out."""
    return max(1, ceil(sum(records) / max(1, tasks)))
