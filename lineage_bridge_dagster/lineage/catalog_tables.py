"""The tables that lineage is pushed to: those of Glue, and those of REST catalogs, S3 Tables among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Evidence, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, IcebergTableNode, TableflowNode


class CatalogTableName(NamedTuple):
    """How people and queries name a table: no two tables have one name.

    Attributes:
        database: A Glue database; for a table of a REST catalog, `catalog.namespace`.
    """

    database: str
    table: str

    @property
    def dotted(self) -> str:
        return f"{self.database}.{self.table}"


def takes_lineage(node: Node) -> bool:
    """Whether a push may write to a node: a table of Glue or of a REST catalog."""
    return isinstance(node, GlueTableNode | IcebergTableNode)


def tables_of(graph: Graph) -> Iterator[Node]:
    """The tables of Glue and of REST catalogs."""
    return (node for node in graph.of_type(NodeType.CATALOG_TABLE) if takes_lineage(node))


def name_of(table: Node) -> CatalogTableName:
    """The name of a table that takes lineage."""
    if isinstance(table, IcebergTableNode):
        return CatalogTableName(".".join((table.catalog, *table.namespace)), table.table_name)
    place = GlueTableNode.of(table).shown_place
    return CatalogTableName(place.database, place.table)


def materializes(
    source: Node,
    table: Node,
    scope: Scope,
    scopes: Iterable[str],
    now: str,
    *,
    evidence: Evidence = Evidence.DECLARED,
    confidence: float = 1.0,
    **attributes: Any,
) -> Edge:
    """The edge into a catalog table from what it is a table of: a Tableflow table, or a connector's dataset.

    Args:
        source: Where the data comes from.
        scope: The list in which the table was found.
        scopes: All that show the edge: an outage of any of them must not remove it.
        now: ISO 8601 UTC.
        evidence: Whether the edge follows from names or from what was seen.
        confidence: From 0 to 1.
    """
    return Edge(
        source.node_id,
        table.node_id,
        EdgeType.MATERIALIZES,
        confidence=confidence,
        attributes={
            "scope": str(scope),
            "scopes": sorted(scopes),
            "evidence": str(evidence),
            **attributes,
        },
        first_seen=now,
        last_seen=now,
    )


def tableflow_places(graph: Graph) -> Iterator[tuple[str, str, str, str]]:
    """The places whose own catalogs have Tableflow's tables, each once: see `TableflowNode.own_catalog`."""
    return iter(dict.fromkeys(table.own_catalog for table in graph.of_kind(TableflowNode)))
