"""Which offsets a table reads next, and what must not go unnoticed: records lost, a topic created again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from lineage_bridge_dagster.catalogs.iceberg.topic_progress import TopicProgress
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import Accepted


@dataclass(frozen=True, slots=True)
class Batch:
    """The records of `[start, end)`.

    Attributes:
        caught_up: whether the batch ends where the topic did.
        accepted: what the table goes on after with this batch, as text for the snapshot's summary.
    """

    start: Offsets
    end: Offsets
    caught_up: bool
    accepted: tuple[str, ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        return self.start == self.end

    @property
    def most_records(self) -> int:
        """The offsets of all partitions: there are as many records, or fewer after compaction and aborts."""
        return sum(end - self.start[partition] for partition, end in self.end.items())


@dataclass(frozen=True, slots=True)
class TopicBounds:
    """A topic at the moment when a step begins."""

    name: str
    first: Offsets
    last: Offsets
    topic_id: str = ""


class OffsetsLostError(SuspendedError):
    """Retention removed records that the table does not have."""

    def __init__(self, topic: str, lost: Mapping[int, tuple[int, int]]) -> None:
        """Note, by partition, the offset that the table was read up to and the first offset still kept."""
        self.lost = dict(lost)
        shown = "; ".join(
            f"partition {partition} was read up to offset {read}, and begins at {first}"
            for partition, (read, first) in sorted(self.lost.items())[:5]
        )
        more = f" (and {len(self.lost) - 5} more partitions)" if len(self.lost) > 5 else ""
        super().__init__(
            f"Topic {topic} no longer has {self.count} offsets that its table has not read: {shown}{more}.",
            hint="Lengthen the topic's retention, or load it more often. To go on without those records, "
            "accept lost_records; the gap is recorded in the table's snapshot.",
        )

    @property
    def count(self) -> int:
        """Offsets between what was read and what is there; compaction leaves fewer records."""
        return sum(first - read for read, first in self.lost.values())


class TopicRecreatedError(SuspendedError):
    """The topic is not the one that the table was loaded from."""

    def __init__(self, topic: str, reason: str) -> None:
        super().__init__(
            f"Topic {topic} was deleted and created again since its table was last loaded: {reason}.",
            hint="To load the new topic's records into the same table, besides the rows that it has, accept "
            "recreated_topic; for a new table, drop this one or name another.",
        )


def next_batch(
    done: TopicProgress | None,
    topic: TopicBounds,
    max_records: int,
    *,
    accept: Collection[Accepted] = (),
    origin: Offsets | None = None,
    until: Offsets | None = None,
) -> Batch:
    """The records to read next: at most about `max_records` in all, shared out among the partitions.

    Args:
        done: what the table has.
        topic: the topic as it is now.
        max_records: offsets in all; the last ones of a partition leave their share to others.
        accept: what to go on after.
        origin: where a table without progress begins, for partitions that do not begin there by themselves;
            a partition added later is read from its first record.
        until: the offsets at which to stop, if not at the end.

    Raises:
        OffsetsLostError: records that were not read are gone.
        TopicRecreatedError: the topic is another one.
    """
    accepted: list[str] = []
    read = dict(done.offsets) if done else {}
    if reason := recreated(done, topic):
        if "recreated_topic" not in accept:
            raise TopicRecreatedError(topic.name, reason)
        accepted.append(f"recreated_topic: {reason}")
        known = done is not None and done.topic_id and topic.topic_id
        whole = known and done is not None and done.topic_id != topic.topic_id
        read = {} if whole else {p: at for p, at in read.items() if at <= topic.last.get(p, -1)}
    lost = {p: (at, topic.first[p]) for p, at in read.items() if p in topic.first and at < topic.first[p]}
    if lost:
        if "lost_records" not in accept:
            raise OffsetsLostError(topic.name, lost)
        accepted += [f"lost_records: partition {p} {at}-{first}" for p, (at, first) in sorted(lost.items())]
    start = {}
    for partition, first in topic.first.items():
        begin = (origin or {}).get(partition, first) if done is None else first
        start[partition] = min(max(read.get(partition, begin), first), topic.last[partition])
    stop = {p: max(start[p], min(last, (until or {}).get(p, last))) for p, last in topic.last.items()}
    end = shared_out(start, stop, max_records)
    return Batch(start, end, end == stop, tuple(accepted))


def recreated(done: TopicProgress | None, topic: TopicBounds) -> str:
    """Why the topic is not the one that was read before; empty if it is, as far as one can tell."""
    if done is None:
        return ""
    if done.topic_id and topic.topic_id and done.topic_id != topic.topic_id:
        return f"its id was {done.topic_id} and is {topic.topic_id}"
    for partition, at in sorted(done.offsets.items()):
        if partition not in topic.last:
            return f"it had a partition {partition}"
        if at > topic.last[partition]:
            return f"partition {partition} was read up to offset {at}, and ends at {topic.last[partition]}"
    return ""


def shared_out(start: Offsets, stop: Offsets, max_records: int) -> dict[int, int]:
    """The end of each partition's part: equal shares, of which short partitions leave theirs to long ones."""
    rest = {p: stop[p] - at for p, at in start.items()}
    taken = dict.fromkeys(rest, 0)
    budget = max(1, max_records)
    while budget > 0 and (open_ := [p for p in rest if rest[p] > taken[p]]):
        share = max(1, budget // len(open_))
        for partition in open_:
            more = min(share, rest[partition] - taken[partition])
            taken[partition] += more
            budget -= more
    return {p: at + taken[p] for p, at in start.items()}
