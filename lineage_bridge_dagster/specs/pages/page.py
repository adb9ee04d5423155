"""An asset's description: what it is, where it is from, and what there is to know of it.

It opens the asset's page at full width, and lists and graphs show its first line. It is made for each asset
at every load, so it is text alone and bounded.
"""

from __future__ import annotations

from collections.abc import Sequence

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import is_glue_table
from lineage_bridge_dagster.specs.graph_view import NodeContext, Role
from lineage_bridge_dagster.specs.metadata import LineageMetadata, markdown_table
from lineage_bridge_dagster.specs.pages import process, table, topic
from lineage_bridge_dagster.specs.pages.words import kind_of, plain, where

_DRAWN = f"Once it is materialized, `{LineageMetadata.key('drawing')}` in its metadata is a picture of it."


def description(node: Node, context: NodeContext) -> str:
    """First line: plain words that say what it is and where it is from. Below it, Markdown."""
    match node.node_type:
        case NodeType.KAFKA_TOPIC:
            return _page(topic.first_line(node, context), "", topic.facts(node, context))
        case NodeType.CONNECTOR | NodeType.FLINK_JOB | NodeType.KSQLDB_QUERY:
            first, telling = process.first_line(node, context), [process.state(node), process.statement(node)]
            return _page(first, "\n\n".join(filter(None, telling)), process.facts(node, context))
        case NodeType.CATALOG_TABLE if is_glue_table(node):
            first, origin = table.first_line(node, context), table.origin(node, context)
            if context.role is Role.CHAIN:
                return _page(first, origin, below=_DRAWN)
            return _page(first, origin, table.facts(node, context), table.athena(node))
        case NodeType.EXTERNAL_DATASET:
            return _page(f"Dataset outside Confluent: {plain(node.qualified_name)}")
        case _:
            return _page(f"{kind_of(node)} {plain(node.label)}{where(node)}")


def _page(first: str, telling: str = "", facts: Sequence[tuple[str, str]] = (), below: str = "") -> str:
    """What tells most stands right below the first line: the UI folds the rest away."""
    table = markdown_table(["", ""], facts) if facts else ""
    return "\n\n".join(part for part in (f"{first}.", telling, table, below) if part)
