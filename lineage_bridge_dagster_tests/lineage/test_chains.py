from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.chains import chain_of, chains_of, to_json, walk
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node
from lineage_bridge_dagster_tests.lineage.graphs import ALL_SCOPES, coverage, edge, fields, node, shop


def test_chain_runs_from_the_tableflow_table_to_the_database() -> None:
    chain = chain_of(shop(), "table")

    assert [(hop.distance, hop.node.qualified_name) for hop in chain.hops] == [
        (1, "lkc-abc123.orders.v1"),
        (2, "orders.v1"),
        (3, "enrich-orders"),
        (4, "shop.public.orders"),
        (5, "debezium-pg"),
        (6, "postgres://pg1.example:5432/shop.public.orders"),
    ]


def test_schema_never_leads_upstream() -> None:
    graph = shop()
    graph.add_edge(edge("schema", "orders", "has_schema"))

    assert "schema" not in {hop.node.node_id for hop in chain_of(graph, "table").hops}


def test_two_ways_to_one_source_give_it_once_at_the_shorter_distance() -> None:
    graph = shop()
    graph.add_edge(edge("db", "job", "consumes"))

    distances = [hop.distance for hop in chain_of(graph, "table").hops if hop.node.node_id == "db"]

    assert distances == [4]


def test_cycle_ends_and_leaves_out_the_table_itself() -> None:
    graph = shop()
    graph.add_edge(edge("orders", "job", "consumes"))
    graph.add_edge(edge("table", "debezium", "consumes"))

    ids = [hop.node.node_id for hop in chain_of(graph, "table").hops]

    assert sorted(ids) == ["db", "debezium", "job", "orders", "raw", "tableflow"]


def test_hops_of_one_distance_are_ordered_by_name_whatever_the_order_of_the_graph() -> None:
    nodes = [node("t", "catalog_table"), *(node(str(i), "kafka_topic", f"topic-{i}") for i in range(20))]
    edges = [edge(str(i), "t", "materializes") for i in range(20)]
    orders = []
    for seed in range(3):
        rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
        rng.shuffle(nodes)
        rng.shuffle(edges)
        orders.append([hop.node.node_id for hop in chain_of(Graph(nodes, edges), "t").hops])

    assert orders[0] == orders[1] == orders[2]


def test_edges_of_unknown_kind_and_to_unknown_nodes_lead_nowhere() -> None:
    graph = Graph([node("t", "catalog_table"), node("a", "kafka_topic")])
    graph.add_edge(Edge("a", "t", "something_new"))
    graph.add_edge(Edge("nobody", "t", "materializes"))

    assert chain_of(graph, "t").hops == ()


def test_chains_are_of_glue_tables_alone() -> None:
    graph = shop()
    graph.add_node(Node("unity", "databricks", "catalog_table", "u", catalog_type="UNITY"))

    assert [chain.table.node_id for chain in chains_of(graph)] == ["table"]


def test_json_holds_every_hop_with_what_there_is_of_it() -> None:
    document = to_json(chain_of(shop(), "table"))

    assert document["table"] == "table"
    assert document["hops"][1] == {
        "hop": 2,
        "kind": "kafka_topic",
        "qualified_name": "orders.v1",
        "display_name": "orders.v1",
        "schema_fields": fields(3),
    }
    assert document["hops"][2]["sql"] == "INSERT INTO `orders.v1` SELECT ..."
    assert document["hops"][4]["connector_class"] == "PostgresCdcSourceV2"


def test_chain_of_an_unknown_table_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        chain_of(shop(), "nobody")


def test_chain_is_complete_when_everything_answered() -> None:
    chain = chain_of(shop(), "table", coverage=coverage())

    assert chain.complete
    assert chain.incomplete_scopes == ()


def test_chain_without_coverage_is_complete_as_given() -> None:
    assert chain_of(shop(), "table").complete
    assert chain_of(shop(), "table", coverage=Coverage()).complete


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
def test_chain_is_incomplete_when_a_scope_it_passes_through_did_not_answer(api: str, status: Status) -> None:
    chain = chain_of(shop(), "table", coverage=coverage(**{api: status}))

    assert not chain.complete
    assert api in {scope.api for scope in chain.incomplete_scopes}


def test_topic_may_lack_its_writer_when_a_flink_region_failed_that_the_chain_does_not_show() -> None:
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
def test_chain_stays_complete_when_a_scope_failed_that_it_has_nothing_to_do_with(scope: Scope) -> None:
    graph = shop()
    table = graph.nodes["table"].with_attributes(aws_region="us-east-1")
    graph.nodes["table"] = table
    in_region(graph)
    asked = coverage()
    asked.add(ScopeReport(scope, Status.FAILED))

    assert chain_of(graph, "table", coverage=asked).complete


@pytest.mark.parametrize(
    "scope",
    [
        Scope("flink", "env-other", "aws.us-east-1"),
        Scope("compute_pools", "env-other"),
        Scope("clusters", "env-other"),
    ],
)
def test_statements_and_links_of_another_environment_may_lead_to_a_topic_of_this_one(scope: Scope) -> None:
    graph = shop()
    in_region(graph)
    asked = coverage()
    asked.add(ScopeReport(scope, Status.FAILED))

    assert chain_of(graph, "table", coverage=asked).incomplete_scopes == (scope,)


def in_region(graph: Graph) -> None:
    """Give each topic its cluster's cloud and region, as discovery does."""
    for topic in list(graph.of_type("kafka_topic")):
        graph.nodes[topic.node_id] = topic.with_attributes(cloud="AWS", region="us-east-1")


def test_scope_of_a_node_that_was_never_asked_makes_a_chain_incomplete() -> None:
    asked = Coverage(
        ScopeReport(s, Status.COMPLETE) for s in ALL_SCOPES if s.api not in ("flink", "compute_pools")
    )

    chain = chain_of(shop(), "table", coverage=Coverage(r for r in asked if r.scope.api != "environments"))

    assert "flink" in {scope.api for scope in chain.incomplete_scopes}


@pytest.mark.parametrize("status", [Status.FAILED, Status.DENIED])
def test_registry_outage_matters_only_to_topics_that_lost_their_fields(status: Status) -> None:
    with_fields = shop()
    without = shop()
    without.nodes["raw"] = node("raw", "kafka_topic", "shop.public.orders")

    assert chain_of(with_fields, "table", coverage=coverage(schema_registry=status)).complete
    assert not chain_of(without, "table", coverage=coverage(schema_registry=status)).complete


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60))
def test_walk_gives_the_shortest_distances(pairs: list[tuple[int, int]]) -> None:
    upstream: dict[int, list[int]] = {}
    for source, target in pairs:
        upstream.setdefault(target, []).append(source)

    distances = walk(0, lambda n: upstream.get(n, ()))

    # Bellman-Ford, the slow and plain way.
    expected = {0: 0}
    for _ in range(14):
        for source, target in pairs:
            if target in expected:
                expected[source] = min(expected.get(source, 99), expected[target] + 1)
    del expected[0]
    assert distances == expected


def test_walk_goes_deeper_than_the_stack() -> None:
    assert walk(0, lambda n: [n + 1] if n < 100_000 else [])[100_000] == 100_000
