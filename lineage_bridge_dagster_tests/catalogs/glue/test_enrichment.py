"""A discovery enriched with Glue tables: nodes, edges, status and scopes."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.catalogs.glue.enrichment import enrich
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_status import glue_counts
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, scopes_of
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    REGION,
    add_table,
    complete_coverage,
    tableflow_node,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import SCOPE, clock, enriched, glue_nodes, graph_of, push


def test_edge_leads_from_tableflow_to_glue(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    source = tableflow_node("orders.v1")
    found = enriched(client, source)
    (edge,) = found.graph.edges.values()
    assert (edge.src_id, edge.edge_type) == (source.node_id, EdgeType.MATERIALIZES)
    assert found.graph.nodes[source.node_id].attributes["glue_status"] == "found"
    assert found.coverage.get(SCOPE).status is Status.COMPLETE  # type: ignore[union-attr]


def test_table_that_glue_lacks_is_a_node_with_the_reason(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("other")
    graph = Graph()
    source = add_table(graph, "orders", glue=False)
    found = enrich(Discovery(graph, complete_coverage()), client, region=REGION, clock=clock)
    (table,) = glue_nodes(found).values()
    assert table.attributes["glue_status"] == "missing"
    assert table.attributes["glue_absence"] == "not_synced_yet"
    assert found.graph.nodes[source.node_id].attributes["glue_status"] == "missing"
    hops = [hop.node.qualified_name for hop in chain_of(found.graph, table.node_id).hops]
    assert hops[:2] == [f"{CLUSTER}.orders", "orders"]
    assert hops[-1].startswith("postgres://")


def test_table_keeps_its_node_when_it_comes(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("other")
    source = tableflow_node("Orders")
    (before,) = glue_nodes(enriched(client, source))
    catalog.create("orders")
    found = enriched(client, source)
    assert list(glue_nodes(found)) == [before]
    assert found.graph.nodes[before].attributes["glue_status"] == "found"


def test_nothing_of_the_reason_is_left_on_a_table_that_came(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("other")
    source = tableflow_node("orders")
    last = enriched(client, source)
    catalog.create("orders")
    found = enriched(client, source, last=last)
    # Another database fails, so that attributes of Glue's nodes may be hidden.
    found.coverage.add(ScopeReport(SCOPE, Status.PARTIAL, "denied"))
    (table,) = glue_nodes(carry_forward(found, last)).values()
    assert table.attributes["glue_status"] == "found"
    assert not table.attributes.keys() & {"glue_absence", "glue_reason", "glue_next_step"}


def test_graph_that_is_enriched_again_keeps_no_old_reason(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("other")
    before = enriched(client, tableflow_node("orders"))
    catalog.create("orders")
    found = enrich(before, client, region=REGION, clock=clock)
    for node in found.graph.nodes.values():
        assert node.attributes["glue_status"] == "found"
        assert not node.attributes.keys() & {"glue_absence", "glue_reason", "glue_next_step"}


def test_graph_that_does_not_tell_of_integrations_gets_no_claim_about_them(client: GlueClient) -> None:
    found = enriched(client, tableflow_node("orders", catalog_types=[]))
    (node,) = found.graph.nodes.values()
    assert "glue_status" not in node.attributes


def test_dropped_table_stays_and_tells_when_it_was_there(client: GlueClient, catalog: Catalog) -> None:
    synced = [{"type": "AWS_GLUE", "status": "SYNCED"}]
    source = tableflow_node("orders", catalog_sync=synced)
    catalog.create("orders")
    first = enriched(client, source)
    catalog.glue.delete_table(DatabaseName=CLUSTER, Name="orders")
    for _ in range(2):
        first = carry_forward(enriched(client, source, last=first), first)
        (table,) = glue_nodes(first).values()
        assert table.attributes["glue_status"] == "missing"
        assert table.attributes["glue_absence"] == "dropped"
        assert table.attributes["glue_last_found"] in table.attributes["glue_reason"]


@pytest.mark.usefixtures("hurried")
def test_outage_of_glue_adds_no_second_table_beside_the_known_one(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    """The last discovery found the table elsewhere, by its location; now Glue fails."""
    storage = {"Location": "s3://bucket/real", "Columns": []}
    catalog.create("renamed", "elsewhere", StorageDescriptor=storage)
    graph = graph_of("orders", glue=False, path="s3://bucket/real")
    last = enrich(Discovery(graph, complete_coverage(), "t1"), client, region=REGION, clock=clock)
    aws.fail("*", "InternalServiceException", status=500, times=None)
    now = Discovery(Graph(graph.nodes.values(), graph.edges.values()), complete_coverage(), "t2")
    carried = carry_forward(enrich(now, client, region=REGION, clock=clock, last=last), last)
    (table,) = glue_nodes(carried).values()
    assert table.qualified_name == "glue://elsewhere/renamed"
    assert glue_counts(carried.graph).unknown == {"stale": 1}


def test_table_of_a_glue_that_cannot_be_read_is_unknown(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    aws.fail("*", "AccessDeniedException", times=None)
    found = enriched(client, tableflow_node("orders"))
    (table,) = glue_nodes(found).values()
    assert table.attributes["glue_status"] == "unknown"
    assert table.attributes["glue_absence"] == "glue_unread"
    assert str(glue_counts(found.graph)) == "0 found, 0 missing, 1 unknown (1 Glue not read)"


def test_tableflow_without_an_integration_with_glue_is_said_and_no_table(
    client: GlueClient, catalog: Catalog
) -> None:
    none, unread = (
        tableflow_node(name, catalog_types=[], glue_database=None, catalog_integrations_read=read)
        for name, read in (("none", True), ("unread", False))
    )
    found = enriched(client, none, unread)
    assert not glue_nodes(found)
    assert found.graph.nodes[none.node_id].attributes["glue_status"] == "not_configured"
    assert found.graph.nodes[unread.node_id].attributes["glue_status"] == "unknown"
    assert glue_counts(found.graph).unknown == {"integrations_unread": 1}


def test_two_topics_without_a_table_that_fold_to_one_are_a_conflict(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("other")
    found = enriched(client, tableflow_node("Orders"), tableflow_node("orders"))
    (table,) = glue_nodes(found).values()
    assert f"{CLUSTER}.Orders and {CLUSTER}.orders" in table.attributes["conflict"]
    assert push(client, found).counts["refused"] == 1


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
    graph = graph_of("orders", database="shop", glue=False)
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


@pytest.mark.usefixtures("hurried")
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
        aws.fail("*", "InternalServiceException", status=500, times=None)
    carried = carry_forward(enrich(now, client, region=REGION, clock=clock), last)
    assert table in carried.graph
    chain = chain_of(carried.graph, table, coverage=carried.coverage)
    assert [hop.node.node_id for hop in chain.hops] == hops
    assert not chain.complete
