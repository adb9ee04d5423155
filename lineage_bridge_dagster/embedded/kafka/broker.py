"""Protocol that the emulator uses to access Kafka brokers, and an in-memory implementation.

The emulator lists only topics that exist on a cluster's broker. `client.KafkaBroker` connects to a real
broker; `MemoryBroker` replaces it in tests of the APIs.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class LocalBrokerError(Exception):
    """A request to the broker failed."""


@dataclass(frozen=True, slots=True)
class TopicInfo:
    name: str
    partitions: int
    replication: int = 1

    @property
    def internal(self) -> bool:
        return self.name.startswith("__")


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config of a topic; `source` is Kafka REST's term, such as `DYNAMIC_TOPIC_CONFIG`."""

    name: str
    value: str | None
    source: str = "DEFAULT_CONFIG"
    read_only: bool = False
    sensitive: bool = False

    @property
    def default(self) -> bool:
        return self.source == "DEFAULT_CONFIG"


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """A consumer group; `state` and `type` are Kafka REST's terms."""

    name: str
    state: str = "EMPTY"
    type: str = "CLASSIC"
    simple: bool = False


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """A group's committed offset in one partition, and the partition's end offset."""

    topic: str
    partition: int
    current: int
    end: int


@dataclass(frozen=True, slots=True)
class KafkaMessage:
    """A record to produce; `value` is already serialized."""

    partition: int
    key: bytes | None
    value: bytes


class Broker(Protocol):
    """One cluster's broker. Every method raises `LocalBrokerError` if its request fails."""

    def topics(self) -> dict[str, TopicInfo]: ...

    def configs(self, topics: Sequence[str]) -> dict[str, list[ConfigEntry]]: ...

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> bool:
        """Create a topic; return False if it already exists."""
        ...

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the end offset of each partition, which is the offset of its next record."""
        ...

    def produce(self, topic: str, messages: Sequence[KafkaMessage]) -> None:
        """Produce messages; return when all of them are acknowledged."""
        ...

    def groups(self) -> dict[str, GroupInfo]: ...

    def group_offsets(self, group: str) -> list[GroupOffset]: ...

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit a group's offsets by partition."""
        ...


@dataclass
class MemoryBroker:
    """A broker that holds topics, records and group offsets in memory."""

    _topics: dict[str, TopicInfo] = field(default_factory=dict)
    _configs: dict[str, dict[str, str]] = field(default_factory=dict)
    _logs: dict[str, dict[int, list[KafkaMessage]]] = field(default_factory=dict)
    _groups: dict[str, dict[tuple[str, int], int]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def topics(self) -> dict[str, TopicInfo]:
        with self._lock:
            return dict(self._topics)

    def configs(self, topics: Sequence[str]) -> dict[str, list[ConfigEntry]]:
        with self._lock:
            return {t: self._entries(t) for t in topics if t in self._topics}

    def _entries(self, topic: str) -> list[ConfigEntry]:
        defaults = {"cleanup.policy": "delete", "retention.ms": "604800000"}
        overrides = self._configs[topic]
        return [
            ConfigEntry(name, value, "DYNAMIC_TOPIC_CONFIG" if name in overrides else "DEFAULT_CONFIG")
            for name, value in sorted({**defaults, **overrides}.items())
        ]

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> bool:
        with self._lock:
            if name in self._topics:
                return False
            self._topics[name] = TopicInfo(name, partitions)
            self._configs[name] = dict(configs)
            self._logs[name] = {p: [] for p in range(partitions)}
            return True

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records."""
        with self._lock:
            for held in (self._topics, self._configs, self._logs):
                del held[name]

    def end_offsets(self, topic: str) -> dict[int, int]:
        with self._lock:
            if topic not in self._logs:
                raise LocalBrokerError(f"topic {topic} does not exist")
            return {p: len(log) for p, log in self._logs[topic].items()}

    def produce(self, topic: str, messages: Sequence[KafkaMessage]) -> None:
        with self._lock:
            if topic not in self._logs:
                raise LocalBrokerError(f"topic {topic} does not exist")
            for message in messages:
                self._logs[topic][message.partition].append(message)

    def records(self, topic: str) -> list[KafkaMessage]:
        """Return all records of a topic, ordered by partition and offset."""
        with self._lock:
            return [m for _, log in sorted(self._logs[topic].items()) for m in log]

    def groups(self) -> dict[str, GroupInfo]:
        with self._lock:
            return {name: GroupInfo(name) for name in self._groups}

    def group_offsets(self, group: str) -> list[GroupOffset]:
        with self._lock:
            return [
                GroupOffset(topic, partition, current, len(self._logs[topic][partition]))
                for (topic, partition), current in sorted(self._groups.get(group, {}).items())
            ]

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        with self._lock:
            committed = self._groups.setdefault(group, {})
            committed.update({(topic, partition): offset for partition, offset in offsets.items()})
