"""Facts of topics: offsets and times from their brokers, settings and schema as discovered last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lineage_bridge_dagster.assets.freshness import Unseen
from lineage_bridge_dagster.assets.topics import PartitionFacts, TopicFacts
from lineage_bridge_dagster.config.settings import ConfluentSettings
from lineage_bridge_dagster.confluent.api.brokers import TopicOffsets, TopicReader, reader_for
from lineage_bridge_dagster.confluent.api.errors import BrokerError, ConfluentError
from lineage_bridge_dagster.lineage.model import Node

T = TypeVar("T")


def read_topics(
    nodes: Iterable[Node], settings: ConfluentSettings
) -> Iterator[tuple[Node, TopicFacts | Exception]]:
    """Each topic with what it is now, one connection a cluster.

    A cluster that can't be asked fails its own topics and no others.
    """

    def ask(reader: TopicReader, topics: Sequence[Node]) -> Mapping[str, TopicFacts | ConfluentError]:
        found = reader.read(topic.qualified_name for topic in topics)
        answers = ((topic, found[topic.qualified_name]) for topic in topics)
        return {
            topic.node_id: facts_of(topic, answer) if isinstance(answer, TopicOffsets) else answer
            for topic, answer in answers
        }

    yield from _by_cluster(nodes, settings, ask)


def read_unseen(
    since_ms: Iterable[tuple[Node, int | None]], settings: ConfluentSettings
) -> Iterator[tuple[Node, Unseen | Exception]]:
    """Each topic with its last record, and the first after a time, one connection a cluster.

    Args:
        since_ms: topics, each with a time in Unix milliseconds; None is before every record.
    """
    since = {topic.node_id: (topic, -1 if time is None else time) for topic, time in since_ms}

    def ask(reader: TopicReader, topics: Sequence[Node]) -> Mapping[str, Unseen | ConfluentError]:
        after = {topic.qualified_name: since[topic.node_id][1] for topic in topics}
        offsets = reader.read(after)
        # A topic whose last record is old, as of most topics at most times, is not asked a second time.
        newer = [
            one
            for one in offsets.values()
            if isinstance(one, TopicOffsets)
            and one.records
            and (one.untimed or (one.last_record_ms is not None and one.last_record_ms > after[one.topic]))
        ]
        first = reader.first_after(newer, after)
        found: dict[str, Unseen | ConfluentError] = {}
        for topic in topics:
            told, unseen = offsets[topic.qualified_name], first.get(topic.qualified_name)
            if isinstance(told, BrokerError):
                found[topic.node_id] = told
            elif isinstance(unseen, BrokerError):
                found[topic.node_id] = unseen
            else:
                found[topic.node_id] = Unseen(
                    told.records, told.last_record_ms, unseen, told.untimed, told.written
                )
        return found

    yield from _by_cluster((topic for topic, _ in since.values()), settings, ask)


def _by_cluster(
    nodes: Iterable[Node],
    settings: ConfluentSettings,
    ask: Callable[[TopicReader, Sequence[Node]], Mapping[str, T | ConfluentError]],
) -> Iterator[tuple[Node, T | Exception]]:
    clusters: dict[tuple[str, str, str], list[Node]] = {}
    for node in nodes:
        bootstrap = str(node.attributes.get("bootstrap_endpoint") or "")
        key = (bootstrap, node.environment_id or "", node.cluster_id or "")
        clusters.setdefault(key, []).append(node)

    def one(place: tuple[str, str, str], topics: Sequence[Node]) -> Mapping[str, T | ConfluentError]:
        try:
            with reader_for(settings, *place) as reader:
                return ask(reader, topics)
        except ConfluentError as error:
            return {topic.node_id: error for topic in topics}

    # Several at once, so that clusters that are away take their timeouts together.
    with ThreadPoolExecutor(settings.max_concurrency, thread_name_prefix="brokers") as pool:
        for topics, found in zip(clusters.values(), pool.map(one, clusters, clusters.values()), strict=True):
            yield from ((topic, found[topic.node_id]) for topic in topics)


def facts_of(topic: Node, offsets: TopicOffsets) -> TopicFacts:
    """The facts of one topic, from its offsets and its node."""
    attributes = topic.attributes
    configs = attributes.get("configs") or {}
    return TopicFacts(
        partitions=[PartitionFacts(p.partition, p.begin, p.end) for p in offsets.partitions],
        retention_ms=_number(attributes.get("retention_ms", configs.get("retention.ms"))),
        retention_bytes=_number(configs.get("retention.bytes")),
        cleanup_policy=attributes.get("cleanup_policy"),
        schema_subject=attributes.get("schema_subject"),
        schema_version=_number(attributes.get("schema_version")),
        last_record_ms=offsets.last_record_ms,
        config={str(name): str(value) for name, value in configs.items()},
    )


def _number(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
