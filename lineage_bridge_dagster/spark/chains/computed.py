"""The chains of some tables, computed from a discovery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.upstream import part_above
from lineage_bridge_dagster.spark.chains.adjacency import adjacency
from lineage_bridge_dagster.spark.chains.hops import (
    HopNodes,
    hop_nodes,
    hop_rows,
    incomplete_nodes,
    table_rows,
)
from lineage_bridge_dagster.spark.chains.walks import Walk, walk_tables

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: From this share of all tables, what is above them is about the whole graph.
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class ComputedChains:
    """The chains of some tables: hops as numbers, and what the numbers stand for.

    Attributes:
        walk: the hops.
        nodes: the nodes that are hops.
        tables: `table, table_id, database, table_name`: one row for each table, by its number.
    """

    spark: SparkSession
    walk: Walk
    nodes: HopNodes
    tables: pa.Table

    @property
    def summary(self) -> pa.Table:
        """`table, hops, complete, stale, digest`: one row for each table that has hops."""
        return self.walk.summary

    def rows(self, tables: pa.Table) -> AbstractContextManager[DataFrame]:
        """The rows of some tables' chains.

        Args:
            tables: rows of `tables`, with further columns for the hops of each.
        """
        return hop_rows(self.spark, self.walk.hops, self.nodes.rows, tables)


@contextmanager
def computed_chains(
    spark: SparkSession, discovery: Discovery, table_ids: Sequence[str], of_tables: int
) -> Iterator[ComputedChains]:
    """Compute the chains of some tables; frames of them are for use within the block.

    Args:
        spark: the session.
        discovery: a discovery whose SQL is limited.
        table_ids: the ids of the tables.
        of_tables: how many tables the graph has.
    """
    graph = discovery.graph
    if len(table_ids) < _MOST * of_tables:
        graph = part_above(graph, table_ids)
    arrays = adjacency(graph, incomplete_nodes(replace(discovery, graph=graph)))
    nodes = hop_nodes(graph, arrays.hop_nodes, "full")
    arrays = arrays.with_hops(nodes.numbers, nodes.stale, nodes.contents)
    tables = table_rows(graph, table_ids)
    with walk_tables(spark, arrays, tables["table"]) as walk:
        yield ComputedChains(spark, walk, nodes, tables)
