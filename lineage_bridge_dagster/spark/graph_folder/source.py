"""The lineage of a graph's folder, written without making objects of its nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.affected import GraphChange
from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.gap_groups import open_groups_of_edges, open_groups_of_nodes
from lineage_bridge_dagster.lineage.graph_folder import Provenance
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.spark.chains.adjacency import Adjacency, indexed
from lineage_bridge_dagster.spark.chains.lineage_tables import (
    CHAIN_CONTENT,
    DIGEST,
    EDGE_KEYS,
    NODE_KEYS,
    Records,
    coverage_records,
)
from lineage_bridge_dagster.spark.graph_folder.chains import FolderPart
from lineage_bridge_dagster.spark.graph_folder.reader import EdgeFile, Flags, NodeFile
from lineage_bridge_dagster.spark.graph_folder.records import FileRecords


@dataclass(frozen=True)
class FolderSource:
    """A folder that `writer` wrote, for a session whose workers are of this machine.

    Attributes:
        folder: the folder.
        about: what its files tell.
        coverage: of the graph's discovery.
    """

    folder: Path
    about: Provenance
    coverage: Coverage = field(repr=False)

    @property
    def discovered_at(self) -> str:
        return self.about.discovered_at

    @cached_property
    def nodes(self) -> NodeFile:
        return NodeFile(self.folder)

    @cached_property
    def edges(self) -> EdgeFile:
        return EdgeFile.of(self.folder)

    def records(self) -> tuple[Records, Records, Records]:
        at = parse_iso(self.discovered_at)
        return (
            FileRecords.of(self.nodes.path, "nodes", NODE_KEYS, CHAIN_CONTENT, at),
            FileRecords.of(self.edges.path, "edges", EDGE_KEYS, "", at),
            coverage_records(self.coverage, self.discovered_at),
        )

    def tables(self) -> Sequence[str]:
        found: list[str] = self.nodes.tables["table_id"].to_pylist()
        return found

    def missing(self, node_ids: Sequence[str]) -> Sequence[str]:
        known = set(self.nodes.tables["table_id"].to_pylist())
        return [node_id for node_id in node_ids if node_id not in known]

    def affected(self, change: GraphChange) -> Set[str]:
        edges = self.edges
        touched = np.zeros(len(self.nodes), dtype=np.bool_)
        touched[list(self.nodes.numbers_of({*change.nodes, *change.targets}).values())] = True
        if change.removed:
            # Edges from a node that is gone may stay, and no longer count.
            touched[edges.dangling] = True
        sources, targets = edges.sources[edges.between_nodes], edges.targets[edges.between_nodes]
        reached = touched.sum()
        while reached:
            touched[targets[touched[sources]]] = True
            before, reached = reached, touched.sum()
            if before == reached:
                break
        tables = self.nodes.tables
        found: list[str] = tables.filter(touched[tables["table"].to_numpy()])["table_id"].to_pylist()
        return set(found)

    def confirm(self) -> None:
        if Provenance.of_folder(self.folder) != self.about:
            raise LineageBridgeError(
                f"The graph in {self.folder} was replaced while it was stored.",
                hint="Store it again: the new graph then replaces what is stored.",
            )

    def part(self, table_ids: Sequence[str], of_tables: int) -> FolderPart:
        tables = self.nodes.tables
        if len(table_ids) < of_tables:
            tables = tables.filter(pc.is_in(tables["table_id"], value_set=pa.array(table_ids, pa.string())))
        return FolderPart(self.nodes.path, self._adjacency(), tables)

    def _adjacency(self) -> Adjacency:
        """The upstream index, with what is known of hops."""
        nodes, edges = self.nodes, self.edges
        flowing = edges.between_nodes
        found = indexed(edges.sources[flowing], edges.targets[flowing], self._inputs(), self._uncovered())
        hops = found.hop_nodes
        contents, stale = nodes.column(f"hop.{DIGEST}"), nodes.stale
        return found.with_hops(hops, stale[hops], contents[hops])

    def _uncovered(self) -> Flags:
        """The nodes that scopes which were not fully read are behind."""
        if not len(self.coverage):
            return np.zeros(len(self.nodes), dtype=np.bool_)
        groups = self.nodes.groups()
        found = groups.rows_in(open_groups_of_nodes(groups.names, self.coverage))
        edges = self.edges
        groups = edges.groups()
        # An edge from a node that is not there counts, too.
        is_open = groups.rows_in(open_groups_of_edges(groups.names, self.coverage)) & edges.flows
        found[edges.targets[is_open & (edges.targets >= 0)]] = True
        return found

    def _inputs(self) -> Mapping[tuple[int, int], Collection[int]]:
        """What outputs are made of, by process and output; see `restricting_inputs`."""
        edges, told = self.edges, self.edges.inputs()
        if not told:
            return {}
        ends = edges.targets.astype(np.int64) << 32 | edges.sources
        ends, times = np.unique(ends[edges.between_nodes], return_counts=True)
        several = ends[times > 1]
        number = self.nodes.numbers_of({node_id for inputs in told.values() for node_id in inputs})
        return {
            (process, output): {number[node_id] for node_id in inputs if node_id in number}
            for (process, output), inputs in told.items()
            if not np.isin(output << 32 | process, several)
        }
