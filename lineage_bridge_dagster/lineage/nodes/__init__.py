"""Nodes: a frozen record for each kind, whose fields carry their policy."""

from __future__ import annotations

from lineage_bridge_dagster.lineage.nodes.attribute import Api, Holds
from lineage_bridge_dagster.lineage.nodes.attribute import Attribute as Attribute
from lineage_bridge_dagster.lineage.nodes.catalog_reports import (
    SHOWN_SETTINGS,
    CommitReport,
    GlueReport,
)
from lineage_bridge_dagster.lineage.nodes.catalog_table import (
    ICEBERG_REST,
    CatalogTableNode,
    GlueTableNode,
    IcebergTableNode,
)
from lineage_bridge_dagster.lineage.nodes.node import Node, NodeType, OtherNode, loaded_node, node_class
from lineage_bridge_dagster.lineage.nodes.process import (
    ConnectorNode,
    ExternalJobNode,
    FlinkNode,
    KsqlNode,
    ProcessNode,
    StatementNode,
)
from lineage_bridge_dagster.lineage.nodes.tableflow_table import TableflowNode
from lineage_bridge_dagster.lineage.nodes.topic import ConsumerGroupNode, DatasetNode, SchemaNode, TopicNode
from lineage_bridge_dagster.lineage.nodes.values import (
    CatalogIntegrationState,
    CatalogSync,
    ErrorHandling,
    Field,
    FormatError,
)

__all__ = [
    "ICEBERG_REST",
    "SHOWN_SETTINGS",
    "Api",
    "CatalogIntegrationState",
    "CatalogSync",
    "CatalogTableNode",
    "CommitReport",
    "ConnectorNode",
    "ConsumerGroupNode",
    "DatasetNode",
    "ErrorHandling",
    "ExternalJobNode",
    "Field",
    "FlinkNode",
    "FormatError",
    "GlueReport",
    "GlueTableNode",
    "Holds",
    "IcebergTableNode",
    "KsqlNode",
    "Node",
    "NodeType",
    "OtherNode",
    "ProcessNode",
    "SchemaNode",
    "StatementNode",
    "TableflowNode",
    "TopicNode",
    "loaded_node",
    "node_class",
]
