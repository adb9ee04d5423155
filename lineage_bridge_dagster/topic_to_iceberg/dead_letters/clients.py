"""confluent-kafka's clients as dead letters need them, and its errors as sentences."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import Headers

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer
    from confluent_kafka.admin import AdminClient

#: The client's own limit of a record in bytes, far above those of topics, and of what it holds in memory.
_MAX_BYTES = 200_000_000
_MAX_QUEUE_KIB = 262_144

#: Seconds between checks whether a record of a transaction has failed.
_TICK = 0.1

#: Options of a producer that sends each record by itself: the limit of a topic applies to all records that
#: are sent as one, so that a small one could be refused because of its neighbours.
ALONE: Mapping[str, Any] = {"batch.num.messages": 1}

log = logging.getLogger(__name__)


class DeadLetterError(LineageBridgeError):
    """Dead letters could not be written, read or sent again."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to send.

    Attributes:
        timestamp: milliseconds since 1970; 0 for now.
    """

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int = 0


def topic_configs(
    admin: AdminClient, topics: Iterable[str], timeout_seconds: float
) -> dict[str, dict[str, str]]:
    """The configs of topics, by name; a topic that is missing or may not be described has none.

    Raises:
        TimeoutError: the brokers did not answer in time.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

    found: dict[str, dict[str, str]] = {}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
    for resource, future in admin.describe_configs(resources, request_timeout=timeout_seconds).items():
        try:
            configs = future.result(timeout_seconds)
        except KafkaException as error:
            log.info("The configs of topic %s cannot be read: %s", resource.name, redact_text(str(error)))
            continue
        found[resource.name] = {
            name: str(entry.value) for name, entry in configs.items() if entry.value is not None
        }
    return found


def producer(bootstrap: Bootstrap, timeout_seconds: float, options: Mapping[str, Any]) -> Producer:
    """An idempotent producer, whose own retries lose and repeat nothing.

    Args:
        bootstrap: how to connect to the brokers.
        timeout_seconds: after which a record that is not acknowledged has failed.
        options: further options of librdkafka.
    """
    from confluent_kafka import Producer as KafkaProducer

    return KafkaProducer(
        {
            **bootstrap.librdkafka_options(),
            "client.id": "lineage-bridge-dagster",
            "enable.idempotence": True,
            "acks": "all",
            # A large record of a compressed topic fits into another one only if it is compressed too.
            "compression.type": "zstd",
            "message.max.bytes": _MAX_BYTES,
            "queue.buffering.max.kbytes": _MAX_QUEUE_KIB,
            "batch.size": 100_000,
            "delivery.timeout.ms": int(timeout_seconds * 1000),
            # A topic that does not exist is waited for, as one that was just created may be unknown.
            "topic.metadata.propagation.max.ms": 5000,
            "log_level": 0,
            "logger": log,
            **options,
        }
    )


def send(
    client: Producer, records: Iterable[Outgoing], timeout_seconds: float, *, all_or_none: bool = False
) -> list[int | KafkaError | None]:
    """Send records and wait for them: the offset of each, or its error, or None if no answer came.

    The order of the records of a partition is kept.

    Args:
        timeout_seconds: how long to wait.
        all_or_none: whether to stop waiting at the first error, as a transaction can't be committed then.
    """
    from confluent_kafka import KafkaException

    results: list[int | KafkaError | None] = []

    def on_delivery(index: int) -> Callable[[KafkaError | None, Any], None]:
        def report(error: KafkaError | None, message: Any) -> None:
            results[index] = error if error is not None else int(message.offset())

        return report

    for index, record in enumerate(records):
        results.append(None)
        try:
            _enqueue(client, record, on_delivery(index))
        except KafkaException as error:
            results[index] = error.args[0]
    if not all_or_none:
        client.flush(timeout_seconds)
        return results
    deadline = time.monotonic() + timeout_seconds
    while client.flush(_TICK) and time.monotonic() < deadline:
        if any(result is not None and not isinstance(result, int) for result in results):
            break
    return results


def _enqueue(client: Producer, record: Outgoing, on_delivery: Callable[..., None]) -> None:
    while True:
        try:
            client.produce(
                record.topic,
                value=record.value,
                key=record.key,
                partition=record.partition,
                headers=list(record.headers),
                timestamp=record.timestamp,
                on_delivery=on_delivery,
            )
        except BufferError:
            # The queue is full: serve deliveries, which make room.
            client.poll(0.1)
        else:
            return


def explained(error: KafkaError | None, topic: str) -> tuple[str, str]:
    """Why a record could not be sent to a topic, and what to do next; None: no answer came in time."""
    from confluent_kafka import KafkaError as Codes

    if error is None:
        return (
            f"no broker acknowledged it in {topic} in time",
            "Check that the brokers are reachable, and that the topic has as many replicas in sync as its "
            "min.insync.replicas.",
        )
    text = redact_text(error.str()) or error.name()
    if error.code() == Codes._DESTROY:
        # librdkafka says this of records that wait for a partition that is deleted meanwhile, too.
        text = f"its partition disappeared ({text})"
    deleted = f"{topic} was deleted, or created again with fewer partitions."
    hints = {
        Codes.MSG_SIZE_TOO_LARGE: f"Raise max.message.bytes of {topic}: "
        f"kafka-configs --alter --topic {topic} --add-config max.message.bytes=BYTES",
        Codes.TOPIC_AUTHORIZATION_FAILED: f"Let the key write to {topic}: an ACL for WRITE, in Confluent "
        f"Cloud the role DeveloperWrite.",
        Codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Let the key use the transactional id: an ACL for "
        "WRITE and DESCRIBE on it, in Confluent Cloud the role DeveloperWrite on TransactionalId.",
        Codes.UNKNOWN_TOPIC_OR_PART: f"{topic} does not exist, or the key may not see it.",
        Codes._UNKNOWN_TOPIC: f"{topic} does not exist, or the key may not see it.",
        Codes._UNKNOWN_PARTITION: deleted,
        Codes._DESTROY: deleted,
        Codes.INVALID_TIMESTAMP: f"The record is older than {topic} accepts: see its "
        "message.timestamp.before.max.ms.",
        Codes.INVALID_RECORD: f"{topic} is compacted, so it takes no record without a key; or the brokers "
        "validate its schemas.",
    }
    return f"{topic} did not take it: {text}", hints.get(error.code(), "Check the brokers and the topic.")
