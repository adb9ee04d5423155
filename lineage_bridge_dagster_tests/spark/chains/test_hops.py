"""Chains as tables are those of the pure function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from lineage_bridge_dagster.lineage.chains import chain_of, chains_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.hops import hop_record
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.spark.chains import hops as module
from lineage_bridge_dagster.spark.chains import walker
from lineage_bridge_dagster.spark.chains.hops import (
    HopNodes,
    hop_nodes,
    hop_rows,
    incomplete_nodes,
    table_rows,
)
from lineage_bridge_dagster.spark.chains.walker import Walk, walk_tables
from lineage_bridge_dagster_tests.lineage.graphs import graphs_with_inputs
from lineage_bridge_dagster_tests.spark.graphs import tangle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def expected_rows(discovery: Discovery, sql: str = "redacted") -> set[tuple[Any, ...]]:
    found = set()
    for chain in chains_of(discovery.graph, discovery.coverage):
        for hop in chain.hops:
            record = hop_record(hop.distance, hop.node, sql)
            found.add(
                (
                    chain.table.node_id,
                    hop.distance,
                    hop.node.node_id,
                    record["kind"],
                    record["qualified_name"],
                    record["display_name"],
                    record.get("sql"),
                    chain.complete,
                )
            )
    return found


def walk_of(discovery: Discovery, node_ids: Sequence[str]) -> tuple[HopNodes, Walk]:
    index = UpstreamIndex.of(discovery.graph)
    nodes = hop_nodes(discovery.graph, index)
    return nodes, walk_tables(index, nodes, node_ids, incomplete_nodes(discovery))


@given(graphs_with_inputs())
def test_hops_are_those_of_the_pure_function_in_any_graph(graph: Graph) -> None:
    ids = list(graph.nodes)
    nodes, walk = walk_of(Discovery(graph), ids)
    hops, found = list(nodes.numbers), {node_id: dict[str, int]() for node_id in ids}
    for row in walk.hops.to_pylist():
        assert found[ids[row["table"]]].setdefault(hops[row["node"]], row["hop"]) == row["hop"]
    index = UpstreamIndex.of(graph)
    assert found == {node_id: index.distances(node_id) for node_id in ids}


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("seed", range(3))
def test_rows_agree_with_the_pure_function_on_tangled_graphs(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(module, "_PART_BYTES", 200_000)
    monkeypatch.setattr(walker, "BATCH_ROWS", 10)
    discovery = tangle(seed)
    table_ids = [chain.table.node_id for chain in chains_of(discovery.graph)]
    nodes, walk = walk_of(discovery, table_ids)
    with hop_rows(spark, walk.hops, nodes.rows, table_rows(discovery.graph, table_ids)) as frame:
        rows = frame.collect()
    summary = {table_ids[row["table"]]: row for row in walk.summary.to_pylist()}
    columns = ("table_id", "hop", "node_id", "kind", "qualified_name", "display_name", "sql", "complete")
    found = [tuple(row[name] for name in columns) for row in rows]
    assert len(found) == len(set(found))
    assert set(found) == expected_rows(discovery)
    complete = {row.table_id: row.complete for row in rows}
    assert {table_id: row["complete"] for table_id, row in summary.items()} == complete
    hops = {table_id: row["hops"] for table_id, row in summary.items()}
    assert hops == Counter(row.table_id for row in rows)


def digests_of(discovery: Discovery) -> dict[str, int]:
    """The digest of the hops of each node's chain."""
    ids = list(discovery.graph.nodes)
    _, walk = walk_of(discovery, ids)
    return {ids[row["table"]]: row["digest"] for row in walk.summary.to_pylist()}


@given(graphs_with_inputs(), graphs_with_inputs())
def test_digests_of_two_chains_are_the_same_if_and_only_if_their_hops_are(one: Graph, other: Graph) -> None:
    found = [
        (digest, sorted((hop.distance, str(hop.node)) for hop in chain_of(graph, node_id).hops))
        for graph in (one, other)
        for node_id, digest in digests_of(Discovery(graph)).items()
    ]
    for digest, hops in found:
        assert {h == hops for d, h in found if d == digest} == {True}
        assert {d == digest for d, h in found if h == hops} == {True}
