"""Tables of REST catalogs as assets."""

from __future__ import annotations

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergColumn, IcebergTable
from lineage_bridge_dagster.catalogs.rest.enrichment import table_node
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.specs.translator import LineageTranslator

NOW = "2026-04-30T12:34:56.789Z"


def test_key_group_schema_and_upstream_of_a_table_in_a_table_bucket() -> None:
    settings = CatalogSettings(name="lake", type="rest", uri="https://catalog.example.com")
    table = IcebergTable(
        ("sales",), "orders", "uuid", (IcebergColumn("id", "long", "The order"),), "s3://bucket/orders", {}
    )
    node = table_node(table, settings, Scope("iceberg", "", "lake"), NOW)
    dataset = Node("external:external_dataset:d", "external", NodeType.EXTERNAL_DATASET, "iceberg://d")
    graph = Graph([node, dataset], [Edge(dataset.node_id, node.node_id, EdgeType.MATERIALIZES)])
    inventory = build_inventory(Discovery(graph), LineageTranslator().get_asset_spec)
    asset = next(asset for asset in inventory.tables if asset.node.node_id == node.node_id)
    assert asset.key.to_user_string() == "glue/lake/sales/orders"
    assert asset.spec.group_name == "glue/lake/sales"
    assert [key.path[0] for key in asset.deps] == ["upstream_chain"]
    metadata = asset.spec.metadata
    assert metadata["dagster/table_name"] == "lake.sales.orders"
    assert metadata["lineage_bridge/catalog"] == "lake"
    assert [column.name for column in metadata["dagster/column_schema"].value.columns] == ["id"]
