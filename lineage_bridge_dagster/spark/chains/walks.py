"""The chains of the selected tables: walked in this process if that is quick, else by Spark's workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.spark.chains.adjacency import Adjacency, shared
from lineage_bridge_dagster.spark.chains.frames import frame_of
from lineage_bridge_dagster.spark.chains.walker import HOPS, walk_on_worker, walked
from lineage_bridge_dagster.spark.merge import persisted
from lineage_bridge_dagster.spark.python_workers import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Hops that one process walks in about the time that workers need to start.
LOCAL_HOPS = 1_000_000

#: Slices of the tables that workers walk: many, since chains differ by orders of magnitude in length.
_SLICES, _TABLES_A_SLICE = 16, 5_000

_HOPS_DDL = (
    "table int NOT NULL, hop int NOT NULL, node int NOT NULL, complete boolean NOT NULL, "
    "stale boolean NOT NULL, digest bigint NOT NULL"
)


@dataclass(frozen=True, slots=True)
class Walk:
    """The hops of tables.

    Attributes:
        summary: `table, hops, complete, stale, digest`, one row for each table with a hop.
        hops: all of them, with the columns `HOPS`: here, or on the workers.
    """

    summary: pa.Table
    hops: pa.Table | DataFrame


@contextmanager
def walk_tables(
    spark: SparkSession, graph: Adjacency, tables: pa.Array, local_hops: int = LOCAL_HOPS
) -> Iterator[Walk]:
    """Walk upstream from tables, by their numbers; frames of the walk must be computed within the block."""
    here = _walked_here(graph, tables, local_hops)
    if here is not None:
        yield Walk(summary_of(here), here)
        return
    frame = frame_of(spark, pa.table({"table": tables}))
    slices = min(len(tables), max(_SLICES, len(tables) // _TABLES_A_SLICE))
    with (
        shared(spark, graph) as arrays,
        persisted(map_in_arrow(frame.repartition(slices), walk_on_worker(arrays), _HOPS_DDL)) as hops,
    ):
        yield Walk(_summarized(hops), hops)


def _walked_here(graph: Adjacency, tables: pa.Array, most: int) -> pa.Table | None:
    """The hops of tables; None if there are more than wanted."""
    batches, rows = [], 0
    with no_garbage_collection():
        for batch in walked(graph, tables.to_pylist()):
            batches.append(batch)
            rows += batch.num_rows
            if rows > most:
                return None
    return pa.Table.from_batches(batches, HOPS)


def summary_of(hops: pa.Table) -> pa.Table:
    """`Walk.summary` of hops in batches of whole chains."""
    # Batches hold whole chains in order, so the first row of each chain stands for all of it.
    grouped = hops.group_by("table", use_threads=False).aggregate(
        [("hop", "count"), ("complete", "first"), ("stale", "first"), ("digest", "first")]
    )
    return grouped.select(
        ["table", "hop_count", "complete_first", "stale_first", "digest_first"]
    ).rename_columns(["table", "hops", "complete", "stale", "digest"])


def _summarized(hops: DataFrame) -> pa.Table:
    from pyspark.sql import functions as F

    same = [F.first(name).alias(name) for name in ("complete", "stale", "digest")]
    return hops.groupBy("table").agg(F.count("*").alias("hops"), *same).toArrow()
