"""What a REST catalog tells of a table: attributes of the table's node, and of a Tableflow table that
Tableflow's own catalog has."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import SHOWN_SETTINGS as SHOWN_SETTINGS

#: The attribute with the settings by which others reach the catalog.
CATALOG_SETTINGS = "catalog_settings"


def tableflow_place(node: Node) -> tuple[str, str, str, str]:
    """Whose own catalog has a Tableflow table: organization, environment, cloud and region of its cluster.

    What is not known is empty.
    """
    return (
        node.text("organization_id"),
        node.environment_id or "",
        node.text("cluster_cloud"),
        node.text("cluster_region"),
    )


def tableflow_places(graph: Graph) -> Iterator[tuple[str, str, str, str]]:
    """The places in which Tableflow has tables, each once."""
    return iter(dict.fromkeys(map(tableflow_place, graph.of_type(NodeType.TABLEFLOW_TABLE))))
