"""Chains computed on Spark are those of the pure function."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given

from lineage_bridge_dagster.lineage.chains import chain_of, chains_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.hops import hop_record
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.spark.chains import hops as module
from lineage_bridge_dagster.spark.chains.adjacency import Adjacency, adjacency
from lineage_bridge_dagster.spark.chains.hops import (
    hop_nodes,
    hop_rows,
    incomplete_nodes,
    table_rows,
)
from lineage_bridge_dagster.spark.chains.walker import walk_on_worker, walked
from lineage_bridge_dagster.spark.chains.walks import LOCAL_HOPS, walk_tables
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


@dataclass(frozen=True)
class Opened:
    """Arrays in this process, as a worker opens them."""

    arrays: Adjacency

    def open(self) -> Adjacency:
        return self.arrays


@given(graphs_with_inputs())
def test_worker_walks_any_graph_as_the_pure_function_does(graph: Graph) -> None:
    ids = list(graph.nodes)
    batch = pa.record_batch({"table": pa.array(range(len(ids)), pa.int32())})
    found: dict[str, dict[str, int]] = {node_id: {} for node_id in ids}
    for rows in walk_on_worker(Opened(adjacency(graph)))([batch]):
        for row in rows.to_pylist():
            assert found[ids[row["table"]]].setdefault(ids[row["node"]], row["hop"]) == row["hop"]
    index = UpstreamIndex.of(graph)
    assert found == {node_id: index.distances(node_id) for node_id in ids}


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("local_hops", [LOCAL_HOPS, 0], ids=["here", "on workers"])
@pytest.mark.parametrize("seed", range(3))
def test_walk_agrees_with_the_pure_function_on_tangled_graphs(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seed: int, local_hops: int
) -> None:
    # What hops stand for is joined here, or by Spark.
    monkeypatch.setattr(module, "_MOST_COPIES", 1_000 if seed else 0)
    monkeypatch.setattr(module, "_PART_BYTES", 200_000)
    discovery = tangle(seed)
    arrays = adjacency(discovery.graph, incomplete_nodes(discovery))
    nodes = hop_nodes(discovery.graph, arrays.hop_nodes)
    arrays = arrays.with_hops(nodes.numbers, nodes.stale, nodes.contents)
    tables = table_rows(discovery.graph, [c.table.node_id for c in chains_of(discovery.graph)])
    with walk_tables(spark, arrays, tables["table"], local_hops) as walk:
        with hop_rows(spark, walk.hops, nodes.rows, tables) as frame:
            rows = frame.collect()
        summary = {row["table"]: row for row in walk.summary.to_pylist()}
    columns = ("table_id", "hop", "node_id", "kind", "qualified_name", "display_name", "sql", "complete")
    found = [tuple(row[name] for name in columns) for row in rows]
    assert len(found) == len(set(found))
    assert set(found) == expected_rows(discovery)
    numbers = dict(zip(tables["table"].to_pylist(), tables["table_id"].to_pylist(), strict=True))
    complete = {row.table_id: row.complete for row in rows}
    assert {numbers[number]: row["complete"] for number, row in summary.items()} == complete
    assert {numbers[n]: row["hops"] for n, row in summary.items()} == Counter(row.table_id for row in rows)


def digests_of(discovery: Discovery) -> dict[str, int]:
    """The digest of the hops of each node's chain."""
    graph = discovery.graph
    arrays = adjacency(graph)
    nodes = hop_nodes(graph, arrays.hop_nodes)
    arrays = arrays.with_hops(nodes.numbers, nodes.stale, nodes.contents)
    ids = list(graph.nodes)
    rows = [row for batch in walked(arrays, range(len(ids))) for row in batch.to_pylist()]
    return {ids[row["table"]]: row["digest"] for row in rows}


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
