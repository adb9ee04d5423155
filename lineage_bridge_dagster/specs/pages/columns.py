"""The origin of columns, as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lineage_bridge_dagster.lineage.columns import Column, ColumnFlow
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.text import plural


def column_table(graph: Graph, flows: Sequence[ColumnFlow], further: Mapping[str, str] | None = None) -> str:
    """The columns that each column is derived from, after a plain first line with the counts.

    Args:
        flows: The flows into the columns.
        further: Topics with further columns, whose names are unknown, each with the reason.
    """
    targets = {flow.column.node_id for flow in flows}
    rows = []
    for flow in flows:
        own = graph.nodes[flow.column.node_id]
        origins = [f"{column_name(graph, column, own)} ({how})" for column, how in flow.sources]
        if not flow.complete:
            reason = f": {flow.reason}" if flow.reason else ""
            others = "others" if origins else "columns"
            origins.append(f"{others} that could not be determined{reason}")
        name = flow.column.name if len(targets) == 1 else f"{own.label}.{flow.column.name}"
        rows.append([name, ", ".join(origins) or "no column (a constant or a count)"])
    sources = {column.node_id for flow in flows for column, _ in flow.sources}
    counts = f"{plural(len(flows), 'column')}, derived from {plural(len(sources), 'table')}"
    text = f"{counts}\n\n{markdown_table(['column', 'derived from'], rows)}" if rows else "No column is known"
    for topic, reason in (further or {}).items():
        text += f"\n\nFurther columns of {graph.nodes[topic].label} could not be determined: {reason}"
    return text


def column_name(graph: Graph, column: Column, beside: Node) -> str:
    """`topic.column`, with its cluster if that differs from the cluster of the node `beside` it."""
    node = graph.nodes.get(column.node_id)
    if node is None:
        return f"{column.node_id}.{column.name}"
    elsewhere = node.cluster_id and node.cluster_id != beside.cluster_id
    return f"{node.label}.{column.name}" + (
        f" on cluster {node.cluster_name or node.cluster_id}" if elsewhere else ""
    )
