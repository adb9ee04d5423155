"""Generated lineage of a table, in Glue or in a REST catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable
from lineage_bridge_dagster.catalogs.rest.enrichment import table_node
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, ENVIRONMENT, NOW, glue_node

#: Names of nodes: of any script, with characters of one to four bytes.
_NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(
    ["orders.v1", "größe", "注文", "🦆🦆", "a,b", "x" * 300]
)
_PROCESSES = st.sampled_from([NodeType.FLINK_JOB, NodeType.CONNECTOR, NodeType.KSQLDB_QUERY])
_SOURCES = st.sampled_from([NodeType.KAFKA_TOPIC, NodeType.EXTERNAL_DATASET])


@dataclass(frozen=True)
class Lineage:
    """The nodes upstream of a table, the nearest first, each with attributes."""

    nodes: tuple[tuple[str, str, dict[str, Any]], ...]

    def graph(self, table: Node) -> Graph:
        graph = Graph([table])
        below = table
        for number, (kind, name, attributes) in enumerate(self.nodes):
            inside = kind != NodeType.EXTERNAL_DATASET
            node = graph.add_node(
                Node(
                    f"node-{number}",
                    "confluent" if inside else "external",
                    kind,
                    name,
                    environment_id=ENVIRONMENT if inside else None,
                    cluster_id=CLUSTER if inside else None,
                    attributes={"scope": f"kafka:{ENVIRONMENT}:{CLUSTER}", **attributes},
                )
            )
            edge_type = EdgeType.MATERIALIZES if below is table else EdgeType.PRODUCES
            graph.add_edge(Edge(node.node_id, below.node_id, edge_type))
            below = node
        return graph


def node_in_glue(database: str, name: str) -> Node:
    return glue_node(name, database=database)


def node_in_catalog(catalog: CatalogSettings, namespace: str, name: str) -> Node:
    table = IcebergTable((namespace,), name, "uuid", (), f"s3://bucket/{name}", {})
    return table_node(table, catalog, Scope("iceberg", "", catalog.name), NOW.isoformat())


@st.composite
def lineages(draw: st.DrawFn) -> Lineage:
    """A topic, and up to six nodes above it; a few are larger than what a catalog takes."""
    fields = [{"name": draw(_NAMES), "type": "string"}] * draw(st.sampled_from([1, 3, 4_000]))
    nodes: list[tuple[str, str, dict[str, Any]]] = [
        (NodeType.KAFKA_TOPIC, draw(_NAMES), {"schema_fields": fields})
    ]
    for _ in range(draw(st.integers(0, 3))):
        kind, source = draw(_PROCESSES), draw(_SOURCES)
        text = "EXECUTE STATEMENT SET -- " + draw(_NAMES) * draw(st.sampled_from([1, 5_000]))
        attributes = (
            {"connector_class": "PostgresCdcSourceV2"} if kind == NodeType.CONNECTOR else {"sql": text}
        )
        nodes += [(kind, draw(_NAMES), attributes), (source, draw(_NAMES), {})]
    return Lineage(tuple(nodes))
