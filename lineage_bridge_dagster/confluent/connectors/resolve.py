"""A connector's config -> its lineage."""

from __future__ import annotations

from collections.abc import Collection

from lineage_bridge_dagster.confluent.connectors.record import SINK, ConnectorLineage, ConnectorRecord


def resolve(connector: ConnectorRecord, cluster_topics: Collection[str]) -> ConnectorLineage:
    """What the connector reads and writes, given the topics of its cluster. Never raises on a config."""
    topics = tuple(part.strip() for part in connector.config.get("topics", "").split(",") if part.strip())
    if connector.type == SINK:
        return ConnectorLineage(direction=SINK, topics_read=topics)
    topic = connector.config.get("kafka.topic", "").strip()
    return ConnectorLineage(direction=connector.type, topics_written=(topic,) if topic else ())
