"""The hops of chains as numbers, walked in this process or in a worker of Spark's.

A worker imports this module alone: of packages outside of Python's own, only numpy and pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage_bridge_dagster.spark.chains.adjacency import Adjacency, SharedAdjacency

#: Rows of an Arrow batch: a worker holds one batch at a time, whatever the size of the graph.
BATCH_ROWS = 65_536

HOPS = pa.schema(
    [
        pa.field("table", pa.int32(), nullable=False),
        pa.field("hop", pa.int32(), nullable=False),
        pa.field("node", pa.int32(), nullable=False),
        pa.field("complete", pa.bool_(), nullable=False),
        pa.field("stale", pa.bool_(), nullable=False),
        pa.field("digest", pa.int64(), nullable=False),
    ]
)


def walk_on_worker(
    arrays: SharedAdjacency,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A `mapInArrow` function: batches of table numbers in, batches of hops out."""

    def hops_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        graph = arrays.open()
        yield from walked(graph, (table for batch in batches for table in batch.column(0).to_pylist()))

    return hops_of


def walked(graph: Adjacency, tables: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """The hops of tables, in batches of whole chains with the columns `HOPS`, at least one.

    It walks by the function that computes chains everywhere, `lineage.upstream.walk`. `complete`, `stale` and
    `digest` are the same in all hops of a chain.
    """
    chains: list[dict[int, int]] = []
    numbers: list[int] = []
    rows = 0
    for table in tables:
        if distances := graph.distances(table):
            numbers.append(table)
            chains.append(distances)
            rows += len(distances)
        if rows >= BATCH_ROWS:
            yield _batch(graph, numbers, chains, rows)
            chains, numbers, rows = [], [], 0
    yield _batch(graph, numbers, chains, rows)


def _batch(
    graph: Adjacency, tables: Sequence[int], chains: Sequence[dict[int, int]], rows: int
) -> pa.RecordBatch:
    if not rows:
        return pa.RecordBatch.from_pylist([], schema=HOPS)
    node = np.fromiter((node for chain in chains for node in chain), np.int32, rows)
    hop = np.fromiter((hop for chain in chains for hop in chain.values()), np.int32, rows)
    number = np.array(tables, dtype=np.int32)
    lengths = np.array([len(chain) for chain in chains])
    starts = np.cumsum(lengths) - lengths
    uncovered = np.logical_or.reduceat(graph.uncovered[node], starts) | graph.uncovered[number]
    columns = [
        np.repeat(number, lengths),
        hop,
        node,
        np.repeat(~uncovered, lengths),
        np.repeat(np.logical_or.reduceat(graph.stale[node], starts), lengths),
        np.repeat(np.add.reduceat(_mixed(graph.contents[node], hop), starts).view(np.int64), lengths),
    ]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=HOPS)


def _mixed(contents: npt.NDArray[np.int64], hops: npt.NDArray[np.int32]) -> npt.NDArray[np.uint64]:
    """A digest of each hop, fit to be summed: the finalizer of SplitMix64."""
    mixed: npt.NDArray[np.uint64] = hops.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed += contents.view(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
