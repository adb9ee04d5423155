"""Connector configurations -> the topics and external datasets that they move data between.

`families/` has a module for each kind of outside system, with its sources and sinks; `naming.py` says how
each system's datasets are named; `transforms.py` follows a topic through the single message transforms;
`resolve.py` puts them together. `evidence.py` adds what a connector's offsets show that it read, which
`offsets.py` reads.
"""

from lineage_bridge_dagster.confluent.connectors.record import (
    ConnectorLineage,
    ConnectorOffset,
    ConnectorRecord,
)
from lineage_bridge_dagster.confluent.connectors.resolve import resolve

__all__ = ["ConnectorLineage", "ConnectorOffset", "ConnectorRecord", "resolve"]
