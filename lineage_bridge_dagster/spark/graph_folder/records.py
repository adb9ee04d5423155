"""The records of a graph's folder: rows go from its files to the lineage tables within Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage_bridge_dagster.spark.chains.frames import PART_ROWS, frame_of
from lineage_bridge_dagster.spark.chains.lineage_tables import (
    COLUMNS,
    DIGEST,
    Records,
)
from lineage_bridge_dagster.spark.graph_folder.reader import ParquetRows, column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class FileRecords(Records):
    """The records of a file.

    Attributes:
        path: the file.
        at: the time of the discovery.
    """

    path: Path
    at: datetime | None

    @classmethod
    def of(
        cls, path: Path, table: str, keys: tuple[str, ...], content: str, at: datetime | None
    ) -> FileRecords:
        """Read the digests of a file of `nodes` or `edges`."""
        return cls(table, keys, column(path, DIGEST), content, path, at)

    @contextmanager
    def frame(self, spark: SparkSession, places: npt.NDArray[np.int64] | None = None) -> Iterator[DataFrame]:
        from pyspark.sql import functions as F

        at = F.lit(self.at).cast("timestamp").alias("discovered_at")
        columns = [name for name, _, _ in COLUMNS[self.table]]
        if places is not None and len(places) <= PART_ROWS:
            # Spark would read all rows for them.
            own = [name for name in columns if name != "discovered_at"]
            rows = frame_of(spark, ParquetRows(self.path, own, kept=1).take(places))
        else:
            rows = spark.read.parquet(str(self.path))
            if places is not None and len(places) < len(self):
                # A record with the digest of another one is a copy of it.
                chosen = frame_of(spark, pa.table({DIGEST: np.unique(self.digests[places])}))
                rows = rows.join(chosen, DIGEST, "left_semi")
        yield rows.select(*(at if name == "discovered_at" else name for name in columns))

    def key_columns(self, places: npt.NDArray[np.int64]) -> pa.Table:
        return ParquetRows(self.path, self.keys, kept=1).take(places).cast(self.key_schema)

    def has_any(self, keys: pa.Table) -> bool:
        return any(
            part.join(keys, list(self.keys), join_type="left semi").num_rows
            for part in ParquetRows(self.path, self.keys).groups()
        )

    def contents(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if not self.content:
            return self.digests[places]
        found: npt.NDArray[np.int64] = column(self.path, self.content)[places]
        return found
