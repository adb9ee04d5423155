"""Chains computed on Spark are those of the pure function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given

from lineage_bridge_dagster.lineage.chains import chains_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.hops import hop_record
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.spark.chains.adjacency import Adjacency, adjacency, shared
from lineage_bridge_dagster.spark.chains.hops import hop_rows, incomplete_nodes, walk_tables
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
    for rows in walk_tables(Opened(adjacency(graph)))([batch]):
        for row in rows.to_pylist():
            assert found[ids[row["table"]]].setdefault(ids[row["node"]], row["hop"]) == row["hop"]
    index = UpstreamIndex.of(graph)
    assert found == {node_id: index.distances(node_id) for node_id in ids}


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("seed", range(4))
def test_spark_agrees_with_the_pure_function_on_tangled_graphs(spark: SparkSession, seed: int) -> None:
    discovery = tangle(seed)
    tables = [chain.table.node_id for chain in chains_of(discovery.graph)]
    with shared(spark, adjacency(discovery.graph, incomplete_nodes(discovery))) as arrays:
        rows = hop_rows(spark, discovery.graph, arrays, tables).collect()
    columns = ("table_id", "hop", "node_id", "kind", "qualified_name", "display_name", "sql", "complete")
    found = [tuple(row[name] for name in columns) for row in rows]
    assert len(found) == len(set(found))
    assert set(found) == expected_rows(discovery)
