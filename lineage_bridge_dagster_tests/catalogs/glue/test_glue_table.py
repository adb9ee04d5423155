"""Glue tables as records."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.catalogs.glue.glue_table import normalize_location
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import complete_coverage, tableflow_node
from lineage_bridge_dagster_tests.catalogs.glue.runs import (
    enriched,
    glue_nodes,
    push_to_glue,
)


def test_view_is_not_writable_and_a_linked_database_is_not_read(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", TableType="VIRTUAL_VIEW", ViewOriginalText="select 1")
    catalog.glue.create_database(
        DatabaseInput={"Name": "link", "TargetDatabase": {"CatalogId": "1", "DatabaseName": "x"}}
    )
    found = enriched(client, tableflow_node("orders"))
    (table,) = glue_nodes(found).values()
    assert table.attributes["not_writable"] == "it is a view"
    report = push_to_glue(
        Discovery(_with_topic(found.graph), complete_coverage()),
        client,
        PushSettings(),
    )
    assert report.counts["refused"] == 1
    assert "view" in report.results[0].reason


def _with_topic(graph: Graph) -> Graph:
    flow = next(node for node in graph.nodes.values() if node.node_type == "tableflow_table")
    topic = graph.add_node(Node("t", "confluent", "kafka_topic", "orders"))
    graph.add_edge(Edge(topic.node_id, flow.node_id, EdgeType.MATERIALIZES))
    return graph


@pytest.mark.parametrize(
    ("location", "same"),
    [("s3://b/p/", "s3a://b/p"), ("s3n://b/p", "s3://b/p//"), ("S3://b/p", "s3://b/p")],
)
def test_locations_are_compared_in_normal_form(location: str, same: str) -> None:
    assert normalize_location(location) == normalize_location(same)
    assert normalize_location("s3://b/P") != normalize_location("s3://b/p")
