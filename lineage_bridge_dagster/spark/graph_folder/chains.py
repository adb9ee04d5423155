"""The chains of a graph's folder, walked by Spark's workers, which read what hops stand for from its files.

Nothing is handed over but numbers of slices: tables that follow each other, so that their hops are near each
other in the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lineage_bridge_dagster.spark.chains.adjacency import Adjacency, SharedAdjacency, shared
from lineage_bridge_dagster.spark.chains.hops import HOP_COLUMNS, HOP_NAMES, NODE_NAMES
from lineage_bridge_dagster.spark.chains.shared_files import SharedFiles, shared_files
from lineage_bridge_dagster.spark.chains.walker import walked
from lineage_bridge_dagster.spark.chains.walks import SUMMARY, summary_of
from lineage_bridge_dagster.spark.graph_folder.reader import ParquetRows
from lineage_bridge_dagster.spark.python_workers import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Tables of a slice: so many that the file that is written from it is not small, if there are enough slices.
_SLICE_TABLES, _FEWEST_SLICES, _LEAST_TABLES = 50_000, 8, 1_000

#: Rows of a batch that a worker hands to Spark.
_BATCH_ROWS = 10_000

_OF_TABLE = ("table_id", "database", "table_name")

#: A `mapInArrow` function.
Mapped = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class FolderPart:
    """The tables of a folder whose chains are asked for.

    Attributes:
        nodes: `nodes.parquet`.
        arrays: the upstream index of the graph.
        tables: `table, table_id, database, table_name`, by number.
    """

    nodes: Path
    arrays: Adjacency
    tables: pa.Table

    @contextmanager
    def compute(self, spark: SparkSession) -> Iterator[FolderChains]:
        """Compute the chains; frames of them are for use within the block."""
        with shared(spark, self.arrays) as arrays:
            with _on_workers(spark, self.tables, lambda files: _summarize(arrays, files), SUMMARY) as found:
                # Slices may be computed in any order.
                summary = found.toArrow().sort_by("table")
            yield FolderChains(spark, self.nodes, arrays, self.tables, summary)


@dataclass(frozen=True, slots=True)
class FolderChains:
    """The chains of some tables; see `spark.chains.source.Computed`."""

    spark: SparkSession
    nodes: Path
    arrays: SharedAdjacency
    tables: pa.Table
    summary: pa.Table

    @contextmanager
    def rows(self, tables: pa.Table) -> Iterator[DataFrame]:
        """The rows of some tables' chains."""
        rest = [
            tables.schema.field(name) for name in tables.column_names if name not in ("table", *_OF_TABLE)
        ]
        schema = pa.schema(
            [
                *(tables.schema.field(name) for name in _OF_TABLE),
                ("hop", pa.int32()),
                *(HOP_COLUMNS.field(name) for name in HOP_NAMES),
                ("complete", pa.bool_()),
                *rest,
            ]
        )
        nodes, arrays = self.nodes, self.arrays
        in_order = tables.sort_by("table")
        with _on_workers(
            self.spark, in_order, lambda files: _rows(arrays, nodes, files, schema), schema
        ) as rows:
            yield rows


@contextmanager
def _on_workers(
    spark: SparkSession, tables: pa.Table, function: Callable[[SharedFiles], Mapped], schema: pa.Schema
) -> Iterator[DataFrame]:
    """A frame of what a function makes of each slice of tables, which it finds in a file by its number."""
    from pyspark.sql.pandas.types import from_arrow_schema

    rows = tables.num_rows
    slices = max(1, -(-rows // _SLICE_TABLES), min(_FEWEST_SLICES, rows // _LEAST_TABLES))
    size = max(1, -(-rows // slices))

    def save(folder: Path, prefix: str) -> None:
        for number in range(slices):
            with pa.ipc.new_file(folder / f"{prefix}{number}.arrow", tables.schema) as file:
                file.write_table(tables.slice(number * size, size))

    with shared_files(spark, save) as files:
        numbers = spark.range(0, slices, 1, slices)
        yield map_in_arrow(numbers, function(files), from_arrow_schema(schema))


def _slices(files: SharedFiles, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    for number in (number for batch in numbers for number in batch.column(0).to_pylist()):
        with pa.memory_map(str(files.path(f"{number}.arrow"))) as source:
            yield pa.ipc.open_file(source).read_all().combine_chunks()


def _summarize(arrays: SharedAdjacency, files: SharedFiles) -> Mapped:
    def summaries(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        graph = arrays.open()
        for tables in _slices(files, numbers):
            for batch in walked(graph, tables["table"].to_pylist()):
                found = summary_of(pa.Table.from_batches([batch]))
                yield from found.cast(SUMMARY).to_batches()

    return summaries


def _rows(arrays: SharedAdjacency, nodes: Path, files: SharedFiles, schema: pa.Schema) -> Mapped:
    def rows(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        graph = arrays.open()
        of_nodes = ParquetRows(nodes, [name if name in NODE_NAMES else f"hop.{name}" for name in HOP_NAMES])
        for tables in _slices(files, numbers):
            of_table = tables["table"].to_numpy()
            for batch in walked(graph, of_table.tolist()):
                columns = {"hop": batch["hop"], "complete": batch["complete"]}
                about = tables.take(np.searchsorted(of_table, batch["table"].to_numpy()))
                columns |= zip(about.column_names, about.columns, strict=True)
                hops = of_nodes.take(batch["node"].to_numpy())
                columns |= zip(HOP_NAMES, hops.columns, strict=True)
                part = pa.table([columns[field.name] for field in schema], schema=schema)
                yield from part.combine_chunks().to_batches(_BATCH_ROWS)

    return rows
