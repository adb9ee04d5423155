"""Records of a topic by ranges of offsets, and their times, by the Kafka protocol, without a group."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import BrokerError
from lineage_bridge_dagster.redaction.redact import redact_text

log = logging.getLogger(__name__)

_FETCH = 500


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record of a topic, with its bytes as they are."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class RecordRanges:
    """Reads the records of a cluster's topics.

    Args:
        timeout_seconds: Of one request, and how long reading may stand still.
    """

    def __init__(self, bootstrap: Bootstrap, *, timeout_seconds: float = 30.0) -> None:
        self._bootstrap = bootstrap
        self._timeout = timeout_seconds

    def read(
        self, topic: str, start: Mapping[int, int], end: Mapping[int, int], *, committed: bool = True
    ) -> Iterator[TopicRecord]:
        """The records of `[start, end)`, in the order of offsets in each partition.

        Args:
            start: The first offset of each partition to read.
            end: The end of each, exclusive.
            committed: Leave out what transactions have not committed; else read all that is stored.

        Raises:
            BrokerError: The brokers did not respond, rejected the request, or stopped sending.
        """
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
                    raise BrokerError(
                        f"Topic {topic} of {self._bootstrap.servers} stood still for {self._timeout:g} "
                        f"seconds before the end of partition {min(left)}.",
                        hint="Check that its brokers are reachable, and that a producer's transaction is not "
                        "open; then run this again.",
                    )
        except KafkaException as error:
            raise BrokerError(
                f"The brokers at {self._bootstrap.servers} could not return records of {topic}: "
                f"{redact_text(str(error))}",
                hint="Check that they are reachable from here, and that the key may read the topic: an ACL "
                "for READ, in Confluent Cloud the role DeveloperRead.",
            ) from error
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
                **self._bootstrap.librdkafka_options(),
                "client.id": "lineage-bridge-dagster",
                "socket.timeout.ms": int(self._timeout * 1000),
                "log_level": 0,
                "logger": log,
                # librdkafka requires a name; it joins no group by it.
                "group.id": "lineage-bridge-dagster",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                # Records that retention has removed meanwhile are passed over.
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "queued.max.messages.kbytes": 32_768,
            }
        )


def _fetched(consumer: Any) -> list[Any]:
    """The records that the consumer has fetched, after a wait for the first one.

    `consume` would wait until it has as many as it may return, and there are seldom that many left.
    """
    first = consumer.consume(1, timeout=0.5)
    return [*first, *consumer.consume(_FETCH, timeout=0)] if first else []


def oldest_after(
    bootstrap: Bootstrap,
    topic: str,
    offsets: Mapping[int, int],
    ends: Mapping[int, int],
    *,
    timeout_seconds: float = 15.0,
) -> int | None:
    """The earliest time, in Unix milliseconds, among the first committed record of each partition at or
    after its offset; None if there are no such records.

    Args:
        offsets: where to look, by partition.
        ends: the ends of the partitions; those whose offset is at its end are not looked at.
        timeout_seconds: after which partitions that gave nothing (an aborted transaction may reach to the
            end) are left out.

    Raises:
        BrokerError: the brokers did not respond, or rejected the request.
    """
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    behind = {p: offsets.get(p, 0) for p, end in ends.items() if offsets.get(p, 0) < end}
    if not behind:
        return None
    options: dict[str, Any] = {
        **bootstrap.librdkafka_options(),
        "group.id": "lineage-bridge-lag",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        # One record of each partition is enough.
        "max.partition.fetch.bytes": 65536,
        "queued.max.messages.kbytes": 1024,
        "client.id": "lineage-bridge-dagster",
        "log_level": 0,
    }
    times: dict[int, int] = {}
    deadline = time.monotonic() + timeout_seconds
    consumer = Consumer(options)
    try:
        consumer.assign([TopicPartition(topic, partition, at) for partition, at in behind.items()])
        while len(times) < len(behind) and (left := deadline - time.monotonic()) > 0:
            message = consumer.poll(min(1.0, left))
            if message is None:
                continue
            if (error := message.error()) is not None:
                raise _error(bootstrap, topic, error)
            partition = message.partition()
            if partition is not None and partition not in times:
                times[partition] = message.timestamp()[1]
                consumer.pause([TopicPartition(topic, partition)])
    except KafkaException as error:
        raise _error(bootstrap, topic, error) from error
    finally:
        consumer.close()
    return min((at for at in times.values() if at >= 0), default=None)


def _error(bootstrap: Bootstrap, topic: str, error: object) -> BrokerError:
    return BrokerError(
        f"The brokers at {bootstrap.servers} could not return the times of topic {topic}: "
        f"{redact_text(str(error))}",
        hint="Check that they are reachable from here, and that the cluster's Kafka key has DeveloperRead on "
        "the topic.",
    )
