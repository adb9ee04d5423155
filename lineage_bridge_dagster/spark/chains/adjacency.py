"""The graph's edges as dense integer arrays, shared with every worker.

Compressed sparse rows by destination: the sources of place `i` are `sources[offsets[i]:offsets[i + 1]]`. The
first places are the graph's nodes, in order; the ports of processes follow (see `lineage.upstream`). At 12
bytes a place and 4 an edge, ten million edges take about 50 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Graph
from lineage_bridge_dagster.lineage.upstream import by_node, restricting_inputs, walk
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.chains.shared_files import SharedFiles, can_share_files, shared_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARRAYS = ("offsets", "sources", "uncovered", "processes", "stale", "contents")


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The upstream index of a graph.

    `offsets` has one more entry than there are places. `uncovered[i]` is true if the scope of node `i` was
    not fully read, so that it may have more upstream nodes than the graph. `processes[i]` is the node of the
    `i`-th port. `stale[i]` and `contents[i]` are of node `i` as a hop: whether this discovery has not seen
    it, and a digest of its columns; see `with_hops`.
    """

    offsets: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int32]
    uncovered: npt.NDArray[np.bool_]
    processes: npt.NDArray[np.int32]
    stale: npt.NDArray[np.bool_]
    contents: npt.NDArray[np.int64]

    def upstream(self, place: int) -> list[int]:
        """The direct sources of a place."""
        found: list[int] = self.sources[self.offsets[place] : self.offsets[place + 1]].tolist()
        return found

    def node_of(self, place: int) -> int:
        """The node that a place belongs to."""
        port = place - len(self.uncovered)
        return place if port < 0 else int(self.processes[port])

    @property
    def hop_nodes(self) -> npt.NDArray[np.int32]:
        """The nodes that are directly upstream of another one: no other node is a hop of any chain."""
        nodes = len(self.uncovered)
        above = np.zeros(nodes + len(self.processes), dtype=np.bool_)
        above[self.sources] = True
        above[self.processes[above[nodes:]]] = True
        return np.flatnonzero(above[:nodes]).astype(np.int32)

    def with_hops(
        self, nodes: npt.NDArray[np.int32], stale: npt.NDArray[np.bool_], contents: npt.NDArray[np.int64]
    ) -> Adjacency:
        """A copy that knows these nodes as hops."""
        flags, digests = np.zeros_like(self.stale), np.zeros_like(self.contents)
        flags[nodes], digests[nodes] = stale, contents
        return replace(self, stale=flags, contents=digests)

    def distances(self, node: int) -> dict[int, int]:
        """Map every node upstream of this one, except itself, to its shortest distance."""
        found = walk(node, self.upstream)
        return by_node(found, self.node_of, node) if len(self.processes) else found


def adjacency(graph: Graph, uncovered: Callable[[str], bool] = lambda _: False) -> Adjacency:
    """The graph's upstream index as arrays, what `UpstreamIndex` is as dictionaries.

    Node `i` is the `i`-th of `graph.nodes`.
    """
    nodes = len(graph)
    number = dict(zip(graph.nodes, range(nodes), strict=True))
    sources, targets = array("i"), array("i")
    inputs: dict[tuple[int, int], Collection[int]] = {}
    for edge in graph.edges.values():
        if edge.edge_type not in FLOW_EDGES:
            continue
        source, target = number.get(edge.src_id), number.get(edge.dst_id)
        if source is None or target is None:
            continue
        sources.append(source)
        targets.append(target)
        if (made_of := restricting_inputs(graph, edge)) is not None:
            inputs[source, target] = {number[node_id] for node_id in made_of if node_id in number}
    # By target, then by source.
    edges = np.unique(np.array(targets, dtype=np.int64) * nodes + np.array(sources, dtype=np.int64))
    ends = np.searchsorted(edges, np.arange(nodes + 1, dtype=np.int64) * nodes)
    direct = (edges % max(1, nodes)).astype(np.int32)
    ports: list[tuple[int, npt.NDArray[np.bool_]]] = []
    above = direct.copy()
    for (process, output), wanted in inputs.items():
        of_process = direct[ends[process] : ends[process + 1]]
        is_input = np.isin(of_process, np.fromiter(wanted, np.int32, len(wanted)))
        if not is_input.all():
            above[np.searchsorted(edges, np.int64(output) * nodes + process)] = nodes + len(ports)
            ports.append((process, is_input))
    of_ports = [above[ends[process] : ends[process + 1]][is_input] for process, is_input in ports]
    lengths = np.array([len(of_port) for of_port in of_ports], dtype=np.int64)
    return Adjacency(
        np.concatenate([ends, ends[-1] + np.cumsum(lengths)]),
        np.concatenate([above, *of_ports]),
        np.fromiter(map(uncovered, graph.nodes), dtype=np.bool_, count=nodes),
        np.array([process for process, _ in ports], dtype=np.int32),
        np.zeros(nodes, dtype=np.bool_),
        np.zeros(nodes, dtype=np.int64),
    )


class SharedAdjacency(Protocol):
    """A handle that tasks take to the workers, where it opens the arrays."""

    def open(self) -> Adjacency: ...


@dataclass(frozen=True, slots=True)
class MappedFiles:
    """Arrays in files that workers map into memory: one copy for all of a machine."""

    files: SharedFiles

    def open(self) -> Adjacency:
        return _mapped(self.files)


@dataclass(frozen=True, slots=True)
class BroadcastArrays:
    """Arrays sent once to each executor."""

    arrays: Any

    def open(self) -> Adjacency:
        return Adjacency(*self.arrays.value)


@lru_cache(maxsize=2)
def _mapped(files: SharedFiles) -> Adjacency:
    # A plain view: slicing numpy.memmap itself costs several times as much.
    return Adjacency(*(np.asarray(np.load(files.path(f"{name}.npy"), mmap_mode="r")) for name in _ARRAYS))


@contextmanager
def shared(spark: SparkSession, arrays: Adjacency) -> Iterator[SharedAdjacency]:
    """Share the arrays with the session's workers; frames that use them must be computed within the block."""
    parts: dict[str, npt.NDArray[Any]] = {name: getattr(arrays, name) for name in _ARRAYS}

    def save(folder: Path, prefix: str) -> None:
        for name, values in parts.items():
            np.save(folder / f"{prefix}{name}.npy", values)

    if can_share_files(spark):
        with shared_files(spark, save) as files:
            yield MappedFiles(files)
        return
    sent = classic.broadcast(spark, tuple(parts.values()))
    try:
        yield BroadcastArrays(sent)
    finally:
        sent.destroy()
