"""Which Glue table a Tableflow table becomes."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, ENVIRONMENT, tableflow_node
from lineage_bridge_dagster_tests.catalogs.glue.runs import edge_target, enriched, glue_nodes, push


@pytest.mark.parametrize(
    "path", ["s3://bucket/real", "s3://bucket/real/", "s3a://bucket/real", "S3://bucket/real"]
)
def test_storage_location_comes_before_the_name(client: GlueClient, catalog: Catalog, path: str) -> None:
    catalog.create("orders")
    storage = {"Location": "s3://bucket/real", "Columns": []}
    catalog.create("renamed_by_tableflow", "elsewhere", StorageDescriptor=storage)
    source = tableflow_node("orders", path=path)
    found = enriched(client, source)
    assert edge_target(found, source) == f"aws:glue_table:{ENVIRONMENT}:glue://elsewhere/renamed_by_tableflow"
    assert len(glue_nodes(found)) == 1


def test_expected_name_decides_between_tables_at_one_location(client: GlueClient, catalog: Catalog) -> None:
    storage = {"Location": "s3://bucket/orders", "Columns": []}
    catalog.create("orders", StorageDescriptor=storage)
    catalog.create("a_copy", "aaa", StorageDescriptor=storage)
    source = tableflow_node("orders", path="s3://bucket/orders")
    assert (
        edge_target(enriched(client, source), source)
        == f"aws:glue_table:{ENVIRONMENT}:glue://{CLUSTER}/orders"
    )


def test_match_by_name_reports_a_different_location(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    found = enriched(client, tableflow_node("orders", path="s3://bucket/another"))
    (edge,) = found.graph.edges.values()
    assert edge.attributes["location_differs"]
    assert edge.confidence < 1


def test_custom_database_and_lower_case_name_are_matched(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.eu", "shop")
    source = tableflow_node("Orders.EU", database="Shop")
    assert (
        edge_target(enriched(client, source), source) == f"aws:glue_table:{ENVIRONMENT}:glue://shop/orders.eu"
    )


def test_unknown_database_is_not_guessed(client: GlueClient, catalog: Catalog) -> None:
    """Without the integrations: the database named after the cluster may hold an older table."""
    catalog.create("orders")
    source = tableflow_node("orders", glue_database=None)
    found = enriched(client, source)
    assert not glue_nodes(found)
    attributes = found.graph.nodes[source.node_id].attributes
    assert attributes["glue_status"] == "unknown"
    assert "integrations" in attributes["glue_reason"]


def test_storage_location_matches_without_a_known_database(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", "shop")
    source = tableflow_node("orders", glue_database=None, path="s3://bucket/orders")
    assert edge_target(enriched(client, source), source) == f"aws:glue_table:{ENVIRONMENT}:glue://shop/orders"


def test_two_topics_with_one_lower_case_name_are_a_conflict(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    upper, lower = tableflow_node("Orders"), tableflow_node("orders")
    found = enriched(client, upper, lower)
    for node in (upper, lower):
        attributes = found.graph.nodes[node.node_id].attributes
        assert attributes["glue_status"] == "conflict"
        assert f"{CLUSTER}.Orders and {CLUSTER}.orders" in attributes["conflict"]
    (table,) = glue_nodes(found).values()
    assert "Orders" in table.attributes["conflict"]
    report = push(client, found)
    assert report.counts["refused"] == 1


def test_topics_at_different_locations_do_not_conflict(client: GlueClient, catalog: Catalog) -> None:
    for name in ("orders", "orders_1"):
        catalog.create(name)
    upper = tableflow_node("Orders", path="s3://bucket/orders_1")
    lower = tableflow_node("orders", path="s3://bucket/orders")
    found = enriched(client, upper, lower)
    assert not [node for node in found.graph.nodes.values() if node.attributes.get("conflict")]
    assert len(glue_nodes(found)) == 2
