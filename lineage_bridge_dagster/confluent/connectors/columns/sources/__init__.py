"""The records that sources make of what they read, one module for each kind of store."""

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord
from lineage_bridge_dagster.confluent.connectors.columns.sources import debezium, mongodb, relational
from lineage_bridge_dagster.confluent.connectors.columns.sources.others import by_name
from lineage_bridge_dagster.confluent.connectors.columns.sources.topic import (
    DECLARED,
    READERS,
    SourceTopic,
)

__all__ = ["DECLARED", "SourceTopic", "debezium", "mongodb", "relational", "source_record"]


def source_record(topic: SourceTopic) -> ConnectRecord:
    """The record that a source makes, before its transforms."""
    return READERS.get(topic.family, by_name)(topic)
