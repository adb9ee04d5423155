"""Column lineage of an asset, as Dagster stores it on materializations and as a table for people."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from dagster import AssetKey, MetadataValue, TableColumnDep, TableColumnLineage

from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.lineage.columns import ColumnFlow
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.specs.markdown import MAX_ROWS, markdown_table
from lineage_bridge_dagster.specs.metadata import LineageMetadata, StandardMetadata
from lineage_bridge_dagster.specs.pages.columns import column_name, column_table

#: Columns in one event: Iceberg tables may have thousands, and every event is a row in a database.
MAX_COLUMNS = 1_000


def column_metadata(inventory: Inventory, node: Node) -> dict[str, Any]:
    """Return the column lineage of a table or a topic, in Dagster's form and as a readable table.

    Columns of a table depend on those of its topic, and these on columns of the topics from which Flink or
    ksqlDB derives it. A dependency that would close a cycle is only in the readable table, as with assets.
    """
    flows = inventory.view.column_flows(node)[:MAX_COLUMNS]
    if not flows:
        return {}
    near = _near(inventory, node)
    deps = {flow.column.name: _deps(inventory, flow, near) for flow in flows}
    lineage = MetadataValue.column_lineage(TableColumnLineage(deps)) if any(deps.values()) else None
    return {
        **LineageMetadata(column_lineage=MetadataValue.md(_table(inventory, flows))),
        **StandardMetadata(column_lineage=lineage),
    }


def _near(inventory: Inventory, node: Node) -> set[AssetKey]:
    """Return the assets that a node's asset depends on, directly or through its process or chain."""
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
        origins = index.origins(flow)
        if origins and set(origins) != {column for column, _ in flow.sources}:
            own = graph.nodes[flow.column.node_id]
            rows.append([flow.column.name, ", ".join(column_name(graph, column, own) for column in origins)])
    if rows:
        text += "\n\nFarthest upstream\n\n" + markdown_table(["column", "comes from"], rows)
    return text
