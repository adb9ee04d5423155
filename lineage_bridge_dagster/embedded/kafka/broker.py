"""How the emulator accesses the broker of a cluster, whose topics it lists; `client` asks a real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
