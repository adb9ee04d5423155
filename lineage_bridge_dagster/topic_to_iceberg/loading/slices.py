"""Which records a slice of time has, and how far a table may be loaded with them again. Pure.

A record belongs to the slice that its own time is in. Times need not rise with offsets, so the offsets of a
slice are wider than its records. They begin where the brokers find the first record at or after its start:
all before that one are older. They end where the table was loaded to; records of other times in between are
left out. If it is known how late records come, they end sooner: at the first record that is later than the
slice's end by more than that.

Nothing past the table's own offsets is read: the loader would write those rows a second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from lineage_bridge_dagster.catalogs.iceberg.topic_progress import TopicProgress
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import Rejections
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError
from lineage_bridge_dagster.topic_to_iceberg.loading.offsets import TopicBounds, recreated, shared_out


class SliceRefusedError(SuspendedError):
    """A slice cannot be loaded again; nothing of the batch that it was found in was changed."""


@dataclass(frozen=True, slots=True)
class TimeSlice:
    """The records whose time is in `[start, end)`, by the name of the partition that they are."""

    name: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class SliceCounts:
    """What loading a slice again has done.

    Attributes:
        inserted: records that had no row.
        updated: records whose row had other values.
        deleted: rows of records that cannot be rows.
        unchanged: records whose row was right.
        skipped: records that cannot be rows, with or without a row so far.
        rejections: why, and where some of them are: of all slices of a batch.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    skipped: int = 0
    rejections: Rejections = field(default_factory=Rejections)

    @property
    def read(self) -> int:
        """The slice's records that the topic still has."""
        return self.inserted + self.updated + self.unchanged + self.skipped

    @property
    def changed(self) -> int:
        """The rows that were written or deleted."""
        return self.inserted + self.updated + self.deleted

    def plus(self, other: SliceCounts) -> SliceCounts:
        """Both together."""
        return SliceCounts(
            self.inserted + other.inserted,
            self.updated + other.updated,
            self.deleted + other.deleted,
            self.unchanged + other.unchanged,
            self.skipped + other.skipped,
            self.rejections.plus(other.rejections),
        )


@dataclass(frozen=True, slots=True)
class SliceReport:
    """A slice whose records were all read."""

    slice: TimeSlice
    counts: SliceCounts


@dataclass(frozen=True, slots=True)
class SliceRange:
    """The offsets to read for some slices.

    Attributes:
        start: of the first one.
        ends: of each slice, where nothing later can be its own.
    """

    start: Offsets
    ends: tuple[Offsets, ...]

    @property
    def stop(self) -> Offsets:
        """Where the last of them ends."""
        return {p: max(ends[p] for ends in self.ends) for p in self.start}

    def batch_end(self, at: Offsets, max_records: int) -> Offsets:
        """The end of the batch that begins at these offsets."""
        return shared_out(at, self.stop, max_records)

    def is_past(self, number: int, at: Offsets) -> bool:
        """Whether a slice has been read, once everything before these offsets has."""
        return all(at[p] >= end for p, end in self.ends[number].items())


def check_contiguous(slices: Sequence[TimeSlice]) -> None:
    """Check that slices follow one another.

    Raises:
        ValueError: there are no slices, or a gap between two of them.
    """
    gaps = [one.name for one, after in pairwise(slices) if one.end != after.start]
    if not slices or gaps:
        raise ValueError(f"slices that do not follow one another, after {', '.join(gaps) or 'none'}")


def slice_range(
    done: TopicProgress | None,
    origin: Offsets,
    topic: TopicBounds,
    start: Offsets,
    ends: Sequence[Offsets | None],
) -> SliceRange:
    """The offsets to read for slices.

    Args:
        done: what the table has of the topic.
        origin: where a table without rows begins, by partition; the loader reads nothing before.
        topic: the topic as it is now.
        start: the offset of the first record at or after the first slice's start, by partition.
        ends: of each slice, the offset at which it ends; None for one that ends with the table's offsets.

    Raises:
        SliceRefusedError: the topic is not the one that the table was loaded from.
    """
    if reason := recreated(done, topic):
        raise SliceRefusedError(
            f"Topic {topic.name} was deleted and created again since its table was last loaded: {reason}. "
            "The table's rows are not of its records.",
            hint="Nothing was changed. Load the new topic into a table of its own; or have the loader accept "
            "recreated_topic, after which slices that only the new topic has can be loaded again.",
        )
    loaded = done.offsets if done is not None else origin
    first, limit = {}, {}
    for partition, last in topic.last.items():
        # A partition that the table has nothing of is the loader's, from its first record on.
        limit[partition] = min(loaded.get(partition, 0), last)
        first[partition] = min(max(start.get(partition, last), topic.first[partition]), limit[partition])
    return SliceRange(
        first,
        tuple(
            {p: max(first[p], min(at, at if end is None else end.get(p, at))) for p, at in limit.items()}
            for end in ends
        ),
    )


def end_times(slices: Sequence[TimeSlice], late: timedelta | None) -> Iterator[int | None]:
    """The time, in Unix milliseconds, whose first record ends each slice; None if lateness is not known."""
    for one in slices:
        yield None if late is None else int((one.end + late).timestamp() * 1000)
