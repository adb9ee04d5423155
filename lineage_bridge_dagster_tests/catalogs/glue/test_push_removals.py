"""Removals of lineage, and pushes from an incomplete discovery."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    add_table,
    complete_coverage,
    glue_node,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import ours, push


def _push_tables(client: GlueClient, catalog: Catalog, names: list[str]) -> None:
    graph = Graph()
    for name in names:
        catalog.create(name, Description="mine")
        add_table(graph, name)
    assert push(client, graph).counts["updated"] == len(names)


def test_lineage_is_removed_from_a_table_without_upstream(client: GlueClient, catalog: Catalog) -> None:
    _push_tables(client, catalog, ["orders.v1"])
    graph = Graph([glue_node("orders.v1")])
    report = push(client, graph)
    assert report.counts["updated"] == 1
    assert not ours(catalog.parameters("orders.v1"))
    assert catalog.table("orders.v1")["Description"] == "mine"
    assert any(line.startswith("- lineage_bridge.source_topics") for line in report.results[0].diff)


@pytest.mark.parametrize(
    "coverage",
    [
        Coverage(),
        complete_coverage(ScopeReport(Scope("connect", ENVIRONMENT, CLUSTER), Status.FAILED, "500")),
    ],
    ids=["from a file without coverage", "a scope failed"],
)
def test_nothing_is_removed_after_an_incomplete_discovery(
    client: GlueClient, catalog: Catalog, coverage: Coverage
) -> None:
    _push_tables(client, catalog, ["orders.v1"])
    before = catalog.table("orders.v1")
    graph = Graph([glue_node("orders.v1")])
    assert push(client, graph, coverage).counts["held"] == 1
    assert catalog.table("orders.v1") == before


def test_denied_mirrors_and_consumer_groups_do_not_prevent_a_removal(
    client: GlueClient, catalog: Catalog
) -> None:
    _push_tables(client, catalog, ["orders.v1"])
    graph = Graph([glue_node("orders.v1")])
    denied = [
        ScopeReport(Scope(api, ENVIRONMENT, CLUSTER), Status.DENIED, "403")
        for api in ("mirrors", "consumer_groups")
    ]
    assert push(client, graph, complete_coverage(*denied)).counts["updated"] == 1
    assert not ours(catalog.parameters("orders.v1"))


def test_too_many_removals_are_all_refused(client: GlueClient, catalog: Catalog) -> None:
    names = [f"t{number}" for number in range(10)]
    _push_tables(client, catalog, names)
    graph = Graph([glue_node(name) for name in names[:3]])
    for name in names[3:]:
        add_table(graph, name)
    report = push(client, graph)
    assert report.counts["refused"] == 3
    assert report.counts["unchanged"] == 7
    assert all("3 of 10 tables have no upstream any more" in result.reason for result in report.failed)
    assert all(ours(catalog.parameters(name)) for name in names)
    allowed = push(client, graph, settings={"max_removal_share": 0.3})
    assert allowed.counts["updated"] == 3


@pytest.mark.parametrize(("tables", "allowed"), [(1, 1), (9, 1), (11, 1), (20, 2), (29, 2)])
def test_no_more_than_the_share_is_removed_at_once_and_at_least_one_table(
    client: GlueClient, catalog: Catalog, tables: int, allowed: int
) -> None:
    names = [f"t{number:02d}" for number in range(tables)]
    _push_tables(client, catalog, names)

    def removed(count: int) -> int:
        graph = Graph([glue_node(name) for name in names[:count]])
        for name in names[count:]:
            add_table(graph, name)
        return push(client, graph, dry_run=True).counts["updated"]

    assert removed(allowed) == allowed
    assert tables == allowed or removed(allowed + 1) == 0


def test_removal_limit_counts_tables_outside_the_selection(client: GlueClient, catalog: Catalog) -> None:
    names = [f"t{number}" for number in range(10)]
    _push_tables(client, catalog, names)
    graph = Graph()
    for name in names:
        graph.add_node(glue_node(name, parameters=catalog.parameters(name)))
    for name in names:
        report = push(client, graph, tables=[f"{CLUSTER}.{name}"])
        assert report.counts["refused"] == 1
    assert all(ours(catalog.parameters(name)) for name in names)
