"""The chains of some tables, computed from a discovery."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex, part_above
from lineage_bridge_dagster.spark.chains.hops import (
    HopNodes,
    hop_nodes,
    hop_rows,
    incomplete_nodes,
    table_rows,
)
from lineage_bridge_dagster.spark.chains.walker import Walk, walk_tables

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: From this share of all tables, what is above them is about the whole graph.
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class ComputedChains:
    """The chains of some tables: hops as numbers, and what the numbers stand for.

    Attributes:
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
        """The rows of some tables' chains, for use within the block.

        Args:
            tables: rows of `tables`, with further columns for the hops of each.
        """
        return hop_rows(self.spark, self.walk.hops, self.nodes.rows, tables)


def computed_chains(
    spark: SparkSession, discovery: Discovery, table_ids: Sequence[str], of_tables: int
) -> ComputedChains:
    """Compute the chains of some tables.

    Args:
        discovery: a discovery whose SQL is limited.
        of_tables: how many tables the graph has.
    """
    graph = discovery.graph
    if len(table_ids) < _MOST * of_tables:
        graph = part_above(graph, table_ids)
    index = UpstreamIndex.of(graph)
    nodes = hop_nodes(graph, index, "full")
    walk = walk_tables(index, nodes, table_ids, incomplete_nodes(replace(discovery, graph=graph)))
    return ComputedChains(spark, walk, nodes, table_rows(graph, table_ids))
