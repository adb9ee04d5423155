"""Connector configurations -> the topics and outside datasets they move data between.

To teach it a connector: add a `Family` to `families.py`, with a function of `sources.py` or `sinks.py`.
"""

from lineage_bridge_dagster.confluent.connectors.record import ConnectorLineage, ConnectorRecord
from lineage_bridge_dagster.confluent.connectors.resolve import resolve

__all__ = ["ConnectorLineage", "ConnectorRecord", "resolve"]
