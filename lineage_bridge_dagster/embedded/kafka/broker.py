"""What the emulator asks of a Kafka broker: the protocol, and a broker that lives in memory.

The emulator makes up no topic: what it lists is what the broker behind a cluster has. `kafka` talks to a real
one; `MemoryBroker` stands in for it where only the APIs are of interest.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class BrokerError(Exception):
    """The broker could not be asked."""


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
    """One config of a topic; `source` in the words of Kafka REST, such as `DYNAMIC_TOPIC_CONFIG`."""

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
    """A consumer group; `state` and `type` in the words of Kafka REST."""

    name: str
    state: str = "EMPTY"
    type: str = "CLASSIC"
    simple: bool = False


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """How far a group has read one partition."""

    topic: str
    partition: int
    current: int
    end: int


@dataclass(frozen=True, slots=True)
class Message:
    """A record to produce: value in the wire format, or raw."""

    partition: int
    key: bytes | None
    value: bytes


class Broker(Protocol):
    """One cluster's broker. Every method raises `BrokerError` when it could not be asked."""

    def topics(self) -> dict[str, TopicInfo]: ...

    def configs(self, topics: Sequence[str]) -> dict[str, list[ConfigEntry]]: ...

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> bool:
        """False when it was there already."""
        ...

    def end_offsets(self, topic: str) -> dict[int, int]:
        """The next offset of each partition."""
        ...

    def produce(self, topic: str, messages: Sequence[Message]) -> None:
        """Returns when all of them are acknowledged."""
        ...

    def groups(self) -> dict[str, GroupInfo]: ...

    def group_offsets(self, group: str) -> list[GroupOffset]: ...

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Set how far a group has read, as if it had."""
        ...


@dataclass
class MemoryBroker:
    """A broker in memory: keeps topics and counts of records, and the records themselves."""

    _topics: dict[str, TopicInfo] = field(default_factory=dict)
    _configs: dict[str, dict[str, str]] = field(default_factory=dict)
    _logs: dict[str, dict[int, list[Message]]] = field(default_factory=dict)
    _groups: dict[str, dict[tuple[str, int], int]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def topics(self) -> dict[str, TopicInfo]:
        with self._lock:
            return dict(self._topics)

    def configs(self, topics: Sequence[str]) -> dict[str, list[ConfigEntry]]:
        with self._lock:
            return {t: self._entries(t) for t in topics if t in self._topics}

    def _entries(self, topic: str) -> list[ConfigEntry]:
        values = {"cleanup.policy": "delete", "retention.ms": "604800000"}
        own = self._configs[topic]
        return [
            ConfigEntry(name, value, "DYNAMIC_TOPIC_CONFIG" if name in own else "DEFAULT_CONFIG")
            for name, value in sorted({**values, **own}.items())
        ]

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> bool:
        with self._lock:
            if name in self._topics:
                return False
            self._topics[name] = TopicInfo(name, partitions)
            self._configs[name] = dict(configs)
            self._logs[name] = {p: [] for p in range(partitions)}
            return True

    def end_offsets(self, topic: str) -> dict[int, int]:
        with self._lock:
            if topic not in self._logs:
                raise BrokerError(f"topic {topic} is not there")
            return {p: len(log) for p, log in self._logs[topic].items()}

    def produce(self, topic: str, messages: Sequence[Message]) -> None:
        with self._lock:
            if topic not in self._logs:
                raise BrokerError(f"topic {topic} is not there")
            for message in messages:
                self._logs[topic][message.partition].append(message)

    def records(self, topic: str) -> list[Message]:
        """Everything in a topic, partition by partition."""
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
            read = self._groups.setdefault(group, {})
            read.update({(topic, partition): offset for partition, offset in offsets.items()})
