"""What a write of the lineage tables asks of a graph, whatever form that has."""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lineage_bridge_dagster.lineage.affected import GraphChange, affected
from lineage_bridge_dagster.lineage.catalog_tables import tables_of
from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.spark.chains.lineage_tables import Records, graph_records
from lineage_bridge_dagster.spark.chains.places import Places

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class Computed(Protocol):
    """The chains of some tables."""

    @property
    def tables(self) -> pa.Table:
        """`table, table_id, database, table_name`: one row for each table, by a number of its own."""

    @property
    def summary(self) -> pa.Table:
        """`table, hops, complete, stale, digest`: one row for each table that has hops."""

    def rows(self, tables: pa.Table) -> AbstractContextManager[DataFrame]:
        """The rows of some tables' chains.

        Args:
            tables: rows of `tables`, with further columns for the hops of each.
        """


class Computable(Protocol):
    """The part of a graph that decides the chains of some tables."""

    def compute(self, spark: SparkSession) -> AbstractContextManager[Computed]:
        """Compute the chains; frames of them are for use within the block."""


class Source(Protocol):
    """A graph whose SQL is limited, with its coverage."""

    @property
    def coverage(self) -> Coverage:
        """Of the graph's discovery."""

    @property
    def discovered_at(self) -> str:
        """ISO 8601, may be empty."""

    def records(self) -> tuple[Records, Records, Records]:
        """Those of `nodes`, `edges` and `coverage`."""

    def tables(self) -> Sequence[str]:
        """The ids of all tables that take lineage."""

    def missing(self, node_ids: Sequence[str]) -> Sequence[str]:
        """Those of some nodes that the graph does not have."""

    def affected(self, change: GraphChange) -> Set[str]:
        """The ids of nodes, of all tables among them, whose chains a change may have changed."""

    def confirm(self) -> None:
        """Do nothing if all that was read is of one graph.

        Raises:
            LineageBridgeError: the graph was replaced meanwhile.
        """

    def part(self, table_ids: Sequence[str], of_tables: int) -> Computable:
        """The part of the graph that decides some tables' chains.

        Args:
            table_ids: the ids of the tables.
            of_tables: how many tables the graph has.
        """


@dataclass(frozen=True, slots=True)
class DiscoverySource:
    """A discovery in memory."""

    discovery: Discovery

    @property
    def coverage(self) -> Coverage:
        return self.discovery.coverage

    @property
    def discovered_at(self) -> str:
        return self.discovery.discovered_at

    def records(self) -> tuple[Records, Records, Records]:
        return graph_records(self.discovery)

    def tables(self) -> Sequence[str]:
        return [node.node_id for node in tables_of(self.discovery.graph)]

    def missing(self, node_ids: Sequence[str]) -> Sequence[str]:
        return [node_id for node_id in node_ids if node_id not in self.discovery.graph]

    def affected(self, change: GraphChange) -> Set[str]:
        return affected(self.discovery.graph, change)

    def confirm(self) -> None:
        pass

    def part(self, table_ids: Sequence[str], of_tables: int) -> Computable:
        return Places.of(self.discovery, table_ids, of_tables)
