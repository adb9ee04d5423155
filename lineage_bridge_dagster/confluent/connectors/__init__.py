"""What a connector's config says about the topics and the outside datasets that it reads and writes."""

from lineage_bridge_dagster.confluent.connectors.record import ConnectorLineage, ConnectorRecord
from lineage_bridge_dagster.confluent.connectors.resolve import resolve

__all__ = ["ConnectorLineage", "ConnectorRecord", "resolve"]
