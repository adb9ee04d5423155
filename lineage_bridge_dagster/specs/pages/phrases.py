"""Phrases shared by the pages of assets."""

from __future__ import annotations

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
    NodeType.EXTERNAL_JOB: "job",
}


def kind_of(node: Node) -> str:
    """The kind of a node; empty for an external dataset, whose name shows it."""
    return _KINDS.get(node.node_type, str(node.node_type).replace("_", " "))


def plain(text: str) -> str:
    """Text on one line: lists in the UI show a description's first line as it is."""
    return " ".join(text.split())


def titled(node: Node) -> str:
    """A node's kind and name, such as `topic orders.v1`."""
    return plain(f"{kind_of(node)} {node.label}")


def location(node: Node) -> str:
    """` on cluster orders in prod`, as far as cluster and environment are known."""
    cluster = node.cluster_name or node.cluster_id
    environment = node.environment_name or node.environment_id
    text = "".join((f" on cluster {cluster}" if cluster else "", f" in {environment}" if environment else ""))
    return f" {plain(text)}" if text else ""


def names(nodes: Sequence[Node], limit: int = 5) -> str:
    """The nodes' names, sorted, the first few of many."""
    return plain(first_few(sorted(node.label for node in nodes), limit))


def titles(nodes: Iterable[Node], limit: int = 10) -> str:
    """The nodes' kinds and names, sorted, the first few of many."""
    return first_few(sorted(map(titled, nodes), key=str.casefold), limit)
