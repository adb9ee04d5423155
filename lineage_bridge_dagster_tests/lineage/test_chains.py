from __future__ import annotations

import json
import random

import pytest
from hypothesis import given

from lineage_bridge_dagster.lineage.chains import chain_lines, chain_of, chains_of, to_json
from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node
from lineage_bridge_dagster_tests.lineage.graphs import (
    coverage,
    edge,
    fields,
    graphs_with_inputs,
    node,
    shop,
)


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


def test_source_on_two_paths_appears_once_at_the_shorter_distance() -> None:
    graph = shop()
    graph.add_edge(edge("db", "job", "consumes"))

    distances = [hop.distance for hop in chain_of(graph, "table").hops if hop.node.node_id == "db"]

    assert distances == [4]


def test_cycle_terminates_and_excludes_the_table_itself() -> None:
    graph = shop()
    graph.add_edge(edge("orders", "job", "consumes"))
    graph.add_edge(edge("table", "debezium", "consumes"))

    ids = [hop.node.node_id for hop in chain_of(graph, "table").hops]

    assert sorted(ids) == ["db", "debezium", "job", "orders", "raw", "tableflow"]


def test_hops_at_one_distance_are_sorted_by_name_whatever_the_order_of_the_graph() -> None:
    nodes = [node("t", "catalog_table"), *(node(str(i), "kafka_topic", f"topic-{i}") for i in range(20))]
    edges = [edge(str(i), "t", "materializes") for i in range(20)]
    orders = []
    for seed in range(3):
        rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
        rng.shuffle(nodes)
        rng.shuffle(edges)
        orders.append([hop.node.node_id for hop in chain_of(Graph(nodes, edges), "t").hops])

    assert orders[0] == orders[1] == orders[2]


def test_edges_of_unknown_kind_or_from_unknown_nodes_are_ignored() -> None:
    graph = Graph([node("t", "catalog_table"), node("a", "kafka_topic")])
    graph.add_edge(Edge("a", "t", "something_new"))
    graph.add_edge(Edge("unknown", "t", "materializes"))

    assert chain_of(graph, "t").hops == ()


def test_only_glue_tables_have_chains() -> None:
    graph = shop()
    graph.add_node(Node("unity", "databricks", "catalog_table", "u", catalog_type="UNITY"))

    assert [chain.table.node_id for chain in chains_of(graph)] == ["table"]


def test_json_has_every_hop_with_its_details() -> None:
    document = to_json(chain_of(shop(), "table"))

    assert document["table"] == "table"
    assert document["hops"][1] == {
        "hop": 2,
        "kind": "topic",
        "qualified_name": "orders.v1",
        "display_name": "orders.v1",
        "schema_fields": fields(3),
    }
    assert document["hops"][2]["sql"] == "INSERT INTO `orders.v1` SELECT ..."
    assert document["hops"][4]["connector_class"] == "PostgresCdcSourceV2"


def test_unknown_table_raises_key_error() -> None:
    with pytest.raises(KeyError):
        chain_of(shop(), "unknown")


def test_chain_is_complete_if_every_scope_was_fully_read() -> None:
    chain = chain_of(shop(), "table", coverage=coverage())

    assert chain.complete
    assert chain.incomplete_scopes == ()


def test_chain_without_coverage_counts_as_complete() -> None:
    assert chain_of(shop(), "table").complete
    assert chain_of(shop(), "table", coverage=Coverage()).complete


@given(graphs_with_inputs())
def test_lines_are_the_json_of_each_chain(graph: Graph) -> None:
    for node_id in list(graph.nodes)[:2]:
        graph.add_node(node(node_id, "catalog_table", f"ö {node_id}"))

    lines = list(chain_lines(graph, "hash"))

    assert lines == [json.dumps(to_json(chain, "hash"), ensure_ascii=False) for chain in chains_of(graph)]
    assert len(lines) >= min(2, len(graph.nodes))
