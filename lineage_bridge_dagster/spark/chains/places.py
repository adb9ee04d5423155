"""The graph as the walk of some tables' chains needs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage_bridge_dagster.lineage.affected import part_above
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.spark.chains.adjacency import Adjacency, adjacency
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

#: From this share of all tables, what is above them is about all of the graph.
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class Places:
    """The part of a graph that decides some tables' chains.

    Attributes:
        arrays: the upstream index.
        nodes: those that are hops.
        tables: `table_rows`.
    """

    arrays: Adjacency
    nodes: HopNodes
    tables: pa.Table

    @classmethod
    def of(cls, discovery: Discovery, table_ids: Sequence[str], of_tables: int) -> Places:
        """From a discovery whose SQL is limited, for some of its tables.

        Args:
            discovery: the discovery.
            table_ids: the ids of the tables.
            of_tables: how many tables the graph has.
        """
        graph = discovery.graph
        if len(table_ids) < _MOST * of_tables:
            graph = part_above(graph, table_ids)
        arrays = adjacency(graph, incomplete_nodes(replace(discovery, graph=graph)))
        nodes = hop_nodes(graph, arrays.hop_nodes, "full")
        arrays = arrays.with_hops(nodes.numbers, nodes.stale, nodes.contents)
        return cls(arrays, nodes, table_rows(graph, table_ids))

    @contextmanager
    def compute(self, spark: SparkSession) -> Iterator[WalkedChains]:
        """Compute the chains; frames of them are for use within the block."""
        with walk_tables(spark, self.arrays, self.tables["table"]) as walk:
            yield WalkedChains(spark, walk, self.nodes, self.tables)


@dataclass(frozen=True, slots=True)
class WalkedChains:
    """The chains of some tables: hops as numbers, and what they stand for."""

    spark: SparkSession
    walk: Walk
    nodes: HopNodes
    tables: pa.Table

    @property
    def summary(self) -> pa.Table:
        """One row for each table that has hops."""
        return self.walk.summary

    def rows(self, tables: pa.Table) -> AbstractContextManager[DataFrame]:
        """The rows of some tables' chains."""
        return hop_rows(self.spark, self.walk.hops, self.nodes.rows, tables)
