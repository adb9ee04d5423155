"""Pushes of tables that Glue did not have when they were discovered."""

from __future__ import annotations

from lineage_bridge_dagster.catalogs.glue.enrichment import enrich
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    REGION,
    add_table,
    complete_coverage,
    glue_node,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock, created, graph_of, ours, push


def discovered(client: GlueClient, *topics: str) -> Discovery:
    """A discovery of these topics with Tableflow on."""
    graph = Graph()
    for topic in topics:
        add_table(graph, topic, glue=False)
    return enrich(Discovery(graph, complete_coverage()), client, region=REGION, clock=clock)


def test_missing_table_is_skipped_with_the_reason_and_fails_nothing(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    report = push(client, discovered(client, "orders", "payments"))
    assert (report.counts["updated"], report.counts["skipped"], report.failed) == (1, 1, ())
    skipped = report.result(f"{CLUSTER}.payments")
    assert skipped is not None
    assert skipped.reason.startswith(
        f"Tableflow is enabled, but Glue has no such table in {REGION}, because "
    )
    assert "first commit" in skipped.hint


def test_table_that_came_since_the_discovery_is_pushed(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("other")
    found = discovered(client, "orders")
    catalog.create("orders")
    assert push(client, found).counts["updated"] == 1
    assert ours(catalog.parameters("orders"))


def test_table_of_a_graph_without_a_status_still_fails_if_glue_lacks_it(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("other")
    assert push(client, graph_of("orders")).counts["failed"] == 1


def test_table_that_glue_refuses_to_show_still_fails(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("other")
    found = discovered(client, "orders")
    aws.fail("*", "AccessDeniedException", times=None)
    assert push(client, found).counts["failed"] == 1


def test_missing_tables_do_not_raise_the_number_of_removals(client: GlueClient, catalog: Catalog) -> None:
    names = ["a", "b", "c"]
    graph = created(catalog, names)
    push(client, graph)
    found = discovered(client, *(f"missing{number}" for number in range(20)))
    for name in names:
        parameters = catalog.parameters(name)
        found.graph.add_node(glue_node(name, parameters=parameters))
    report = push(client, found, settings={"max_removal_share": 0.1})
    assert report.counts["refused"] == 3
    assert "3 of 3 tables" in next(result.reason for result in report.results if result.status == "refused")
    assert all(ours(catalog.parameters(name)) for name in names)
