"""Arrow tables as Spark frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from lineage_bridge_dagster.spark.chains.freed_memory import release_freed
from lineage_bridge_dagster.spark.chains.shared_files import SharedFiles, can_share_files, shared_files
from lineage_bridge_dagster.spark.classic import is_classic
from lineage_bridge_dagster.spark.python_workers import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Rows of a partition, and so of a file that is written from it.
PART_ROWS = 50_000

#: Rows of a batch that a worker hands to Spark.
_BATCH_ROWS = 10_000

#: Up to this size and `PART_ROWS` rows, rows are part of the query itself. The driver then holds them as
#: objects, and Spark Connect sends them in one message, which may have at most 128 MB.
_SMALL_BYTES = 32 << 20


def frame_of(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """A frame of a few rows; Spark alone would make a partition, hence a file, of every 10,000 of them."""
    # Columns without a chunk, which a filter leaves where nothing is left, cannot be converted.
    rows = rows if rows.num_rows else rows.schema.empty_table()
    if not rows.num_rows and not is_classic(spark):
        from pyspark.sql.pandas.types import from_arrow_schema

        # Spark Connect infers no types without rows.
        return spark.createDataFrame([], from_arrow_schema(rows.schema))
    return spark.createDataFrame(rows).coalesce(max(1, -(-rows.num_rows // PART_ROWS)))


@contextmanager
def frame_of_parts(spark: SparkSession, parts: Iterable[pa.Table]) -> Iterator[DataFrame]:
    """A frame of any number of rows, to be computed within the block.

    Args:
        parts: tables of one schema, at least one, of up to `PART_ROWS` rows each. If they are large, only one
            at a time is in memory.
    """
    listed, is_small, rest = [], True, iter(parts)
    for part in rest:
        listed.append(part)
        is_small = len(listed) == 1 and part.nbytes <= _SMALL_BYTES
        if not is_small:
            break
    if is_small or not can_share_files(spark):
        yield frame_of(spark, pa.concat_tables([*listed, *rest]))
        return
    schema, count = listed[0].schema, 0
    del part

    def save(folder: Path, prefix: str) -> None:
        nonlocal count
        while (part := listed.pop(0) if listed else next(rest, None)) is not None:
            with pa.ipc.new_file(folder / f"{prefix}{count}.arrow", schema) as file:
                file.write_table(part, _BATCH_ROWS)
            count += 1
            # The next part is made when nothing is left of this one.
            del part
            release_freed()

    with shared_files(spark, save) as files:
        from pyspark.sql.pandas.types import from_arrow_schema

        numbers = spark.range(0, count, 1, count)
        yield map_in_arrow(numbers, _read_on_worker(files), from_arrow_schema(schema))


def _read_on_worker(
    files: SharedFiles,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A `mapInArrow` function: numbers of parts in, their rows out."""

    def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            with pa.memory_map(str(files.path(f"{number}.arrow"))) as source:
                file = pa.ipc.open_file(source)
                yield from map(file.get_batch, range(file.num_record_batches))

    return rows_of
