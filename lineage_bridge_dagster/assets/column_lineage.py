"""What an asset's columns are made of, as Dagster keeps it (on materializations) and as a person reads it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from dagster import AssetKey, MetadataValue, TableColumnDep, TableColumnLineage

from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.lineage.columns import ColumnFlow
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import is_glue_table
from lineage_bridge_dagster.specs.markdown import MAX_ROWS, markdown_table
from lineage_bridge_dagster.specs.pages.columns import column_name, column_table

#: Columns that one event tells of; Iceberg tables may have thousands, and every event is a row in a database.
MAX_COLUMNS = 1_000


def column_metadata(inventory: Inventory, node: Node) -> dict[str, Any]:
    """`dagster/column_lineage` of a Glue table or a topic, and the same to read; empty where none is known.

    A table leads to its topic, a topic to the topics that Flink made it of, and so on to the first ones. A
    dependency that would close a cycle is in the readable table alone, as with assets.
    """
    flows = _flows(inventory, node)[:MAX_COLUMNS]
    if not flows:
        return {}
    near = _near(inventory, node)
    deps = {flow.column.name: _deps(inventory, flow, near) for flow in flows}
    metadata: dict[str, Any] = {"lineage_bridge/column_lineage": MetadataValue.md(_table(inventory, flows))}
    if any(deps.values()):
        metadata["dagster/column_lineage"] = MetadataValue.column_lineage(TableColumnLineage(deps))
    return metadata


def _flows(inventory: Inventory, node: Node) -> list[ColumnFlow]:
    view = inventory.view
    if is_glue_table(node):
        return view.columns.table(node, view.topics_of(node))
    if node.node_type == NodeType.KAFKA_TOPIC:
        return list(view.columns.topic(node.node_id).values())
    return []


def _near(inventory: Inventory, node: Node) -> set[AssetKey]:
    """The assets that the node's own depends on, directly or past its process or its chain."""
    own = inventory.key_of[node.node_id]
    direct = inventory.deps_of.get(own, ())
    return {*direct, *(key for dep in direct for key in inventory.deps_of.get(dep, ()))} - {own}


def _deps(inventory: Inventory, flow: ColumnFlow, near: Collection[AssetKey]) -> list[TableColumnDep]:
    keyed = ((inventory.key_of.get(column.node_id), column.name) for column, _ in flow.sources)
    return [TableColumnDep(key, name) for key, name in keyed if key is not None and key in near]


def _table(inventory: Inventory, flows: Sequence[ColumnFlow]) -> str:
    graph, index = inventory.view.graph, inventory.view.columns
    text = column_table(graph, flows)
    rows = []
    for flow in flows[:MAX_ROWS]:
        first = index.origins(flow)
        if first and set(first) != {column for column, _ in flow.sources}:
            own = graph.nodes[flow.column.node_id]
            rows.append([flow.column.name, ", ".join(column_name(graph, column, own) for column in first)])
    if rows:
        text += "\n\nFarthest upstream\n\n" + markdown_table(["column", "comes from"], rows)
    return text
