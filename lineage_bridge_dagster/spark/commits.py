"""One write of ours as commits of an Iceberg table: how they are marked, found again, and how they fail.

Each snapshot of a write has its id in the summary. So the commit is found among those of other writers, a
commit whose outcome is unknown is looked up, and what a write consumed is stored with the rows it made.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import quoted, spark_name
from lineage_bridge_dagster.spark.iceberg_tables import Snapshot, ancestors, explain_missing_warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession

#: Keys of snapshot summaries. The run's is dagster-iceberg's.
WRITE_ID = "lineage_bridge.write_id"
CONSUMED = "lineage_bridge.consumed"
RUN_ID = "dagster-run-id"

#: Starts what a row says that must not be written, within Spark's long account of the failed stage.
OUTSIDE = "row outside the slice: "
_ENDS = "\x1f"

#: What Iceberg says when a commit would undo another one.
_CHANGED = re.compile(r"ValidationException: (Found|Cannot commit)|Cannot fast-forward|is not an ancestor")


class CommitConflictError(LineageBridgeError):
    """Another writer was in the way; nothing was written, and the same write may succeed later."""


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a DataFrame is written to."""

    catalog: str
    database: str
    table: str

    @property
    def name(self) -> str:
        """The quoted name in Spark."""
        return spark_name(self.catalog, self.database, self.table)

    def __str__(self) -> str:
        return f"{self.catalog}.{self.database}.{self.table}"


@dataclass(frozen=True, slots=True)
class Write:
    """One write: its id, and what else its snapshots say."""

    run_id: str = ""
    consumed: Mapping[str, Any] = field(default_factory=dict)
    write_id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def properties(self) -> dict[str, str]:
        """What goes into the summary of each snapshot of the write."""
        found = {WRITE_ID: self.write_id}
        if self.run_id:
            found[RUN_ID] = self.run_id
        if self.consumed:
            found[CONSUMED] = json.dumps(self.consumed, sort_keys=True)
        return found

    def writer(self, frame: DataFrame, name: str) -> DataFrameWriterV2:
        """Spark's writer of a frame to a table."""
        writer = frame.writeTo(name)
        for key, value in self.properties.items():
            writer = writer.option(f"snapshot-property.{key}", value)
        return writer

    @contextmanager
    def session(self, spark: SparkSession) -> Iterator[SparkSession]:
        """A session for SQL statements of the write, which take no options: the settings stay in it."""
        from pyspark.sql import SparkSession

        jvm_session: Any = spark._jsparkSession
        session = SparkSession(spark.sparkContext, jvm_session.cloneSession())
        for key, value in self.properties.items():
            session.conf.set(f"spark.sql.iceberg.snapshot-property.{key}", value)
        yield session

    def snapshots(self, spark: SparkSession, name: str, since: int | None) -> list[Snapshot]:
        """The snapshots of the write that are in the table, newest first, none older than `since`."""
        found = []
        for snapshot in ancestors(spark, name):
            if snapshot.snapshot_id == since:
                break
            if snapshot.summary.get(WRITE_ID) == self.write_id:
                found.append(snapshot)
        return found


@contextmanager
def view(frame: DataFrame) -> Iterator[str]:
    """A frame under a name that SQL of any session can use."""
    name = f"lineage_bridge_{uuid.uuid4().hex}"
    frame.createGlobalTempView(name)
    try:
        yield quoted("global_temp", name)
    finally:
        frame.sparkSession.catalog.dropGlobalTempView(name)


def within(frame: DataFrame, condition: str, exprs: tuple[str, ...]) -> DataFrame:
    """The frame, failing while it is written when a row does not satisfy the condition."""
    from pyspark.sql import functions as F

    values = F.concat_ws(", ", *[F.coalesce(F.expr(e).cast("string"), F.lit("null")) for e in exprs])
    # The row's number keeps the optimizer from asking rows that a filter or a join leaves out: a condition
    # that is not deterministic stays where it is.
    number = F.monotonically_increasing_id().cast("string")
    told = F.concat(F.lit(OUTSIDE), values, F.lit(_ENDS), number)
    return frame.where(F.when(F.expr(condition), F.lit(True)).otherwise(F.raise_error(told)))


def outcome_unknown(error: BaseException) -> bool:
    """Whether the catalog did not say if the commit was made."""
    return "CommitStateUnknownException" in str(error)


def explain(error: Exception, target: Target) -> Exception:
    """A failed write in words that say what to do; an error that is the user's own comes back as it is."""
    text = str(error)
    if OUTSIDE in text:
        values = text.partition(OUTSIDE)[2].partition(_ENDS)[0].strip()
        return LineageBridgeError(
            f"The DataFrame for {target} has a row outside the slice that it replaces"
            f"{f': {values[:200]}' if values else ''}. Nothing was written.",
            hint="Filter the DataFrame to the partition or the overwrite_filter.",
        )
    if outcome_unknown(error):
        return LineageBridgeError(
            f"The catalog did not say whether the commit to {target} was made, and it is not there now.",
            hint=f"Look at the table {target.name}.snapshots before the next run.",
        )
    if "CommitFailedException" in text:
        return CommitConflictError(
            f"Other writers kept committing to {target}; Iceberg's own retries ran out. Nothing was written.",
            hint="Materialize again when they are done. Where many write at once, raise the table property "
            "commit.retry.num-retries (4 by default).",
        )
    if _CHANGED.search(text):
        return CommitConflictError(
            f"Rows of {target} that this write replaces were changed meanwhile. Nothing was written.",
            hint="Materialize again, and have one writer at a time change the same rows.",
        )
    if "Cannot find source column for sort field" in text:
        return LineageBridgeError(
            f"{target} was once sorted by a column that the DataFrame lacks or has of another type, and "
            "Iceberg can't replace the columns of such a table. Nothing was written.",
            hint="Keep that column, or drop the table first; its snapshots go with it.",
        )
    if "NoSuchIcebergTableException" in text:
        return LineageBridgeError(
            f"{target} is in the catalog already, and is no Iceberg table.",
            hint="Give the asset another dagster/table_name, or drop the table that is there.",
        )
    return explain_missing_warehouse(error, target.catalog)
