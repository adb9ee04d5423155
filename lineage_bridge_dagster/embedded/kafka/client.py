"""Client of a real broker, over the Kafka protocol."""

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

from lineage_bridge_dagster.embedded.dagster_process import is_listening
from lineage_bridge_dagster.embedded.kafka.broker import (
    ConfigEntry,
    GroupInfo,
    GroupOffset,
    KafkaMessage,
    LocalBrokerError,
    TopicInfo,
)

T = TypeVar("T")

#: Timeout of one request in seconds, long enough for a machine under load.
TIMEOUT = 15.0
#: Timeout of a metadata request in seconds, after which a broker counts as unreachable.
METADATA_TIMEOUT = 5.0
#: Timeout in seconds for the acknowledgement of a batch of records.
PRODUCE_TIMEOUT = 60.0

#: Transient errors for topics and groups that were just created, and for brokers that just started.
_TRANSIENT = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        # A broker that has just started knows less than its clients.
        KafkaError.UNKNOWN_LEADER_EPOCH,
    }
)


class KafkaBroker:
    """A broker at `bootstrap` (`host:port`) on the loopback interface, without TLS or credentials."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._config: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            # librdkafka logs an unreachable broker to stderr every second; callers report it once.
            "log_level": 0,
            "socket.connection.setup.timeout.ms": 5000,
            # Reconnect quickly to a restarted broker; it runs on this machine.
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
                # Idempotent, so that the client's retries produce no duplicates.
                self._producer = Producer(
                    {**self._config, "enable.idempotence": True, "linger.ms": 20, "compression.type": "lz4"}
                )
            return self._producer

    def topics(self) -> dict[str, TopicInfo]:
        # librdkafka goes on trying until the timeout, and whoever asks for the state of all brokers waits.
        if not is_listening(int(self.bootstrap.rpartition(":")[2])):
            raise LocalBrokerError(f"no broker listens at {self.bootstrap} yet")
        metadata = self._call(lambda: self.admin.list_topics(timeout=METADATA_TIMEOUT))
        return {
            name: TopicInfo(name, len(topic.partitions), _replication(topic))
            for name, topic in metadata.topics.items()
            if topic.error is None
        }

    def configs(self, topics: Sequence[str]) -> dict[str, list[ConfigEntry]]:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
        if not resources:
            return {}

        def describe() -> dict[str, list[ConfigEntry]]:
            futures = self.admin.describe_configs(resources, request_timeout=TIMEOUT)
            return {
                resource.name: [_config_entry(n, e) for n, e in sorted(future.result(TIMEOUT).items())]
                for resource, future in futures.items()
            }

        return self._call(describe)

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> bool:
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(configs))
        try:
            self.admin.create_topics([topic], operation_timeout=TIMEOUT)[name].result(TIMEOUT)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            raise LocalBrokerError(
                f"creating topic {name} on {self.bootstrap}: {error.args[0].str()}"
            ) from error
        return True

    def end_offsets(self, topic: str) -> dict[int, int]:
        metadata = self._call(lambda: self.admin.list_topics(topic, timeout=METADATA_TIMEOUT))
        if metadata.topics[topic].error is not None:
            raise LocalBrokerError(f"topic {topic} does not exist on {self.bootstrap}")
        return self._end_offsets([TopicPartition(topic, p) for p in metadata.topics[topic].partitions])[topic]

    def _end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[str, dict[int, int]]:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        requested = dict.fromkeys(partitions, latest)

        def list_ends() -> dict[str, dict[int, int]]:
            ends: dict[str, dict[int, int]] = {}
            for partition, future in self.admin.list_offsets(requested, request_timeout=TIMEOUT).items():
                ends.setdefault(partition.topic, {})[partition.partition] = future.result(TIMEOUT).offset
            return ends

        return self._call(list_ends)

    def produce(self, topic: str, messages: Sequence[KafkaMessage]) -> None:
        errors: list[str] = []

        def on_delivery(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                errors.append(error.str())

        producer = self.producer
        for message in messages:
            while True:
                try:
                    producer.produce(
                        topic,
                        message.value,
                        message.key,
                        partition=message.partition,
                        on_delivery=on_delivery,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
        pending = producer.flush(PRODUCE_TIMEOUT)
        if pending or errors:
            reason = errors[0] if errors else f"{pending} records not acknowledged in {PRODUCE_TIMEOUT:.0f} s"
            raise LocalBrokerError(f"producing to {topic} on {self.bootstrap}: {reason}")

    def groups(self) -> dict[str, GroupInfo]:
        def list_groups() -> Any:
            result = self.admin.list_consumer_groups(request_timeout=TIMEOUT).result(TIMEOUT)
            # A coordinator that is still loading returns an error besides the groups that it knows.
            if result.errors:
                raise KafkaException(result.errors[0])
            return result

        result = self._call(list_groups)
        return {
            group.group_id: GroupInfo(
                group.group_id,
                # PREPARING_REBALANCING in the client is PREPARING_REBALANCE in Kafka REST.
                group.state.name.removesuffix("ING") if group.state is not None else "UNKNOWN",
                group.type.name if group.type is not None and group.type.name != "UNKNOWN" else "CLASSIC",
                bool(group.is_simple_consumer_group),
            )
            for group in result.valid
        }

    def group_offsets(self, group: str) -> list[GroupOffset]:
        request = [ConsumerGroupTopicPartitions(group)]

        def list_offsets() -> Any:
            futures = self.admin.list_consumer_group_offsets(request, request_timeout=TIMEOUT)
            return _checked(futures[group].result(TIMEOUT))

        committed = [p for p in self._call(list_offsets).topic_partitions if p.offset >= 0]
        if not committed:
            return []
        ends = self._end_offsets([TopicPartition(p.topic, p.partition) for p in committed])
        return [
            GroupOffset(p.topic, p.partition, p.offset, ends[p.topic][p.partition])
            for p in sorted(committed, key=lambda p: (p.topic, p.partition))
        ]

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        partitions = [TopicPartition(topic, p, offset) for p, offset in offsets.items()]
        request = [ConsumerGroupTopicPartitions(group, partitions)]

        def alter_offsets() -> None:
            futures = self.admin.alter_consumer_group_offsets(request, request_timeout=TIMEOUT)
            _checked(futures[group].result(TIMEOUT))

        self._call(alter_offsets)

    def _call(self, request: Callable[[], T]) -> T:
        """Run a request, and retry it after transient errors.

        Raises:
            BrokerError: the request failed.
        """
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                return request()
            except KafkaException as error:
                if error.args[0].code() not in _TRANSIENT or time.monotonic() > deadline:
                    raise LocalBrokerError(
                        f"the broker at {self.bootstrap}: {error.args[0].str()}"
                    ) from error
                time.sleep(0.1)
            except TimeoutError as error:
                raise LocalBrokerError(f"the broker at {self.bootstrap} does not respond") from error


def _checked(result: Any) -> Any:
    """A group's offsets; a coordinator that is not ready yet may report it on the partitions alone."""
    for partition in result.topic_partitions:
        if partition.error is not None:
            raise KafkaException(partition.error)
    return result


def _replication(topic: Any) -> int:
    return max((len(partition.replicas) for partition in topic.partitions.values()), default=1)


def _config_entry(name: str, entry: Any) -> ConfigEntry:
    return ConfigEntry(
        name, entry.value, _source(entry.source), bool(entry.is_read_only), bool(entry.is_sensitive)
    )


def _source(source: Any) -> str:
    """Return Kafka REST's name for the source of a config's value."""
    try:
        return ConfigSource(source).name
    except ValueError:
        return "UNKNOWN"
