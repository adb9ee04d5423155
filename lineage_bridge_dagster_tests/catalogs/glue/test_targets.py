"""The tables of a push: selected ones, and ones that the graph shows cannot be pushed to."""

from __future__ import annotations

from dataclasses import replace

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, glue_node
from lineage_bridge_dagster_tests.catalogs.glue.runs import created, graph_of, ours, push


def test_only_selected_tables_are_pushed(client: GlueClient, catalog: Catalog) -> None:
    graph = created(catalog, ("a", "b.c", "d"))
    report = push(client, graph, tables=[f"{CLUSTER}.B.C", f"glue://{CLUSTER}/d", f"{CLUSTER}.nothing"])
    assert {result.table_name: str(result.status) for result in report.results} == {
        "b.c": "updated",
        "d": "updated",
        "nothing": "failed",
    }
    assert "The graph has no Glue table" in report.results[-1].reason
    assert not ours(catalog.parameters("a"))


def test_table_that_two_topics_claim_is_refused(aws: StrictAws, client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    graph = graph_of("Orders")
    (node,) = [node for node in graph.nodes.values() if node.catalog_type == "AWS_GLUE"]
    graph.add_node(node.with_attributes(conflict="Orders and orders all become glue://lkc-abc123/orders"))
    report = push(client, graph)
    assert report.counts["refused"] == 1
    assert "Orders and orders" in report.results[0].reason
    assert aws.calls["UpdateTable"] == 0


def test_table_in_another_region_is_refused(client: GlueClient) -> None:
    graph = Graph([glue_node("orders", aws_region="eu-west-1")])
    (result,) = push(client, graph).results
    assert result.status is PushStatus.REFUSED
    assert "eu-west-1" in result.reason


def test_table_in_another_account_is_not_confused_with_its_namesake(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    graph = graph_of("orders")
    (here,) = [node for node in graph.nodes.values() if node.node_type == "catalog_table"]
    graph.nodes[here.node_id] = replace(
        here, qualified_name=f"glue://999999999999.us-east-1/{CLUSTER}/orders"
    )
    assert push(client, graph).counts["refused"] == 1
    assert not ours(catalog.parameters("orders"))
