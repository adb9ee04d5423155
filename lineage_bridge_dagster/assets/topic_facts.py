"""Facts of topics: offsets and record times from their brokers, settings and schema from the discovery."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from lineage_bridge_dagster.confluent.api.brokers import (
    PartitionOffsets,
    TopicOffsets,
    TopicReader,
    reader_for,
)
from lineage_bridge_dagster.confluent.api.errors import BrokerError, ConfluentError
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import TopicNode

T = TypeVar("T")


@dataclass(frozen=True)
class TopicFacts:
    """A topic as its brokers and the discovery describe it.

    Attributes:
        retention_ms: milliseconds; -1 is without limit. So is `retention_bytes`, in bytes.
        last_record_ms: Unix milliseconds; None where no record has a time. Not part of the version, which
            follows the offsets.
    """

    partitions: Sequence[PartitionOffsets]
    retention_ms: int | None = None
    retention_bytes: int | None = None
    cleanup_policy: str | None = None
    schema_subject: str | None = None
    schema_version: int | None = None
    last_record_ms: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def written(self) -> int:
        """Records ever written, including those that retention has deleted."""
        return sum(partition.end for partition in self.partitions)

    @property
    def version(self) -> str:
        """A digest that changes only with the topic: its records, partitions, settings or schema."""
        text = json.dumps(
            [
                [[p.partition, p.begin, p.end] for p in sorted(self.partitions, key=lambda p: p.partition)],
                self.retention_ms,
                self.retention_bytes,
                self.cleanup_policy,
                self.schema_subject,
                self.schema_version,
                sorted(self.config.items()),
            ]
        )
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Backlog:
    """A topic's records, and those that are newer than a given time.

    Attributes:
        records: the number of offsets between the first and the last.
        last_ms: time of the latest record in Unix milliseconds; None where no record has one, or where the
            brokers did not return it, and then `untimed` is the reason.
        first_ms: time of the earliest record after the given time; None where there is none.
        written: the sum of the partitions' end offsets.
        partitions: their first and end offsets, which `records` and `written` sum up.
    """

    records: int
    last_ms: int | None = None
    first_ms: int | None = None
    untimed: str = ""
    written: int = 0
    partitions: Sequence[PartitionOffsets] = field(default=(), compare=False)

    def behind(self, offsets: Mapping[int, int] | None) -> int | None:
        """The number of records from these offsets on, over all partitions; None without offsets.

        What retention removed is gone. A partition that ends before its offset was created again: all of its
        records are new.
        """
        if offsets is None or not self.partitions:
            return None
        lag = 0
        for facts in self.partitions:
            done = offsets.get(facts.partition, facts.begin)
            lag += facts.records if done > facts.end else max(0, facts.end - max(done, facts.begin))
        return lag


#: Reads backlogs of topics, each since a time (None: since the first record), in any order.
ReadBacklogs = Callable[[Iterable[tuple[Node, int | None]]], Iterator[tuple[Node, Backlog | Exception]]]


def read_topics(
    nodes: Iterable[Node], settings: ConfluentSettings
) -> Iterator[tuple[Node, TopicFacts | Exception]]:
    """Read each topic, over one connection per cluster.

    A cluster that cannot be reached fails its own topics and no others.
    """

    def read(reader: TopicReader, topics: Sequence[Node]) -> Mapping[str, TopicFacts | ConfluentError]:
        offsets = reader.read(topic.qualified_name for topic in topics)
        return {
            topic.node_id: facts_of(topic, found) if isinstance(found, TopicOffsets) else found
            for topic in topics
            for found in (offsets[topic.qualified_name],)
        }

    yield from _by_cluster(nodes, settings, read)


def read_backlogs(
    since_ms: Iterable[tuple[Node, int | None]], settings: ConfluentSettings
) -> Iterator[tuple[Node, Backlog | Exception]]:
    """Read each topic's latest record, and its first one after a time, over one connection per cluster.

    Args:
        since_ms: topics, each with a time in Unix milliseconds; None is before every record.
    """
    since = {topic.node_id: (topic, -1 if time is None else time) for topic, time in since_ms}

    def read(reader: TopicReader, topics: Sequence[Node]) -> Mapping[str, Backlog | ConfluentError]:
        after = {topic.qualified_name: since[topic.node_id][1] for topic in topics}
        offsets = reader.read(after)
        # Most topics have no newer record at most times, and need no second request.
        newer = [
            found
            for found in offsets.values()
            if isinstance(found, TopicOffsets)
            and found.records
            and (
                found.untimed
                or (found.last_record_ms is not None and found.last_record_ms > after[found.topic])
            )
        ]
        first_times = reader.first_after(newer, after)
        backlogs: dict[str, Backlog | ConfluentError] = {}
        for topic in topics:
            found, first = offsets[topic.qualified_name], first_times.get(topic.qualified_name)
            if isinstance(found, BrokerError):
                backlogs[topic.node_id] = found
            elif isinstance(first, BrokerError):
                backlogs[topic.node_id] = first
            else:
                backlogs[topic.node_id] = Backlog(
                    found.records,
                    found.last_record_ms,
                    first,
                    found.untimed,
                    found.written,
                    found.partitions,
                )
        return backlogs

    yield from _by_cluster((topic for topic, _ in since.values()), settings, read)


def _by_cluster(
    nodes: Iterable[Node],
    settings: ConfluentSettings,
    read: Callable[[TopicReader, Sequence[Node]], Mapping[str, T | ConfluentError]],
) -> Iterator[tuple[Node, T | Exception]]:
    clusters: dict[tuple[str, str, str], list[Node]] = {}
    for node in nodes:
        cluster = (TopicNode.of(node).bootstrap, node.environment_id or "", node.cluster_id or "")
        clusters.setdefault(cluster, []).append(node)

    def read_cluster(
        cluster: tuple[str, str, str], topics: Sequence[Node]
    ) -> Mapping[str, T | ConfluentError]:
        try:
            return read(reader_for(settings, *cluster), topics)
        except ConfluentError as error:
            return {topic.node_id: error for topic in topics}

    # Several at once, so that the timeouts of clusters that are down do not add up.
    with ThreadPoolExecutor(settings.max_concurrency, thread_name_prefix="brokers") as pool:
        results = pool.map(read_cluster, clusters, clusters.values())
        for topics, found in zip(clusters.values(), results, strict=True):
            yield from ((topic, found[topic.node_id]) for topic in topics)


def facts_of(topic: Node, offsets: TopicOffsets) -> TopicFacts:
    """Combine a topic's offsets with the settings and schema of its node."""
    view = TopicNode.of(topic)
    return TopicFacts(
        partitions=offsets.partitions,
        retention_ms=view.retention_ms,
        retention_bytes=view.retention_bytes,
        cleanup_policy=view.cleanup_policy or None,
        schema_subject=view.schema_subject or None,
        schema_version=view.schema_version,
        last_record_ms=offsets.last_record_ms,
        config={str(name): str(value) for name, value in view.configs.items()},
    )
