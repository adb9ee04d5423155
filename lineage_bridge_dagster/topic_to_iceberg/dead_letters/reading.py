"""Topics by ranges of offsets, as dead letters and their replay need them, without a consumer group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.brokers import TopicReader, admin_client
from lineage_bridge_dagster.confluent.api.errors import TopicNotFoundError
from lineage_bridge_dagster.confluent.api.topic_records import RecordRanges, TopicRecord
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.clients import log, topic_configs

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

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

    @cached_property
    def _admin(self) -> AdminClient:
        return admin_client(self._bootstrap, self._timeout)

    def describe(self, topic: str) -> ReplayTarget | None:
        try:
            first, end = self._reader.committed_bounds(topic)
        except TopicNotFoundError:
            return None
        try:
            configs = topic_configs(self._admin, [topic], self._timeout).get(topic, {})
        except TimeoutError:
            log.info("The configs of topic %s cannot be read: no answer came in time", topic)
            configs = {}
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


def _limit(text: str | None) -> int | None:
    """A config's number; None if it is missing or means no limit."""
    return int(text) if text and text.lstrip("-").isdigit() and int(text) >= 0 else None
