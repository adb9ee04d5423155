"""A topic of events is read on from where the last reading ended, without a consumer group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from lineage_bridge_dagster.confluent.api.errors import BrokerError, TopicNotFoundError
from lineage_bridge_dagster.confluent.api.topic_records import TopicRecord
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSourceError
from lineage_bridge_dagster.event_sources.sources import event_sources
from lineage_bridge_dagster.event_sources.topic import EventTopic
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster.openlineage.settings import OpenLineageSettings
from lineage_bridge_dagster_tests.openlineage.incoming.producers import event

NOW = datetime(2026, 11, 27, tzinfo=UTC)


@dataclass
class FakeTopics:
    """One partition whose first records may have expired."""

    values: list[bytes | None] = field(default_factory=list)
    first: int = 0
    topic_id: str = "one"
    fails_at: int | None = None

    def state(self, topic: str) -> tuple[str, Mapping[int, int], Mapping[int, int]]:
        if topic != "events":
            raise TopicNotFoundError("no such topic")
        return self.topic_id, {0: self.first}, {0: len(self.values)}

    def records(self, topic: str, start: Mapping[int, int], end: Mapping[int, int]) -> Iterator[TopicRecord]:
        for offset in range(start[0], end[0]):
            if offset == self.fails_at:
                raise BrokerError("The brokers went away.", hint="Wait.")
            yield TopicRecord(0, offset, None, self.values[offset], ())


def told(name: str) -> bytes:
    return json.dumps(event(outputs=[f"s3://lake {name}"], run=name)).encode()


def read(topics: FakeTopics, last: EventIntake | None = None, topic: str = "events") -> EventIntake:
    position = json.loads(json.dumps(last.position)) if last else {}
    intake = EventIntake(last.ledger if last else JobLedger(NOW), position)
    EventTopic("own", topic, lambda: topics).read(intake)
    return intake


def test_only_new_records_are_read_and_tombstones_are_none() -> None:
    topics = FakeTopics([told("a"), None, b"{oops"])
    first = read(topics)
    assert (first.count, first.refused[0].partition(": ")[0]) == (1, "partition 0, offset 2")
    topics.values.append(told("b"))
    assert read(topics, first).count == 1


def test_a_topic_that_was_created_anew_is_read_from_its_beginning() -> None:
    first = read(FakeTopics([told("a"), told("b")]))
    assert read(FakeTopics([told("c")], topic_id="two"), first).count == 1


def test_what_expired_before_it_was_read_is_told() -> None:
    first = read(FakeTopics([told("a")]))
    again = read(FakeTopics([told("a"), told("b"), told("c"), told("d")], first=3), first)
    assert again.count == 1
    assert again.refused == ["partition 0: 2 records had expired before they were read"]


def test_an_outage_on_the_way_keeps_what_was_read() -> None:
    topics = FakeTopics([told("a"), told("b")], fails_at=1)
    intake = EventIntake(JobLedger(NOW))
    with pytest.raises(EventSourceError) as caught:
        EventTopic("own", "events", lambda: topics).read(intake)
    assert caught.value.partial
    topics.fails_at = None
    assert read(topics, intake).count == 1


def test_a_topic_that_is_gone_and_a_cluster_that_is_unknown_are_told() -> None:
    with pytest.raises(EventSourceError, match="is gone"):
        read(FakeTopics(), topic="other")
    settings = OpenLineageSettings(topics=["events"], cluster="lkc-none")
    [source] = event_sources(settings, ConfluentSettings(), Graph(), lambda: pytest.fail("S3 is not asked"))
    assert source.name == "kafka://lkc-none/events"
    with pytest.raises(EventSourceError, match="No topic of the cluster lkc-none is known"):
        source.read(EventIntake(JobLedger(NOW)))
