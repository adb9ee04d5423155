"""A real broker, by the Kafka protocol."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ConfigSource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from lineage_bridge_dagster.embedded.kafka.broker import (
    BrokerError,
    ConfigEntry,
    GroupInfo,
    GroupOffset,
    Message,
    TopicInfo,
)

T = TypeVar("T")

#: Seconds that one question to the broker may take; a machine under load is slow.
TIMEOUT = 15.0
#: Seconds to find out that a broker isn't there at all.
METADATA_TIMEOUT = 5.0
#: Seconds that a batch of records may take to be acknowledged.
PRODUCE_TIMEOUT = 60.0

#: What a broker says of a topic or group that it has only just made.
_NOT_YET = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
    }
)


class KafkaBroker:
    """A broker at `bootstrap` (`host:port`), asked without TLS or credentials: it is on the loopback."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._config: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            # librdkafka reports a broker that is down on stderr, once a second; the callers say it once.
            "log_level": 0,
            "socket.connection.setup.timeout.ms": 5000,
            # A broker that was restarted is found again soon: it is on this machine.
            "reconnect.backoff.max.ms": 1000,
        }
        self._lock = threading.Lock()
        self._admin: AdminClient | None = None
        self._producer: Producer | None = None

    @property
    def admin(self) -> AdminClient:
        with self._lock:
            if self._admin is None:
                self._admin = AdminClient(self._config)
            return self._admin

    @property
    def producer(self) -> Producer:
        with self._lock:
            if self._producer is None:
                # Idempotent, so that a retry inside the client never doubles a record.
                self._producer = Producer(
                    {**self._config, "enable.idempotence": True, "linger.ms": 20, "compression.type": "lz4"}
                )
            return self._producer

    def topics(self) -> dict[str, TopicInfo]:
        metadata = self._ask(lambda: self.admin.list_topics(timeout=METADATA_TIMEOUT))
        return {
            name: TopicInfo(name, len(topic.partitions), _replication(topic))
            for name, topic in metadata.topics.items()
            if topic.error is None
        }

    def configs(self, topics: Sequence[str]) -> dict[str, list[ConfigEntry]]:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
        if not resources:
            return {}

        def ask() -> dict[str, list[ConfigEntry]]:
            answers = self.admin.describe_configs(resources, request_timeout=TIMEOUT)
            return {
                resource.name: [_config_entry(n, e) for n, e in sorted(future.result(TIMEOUT).items())]
                for resource, future in answers.items()
            }

        return self._ask(ask)

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> bool:
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(configs))
        try:
            self.admin.create_topics([topic], operation_timeout=TIMEOUT)[name].result(TIMEOUT)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            raise BrokerError(f"creating topic {name} on {self.bootstrap}: {error.args[0].str()}") from error
        return True

    def end_offsets(self, topic: str) -> dict[int, int]:
        metadata = self._ask(lambda: self.admin.list_topics(topic, timeout=METADATA_TIMEOUT))
        if metadata.topics[topic].error is not None:
            raise BrokerError(f"topic {topic} is not on {self.bootstrap}")
        return self._ends([TopicPartition(topic, p) for p in metadata.topics[topic].partitions])[topic]

    def _ends(self, partitions: Iterable[TopicPartition]) -> dict[str, dict[int, int]]:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        wanted = dict.fromkeys(partitions, latest)

        def ask() -> dict[str, dict[int, int]]:
            ends: dict[str, dict[int, int]] = {}
            for partition, future in self.admin.list_offsets(wanted, request_timeout=TIMEOUT).items():
                ends.setdefault(partition.topic, {})[partition.partition] = future.result(TIMEOUT).offset
            return ends

        return self._ask(ask)

    def produce(self, topic: str, messages: Sequence[Message]) -> None:
        failed: list[str] = []

        def done(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                failed.append(error.str())

        producer = self.producer
        for message in messages:
            while True:
                try:
                    producer.produce(
                        topic, message.value, message.key, partition=message.partition, on_delivery=done
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
        left = producer.flush(PRODUCE_TIMEOUT)
        if left or failed:
            reason = failed[0] if failed else f"{left} records not acknowledged in {PRODUCE_TIMEOUT:.0f} s"
            raise BrokerError(f"producing to {topic} on {self.bootstrap}: {reason}")

    def groups(self) -> dict[str, GroupInfo]:

        def ask() -> Any:
            answer = self.admin.list_consumer_groups(request_timeout=TIMEOUT).result(TIMEOUT)
            # A coordinator that is still loading its groups says so beside those it knows.
            if answer.errors:
                raise KafkaException(answer.errors[0])
            return answer

        answer = self._ask(ask)
        return {
            group.group_id: GroupInfo(
                group.group_id,
                # Kafka REST says REBALANCE where the client says REBALANCING.
                group.state.name.removesuffix("ING") if group.state is not None else "UNKNOWN",
                group.type.name if group.type is not None and group.type.name != "UNKNOWN" else "CLASSIC",
                bool(group.is_simple_consumer_group),
            )
            for group in answer.valid
        }

    def group_offsets(self, group: str) -> list[GroupOffset]:
        request = [ConsumerGroupTopicPartitions(group)]

        def ask() -> Any:
            futures = self.admin.list_consumer_group_offsets(request, request_timeout=TIMEOUT)
            return futures[group].result(TIMEOUT)

        committed = [p for p in self._ask(ask).topic_partitions if p.offset >= 0]
        if not committed:
            return []
        ends = self._ends([TopicPartition(p.topic, p.partition) for p in committed])
        return [
            GroupOffset(p.topic, p.partition, p.offset, ends[p.topic][p.partition])
            for p in sorted(committed, key=lambda p: (p.topic, p.partition))
        ]

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        partitions = [TopicPartition(topic, p, offset) for p, offset in offsets.items()]
        request = [ConsumerGroupTopicPartitions(group, partitions)]
        self._ask(
            lambda: self.admin.alter_consumer_group_offsets(request, request_timeout=TIMEOUT)[group].result(
                TIMEOUT
            )
        )

    def _ask(self, question: Callable[[], T]) -> T:
        """The answer to a question, asked again while the broker says that it isn't ready for it yet."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                return question()
            except KafkaException as error:
                if error.args[0].code() not in _NOT_YET or time.monotonic() > deadline:
                    raise BrokerError(f"the broker at {self.bootstrap}: {error.args[0].str()}") from error
                time.sleep(0.1)
            except TimeoutError as error:
                raise BrokerError(f"the broker at {self.bootstrap} does not answer") from error


def _replication(topic: Any) -> int:
    return max((len(partition.replicas) for partition in topic.partitions.values()), default=1)


def _config_entry(name: str, entry: Any) -> ConfigEntry:
    return ConfigEntry(
        name, entry.value, _source(entry.source), bool(entry.is_read_only), bool(entry.is_sensitive)
    )


def _source(source: Any) -> str:
    """Kafka's name of where a config's value came from, as Kafka REST says it."""
    try:
        return ConfigSource(source).name
    except ValueError:
        return "UNKNOWN"
