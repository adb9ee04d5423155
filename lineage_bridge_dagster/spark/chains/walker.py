"""The hops of chains as numbers, until what they stand for is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.spark.chains.hops import HopNodes

#: Rows of an Arrow batch: Python's numbers take several times the room of Arrow's.
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


@dataclass(frozen=True, slots=True)
class Walk:
    """The hops of tables.

    Attributes:
        hops: all of them, with the columns `HOPS`; `complete`, `stale` and `digest` are the same in all hops
            of a table.
        summary: `table, hops, complete, stale, digest`, one row for each table with a hop.
    """

    hops: pa.Table
    summary: pa.Table


def walk_tables(
    index: UpstreamIndex, nodes: HopNodes, table_ids: Sequence[str], uncovered: Callable[[str], bool]
) -> Walk:
    """Walk upstream from tables, each of which is a number: its place among them.

    Args:
        uncovered: whether the scope of a node was not fully read, so that it may have more upstream nodes.
    """
    hops = pa.Table.from_batches(_walked(index, nodes, table_ids, uncovered), HOPS)
    # Batches hold whole chains in order, so the first row of each chain stands for all of it.
    summary = hops.group_by("table", use_threads=False).aggregate(
        [("hop", "count"), ("complete", "first"), ("stale", "first"), ("digest", "first")]
    )
    summary = summary.select(["table", "hop_count", "complete_first", "stale_first", "digest_first"])
    return Walk(hops, summary.rename_columns(["table", "hops", "complete", "stale", "digest"]))


def _walked(
    index: UpstreamIndex, nodes: HopNodes, table_ids: Sequence[str], uncovered: Callable[[str], bool]
) -> Iterator[pa.RecordBatch]:
    """The hops of tables, in batches of whole chains, at least one."""
    is_uncovered = np.fromiter(map(uncovered, nodes.numbers), np.bool_, len(nodes.numbers))
    chains: list[dict[str, int]] = []
    tables: list[int] = []
    rows = 0

    def batch() -> pa.RecordBatch:
        if not rows:
            return pa.RecordBatch.from_pylist([], schema=HOPS)
        node = np.fromiter((nodes.numbers[node_id] for chain in chains for node_id in chain), np.int32, rows)
        hop = np.fromiter((hop for chain in chains for hop in chain.values()), np.int32, rows)
        lengths = np.array([len(chain) for chain in chains])
        starts = np.cumsum(lengths) - lengths
        incomplete = np.logical_or.reduceat(is_uncovered[node], starts)
        incomplete |= np.array([uncovered(table_ids[table]) for table in tables])
        columns = [
            np.repeat(np.array(tables, np.int32), lengths),
            hop,
            node,
            np.repeat(~incomplete, lengths),
            np.repeat(np.logical_or.reduceat(nodes.stale[node], starts), lengths),
            np.repeat(np.add.reduceat(_mixed(nodes.contents[node], hop), starts).view(np.int64), lengths),
        ]
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=HOPS)

    for table, table_id in enumerate(table_ids):
        if distances := index.distances(table_id):
            tables.append(table)
            chains.append(distances)
            rows += len(distances)
        if rows >= BATCH_ROWS:
            yield batch()
            chains, tables, rows = [], [], 0
    yield batch()


def _mixed(contents: npt.NDArray[np.int64], hops: npt.NDArray[np.int32]) -> npt.NDArray[np.uint64]:
    """A digest of each hop, fit to be summed: the finalizer of SplitMix64."""
    mixed: npt.NDArray[np.uint64] = hops.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed += contents.view(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
