"""A DataFrame written to its Iceberg table: the plan carried out."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark import partitioning
from lineage_bridge_dagster.spark.commits import (
    CommitMarker,
    CommitOvertakenError,
    after_conflicts,
    changed_meanwhile,
    commit,
    conflicts,
    global_view,
    overtaken,
)
from lineage_bridge_dagster.spark.iceberg_tables import (
    TableName,
    at_snapshot,
    ensure_table,
    exists,
    location,
    open_table,
)
from lineage_bridge_dagster.spark.io.frames import (
    conform,
    filtered,
    reject_outside,
    rejected_values,
    types_of,
)
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.plan import Action, TableState, WritePlan, plan_write
from lineage_bridge_dagster.spark.io.results import WriteResult
from lineage_bridge_dagster.spark.io.slices import Slice
from lineage_bridge_dagster.spark.io.targets import refuse_tableflows_location
from lineage_bridge_dagster.spark.java_errors import java_classes, root_cause
from lineage_bridge_dagster.spark.merge import merge, persisted
from lineage_bridge_dagster.spark.remote import ddl, is_gone
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: Writes of a frame in all, each with Iceberg's own retries of its commit (4 by default): enough for ten
#: writers of ten slices, whose rows none of the others changes, though they share a file.
_ATTEMPTS = 12

_log = logging.getLogger(__name__)


def write_frame(
    frame: DataFrame,
    table: TableName,
    options: WriteOptions,
    marker: CommitMarker | None = None,
    slice_: Slice | None = None,
) -> WriteResult:
    """Write a DataFrame, creating the database and the table if they do not exist.

    The commit counts the rows; they are not computed a second time.

    Args:
        slice_: the partitions that the rows belong to; a row outside them fails the write.

    Raises:
        ConfigurationError: an option names a column that does not exist, or Tableflow writes the table.
        LineageBridgeError: the table cannot take the frame, or the commit failed; the message says which.
    """
    spark = frame.sparkSession
    if exists(spark, table):
        refuse_tableflows_location(location(spark, table), table)
    types = types_of(frame, slice_.exprs, f"partition_expr of {table}") if slice_ is not None else {}
    if options.overwrite_filter and options.write_mode == "overwrite_slice":
        filtered(frame, options.overwrite_filter, f"overwrite_filter of {table}")

    def plan() -> WritePlan:
        state = table_state(spark, table)
        return plan_write(frame.schema, table, state, options, slice_=slice_, types=types)

    planned = plan()
    if planned.create is not None:
        # The partitions of a first backfill may all be written at once: one of them creates the table.
        clause = partitioning.clause(planned.partition_by, planned.create.names)
        ensure_table(spark, table, ddl(spark, planned.create), partitioned_by=clause)
        _name_partition_fields(spark, planned, planned.create.names)
        planned = plan()
    if planned.evolve is not None:
        _evolve(spark, planned, planned.evolve)
        planned = plan()
    for warning in planned.warnings:
        _log.warning(warning)
    execution = _Execution(spark, planned, marker or CommitMarker())
    snapshots = commit(
        spark,
        table,
        execution.marker,
        lambda: execution.write(frame),
        attempts=_ATTEMPTS,
        retried=CommitOvertakenError,
    )
    if planned.action is Action.REPLACE_TABLE:
        _name_partition_fields(spark, planned, planned.columns.names)
    added = snapshots[0].count("added-records") if snapshots else 0
    rows = added if execution.merged is None else execution.merged
    return WriteResult(table, rows, snapshots, planned.condition)


def table_state(spark: SparkSession, table: TableName) -> TableState | None:
    """Read what a plan depends on; None if the table does not exist."""
    if not exists(spark, table):
        return None
    opened = open_table(spark, table)
    return TableState(
        spark.table(table.sql).schema, opened.partition_fields(), opened.sort_columns(), opened.is_sorted
    )


@dataclass(slots=True)
class _Execution:
    spark: SparkSession
    plan: WritePlan
    marker: CommitMarker
    merged: int | None = None
    """Rows of the DataFrame, once a merge has counted them."""
    first: Snapshot | None = None
    """The snapshot that the first attempt to replace a slice found."""

    def write(self, frame: DataFrame) -> None:
        try:
            self._write(frame)
        except Exception as error:
            if (values := rejected_values(error)) is None:
                raise
            raise LineageBridgeError(
                f"The DataFrame for {self.plan.table} has a row outside the slice that it replaces"
                f"{f': {values[:200]}' if values else ''}. Nothing was written.",
                hint="Filter the DataFrame to the partition or the overwrite_filter.",
            ) from error

    def _write(self, frame: DataFrame) -> None:
        from pyspark.sql import functions as F

        plan, keys = self.plan, self.plan.keys
        if plan.action is Action.REPLACE_TABLE:
            self._replace_table(frame)
            return
        if keys is not None and plan.action is not Action.MERGE:
            # A merge that replaces all rows for once: its keys apply all the same.
            keys.check_rows(frame, plan.table)
            if keys.delete_column:
                frame = frame.where(f"NOT coalesce({quoted(keys.delete_column)}, false)")
        rows = conform(frame, plan.columns)
        if plan.condition:
            rows = reject_outside(rows, plan.condition, plan.slice_exprs)
        if plan.action is Action.MERGE and keys is not None:
            with persisted(rows) as kept:
                self.merged = keys.check_rows(kept, plan.table)
                merge(kept, plan.table, keys, self.marker)
        elif plan.action is Action.APPEND:
            self.marker.writer(rows, plan.table.sql).append()
        elif plan.action is Action.REPLACE_ROWS or not plan.condition:
            self.marker.writer(rows, plan.table.sql).overwrite(F.lit(True))
        else:
            self._replace_slice(rows, plan.condition)

    def _replace_table(self, frame: DataFrame) -> None:
        table = self.plan.table.sql
        clause = partitioning.clause(self.plan.partition_by, self.plan.columns.names)
        try:
            with global_view(frame) as source:
                self.marker.run(self.spark, f"REPLACE TABLE {table} USING iceberg {clause} AS TABLE {source}")
        except Exception as error:
            if "ValidationException" not in java_classes(error):
                raise
            # No conflict: nothing is validated against the rows that are replaced.
            raise LineageBridgeError(
                f"Iceberg cannot replace the columns of {self.plan.table}: {root_cause(error)}",
                hint="Keep the columns that it is or was sorted by, or drop the table first.",
            ) from error

    def _replace_slice(self, rows: DataFrame, condition: str) -> None:
        """Replace the rows of a slice, atomically for readers.

        Where the slice is whole partitions, one commit drops their files and adds the new ones. Otherwise
        files hold other rows too: they are rewritten on a branch, which then becomes the table, unless
        another commit came first. Another attempt follows that, if the slice's rows are what they were.
        """
        from pyspark.sql import functions as F

        spark, table = self.spark, self.plan.table
        opened = open_table(spark, table)
        if opened.selects_partitions(condition):
            self.marker.writer(rows, table.sql).overwrite(F.expr(condition))
            return
        if (current := next(opened.ancestors(), None)) is None:
            # There is no snapshot to branch from, and no row to replace.
            self.marker.writer(rows, table.sql).append()
            return
        self.first = self.first or current
        if current != self.first and not self._has_same_rows(condition, self.first, current):
            raise changed_meanwhile(table)
        branch = f"lineage_bridge_{uuid.uuid4().hex[:12]}"
        opened.create_branch(branch, current.snapshot_id)
        target = f"{table.sql}.{quoted(f'branch_{branch}')}"
        try:
            self.marker.run(spark, f"DELETE FROM {target} WHERE {condition}")  # noqa: S608 - the user's
            self.marker.writer(rows, target).append()
            self._publish(branch)
        except Exception as error:
            if not is_gone(error):
                self._drop_branch(branch)
            raise

    def _publish(self, branch: str) -> None:
        try:
            open_table(self.spark, self.plan.table).publish(branch)
        except Exception as error:
            # How Iceberg refuses a branch that another writer's commit has left behind.
            if "IllegalArgumentException" in java_classes(error):
                raise overtaken(self.plan.table) from error
            raise

    def _has_same_rows(self, condition: str, before: Snapshot, after: Snapshot) -> bool:
        """Whether the rows of a slice are the same in two snapshots, whichever files they are in.

        False if Spark cannot compare them, because they have maps or columns were added.
        """
        from pyspark.errors import AnalysisException

        try:
            old, new = (
                at_snapshot(self.spark, self.plan.table, each.snapshot_id).where(condition)
                for each in (before, after)
            )
            return old.exceptAll(new).isEmpty() and new.exceptAll(old).isEmpty()
        except AnalysisException:
            return False

    def _drop_branch(self, branch: str) -> None:
        """Remove what a failed write left; its own failure is the one to report."""
        table = self.plan.table

        def remove() -> None:
            with conflicts(table):
                open_table(self.spark, table).remove_branch(branch)

        try:
            after_conflicts(_ATTEMPTS, CommitOvertakenError, wait=0.2)(remove)
        except Exception as error:
            _log.warning("Branch %s of %s could not be removed: %s", branch, table, error)


def _name_partition_fields(spark: SparkSession, plan: WritePlan, columns: list[str]) -> None:
    """Add the partition fields that PARTITIONED BY cannot name."""
    for addition in partitioning.additions(plan.partition_by, columns):
        try:
            with conflicts(plan.table):
                spark.sql(f"ALTER TABLE {plan.table.sql} {addition}")
        except Exception:
            # Another run of the same backfill may have added it.
            fields = open_table(spark, plan.table).partition_fields()
            if not partitioning.same(fields, plan.partition_by):
                raise


def _evolve(spark: SparkSession, plan: WritePlan, columns: StructType) -> None:
    """Add new columns and widen narrow ones."""
    try:
        with conflicts(plan.table):
            open_table(spark, plan.table).add_columns(columns)
    except Exception as error:
        if "IllegalArgumentException" not in java_classes(error):
            raise
        raise LineageBridgeError(
            f"{plan.table} cannot take the columns of this DataFrame: {root_cause(error)}",
            hint="Rename the column that the message names, or write to another table.",
        ) from error
    _log.info("%s: columns added or widened: %s", plan.table, ", ".join(columns.names))
