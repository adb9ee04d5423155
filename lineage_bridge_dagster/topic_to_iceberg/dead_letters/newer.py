"""Newer records of the keys of dead letters.

A record that is sent again gets a new offset, and so wins over all that its key got since: in a table with a
row for each key, in a compacted topic, in any consumer that keeps the last value. So each letter is compared
with the records of its key that follow it. Other dead letters don't count, as they are in no table; a record
that was sent again counts with its first offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from lineage_bridge_dagster.confluent.api.topic_records import TopicRecord
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import replay_of
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.reading import RecordSource
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.survey import KeyId, LetterEntry, key_id

#: A topic and a partition.
Partition = tuple[str, int]


class Newer:
    """The newest records of the letters' keys, as far as the topics were read.

    Args:
        entries: the letters to compare.
        letters: all letters of the topics, whose records don't count.
        topic_ids: Kafka's ids of the topics as they are now.
    """

    def __init__(
        self, entries: Iterable[LetterEntry], letters: Iterable[LetterEntry], topic_ids: Mapping[str, str]
    ) -> None:
        self._newest: dict[Partition, dict[KeyId, tuple[int, int]]] = {}
        self._at: dict[Partition, int] = {}
        self._topic_ids = topic_ids
        for entry in entries:
            if entry.key is None:
                continue
            self._newest.setdefault(entry.source, {}).setdefault(entry.key, (-1, -1))
            self._at[entry.source] = min(self._at.get(entry.source, entry.rank + 1), entry.rank + 1)
        self._letters = {
            (*entry.source, entry.offset)
            for entry in letters
            if entry.topic_id == topic_ids.get(entry.topic, "")
        }

    def read_to(
        self,
        source: RecordSource,
        ends: Mapping[Partition, int],
        *,
        committed: bool = True,
        own: frozenset[tuple[str, int, int]] = frozenset(),
        progress: Callable[[str, int], None] = lambda _topic, _count: None,
    ) -> None:
        """Read on to these ends, exclusive.

        Args:
            source: of the topics.
            ends: by partition; those without a letter are not read.
            committed: leave out what transactions have not committed.
            own: records that the caller itself has just sent; they don't count.
            progress: gets the topic and how many of its records were read.
        """
        for topic in sorted({topic for topic, _ in ends}):
            start = {p: at for (name, p), at in self._at.items() if name == topic and (name, p) in ends}
            end = {p: ends[topic, p] for p in start}
            for count, record in enumerate(source.read(topic, start, end, committed=committed), 1):
                if (topic, record.partition, record.offset) not in own:
                    self._add(topic, record)
                progress(topic, count)
            for partition, offset in end.items():
                self._at[topic, partition] = max(self._at[topic, partition], offset)

    def than(self, entry: LetterEntry) -> int | None:
        """The offset of a record that follows the letter's and has its key; None if none was read."""
        if entry.key is None:
            return None
        rank, offset = self._newest.get(entry.source, {}).get(entry.key, (-1, -1))
        return offset if rank > entry.rank else None

    def _add(self, topic: str, record: TopicRecord) -> None:
        if (topic, record.partition, record.offset) in self._letters:
            return
        newest = self._newest[topic, record.partition]
        for framed in (False, True):
            key = key_id(record.key, framed=framed)
            if key is None or key not in newest:
                continue
            replay = replay_of(record.headers)
            known = replay is not None and replay.topic_id == self._topic_ids.get(topic, "")
            rank = replay.offset if replay is not None and known else record.offset
            newest[key] = max(newest[key], (rank, record.offset))
