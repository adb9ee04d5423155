"""The records that sources make of what they read, one module for each kind of store."""

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord
from lineage_bridge_dagster.confluent.connectors.columns.sources import (
    debezium as debezium,
)
from lineage_bridge_dagster.confluent.connectors.columns.sources import (
    mongodb as mongodb,
)
from lineage_bridge_dagster.confluent.connectors.columns.sources import (
    relational as relational,
)
from lineage_bridge_dagster.confluent.connectors.columns.sources.others import by_name
from lineage_bridge_dagster.confluent.connectors.columns.sources.topic import (
    DECLARED,
    READERS,
    SourceTopic,
)


def source_record(topic: SourceTopic) -> ConnectRecord:
    """The record that a source makes, before its transforms."""
    return READERS.get(topic.family, by_name)(topic)


__all__ = ["DECLARED", "SourceTopic", "source_record"]
