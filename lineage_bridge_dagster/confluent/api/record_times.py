"""The times of single records, which no request for offsets returns."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import BrokerError
from lineage_bridge_dagster.redaction.redact import redact_text


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
        bootstrap: how to connect to the brokers.
        topic: the topic.
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
