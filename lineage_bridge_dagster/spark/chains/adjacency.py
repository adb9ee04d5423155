"""The graph's edges as dense integer arrays, shared with every worker.

Compressed sparse rows by destination: the sources of node `i` are `sources[offsets[i]:offsets[i + 1]]`.
At 12 bytes a node and 4 an edge, ten million edges take about 50 MB.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from lineage_bridge_dagster.lineage.model import Graph

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARRAYS = ("offsets", "sources", "uncovered")


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The upstream index of a graph.

    `offsets` has one more entry than the graph has nodes. `uncovered[i]` is true if the scope of node `i` was
    not fully read, so that it may have more upstream nodes than the graph.
    """

    offsets: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int32]
    uncovered: npt.NDArray[np.bool_]

    def upstream(self, node: int) -> list[int]:
        """The direct sources of a node."""
        found: list[int] = self.sources[self.offsets[node] : self.offsets[node + 1]].tolist()
        return found


def adjacency(graph: Graph, uncovered: Callable[[str], bool] = lambda _: False) -> Adjacency:
    """The graph's upstream index as arrays; node `i` is the `i`-th of `graph.nodes`."""
    index = graph.upstream_index()
    number = {node_id: i for i, node_id in enumerate(graph.nodes)}
    offsets = np.zeros(len(number) + 1, dtype=np.int64)
    for node_id, sources in index.items():
        offsets[number[node_id] + 1] = len(sources)
    np.cumsum(offsets, out=offsets)
    flat = np.empty(int(offsets[-1]), dtype=np.int32)
    for node_id, sources in index.items():
        start = offsets[number[node_id]]
        flat[start : start + len(sources)] = [number[source] for source in sources]
    flags = np.fromiter((uncovered(node_id) for node_id in number), dtype=np.bool_, count=len(number))
    return Adjacency(offsets, flat, flags)


class SharedAdjacency(Protocol):
    """A handle that tasks take to the workers, where it opens the arrays."""

    def open(self) -> Adjacency: ...


@dataclass(frozen=True, slots=True)
class MappedFiles:
    """Arrays in files that the workers of one machine map into memory: one copy for all."""

    folder: str

    def open(self) -> Adjacency:
        return _mapped(self.folder)


@dataclass(frozen=True, slots=True)
class BroadcastArrays:
    """Arrays sent once to each executor."""

    arrays: Any

    def open(self) -> Adjacency:
        return Adjacency(*self.arrays.value)


@lru_cache(maxsize=2)
def _mapped(folder: str) -> Adjacency:
    # A plain view: slicing numpy.memmap itself costs several times as much.
    return Adjacency(*(np.asarray(np.load(Path(folder) / f"{name}.npy", mmap_mode="r")) for name in _ARRAYS))


@contextmanager
def shared(spark: SparkSession, arrays: Adjacency) -> Iterator[SharedAdjacency]:
    """Share the arrays with the session's workers; frames that use them must be computed within the block."""
    parts: Sequence[npt.NDArray[Any]] = (arrays.offsets, arrays.sources, arrays.uncovered)
    if (spark.sparkContext.master or "").startswith("local"):
        with tempfile.TemporaryDirectory(prefix="lineage-bridge-") as folder:
            for name, array in zip(_ARRAYS, parts, strict=True):
                np.save(Path(folder) / f"{name}.npy", array)
            yield MappedFiles(folder)
        return
    sent = spark.sparkContext.broadcast(tuple(parts))
    try:
        yield BroadcastArrays(sent)
    finally:
        sent.destroy()
