"""Topics by ranges of offsets, as dead letters and their replay need them, without a consumer group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.brokers import TopicReader
from lineage_bridge_dagster.confluent.api.errors import TopicNotFoundError
from lineage_bridge_dagster.confluent.api.topic_records import RecordRanges, TopicRecord
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.clients import log

#: Partition -> offset.
Offsets = Mapping[int, int]


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
        records = RecordRanges(self._bootstrap, timeout_seconds=self._timeout)
        return records.read(topic, start, end, committed=committed)

    @property
    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        if self._opened_admin is None:
            options: dict[str, Any] = {
                **self._bootstrap.librdkafka_options(),
                "client.id": "lineage-bridge-dagster",
                "socket.timeout.ms": int(self._timeout * 1000),
                "log_level": 0,
                "logger": log,
            }
            self._opened_admin = AdminClient(options)
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


def _limit(text: str | None) -> int | None:
    """A config's number; None if it is missing or means no limit."""
    return int(text) if text and text.lstrip("-").isdigit() and int(text) >= 0 else None
