"""Events in a Kafka topic, as OpenLineage's own Kafka transport writes them: one a record.

No consumer group is joined and nothing is committed: a discovery keeps how far it has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.brokers import TopicReader
from lineage_bridge_dagster.confluent.api.errors import ConfluentError, TopicNotFoundError
from lineage_bridge_dagster.confluent.api.topic_records import RecordRanges, TopicRecord
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSourceError

#: Partition -> offset.
_Offsets = Mapping[int, int]


class ReadableTopics(Protocol):
    """What is asked of a cluster."""

    def state(self, topic: str) -> tuple[str, _Offsets, _Offsets]:
        """Kafka's id of a topic, and the first and the end offset of each partition."""

    def records(self, topic: str, start: _Offsets, end: _Offsets) -> Iterator[TopicRecord]:
        """The records of `[start, end)`."""


@dataclass(frozen=True)
class KafkaTopics:
    """The topics of a cluster, by the Kafka protocol."""

    bootstrap: Bootstrap
    timeout_seconds: float = 30.0

    def state(self, topic: str) -> tuple[str, _Offsets, _Offsets]:
        reader = TopicReader(self.bootstrap, timeout_seconds=self.timeout_seconds)
        first, end = reader.committed_bounds(topic)
        return reader.topic_id(topic), first, end

    def records(self, topic: str, start: _Offsets, end: _Offsets) -> Iterator[TopicRecord]:
        return RecordRanges(self.bootstrap, timeout_seconds=self.timeout_seconds).read(topic, start, end)


@dataclass(frozen=True)
class EventTopic:
    """The events of a topic."""

    cluster: str
    topic: str
    connect: Callable[[], ReadableTopics]

    @property
    def name(self) -> str:
        return f"kafka://{self.cluster}/{self.topic}"

    def probe(self) -> str:
        try:
            _, first, end = self.connect().state(self.topic)
        except ConfluentError as error:
            raise self._error(error, partial=False) from error
        return f"It holds {sum(end.values()) - sum(first.values())} records."

    def read(self, intake: EventIntake) -> None:
        try:
            topics = self.connect()
            topic_id, first, end = topics.state(self.topic)
            start = self._start(intake, topic_id, first, end)
            reached = dict(start)
            # Kept whatever happens on the way: what was read is in the ledger.
            intake.position = {"topic_id": topic_id, "offsets": reached}
            for record in topics.records(self.topic, start, end):
                if record.value is not None:
                    intake.take(record.value, f"partition {record.partition}, offset {record.offset}")
                reached[record.partition] = record.offset + 1
            reached.update(end)
        except ConfluentError as error:
            raise self._error(error, partial=bool(intake.count)) from error

    def _error(self, error: ConfluentError, *, partial: bool) -> EventSourceError:
        if isinstance(error, TopicNotFoundError):
            return EventSourceError(
                f"The topic {self.topic} of {self.cluster} is gone, or this key may not see it.",
                hint="Create it, give the key DeveloperRead on it, or remove it from openlineage.topics.",
            )
        return EventSourceError(error.message, hint=error.hint, denied=error.denied, partial=partial)

    def _start(self, intake: EventIntake, topic_id: str, first: _Offsets, end: _Offsets) -> dict[int, int]:
        """Where to go on: from the beginning in a topic that was created anew since."""
        known = intake.position.get("offsets")
        if not isinstance(known, dict) or intake.position.get("topic_id") != topic_id:
            return dict(first)
        start = {}
        for partition, begin in first.items():
            # JSON has texts as keys.
            at = known.get(str(partition), known.get(partition, begin))
            if not isinstance(at, int) or at > end.get(partition, 0):
                at = begin
            if at < begin:
                intake.refuse(
                    f"partition {partition}", f"{begin - at} records had expired before they were read"
                )
            start[partition] = max(at, begin)
        return start
