"""Arrow tables as Spark frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lineage_bridge_dagster.spark.classic import is_classic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Rows of a partition, and so of a file that is written from it.
_PARTITION_ROWS = 50_000


def frame_of(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """A frame of these rows; Spark alone would make a partition, hence a file, of every 10,000 of them."""
    # Columns without a chunk, which a filter leaves where nothing is left, cannot be converted.
    rows = rows if rows.num_rows else rows.schema.empty_table()
    if not rows.num_rows and not is_classic(spark):
        from pyspark.sql.pandas.types import from_arrow_schema

        # Spark Connect infers no types without rows.
        return spark.createDataFrame([], from_arrow_schema(rows.schema))
    return spark.createDataFrame(rows).coalesce(max(1, -(-rows.num_rows // _PARTITION_ROWS)))
