from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import CONNECTOR_OFFSETS, Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.lineage.graphs import (
    ALL_SCOPES,
    CONNECT,
    ENVIRONMENTS,
    KAFKA,
    coverage,
    edge,
    node,
    shop,
)


@pytest.mark.parametrize(
    "api",
    [
        "kafka",
        "connect",
        "tableflow",
        "catalog_integrations",
        "flink",
        "compute_pools",
        "clusters",
        "environments",
        "glue",
    ],
)
@pytest.mark.parametrize("status", [Status.FAILED, Status.DENIED, Status.PARTIAL])
def test_failed_scope_on_its_path_makes_a_chain_incomplete(api: str, status: Status) -> None:
    chain = chain_of(shop(), "table", coverage=coverage(**{api: status}))

    assert not chain.complete
    assert api in {scope.api for scope in chain.incomplete_scopes}


def test_failed_flink_region_may_hide_a_writer_that_the_chain_does_not_show() -> None:
    graph = Graph(
        [node("t", "catalog_table"), node("topic", "kafka_topic")], [edge("topic", "t", "materializes")]
    )

    chain = chain_of(graph, "t", coverage=coverage(flink=Status.FAILED))

    assert chain.incomplete_scopes == (Scope("flink", "env-abc123", "aws.us-east-1"),)


@pytest.mark.parametrize(
    "scope",
    [
        Scope("flink", "env-other", "aws.eu-west-1"),
        Scope("connect", "env-abc123", "lkc-other"),
        Scope("connect", "env-other", "lkc-other"),
        Scope("glue", "", "eu-west-1"),
    ],
)
def test_unrelated_failed_scope_leaves_a_chain_complete(scope: Scope) -> None:
    graph = shop()
    table = graph.nodes["table"].with_attributes(aws_region="us-east-1")
    graph.nodes["table"] = table
    in_region(graph)
    read = coverage()
    read.add(ScopeReport(scope, Status.FAILED))

    assert chain_of(graph, "table", coverage=read).complete


@pytest.mark.parametrize(
    "scope",
    [
        Scope("flink", "env-other", "aws.us-east-1"),
        Scope("compute_pools", "env-other"),
        Scope("clusters", "env-other"),
    ],
)
def test_failed_scope_of_another_environment_may_hide_statements_and_links_to_a_topic(scope: Scope) -> None:
    graph = shop()
    in_region(graph)
    read = coverage()
    read.add(ScopeReport(scope, Status.FAILED))

    assert chain_of(graph, "table", coverage=read).incomplete_scopes == (scope,)


def in_region(graph: Graph) -> None:
    """Give each topic its cluster's cloud and region, as discovery does."""
    for topic in list(graph.of_type("kafka_topic")):
        graph.nodes[topic.node_id] = topic.with_attributes(cloud="AWS", region="us-east-1")


def test_unread_scope_of_a_node_makes_a_chain_incomplete() -> None:
    read = Coverage(
        ScopeReport(s, Status.COMPLETE) for s in ALL_SCOPES if s.api not in ("flink", "compute_pools")
    )

    chain = chain_of(shop(), "table", coverage=Coverage(r for r in read if r.scope.api != "environments"))

    assert "flink" in {scope.api for scope in chain.incomplete_scopes}


@pytest.mark.parametrize("status", [Status.FAILED, Status.DENIED])
def test_registry_outage_affects_only_topics_without_fields(status: Status) -> None:
    with_fields = shop()
    without = shop()
    without.nodes["raw"] = node("raw", "kafka_topic", "shop.public.orders")

    assert chain_of(with_fields, "table", coverage=coverage(schema_registry=status)).complete
    assert not chain_of(without, "table", coverage=coverage(schema_registry=status)).complete


def test_scopes_behind_nodes_are_sorted_and_distinct() -> None:
    gaps = Gaps(shop(), coverage(kafka=Status.FAILED, connect=Status.DENIED))

    assert gaps.of(["table", "raw", "orders"]) == (CONNECT, KAFKA)
    assert gaps.of([]) == ()


@pytest.mark.parametrize("unknown", [None, Coverage()])
def test_unknown_coverage_has_no_gaps(unknown: Coverage | None) -> None:
    assert Gaps(shop(), unknown).of(["table", "raw"]) == ()


@pytest.mark.parametrize(
    "scope",
    [
        Scope("consumer_groups", "env-abc123", "lkc-abc123"),
        Scope(CONNECTOR_OFFSETS, "env-abc123", "lkc-abc123/lcc-1"),
    ],
)
def test_failed_consumer_groups_and_connector_offsets_hide_nothing_upstream(scope: Scope) -> None:
    read = coverage()
    read.add(ScopeReport(scope, Status.FAILED))

    assert Gaps(shop(), read).of(shop().nodes) == ()


def test_edge_that_is_known_from_unread_offsets_leaves_a_chain_complete() -> None:
    offsets = Scope(CONNECTOR_OFFSETS, "env-abc123", "lkc-abc123/lcc-1")
    graph = Graph(
        [node("t", "catalog_table"), node("data", "external_dataset", scope=offsets)],
        [edge("data", "t", "materializes", scope=offsets)],
    )
    read = coverage()
    read.add(ScopeReport(offsets, Status.FAILED))

    assert chain_of(graph, "t", coverage=read).complete


def test_unlisted_environments_may_hide_something_behind_every_node() -> None:
    gaps = Gaps(shop(), coverage(environments=Status.FAILED))

    assert all(gaps.of([node_id]) == (ENVIRONMENTS,) for node_id in shop().nodes)


@given(st.sets(st.sampled_from(ALL_SCOPES)), st.sets(st.sampled_from(ALL_SCOPES)))
def test_any_gap_behind_a_node_is_one_that_is_found(incomplete: set[Scope], read: set[Scope]) -> None:
    reports = [
        ScopeReport(scope, Status.FAILED if scope in incomplete else Status.COMPLETE) for scope in read
    ]
    graph = shop()
    gaps = Gaps(graph, Coverage(reports))
    assert [gaps.any_behind(i) for i in graph.nodes] == [bool(gaps.of((i,))) for i in graph.nodes]
