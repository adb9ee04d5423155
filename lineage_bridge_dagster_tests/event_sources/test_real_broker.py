"""Events through a real broker: sent by OpenLineage's own transport, and read once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSource, EventSourceError
from lineage_bridge_dagster.event_sources.sources import event_sources
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.openlineage.emission import emit
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster.openlineage.receivers import receivers
from lineage_bridge_dagster.openlineage.sent import NothingKept
from lineage_bridge_dagster.openlineage.settings import OpenLineageSettings
from lineage_bridge_dagster_tests.dagster_ui import eventually
from lineage_bridge_dagster_tests.event_sources.test_files import NOW, names, told
from lineage_bridge_dagster_tests.kafka_broker import RestartableBroker, restartable_broker
from lineage_bridge_dagster_tests.openlineage.collector import configure_nothing
from lineage_bridge_dagster_tests.openlineage.test_events import shop
from lineage_bridge_dagster_tests.openlineage.test_receivers import configure

# It starts a JVM.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

TOPIC = "openlineage.events"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableBroker]:
    with restartable_broker(tmp_path_factory.mktemp("broker")) as process:
        yield process


class EventsTopic:
    """The topic of events on the broker."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.admin = AdminClient({"bootstrap.servers": address})

    def create(self) -> None:
        self.admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result()

    def produce(self, *values: bytes | None, **options: Any) -> None:
        producer = Producer({"bootstrap.servers": self.address, **options})
        for number, value in enumerate(values):
            producer.produce(TOPIC, value, key=str(number), partition=number % 2)
        assert producer.flush(30) == 0

    def source(self, timeout: float = 30.0) -> EventSource:
        settings = OpenLineageSettings(topics=[TOPIC], bootstrap_servers=f"PLAINTEXT://{self.address}")
        confluent = ConfluentSettings(timeout_seconds=timeout)
        [found] = event_sources(settings, confluent, Graph(), lambda: pytest.fail("S3 is not asked"))
        return found

    def read(self, last: EventIntake | None = None) -> EventIntake:
        intake = continued(last)
        self.source().read(intake)
        return intake


def continued(last: EventIntake | None) -> EventIntake:
    position = json.loads(json.dumps(last.position)) if last else {}
    return EventIntake(last.ledger if last else JobLedger(NOW), position)


def events(*texts: str) -> list[bytes]:
    return [told(text).encode() for text in texts]


def test_events_are_read_once_whatever_happens_to_the_topic(
    broker: RestartableBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure_nothing(monkeypatch, tmp_path)
    topic = EventsTopic(broker.broker.address)
    with pytest.raises(EventSourceError, match="is gone, or this key may not see it"):
        topic.source().probe()
    topic.create()
    transport = {"type": "kafka", "topic": TOPIC, "config": {"bootstrap.servers": topic.address}}
    configure(monkeypatch, tmp_path, {"type": "composite", "transports": {"lineage": transport}})
    [sent] = emit(shop().discovery(), receivers(), NothingKept()).receivers
    assert (sent.ok, sent.sent) == (True, 4)
    assert topic.source().probe() == "It holds 4 records."
    last = topic.read()
    assert (last.count, last.refused) == (4, [])

    topic.produce(*events("a", "b"), None, b"{oops")
    last = topic.read(last)
    assert (last.count, last.refused_count) == (2, 1)
    assert {"a", "b"} <= set(names(last))

    # What a transaction takes back was never there; its markers are passed over.
    producer = Producer({"bootstrap.servers": topic.address, "transactional.id": "t"})
    producer.init_transactions()
    for name, end in (("no", producer.abort_transaction), ("yes", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(TOPIC, *events(name), partition=0)
        end()
    # Brokers write the marker of an end after they acknowledge it.
    before = last
    last = eventually(lambda: again if (again := topic.read(before)).count else None, 60, "the commit")
    assert last.count == 1
    assert "yes" in names(last)
    assert "no" not in names(last)
    assert topic.read(last).count == 0

    topic.produce(*events("c", "d", "e", "f"))
    ends = [TopicPartition(TOPIC, 0, int(last.position["offsets"][0]) + 1)]
    topic.admin.delete_records(ends)[ends[0]].result()
    last = topic.read(last)
    assert (last.count, last.refused) == (3, ["partition 0: 1 records had expired before they were read"])

    topic.admin.delete_topics([TOPIC])[TOPIC].result()
    topic.create()
    topic.produce(*events("i"))
    last = topic.read(last)
    assert last.count == 1

    broker.stop()
    interrupted = continued(last)
    with pytest.raises(EventSourceError) as caught:
        topic.source(timeout=2).read(interrupted)
    assert (caught.value.partial, caught.value.denied) == (False, False)
    assert interrupted.position == json.loads(json.dumps(last.position))
