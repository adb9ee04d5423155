"""Partitions, offsets and record times of topics, by the Kafka protocol; no REST API offers them.

Materializations of topics, freshness checks and Spark reads use this; a discovery never does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import BrokerError, TopicNotFoundError
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.redaction.redact import redact_text

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

log = logging.getLogger(__name__)

#: Topics per list-offsets call; each call sends one request per broker.
BATCH = 500


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """One partition: its first offset, and the offset after its last record."""

    partition: int
    begin: int
    end: int

    @property
    def records(self) -> int:
        return max(0, self.end - self.begin)


@dataclass(frozen=True, slots=True)
class TopicOffsets:
    """A topic's partitions, in order, and the time of its latest record.

    Attributes:
        last_record_ms: Unix milliseconds; None if no record has a time, or if the brokers could not report
            it. With LogAppendTime it is the broker's clock; with Kafka's default, CreateTime, it is whatever
            the producers wrote, possibly in the future.
        untimed: why the brokers could not report `last_record_ms`.
    """

    topic: str
    partitions: tuple[PartitionOffsets, ...]
    last_record_ms: int | None = None
    untimed: str = ""

    @property
    def records(self) -> int:
        """Number of offsets in the log; compaction and transactions leave fewer records."""
        return sum(partition.records for partition in self.partitions)

    @property
    def written(self) -> int:
        """Sum of the end offsets; grows with every record, and falls only if the topic was recreated."""
        return sum(partition.end for partition in self.partitions)


def missing_topic(servers: str, topic: str) -> TopicNotFoundError:
    """The error of a topic that the brokers do not list."""
    return TopicNotFoundError(
        f"{servers} has no topic {topic} that the key may see.",
        hint="Its name is wrong, it was deleted, or the key lacks DeveloperRead on it.",
    )


class BrokerAdmin(Protocol):
    """The part of confluent-kafka's `AdminClient` that is used."""

    def list_topics(self, topic: str | None = None, *, timeout: float) -> Any: ...

    def describe_topics(self, topics: Any, *, request_timeout: float) -> Mapping[str, Any]: ...

    def list_offsets(
        self, offsets: Mapping[Any, Any], *, request_timeout: float, isolation_level: Any = ...
    ) -> Mapping[Any, Any]: ...


class _Position(NamedTuple):
    """An offset and its record's time in Unix milliseconds; either may be -1 for none."""

    offset: int
    timestamp_ms: int


class TopicReader:
    """Reads offsets from one cluster's brokers, with connections that last as long as this object."""

    def __init__(
        self, bootstrap: Bootstrap, *, timeout_seconds: float = 30.0, admin: BrokerAdmin | None = None
    ) -> None:
        self._servers = bootstrap.servers
        self._timeout = timeout_seconds
        self._client = admin or cast("BrokerAdmin", admin_client(bootstrap, timeout_seconds))

    def read(self, topics: Iterable[str]) -> dict[str, TopicOffsets | BrokerError]:
        """Read each topic's offsets, or the error: one metadata call, three offset calls per batch.

        Raises:
            BrokerError: the cluster did not respond at all.
        """
        names = list(dict.fromkeys(topics))
        if not names:
            return {}
        metadata = self._metadata()
        found: dict[str, TopicOffsets | BrokerError] = {}
        partitions: dict[str, list[int]] = {}
        for name in names:
            try:
                partitions[name] = self._partitions(metadata, name)
            except BrokerError as error:
                found[name] = error
        existing = list(partitions)
        for start in range(0, len(existing), BATCH):
            found |= self._offsets({name: partitions[name] for name in existing[start : start + BATCH]})
        return {name: found[name] for name in names}

    def topics(self) -> list[str]:
        """List the topics that the key may see, without Kafka's internal ones.

        Raises:
            BrokerError: the brokers did not respond.
        """
        return sorted(name for name in self._metadata() if not name.startswith("__"))

    def committed_bounds(self, topic: str) -> tuple[dict[int, int], dict[int, int]]:
        """Read the first and the end offset of every partition; the end excludes open transactions.

        Raises:
            TopicNotFoundError: the cluster has no such topic.
            BrokerError: the brokers did not respond, or rejected the request.
        """
        from confluent_kafka import IsolationLevel
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        numbers = self._partitions(self._metadata(topic), topic)

        def offsets(spec: Any) -> dict[int, int]:
            specs = {(topic, number): spec for number in numbers}
            return self._offsets_of(specs, isolation_level=IsolationLevel.READ_COMMITTED)

        return offsets(OffsetSpec.earliest()), offsets(OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def offsets_at(self, topic: str, at_ms: int) -> dict[int, int]:
        """Read, by partition, the offset of the first record at or after a time; the end without one.

        Args:
            at_ms: Unix milliseconds.

        Raises:
            TopicNotFoundError: the cluster has no such topic.
            BrokerError: the brokers did not respond, or rejected the request.
        """
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        ends = self.committed_bounds(topic)[1]
        found = self._offsets_of({(topic, number): OffsetSpec.for_timestamp(at_ms) for number in ends})
        return {number: offset if offset >= 0 else ends[number] for number, offset in found.items()}

    def topic_id(self, topic: str) -> str:
        """Return the topic's id, which a topic of its name that is created later does not share.

        It is empty if the brokers have none: they are older than Kafka 2.8, or no Apache Kafka.

        Raises:
            TopicNotFoundError: the cluster has no such topic.
            BrokerError: the brokers did not respond, or rejected the request.
        """
        from confluent_kafka import KafkaException, TopicCollection

        try:
            futures = self._client.describe_topics(TopicCollection([topic]), request_timeout=self._timeout)
            found = futures[topic].result(timeout=self._timeout + 5).topic_id
        except (KafkaException, FutureTimeoutError) as error:
            if _code_of(error) in _unsupported():
                return ""
            raise self._topic_error(topic, error) from error
        bits = (found.get_most_significant_bits(), found.get_least_significant_bits()) if found else (0, 0)
        return str(found) if any(bits) else ""

    def first_after(
        self, topics: Iterable[TopicOffsets], since_ms: Mapping[str, int]
    ) -> dict[str, int | BrokerError | None]:
        """Find the time of each topic's earliest record later than `since_ms`; None if there is none.

        Considers the first such record by offset of each partition, and only committed records, because
        consumers read no others. One call per batch.

        Args:
            topics: topics as `read` returned them.
            since_ms: a time in Unix milliseconds for each of them.
        """
        from confluent_kafka import IsolationLevel
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        ordered = list(topics)
        found: dict[str, int | BrokerError | None] = {}
        for start in range(0, len(ordered), BATCH):
            batch = ordered[start : start + BATCH]
            specs = {
                (topic.topic, partition.partition): OffsetSpec.for_timestamp(since_ms[topic.topic] + 1)
                for topic in batch
                for partition in topic.partitions
                if partition.end > partition.begin
            }
            positions = self._list(specs, isolation_level=IsolationLevel.READ_COMMITTED)
            for topic in batch:
                times = _times(
                    positions[topic.topic, partition.partition]
                    for partition in topic.partitions
                    if (topic.topic, partition.partition) in positions
                )
                found[topic.topic] = times if isinstance(times, BrokerError) else min(times, default=None)
        return found

    def _metadata(self, topic: str | None = None) -> Mapping[str, Any]:
        from confluent_kafka import KafkaException

        try:
            listed = self._client.list_topics(topic, timeout=self._timeout)
        except KafkaException as error:
            raise self._error("the list of topics", error) from error
        return cast("Mapping[str, Any]", listed.topics)

    def _partitions(self, metadata: Mapping[str, Any], topic: str) -> list[int]:
        described = metadata.get(topic)
        if described is not None and described.error is None:
            return sorted(described.partitions)
        raise self._topic_error(topic, described and described.error)

    def _topic_error(self, topic: str, error: object) -> BrokerError:
        """The error of a topic that could not be described; None stands for one that is not listed."""
        if error is None or _code_of(error) in _unknown():
            return missing_topic(self._servers, topic)
        return self._error(f"topic {topic}", error)

    def _offsets(self, partitions: Mapping[str, list[int]]) -> dict[str, TopicOffsets | BrokerError]:
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        pairs = [(name, number) for name, numbers in partitions.items() for number in numbers]
        begins = self._list(dict.fromkeys(pairs, OffsetSpec.earliest()))  # type: ignore[no-untyped-call]
        ends = self._list(dict.fromkeys(pairs, OffsetSpec.latest()))  # type: ignore[no-untyped-call]
        lasts = self._list(dict.fromkeys(pairs, OffsetSpec.max_timestamp()))  # type: ignore[no-untyped-call]
        found: dict[str, TopicOffsets | BrokerError] = {}
        for name, numbers in partitions.items():
            bounds = [(number, begins[name, number], ends[name, number]) for number in numbers]
            failed = next((end for _, *pair in bounds for end in pair if isinstance(end, BrokerError)), None)
            if failed is not None:
                found[name] = failed
                continue
            # Brokers before Kafka 3.0 do not know the latest record's time; their offsets are still useful.
            times = _times(lasts[name, number] for number in numbers)
            failed = times if isinstance(times, BrokerError) else None
            found[name] = TopicOffsets(
                name,
                tuple(
                    PartitionOffsets(number, begin.offset, end.offset)
                    for number, begin, end in bounds
                    if isinstance(begin, _Position) and isinstance(end, _Position)
                ),
                None if isinstance(times, BrokerError) else max(times, default=None),
                failed.message if failed else "",
            )
        return found

    def _offsets_of(self, specs: Mapping[tuple[str, int], Any], **options: Any) -> dict[int, int]:
        """Run one list-offsets call about partitions of one topic, and raise the first error."""
        found = {}
        for (_, number), position in self._list(specs, **options).items():
            if isinstance(position, BrokerError):
                raise position
            found[number] = position.offset
        return found

    def _list(
        self, specs: Mapping[tuple[str, int], Any], **options: Any
    ) -> dict[tuple[str, int], _Position | BrokerError]:
        """Run one list-offsets call; returns a position or an error by topic and partition.

        Raises:
            BrokerError: the call as a whole failed.
        """
        from confluent_kafka import KafkaException, TopicPartition

        if not specs:
            return {}
        request = {TopicPartition(name, number): spec for (name, number), spec in specs.items()}
        try:
            futures = self._client.list_offsets(request, request_timeout=self._timeout, **options)
        except KafkaException as error:
            raise self._error("offsets", error) from error
        found: dict[tuple[str, int], _Position | BrokerError] = {}
        for partition, future in futures.items():
            key = (partition.topic, partition.partition)
            try:
                # The request has its own timeout; this one is for a client that never completes the future.
                result = future.result(timeout=self._timeout + 5)
            except (KafkaException, FutureTimeoutError) as error:
                found[key] = self._error(f"topic {partition.topic}", error)
            else:
                found[key] = _Position(result.offset, result.timestamp)
        return found

    def _error(self, what: str, error: object) -> BrokerError:
        text = redact_text(str(error)) or type(error).__name__
        return BrokerError(
            f"The brokers at {self._servers} could not return {what}: {text}",
            hint="Check that they are reachable from here, and that the cluster's Kafka key is right and "
            "has DeveloperRead on the topic.",
        )


def _code_of(error: object) -> int | None:
    """The code of Kafka's error, or of an exception with one."""
    from confluent_kafka import KafkaError

    kafka = next(iter(getattr(error, "args", ())), error)
    return int(kafka.code()) if isinstance(kafka, KafkaError) else None


def _unknown() -> tuple[int, ...]:
    """Codes of a topic that does not exist."""
    from confluent_kafka import KafkaError

    return KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC


def _unsupported() -> tuple[int, ...]:
    """Codes of brokers that do not know a request."""
    from confluent_kafka import KafkaError

    return KafkaError.UNSUPPORTED_VERSION, KafkaError._UNSUPPORTED_FEATURE


def reader_for(
    settings: ConfluentSettings, endpoint: str, environment_id: str, cluster_id: str
) -> TopicReader:
    """Open a reader of one cluster.

    Raises:
        ConfluentError: as `Bootstrap.of_cluster`.
    """
    bootstrap = Bootstrap.of_cluster(settings, endpoint, environment_id, cluster_id)
    return TopicReader(bootstrap, timeout_seconds=settings.timeout_seconds)


def _times(positions: Iterable[_Position | BrokerError]) -> list[int] | BrokerError:
    """Collect the record times, or the first error: the times of only some partitions could mislead."""
    times = []
    for position in positions:
        if isinstance(position, BrokerError):
            return position
        if position.timestamp_ms >= 0:
            times.append(position.timestamp_ms)
    return times


def admin_client(bootstrap: Bootstrap, timeout_seconds: float) -> AdminClient:
    """An admin client whose requests fail after some seconds."""
    from confluent_kafka.admin import AdminClient as KafkaAdmin

    options: dict[str, Any] = {
        **bootstrap.librdkafka_options(),
        "socket.timeout.ms": int(timeout_seconds * 1000),
        "client.id": "lineage-bridge-dagster",
        # librdkafka would repeat host names on stderr; failures arrive as exceptions.
        "log_level": 0,
        "logger": log,
    }
    return KafkaAdmin(options)
