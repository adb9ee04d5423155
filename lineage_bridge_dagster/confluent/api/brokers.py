"""Partitions, offsets and record times of topics, by the Kafka protocol: what no REST API tells.

Materializing a topic and checking a table's freshness ask this; a discovery never does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, cast

import httpx

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.config.settings import ConfluentSettings
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import ConfluentError, UntrustedAddress
from lineage_bridge_dagster.confluent.api.trusted_hosts import is_loopback, is_trusted_host
from lineage_bridge_dagster.lineage.redaction import redact_text

log = logging.getLogger(__name__)

#: Topics that are asked together; the broker is asked once for each of their partitions' ends.
BATCH = 500


class BrokerError(ConfluentError):
    """A broker did not answer, or refused."""


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """One partition: its first offset, and the offset after its last record."""

    partition: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class TopicOffsets:
    """A topic's partitions, in order, and the latest time of a record.

    `last_record_ms` is in Unix milliseconds; None where no record has a time, or where the brokers did not
    tell, and then `untimed` says why. On a topic with LogAppendTime it is the broker's clock; with Kafka's
    default, CreateTime, it is whatever the producers wrote, in the future perhaps.
    """

    topic: str
    partitions: tuple[PartitionOffsets, ...]
    last_record_ms: int | None = None
    untimed: str = ""

    @property
    def records(self) -> int:
        """What the offsets span; compaction and transactions leave less."""
        return sum(max(0, partition.end - partition.begin) for partition in self.partitions)

    @property
    def written(self) -> int:
        """The sum of the next offsets: it grows with every record, and falls only for a topic made anew."""
        return sum(partition.end for partition in self.partitions)


class Admin(Protocol):
    """What is used of confluent-kafka's `AdminClient`."""

    def list_topics(self, *, timeout: float) -> Any: ...

    def list_offsets(
        self, offsets: Mapping[Any, Any], *, request_timeout: float, isolation_level: Any = ...
    ) -> Mapping[Any, Any]: ...


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Where a cluster's brokers are, and how they are spoken to: `SASL_SSL`, `SSL` or `PLAINTEXT`."""

    servers: str
    protocol: str

    @classmethod
    def parse(cls, endpoint: str) -> Self:
        """Read `[PROTOCOL://]host:port[,host:port...]`.

        Without a protocol it is PLAINTEXT for loopback, where a local stack has no certificate, and SASL_SSL
        for anything else.

        Raises:
            BrokerError: there is no endpoint, or its protocol is another.
        """
        protocol, separator, servers = endpoint.strip().rpartition("://")
        servers = servers.rstrip("/")
        if not servers:
            raise BrokerError(
                "The cluster names no bootstrap endpoint.",
                hint="Run a discovery.",
            )
        if not separator:
            return cls(servers, "PLAINTEXT" if _all_loopback(servers) else "SASL_SSL")
        if protocol.upper() not in ("SASL_SSL", "SSL", "PLAINTEXT"):
            raise BrokerError(
                f"{protocol}://{servers} is not spoken to: only SASL_SSL, SSL and PLAINTEXT are.",
                hint="Correct the cluster's bootstrap endpoint.",
            )
        return cls(servers, protocol.upper())

    @property
    def hosts(self) -> tuple[str, ...]:
        return _hosts(self.servers)


class _Found(NamedTuple):
    """An offset, and the time of its record in Unix milliseconds; either may be -1 for none."""

    offset: int
    timestamp_ms: int


def _times(answers: Iterable[_Found | BrokerError]) -> list[int] | BrokerError:
    """The times among answers; an error when any of them is one, for the rest would tell half of it."""
    times = []
    for answer in answers:
        if isinstance(answer, BrokerError):
            return answer
        if answer.timestamp_ms >= 0:
            times.append(answer.timestamp_ms)
    return times


def _latest(answers: Iterable[_Found | BrokerError]) -> int | BrokerError | None:
    times = _times(answers)
    return times if isinstance(times, BrokerError) else max(times, default=None)


def _earliest(answers: Iterable[_Found | BrokerError]) -> int | BrokerError | None:
    times = _times(answers)
    return times if isinstance(times, BrokerError) else min(times, default=None)


class TopicReader:
    """Asks one cluster's brokers; a context manager.

    Args:
        bootstrap: the cluster's bootstrap endpoint, as discovery tells it.
        credential: the cluster's Kafka key; sent by TLS alone.
        timeout_seconds: of one request.
        admin: exchanges confluent-kafka's admin client.
    """

    def __init__(
        self,
        bootstrap: str,
        credential: Credential | None = None,
        *,
        timeout_seconds: float = 30.0,
        admin: Admin | None = None,
    ) -> None:
        self._bootstrap = Bootstrap.parse(bootstrap)
        self._timeout = timeout_seconds
        self._admin: Admin | None = admin or _admin_client(self._bootstrap, credential, timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets the connections go: the client closes them when nothing holds it any more."""
        self._admin = None

    @property
    def _client(self) -> Admin:
        if self._admin is None:
            raise BrokerError(f"The reader of {self._bootstrap.servers} is closed.", hint="Make another one.")
        return self._admin

    def read(self, topics: Iterable[str]) -> dict[str, TopicOffsets | BrokerError]:
        """Each topic's offsets, or why there are none: one metadata call, three offset calls a batch.

        Raises:
            BrokerError: the cluster did not answer at all.
        """
        names = list(dict.fromkeys(topics))
        if not names:
            return {}
        metadata = self._metadata()
        found: dict[str, TopicOffsets | BrokerError] = {}
        there: dict[str, list[int]] = {}
        for name in names:
            described = metadata.get(name)
            if described is None:
                found[name] = BrokerError(
                    f"{self._bootstrap.servers} has no topic {name} that the key may see.",
                    hint="It was deleted, or the key lacks DeveloperRead on it; run a discovery.",
                )
            elif described.error is not None:
                found[name] = self._error(f"topic {name}", described.error)
            else:
                there[name] = sorted(described.partitions)
        ordered = list(there)
        for start in range(0, len(ordered), BATCH):
            batch = {name: there[name] for name in ordered[start : start + BATCH]}
            found |= self._offsets(batch)
        return {name: found[name] for name in names}

    def first_after(
        self, topics: Iterable[TopicOffsets], since_ms: Mapping[str, int]
    ) -> dict[str, int | BrokerError | None]:
        """The time of the earliest record with a later time than `since_ms`, by topic; None: there is none.

        Of each partition it is the first such record by offset. Only what is committed counts: nobody reads
        the rest. One call a batch.

        Args:
            topics: topics as `read` told them.
            since_ms: a time in Unix milliseconds for each of them.
        """
        from confluent_kafka import IsolationLevel
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        ordered = list(topics)
        found: dict[str, int | BrokerError | None] = {}
        for start in range(0, len(ordered), BATCH):
            specs = {
                (topic.topic, one.partition): OffsetSpec.for_timestamp(since_ms[topic.topic] + 1)
                for topic in ordered[start : start + BATCH]
                for one in topic.partitions
                if one.end > one.begin
            }
            answers = self._list(specs, isolation_level=IsolationLevel.READ_COMMITTED)
            for topic in ordered[start : start + BATCH]:
                found[topic.topic] = _earliest(
                    answers[topic.topic, one.partition]
                    for one in topic.partitions
                    if (topic.topic, one.partition) in answers
                )
        return found

    def _metadata(self) -> Mapping[str, Any]:
        from confluent_kafka import KafkaException

        try:
            return cast("Mapping[str, Any]", self._client.list_topics(timeout=self._timeout).topics)
        except KafkaException as error:
            raise self._error("the list of topics", error) from error

    def _offsets(self, partitions: Mapping[str, list[int]]) -> dict[str, TopicOffsets | BrokerError]:
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        asked = [(name, number) for name, numbers in partitions.items() for number in numbers]
        begins = self._list(dict.fromkeys(asked, OffsetSpec.earliest()))  # type: ignore[no-untyped-call]
        ends = self._list(dict.fromkeys(asked, OffsetSpec.latest()))  # type: ignore[no-untyped-call]
        lasts = self._list(dict.fromkeys(asked, OffsetSpec.max_timestamp()))  # type: ignore[no-untyped-call]
        found: dict[str, TopicOffsets | BrokerError] = {}
        for name, numbers in partitions.items():
            both = [(number, begins[name, number], ends[name, number]) for number in numbers]
            failed = next((end for _, *pair in both for end in pair if isinstance(end, BrokerError)), None)
            if failed is not None:
                found[name] = failed
                continue
            # A broker of before Kafka 3.0 knows no last record; its offsets are worth having all the same.
            last = _latest(lasts[name, number] for number in numbers)
            found[name] = TopicOffsets(
                name,
                tuple(
                    PartitionOffsets(number, begin.offset, end.offset)
                    for number, begin, end in both
                    if isinstance(begin, _Found) and isinstance(end, _Found)
                ),
                None if isinstance(last, BrokerError) else last,
                last.message if isinstance(last, BrokerError) else "",
            )
        return found

    def _list(
        self, specs: Mapping[tuple[str, int], Any], **options: Any
    ) -> dict[tuple[str, int], _Found | BrokerError]:
        """What one list-offsets call found, by topic and partition.

        Raises:
            BrokerError: the call as a whole failed.
        """
        from confluent_kafka import KafkaException, TopicPartition

        if not specs:
            return {}
        asked = {TopicPartition(name, number): spec for (name, number), spec in specs.items()}
        try:
            futures = self._client.list_offsets(asked, request_timeout=self._timeout, **options)
        except KafkaException as error:
            raise self._error("offsets", error) from error
        found: dict[tuple[str, int], _Found | BrokerError] = {}
        for one, future in futures.items():
            try:
                # The request's own timeout ends it; this is for a client that never calls back.
                answer = future.result(timeout=self._timeout + 5)
            except (KafkaException, FutureTimeoutError) as error:
                found[one.topic, one.partition] = self._error(f"topic {one.topic}", error)
            else:
                found[one.topic, one.partition] = _Found(answer.offset, answer.timestamp)
        return found

    def _error(self, what: str, error: object) -> BrokerError:
        text = redact_text(str(error)) or type(error).__name__
        return BrokerError(
            f"The brokers at {self._bootstrap.servers} did not tell {what}: {text}",
            hint="Check that they can be reached from here, and that the cluster's Kafka key is right and "
            "has DeveloperRead on the topic.",
        )


def reader_for(
    settings: ConfluentSettings, bootstrap: str, environment_id: str, cluster_id: str
) -> TopicReader:
    """A reader of one cluster with the key that the settings have for it.

    Raises:
        MissingCredential: brokers that want a key, and none is set.
        UntrustedAddress: the endpoint is on a host that no key may be sent to.
        BrokerError: the endpoint can't be spoken to.
    """
    where = Bootstrap.parse(bootstrap)
    access = Access("kafka", (cluster_id, environment_id))
    if where.protocol != "SASL_SSL":
        # A key is never sent in the open.
        return TopicReader(bootstrap, None, timeout_seconds=settings.timeout_seconds)
    configured = httpx.URL(settings.api_url)
    for host in where.hosts:
        if not is_trusted_host(host, configured):
            raise UntrustedAddress(
                f"The bootstrap endpoint of cluster {cluster_id} is on a foreign host: {host}.",
                hint="No key was sent. Run a discovery, or check LINEAGE_BRIDGE_CONFLUENT_API_URL.",
            )
    return TopicReader(bootstrap, access.credential(settings), timeout_seconds=settings.timeout_seconds)


def _admin_client(bootstrap: Bootstrap, credential: Credential | None, timeout_seconds: float) -> Admin:
    from confluent_kafka.admin import AdminClient

    options: dict[str, Any] = {
        "bootstrap.servers": bootstrap.servers,
        "security.protocol": bootstrap.protocol,
        "socket.timeout.ms": int(timeout_seconds * 1000),
        "client.id": "lineage-bridge-dagster",
        # Its own lines on stderr name hosts again and again; failures come as exceptions.
        "log_level": 0,
        "logger": log,
    }
    if bootstrap.protocol == "SASL_SSL" and credential is not None:
        options |= {
            "sasl.mechanism": "PLAIN",
            "sasl.username": credential.key,
            "sasl.password": credential.secret.get_secret_value(),
        }
    return cast("Admin", AdminClient(options))


def _hosts(servers: str) -> tuple[str, ...]:
    return tuple(
        server.strip().rpartition(":")[0].strip("[]") for server in servers.split(",") if server.strip()
    )


def _all_loopback(servers: str) -> bool:
    hosts = _hosts(servers)
    return bool(hosts) and all(is_loopback(host) for host in hosts)
