"""Topics by ranges of offsets, as dead letters and their replay need them, without a consumer group."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.brokers import TopicReader
from lineage_bridge_dagster.confluent.api.errors import BrokerError, TopicNotFoundError
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.clients import DeadLetterError, log
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import Headers

#: Partition -> offset.
Offsets = Mapping[int, int]

_FETCH = 500


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record of a topic, with its bytes as they are."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class ReplayTarget:
    """What decides whether a record may be sent to a topic again.

    Attributes:
        topic_id: Kafka's id of the topic; empty if the brokers don't tell.
        first, end: offsets of each partition; the end excludes open transactions.
        compacted: whether older records of a key are removed; None if the key may not read the configs.
        retention_ms: how long records stay; None without a limit or if it may not be read.
        delete_retention_ms: how long a compacted topic keeps records without a value; None likewise.
    """

    topic_id: str
    first: Offsets
    end: Offsets
    compacted: bool | None = None
    retention_ms: int | None = None
    delete_retention_ms: int | None = None


class RecordSource(Protocol):
    """Topics of one cluster."""

    def describe(self, topic: str) -> ReplayTarget | None:
        """A topic's state; None if it does not exist or the key may not see it."""

    def read(
        self, topic: str, start: Offsets, end: Offsets, *, committed: bool = True
    ) -> Iterator[TopicRecord]:
        """The records of `[start, end)`, in the order of offsets in each partition.

        Args:
            topic: its name.
            start: first offset of each partition to read.
            end: end of each, exclusive.
            committed: leave out what transactions have not committed; else read all that is stored.
        """


class KafkaSource:
    """The topics of a Kafka cluster.

    Args:
        bootstrap: how to connect to its brokers.
        timeout_seconds: of one request, and how long reading may stand still.
    """

    def __init__(self, bootstrap: Bootstrap, *, timeout_seconds: float = 30.0) -> None:
        self._bootstrap = bootstrap
        self._timeout = timeout_seconds
        self._reader = TopicReader(bootstrap, timeout_seconds=timeout_seconds)
        self._opened_admin: Any = None

    def describe(self, topic: str) -> ReplayTarget | None:
        try:
            first, end = self._reader.committed_bounds(topic)
        except TopicNotFoundError:
            return None
        configs = self._configs(topic)
        policy = configs.get("cleanup.policy")
        return ReplayTarget(
            topic_id=self._reader.topic_id(topic),
            first=first,
            end=end,
            compacted=None if policy is None else "compact" in policy,
            retention_ms=_limit(configs.get("retention.ms")) if "delete" in (policy or "") else None,
            delete_retention_ms=_limit(configs.get("delete.retention.ms")),
        )

    def read(
        self, topic: str, start: Offsets, end: Offsets, *, committed: bool = True
    ) -> Iterator[TopicRecord]:
        from confluent_kafka import KafkaException, TopicPartition

        left = {p: end[p] for p, at in start.items() if p in end and at < end[p]}
        if not left:
            return
        consumer = self._consumer(committed)
        try:
            consumer.assign([TopicPartition(topic, p, start[p]) for p in left])
            moved = time.monotonic()
            while left:
                for message in _fetched(consumer):
                    moved = time.monotonic()
                    yield from self._taken(message, left)
                if time.monotonic() - moved > self._timeout:
                    raise DeadLetterError(
                        f"Topic {topic} of {self._bootstrap.servers} stood still for {self._timeout:g} "
                        f"seconds before the end of partition {min(left)}.",
                        hint="Check that its brokers are reachable, and that a producer's transaction is not "
                        "open; then run the command again.",
                    )
        except KafkaException as error:
            raise self._error(f"return records of {topic}", error) from error
        finally:
            consumer.close()

    def _taken(self, message: Any, left: dict[int, int]) -> Iterator[TopicRecord]:
        from confluent_kafka import KafkaError, KafkaException

        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                if message.offset() >= left.get(message.partition(), -1):
                    left.pop(message.partition(), None)
                return
            # Offsets are assigned and never committed, so no group is needed.
            if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED or error.retriable():
                return
            raise KafkaException(error)
        partition, offset = message.partition(), message.offset()
        if partition not in left:
            return
        end = left[partition]
        if offset >= end - 1:
            del left[partition]
        if offset < end:
            headers = tuple((name, value) for name, value in message.headers() or ())
            yield TopicRecord(partition, offset, message.key(), message.value(), headers)

    def _consumer(self, committed: bool) -> Any:
        from confluent_kafka import Consumer

        return Consumer(
            {
                **self._client_options,
                # librdkafka requires a name; it joins no group by it.
                "group.id": "lineage-bridge-dagster-dead-letters",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                # Records that retention has removed meanwhile are passed over.
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "queued.max.messages.kbytes": 32_768,
            }
        )

    @property
    def _client_options(self) -> dict[str, Any]:
        return {
            **self._bootstrap.librdkafka_options(),
            "client.id": "lineage-bridge-dagster",
            "socket.timeout.ms": int(self._timeout * 1000),
            "log_level": 0,
            "logger": log,
        }

    @property
    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        if self._opened_admin is None:
            self._opened_admin = AdminClient(self._client_options)
        return self._opened_admin

    def _configs(self, topic: str) -> dict[str, str]:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

        resource = ConfigResource(ResourceType.TOPIC, topic)
        try:
            futures = self._admin.describe_configs([resource], request_timeout=self._timeout)
            found = futures[resource].result(self._timeout)
        except (KafkaException, TimeoutError) as error:
            log.info("The configs of topic %s cannot be read: %s", topic, redact_text(str(error)))
            return {}
        return {name: str(entry.value) for name, entry in found.items() if entry.value is not None}

    def _error(self, what: str, error: Exception) -> BrokerError:
        return BrokerError(
            f"The brokers at {self._bootstrap.servers} could not {what}: {redact_text(str(error))}",
            hint="Check that they are reachable from here, and that the key may read the topic: an ACL for "
            "READ, in Confluent Cloud the role DeveloperRead.",
        )


def _fetched(consumer: Any) -> list[Any]:
    """What the consumer has, after a wait for the first of it.

    `consume` returns when it has as many as it may return, or at its timeout; seldom are so many left.
    """
    first = consumer.consume(1, timeout=0.5)
    return [*first, *consumer.consume(_FETCH, timeout=0)] if first else []


def _limit(text: str | None) -> int | None:
    """A config's number; None if it is missing or means no limit."""
    return int(text) if text and text.lstrip("-").isdigit() and int(text) >= 0 else None
