"""How far a topic was read into its table: what the table's own snapshots say, and nothing else does.

The snapshot that holds a batch's rows has the batch's offsets in its summary, so one commit moves both or
neither. Commits of other writers (a compaction, say) have none: the offsets are those of the newest ancestor
that has some. A tag keeps that ancestor, however many commits of upkeep follow and whoever expires snapshots.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.json_text import json_value

#: Key of a snapshot's summary: a JSON object, partition -> offset after the last one whose record is a row.
#: The embedded Tableflow writes it. What other writers keep are not offsets of the topic: Iceberg's Kafka
#: Connect sink has those of its control topic in `kafka.connect.offsets.*`; Confluent documents none.
OFFSETS = "tableflow.offsets"

#: Keys of the summary besides the offsets.
START = "topic_to_iceberg.start"
TOPIC_ID = "topic_to_iceberg.topic-id"
WRITER = "topic_to_iceberg.writer"
ACCEPTED = "topic_to_iceberg.accepted"

#: The tag on the newest snapshot that has offsets.
COMMITTED_TAG = "topic_to_iceberg_committed"


@dataclass(frozen=True, slots=True)
class RawSnapshot:
    """A snapshot as it is in a metadata file; a value of a wrong type counts as missing."""

    raw: Mapping[str, Any]

    @property
    def snapshot_id(self) -> int:
        return int(self.raw["snapshot-id"])

    @property
    def committed_ms(self) -> int | None:
        """Unix milliseconds."""
        found = self.raw.get("timestamp-ms")
        return found if isinstance(found, int) else None

    @property
    def parent_id(self) -> int | None:
        found = self.raw.get("parent-snapshot-id")
        return found if isinstance(found, int) else None

    @property
    def sequence_number(self) -> int:
        found = self.raw.get("sequence-number")
        return found if isinstance(found, int) else 0

    @property
    def summary(self) -> Mapping[str, Any]:
        found = self.raw.get("summary")
        return found if isinstance(found, Mapping) else {}


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """The last batch of a topic in a table.

    Attributes:
        offsets: partition -> the offset up to which the topic was read, which is the next one to read.
        start: partition -> the first offset of the batch; empty if its writer did not say.
        topic_id: the topic's id at its cluster, which a topic created again does not share; empty if the
            brokers did not say.
        writer: the id of the writer; empty if it did not say.
    """

    snapshot_id: int
    offsets: Mapping[int, int]
    start: Mapping[int, int] = field(default_factory=dict)
    topic_id: str = ""
    writer: str = ""

    @classmethod
    def of(cls, snapshot: RawSnapshot) -> TopicProgress | None:
        """What a snapshot's own summary says; None if it has no offsets, or none that can be read."""
        summary = snapshot.summary
        offsets = _offsets(summary.get(OFFSETS))
        if offsets is None:
            return None
        return cls(
            snapshot.snapshot_id,
            offsets,
            _offsets(summary.get(START)) or {},
            str(summary.get(TOPIC_ID) or ""),
            str(summary.get(WRITER) or ""),
        )

    def continues(self, before: TopicProgress | None) -> bool:
        """Whether the batch starts exactly where the one before ended."""
        if before is None:
            return True
        return all(self.start.get(partition) == at for partition, at in before.offsets.items())

    def is_after(self, other: TopicProgress) -> bool:
        """Whether it has read a partition further than another."""
        return any(at > other.offsets.get(partition, -1) for partition, at in self.offsets.items())


def progress(
    head: int | None, tagged: int | None, snapshot: Callable[[int], RawSnapshot | None]
) -> TopicProgress | None:
    """The newest progress in a branch; None if none of its snapshots that are kept has any.

    Args:
        tagged: the snapshot with the tag `COMMITTED_TAG`, which counts when the branch's own history is no
            longer kept as far back as that.
        snapshot: finds a snapshot of the table that is still kept.
    """
    oldest = None
    for entry in lineage(head, snapshot):
        if (found := TopicProgress.of(entry)) is not None:
            return found
        oldest = entry
    if oldest is None or oldest.parent_id is None or tagged is None:
        return None
    kept = snapshot(tagged)
    # A branch that was rolled back past the tagged snapshot is older than that is.
    if kept is None or kept.sequence_number >= oldest.sequence_number:
        return None
    return TopicProgress.of(kept)


def lineage(head: int | None, snapshot: Callable[[int], RawSnapshot | None]) -> Iterator[RawSnapshot]:
    """A snapshot and its ancestors, newest first, as far back as they are kept."""
    visited: set[int] = set()
    while head is not None and head not in visited and (entry := snapshot(head)) is not None:
        yield entry
        visited.add(head)
        head = entry.parent_id


def summary_of(offsets: Mapping[int, int]) -> str:
    """Offsets as they are in a summary."""
    return json.dumps(dict(sorted(offsets.items())))


def _offsets(text: object) -> dict[int, int] | None:
    try:
        return {int(partition): int(offset) for partition, offset in json_value(str(text)).items()}
    except (AttributeError, TypeError, ValueError):
        return None
