"""Facts of topics: offsets from their brokers, settings and schema as the last discovery found them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lineage_bridge_dagster.assets.topics import PartitionFacts, TopicFacts
from lineage_bridge_dagster.confluent.errors import ConfluentError
from lineage_bridge_dagster.confluent.kafka_admin import TopicOffsets, reader_for
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.settings import ConfluentSettings


def read_topics(
    nodes: Iterable[Node], settings: ConfluentSettings
) -> Iterator[tuple[Node, TopicFacts | Exception]]:
    """Each topic with what it is now, one connection a cluster.

    A cluster that can't be asked fails its own topics and no others.
    """
    clusters: dict[tuple[str, str, str], list[Node]] = {}
    for node in nodes:
        bootstrap = str(node.attributes.get("bootstrap_endpoint") or "")
        key = (bootstrap, node.environment_id or "", node.cluster_id or "")
        clusters.setdefault(key, []).append(node)
    for (bootstrap, environment, cluster), topics in clusters.items():
        try:
            with reader_for(settings, bootstrap, environment, cluster) as reader:
                found = reader.read(topic.qualified_name for topic in topics)
        except ConfluentError as error:
            yield from ((topic, error) for topic in topics)
            continue
        for topic in topics:
            answer = found[topic.qualified_name]
            yield topic, facts_of(topic, answer) if isinstance(answer, TopicOffsets) else answer


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
        config={str(name): str(value) for name, value in configs.items()},
    )


def _number(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
