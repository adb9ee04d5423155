"""A discovery enriched with Glue tables: nodes, edges, status and scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.glue import enrich
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, scopes_of
from lineage_bridge_dagster_tests.glue.catalog import Catalog
from lineage_bridge_dagster_tests.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    REGION,
    add_table,
    complete_coverage,
    tableflow_node,
)
from lineage_bridge_dagster_tests.glue.runs import clock, enriched, glue_nodes, push

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

    from lineage_bridge_dagster.embedded.aws import StrictAws

SCOPE = Scope("glue", "", REGION)


def test_edge_leads_from_tableflow_to_glue(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    source = tableflow_node("orders.v1")
    found = enriched(client, source)
    (edge,) = found.graph.edges.values()
    assert (edge.src_id, edge.edge_type) == (source.node_id, EdgeType.MATERIALIZES)
    assert found.graph.nodes[source.node_id].attributes["glue_status"] == "found"
    assert found.coverage.get(SCOPE).status is Status.COMPLETE  # type: ignore[union-attr]


def test_table_that_glue_lacks_is_reported_on_tableflows_node(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("other")
    source = tableflow_node("orders")
    found = enriched(client, source)
    assert not glue_nodes(found)
    assert found.graph.nodes[source.node_id].attributes["glue_status"] == "not_found"


def test_tables_of_other_catalogs_are_not_matched(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    found = enriched(client, tableflow_node("orders", catalog_types=["UNITY"]))
    assert not glue_nodes(found)


def test_the_original_discovery_is_unchanged(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    original = Discovery(Graph([tableflow_node("orders")]), complete_coverage())
    before = (dict(original.graph.nodes), dict(original.graph.edges), len(original.coverage))
    enrich(original, client, region=REGION, clock=clock)
    assert (dict(original.graph.nodes), dict(original.graph.edges), len(original.coverage)) == before


def test_glue_table_also_belongs_to_tableflows_scopes(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    found = enriched(client, tableflow_node("orders"))
    (table,) = glue_nodes(found).values()
    apis = ("tableflow", "catalog_integrations")
    wanted = {str(SCOPE), *(f"{api}:{ENVIRONMENT}:{CLUSTER}" for api in apis)}
    assert scopes_of(table.attributes) == wanted
    (edge,) = found.graph.edges.values()
    assert scopes_of(edge.attributes) == wanted


def test_outage_of_the_integrations_keeps_the_edge_to_a_table_matched_by_name(
    client: GlueClient, catalog: Catalog
) -> None:
    """Glue still lists the table, but without the integrations nothing shows that it is Tableflow's."""
    catalog.create("orders", "shop")
    graph = Graph()
    add_table(graph, "orders", database="shop", glue=False)
    last = enrich(Discovery(graph, complete_coverage(), "t1"), client, region=REGION, clock=clock)
    push(client, last)
    (table,) = glue_nodes(last)

    without_catalogs = [
        node.with_attributes(glue_database=None, catalog_types=[])
        if node.node_type == "tableflow_table"
        else node
        for node in graph.nodes.values()
    ]
    now = Discovery(Graph(without_catalogs, graph.edges.values()), complete_coverage(), "t2")
    now.coverage.add(ScopeReport(Scope("catalog_integrations", ENVIRONMENT, CLUSTER), Status.FAILED, "500"))
    carried = carry_forward(enrich(now, client, region=REGION, clock=clock), last)

    assert set(last.graph.edges) <= set(carried.graph.edges)
    assert not chain_of(carried.graph, table, coverage=carried.coverage).complete


@pytest.mark.parametrize("failed", ["tableflow", "glue"])
def test_outage_of_tableflow_or_glue_loses_no_table(
    aws: StrictAws, client: GlueClient, catalog: Catalog, failed: str
) -> None:
    """The edge to a Glue table takes both APIs; it is carried over if either of them fails."""
    catalog.create("orders")
    graph = Graph()
    source = add_table(graph, "orders", glue=False)
    last = enrich(Discovery(graph, complete_coverage(), "t1"), client, region=REGION, clock=clock)
    (table,) = glue_nodes(last)
    hops = [hop.node.node_id for hop in chain_of(last.graph, table).hops]
    now = Discovery(Graph(graph.nodes.values(), graph.edges.values()), complete_coverage(), "t2")
    if failed == "tableflow":
        scope = Scope("tableflow", ENVIRONMENT, CLUSTER)
        now.coverage.add(ScopeReport(scope, Status.FAILED, "500"))
        del now.graph.nodes[source.node_id]
        now.graph.edges = {key: edge for key, edge in graph.edges.items() if source.node_id not in key}
    else:
        aws.fail("*", "InternalServiceException", status=500, times=-1)
    carried = carry_forward(enrich(now, client, region=REGION, clock=clock), last)
    assert table in carried.graph
    chain = chain_of(carried.graph, table, coverage=carried.coverage)
    assert [hop.node.node_id for hop in chain.hops] == hops
    assert not chain.complete
