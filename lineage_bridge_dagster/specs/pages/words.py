"""Plain words for what stands on an asset's page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.text import first_few

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
    return plain(first_few(sorted(node.label for node in nodes), limit))


def listed(nodes: Iterable[Node], limit: int = 10) -> str:
    """What they are and their names, sorted, the first few of many."""
    return first_few(sorted(map(called, nodes), key=str.casefold), limit)


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks within it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"
