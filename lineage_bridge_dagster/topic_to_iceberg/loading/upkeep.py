"""The upkeep of a topic's table.

The staged branch and the tag with the offsets are references, which keep their snapshots whatever expires
(see `staging`). A compaction moves `main`, so that a batch that is being written meanwhile is written once
more.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.upkeep import Upkeep, UpkeepLimits, keep_up
from lineage_bridge_dagster.topic_to_iceberg.loading.model import MODE, NotOurTableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def keep_up_topic_table(spark: SparkSession, name: TableName, limits: UpkeepLimits, now: datetime) -> Upkeep:
    """Look after a table that was created from a topic; see `keep_up`.

    Raises:
        NotOurTableError: the table was not created from a topic; nothing was changed.
        CommitConflictError: a loader kept changing the files that were being compacted; nothing was changed.
    """
    if classic.load_table(spark, name.sql).properties().get(MODE) is None:
        raise NotOurTableError(
            f"{name} was not created from a topic: it has no property {MODE}. Nothing was changed.",
            hint="Leave its upkeep to what writes it.",
        )
    return keep_up(spark, name, limits, now)
