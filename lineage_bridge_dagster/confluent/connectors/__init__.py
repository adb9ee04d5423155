"""Connector configurations -> the topics and external datasets that they move data between.

To add a connector class, add one row, a `Family`, to `source_families.py` or `sink_families.py`. A row names
the classes and the function that reads their configuration: one of `sources.py` or `sinks.py`, such as
`sinks.templated(...)`, or a new one beside them. `resolve.py` does the rest.
"""

from lineage_bridge_dagster.confluent.connectors.record import ConnectorLineage, ConnectorRecord
from lineage_bridge_dagster.confluent.connectors.resolve import resolve

__all__ = ["ConnectorLineage", "ConnectorRecord", "resolve"]
