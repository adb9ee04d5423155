"""A family of connector classes: one row in the tables of `source_families.py` and `sink_families.py`."""

from __future__ import annotations

from dataclasses import dataclass

from lineage_bridge_dagster.confluent.connectors.sinks import Sink
from lineage_bridge_dagster.confluent.connectors.sources import Source


@dataclass(frozen=True, slots=True)
class Family:
    """Connector classes whose configurations are read in the same way.

    Attributes:
        name: Unique among sources and among sinks.
        ids: Plugin ids of managed connectors.
        classes: Java classes of self-managed connectors.
        source: Reads a source's configuration; None for a sink.
        sink: Reads a sink's configuration; None for a source.
        topics: Numbered keys that name a sink's topics, besides `topics` itself.
    """

    name: str
    ids: tuple[str, ...]
    classes: tuple[str, ...] = ()
    source: Source | None = None
    sink: Sink | None = None
    topics: tuple[str, ...] = ()

    @property
    def direction(self) -> str:
        """`source` or `sink`."""
        return "source" if self.source else "sink"
