"""What the Connect API says of a connector, and what that means for lineage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SOURCE = "source"
SINK = "sink"


@dataclass(frozen=True, slots=True)
class ConnectorRecord:
    """One connector as `GET .../connectors?expand=info,status,id` tells of it.

    `type` is `info.type` or `status.type`: `source`, `sink`, or empty when the API did not say. It is never
    the config's own `type`, which may be wrong. `id` is the `lcc-...` id; self-managed connectors have none.
    """

    name: str
    id: str | None = None
    type: str = ""
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    state: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorLineage:
    """What a connector reads and writes.

    Topics are plain names within the connector's cluster; datasets are named as the OpenLineage naming spec
    names them. Everything is in a stable order and without repeats.

    Attributes:
        direction: `source` or `sink`; empty when nothing tells.
        topics_read: topics that a sink consumes.
        topics_written: topics that records go to, a sink's dead letter, success and error topics among them.
        dlq_topics: those of `topics_written` that take failed records.
        internal_topics: topics that the connector keeps for itself (schema history, heartbeats): no lineage.
        datasets_read: outside datasets that a source reads.
        datasets_written: outside datasets that a sink writes.
        links: the pairs (dataset, topic) that belong together, where the config or the names tell.
        confidence: below 1 where topics were found by a pattern rather than named.
        warnings: what could not be told from the config, in words for a user. Never holds a config value
            that could be a secret.
    """

    direction: str = ""
    topics_read: tuple[str, ...] = ()
    topics_written: tuple[str, ...] = ()
    dlq_topics: tuple[str, ...] = ()
    internal_topics: tuple[str, ...] = ()
    datasets_read: tuple[str, ...] = ()
    datasets_written: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    confidence: float = 1.0
    warnings: tuple[str, ...] = ()
