"""A topic and its dead letter topic on a real broker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
)

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.brokers import TopicOffsets, TopicReader
from lineage_bridge_dagster.confluent.api.topic_records import TopicRecord
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import LetterOrigin
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetter
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.reading import KafkaSource, ReplayTarget
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.replay import Replay
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.sender import replay_producer
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.survey import LetterSelection
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.topic import DeadLetterTopic
from lineage_bridge_dagster_tests.dagster_ui import eventually
from lineage_bridge_dagster_tests.topic_to_iceberg.dead_letters.letters import letter


@dataclass
class Cluster:
    """A topic and its dead letter topic on the broker, named after the test."""

    bootstrap: Bootstrap
    name: str
    mode: str = "upsert"
    admin: Any = field(init=False)
    producer: Any = field(init=False)

    def __post_init__(self) -> None:
        self.admin = AdminClient({**self.bootstrap.librdkafka_options(), "log_level": 0})
        self.producer = Producer(
            {**self.bootstrap.librdkafka_options(), "message.max.bytes": 100_000_000, "log_level": 0}
        )

    @property
    def topic(self) -> str:
        return f"{self.name}.v1"

    @property
    def errors(self) -> str:
        return f"{self.name}.errors"

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        # The records' times are those of the examples.
        config = {"retention.ms": "-1", **{key.replace("_", "."): value for key, value in configs.items()}}
        self.admin.create_topics([NewTopic(name, partitions, config=config)])[name].result()

    def spread(self, partitions: int) -> None:
        """Have so many partitions in the topic."""
        self.admin.create_partitions([NewPartitions(self.topic, partitions)])[self.topic].result()

        def are_there() -> bool:
            described = self.admin.list_topics(self.topic, timeout=10).topics[self.topic]
            return len(described.partitions) == partitions

        eventually(are_there, 60, "partitions", 0.1)

    def deny_writes(self, kind: Any, name: str) -> None:
        """Allow everything else: what no ACL allows is denied where there is one."""
        for operation, permission in (
            (AclOperation.ALL, AclPermissionType.ALLOW),
            (AclOperation.WRITE, AclPermissionType.DENY),
        ):
            binding = AclBinding(
                kind, name, ResourcePatternType.LITERAL, "User:ANONYMOUS", "*", operation, permission
            )
            self.admin.create_acls([binding])[binding].result()

    def produce(self, *values: bytes | None, key: bytes | None = b"k", **options: Any) -> int:
        """Produce records to the topic, and return the offset of the last one."""
        delivered: list[Any] = []
        for value in values:
            self.producer.produce(
                self.topic, value, key, on_delivery=lambda *report: delivered.append(report), **options
            )
        self.producer.flush(30)
        assert [error for error, _ in delivered] == [None] * len(values)
        return int(delivered[-1][1].offset())

    @property
    def source(self) -> KafkaSource:
        return KafkaSource(self.bootstrap, timeout_seconds=15)

    def records(self, topic: str) -> list[TopicRecord]:
        """The committed records: brokers write the end of a transaction after they have acknowledged it."""

        def state() -> ReplayTarget | None:
            found = self.source.describe(topic)
            stored = reader.read([topic])[topic]
            assert isinstance(stored, TopicOffsets)
            ends = {each.partition: each.end for each in stored.partitions}
            return found if found and found.end == ends else None

        reader = TopicReader(self.bootstrap)
        found = eventually(state, 60, f"the end of transactions in {topic}", 0.05)
        return list(self.source.read(topic, found.first, found.end))

    def letter(self, offset: int, value: bytes | None = b"bad", **fields: Any) -> DeadLetter:
        """The letter of the record at an offset."""
        state = self.source.describe(self.topic)
        topic_id = state.topic_id if state else ""
        return letter(
            offset, **{"topic": self.topic, "partition": 0, "value": value, "topic_id": topic_id, **fields}
        )

    def queue(self, **options: Any) -> DeadLetterTopic:
        origin = LetterOrigin("sales.orders", self.mode, "lkc-test")
        queue = DeadLetterTopic(
            self.errors, self.topic, self.bootstrap, origin, timeout_seconds=20, **options
        )
        queue.prepare()
        return queue

    def replay(self, **fields: Any) -> Replay:
        fields = {"selection": LetterSelection(), "cluster": "lkc-test", **fields}
        return Replay(self.errors, self.source, **fields)

    def apply(self, **fields: Any) -> dict[str, int]:
        replay = self.replay(**fields)
        return dict(replay.apply(lambda: replay_producer(self.bootstrap, self.errors)).counts)
