"""The column lineage attribute of a process's node, and warnings about it. No I/O."""

from __future__ import annotations

from typing import Any

from lineage_bridge_dagster.lineage.columns import COLUMN_LINEAGE
from lineage_bridge_dagster.lineage.model import Graph


def put_columns(graph: Graph, node_id: str, attribute: dict[str, Any] | None, omitted: int) -> None:
    """Put the result of `to_attribute` on a node, with a warning if it omits columns."""
    if attribute is not None:
        graph.nodes[node_id] = graph.nodes[node_id].with_attributes(**{COLUMN_LINEAGE: attribute})
    if omitted:
        warn(graph, node_id, f"{omitted} more of its columns exceed the limit of column lineage on a node")


def warn(graph: Graph, node_id: str, warning: str) -> None:
    """Add a warning to a node, if it is in the graph."""
    node = graph.nodes.get(node_id)
    if node is not None:
        graph.nodes[node_id] = node.with_attributes(warnings=[*node.warnings, warning])
