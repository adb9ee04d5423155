"""One way of reading connectors' configurations."""

from __future__ import annotations

from dataclasses import dataclass

from lineage_bridge_dagster.confluent.connectors.sinks import Sink
from lineage_bridge_dagster.confluent.connectors.sources import Source


@dataclass(frozen=True, slots=True)
class Family:
    """One way of reading a configuration; exactly one of `source` and `sink` is set.

    `topics` are the numbered keys that name a sink's topics besides `topics` itself.
    """

    name: str
    ids: tuple[str, ...]
    classes: tuple[str, ...] = ()
    source: Source | None = None
    sink: Sink | None = None
    topics: tuple[str, ...] = ()

    @property
    def direction(self) -> str:
        return "source" if self.source else "sink"
