"""Plain words for what stands on an asset's page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from lineage_bridge_dagster.lineage.model import Node, NodeType

_KINDS: Mapping[str, str] = {
    NodeType.KAFKA_TOPIC: "topic",
    NodeType.CONNECTOR: "connector",
    NodeType.FLINK_JOB: "Flink statement",
    NodeType.KSQLDB_QUERY: "ksqlDB query",
    NodeType.CONSUMER_GROUP: "consumer group",
    NodeType.CATALOG_TABLE: "table",
    NodeType.TABLEFLOW_TABLE: "Tableflow table",
    NodeType.EXTERNAL_DATASET: "",
}
#: Milliseconds of each unit, longest first.
_UNITS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000))


def kind_of(node: Node) -> str:
    """What a node is, in a word; nothing for a dataset, whose name says it."""
    return _KINDS.get(node.node_type, str(node.node_type).replace("_", " "))


def plain(text: str) -> str:
    """Text for a description's first line, which lists show raw: no line ends."""
    return " ".join(text.split())


def called(node: Node) -> str:
    """`topic orders.v1`: what a node is and its name."""
    return plain(f"{kind_of(node)} {node.label}")


def where(node: Node) -> str:
    """` of cluster orders in prod`, with what is known of it; empty when nothing is."""
    cluster = node.cluster_name or node.cluster_id
    environment = node.environment_name or node.environment_id
    text = "".join((f" of cluster {cluster}" if cluster else "", f" in {environment}" if environment else ""))
    return f" {plain(text)}" if text else ""


def names(nodes: Sequence[Node], limit: int = 5) -> str:
    """Their names, sorted, the first few of many."""
    return some(sorted(node.label for node in nodes), limit)


def listed(nodes: Iterable[Node], limit: int = 10) -> str:
    """What they are and their names, sorted, the first few of many."""
    return some(sorted(map(called, nodes), key=str.casefold), limit)


def some(texts: Sequence[str], limit: int = 5) -> str:
    """The first few texts, and how many more there are."""
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return plain(", ".join(texts[:limit]) + more)


def duration(milliseconds: int) -> str:
    """A length of time in its two largest units.

    >>> duration(604_800_000), duration(3_725_000), duration(59_999), duration(40)
    ('7 days', '1 hour 2 minutes', '59 seconds', 'under a second')
    """
    parts = []
    rest = milliseconds
    for unit, length in _UNITS:
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
        elif parts:
            break
    return " ".join(parts[:2]) or "under a second"


def size(count: int) -> str:
    """Bytes in the largest binary unit that they fill.

    >>> size(1_073_741_824), size(1_500), size(12)
    ('1 GiB', '1.5 KiB', '12 bytes')
    """
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{round(count / 1024**power, 1):g} {unit}"
    return f"{count} bytes"


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks within it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"
