"""A broker in memory, in place of a real one in tests of the APIs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lineage_bridge_dagster.embedded.kafka.broker import (
    ConfigEntry,
    GroupInfo,
    GroupOffset,
    KafkaMessage,
    LocalBrokerError,
    TopicInfo,
)


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
