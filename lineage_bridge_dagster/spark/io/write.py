"""A DataFrame into its Iceberg table, by one of the write modes.

Nothing of a table is lost by accident: partitioning, sort order, properties and columns that the DataFrame
has not stay as they are in every mode but overwrite, and there too while the columns stay the same.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import quoted
from lineage_bridge_dagster.spark.commits import (
    Target,
    Write,
    explain,
    outcome_unknown,
    view,
    within,
)
from lineage_bridge_dagster.spark.iceberg_tables import (
    Snapshot,
    cause,
    current_snapshot,
    ensure_namespace,
    exists,
    is_sorted,
    load_table,
)
from lineage_bridge_dagster.spark.io import partitioning
from lineage_bridge_dagster.spark.io.frames import filtered, type_of
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.partitioning import PartitionField
from lineage_bridge_dagster.spark.io.schemas import (
    conform,
    differences,
    evolve,
    java_schema,
    refuse,
    same_columns,
    stored,
)
from lineage_bridge_dagster.spark.io.slices import Slice, transforms
from lineage_bridge_dagster.spark.merge import check_columns, check_keys, merge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stored:
    """What a write did: rows that the DataFrame had, the write's snapshots (newest first), and the condition
    of the slice that it wrote, empty for the whole table."""

    target: Target
    rows: int
    snapshots: tuple[Snapshot, ...]
    condition: str = ""


def store(
    frame: DataFrame,
    target: Target,
    options: WriteOptions,
    write: Write | None = None,
    slice_: Slice | None = None,
) -> Stored:
    """Write a DataFrame, creating the database and the table unless they are there.

    Rows are counted by the commit, not by a second computation.

    Args:
        frame: the rows.
        target: the table.
        options: how.
        write: what marks the commit.
        slice_: the partitions that the rows belong to; a row outside them fails the write.

    Raises:
        ConfigurationError: an option names what is not there.
        LineageBridgeError: the table can't take the frame, or the commit failed; the message says which.
    """
    writing = _Writing(frame.sparkSession, target, options, write or Write(), slice_)
    try:
        return writing.run(frame)
    except LineageBridgeError:
        raise
    except Exception as error:
        better = explain(error, target)
        if better is error:
            raise
        raise better from error


@dataclass(frozen=True, slots=True)
class _Writing:
    spark: SparkSession
    target: Target
    options: WriteOptions
    write: Write
    slice_: Slice | None

    def run(self, frame: DataFrame) -> Stored:
        spark, name, options = self.spark, self.target.name, self.options
        if options.join_cols:
            check_columns(frame.schema, options, self.target)
        if not frame.columns:
            raise LineageBridgeError(f"The DataFrame for {self.target} has no columns.", hint="Select some.")
        condition = self._condition(frame)
        kept = self._without_flag(frame).schema
        ensure_namespace(spark, self.target.catalog, self.target.database)
        if not exists(spark, name):
            self._create(kept, frame)
        before = current_snapshot(spark, name)
        since = before.snapshot_id if before else None
        counted: int | None = None
        try:
            if options.write_mode == "overwrite":
                self._overwrite(frame)
            else:
                counted = self._change(frame, kept, condition, before)
        except Exception as error:
            if not outcome_unknown(error) or not self._made(since, "may have been made"):
                raise
            _log.warning("The commit to %s was made, though the catalog did not say so.", self.target)
        made = self._made(since, "was made")
        if counted is None:
            counted = made[0].count("added-records") if made else 0
        return Stored(self.target, counted, made, condition)

    def _made(self, since: int | None, known: str) -> tuple[Snapshot, ...]:
        """The write's snapshots. Not to be able to ask for them is no reason to write the rows again."""
        try:
            return tuple(self.write.snapshots(self.spark, self.target.name, since))
        except Exception as error:
            raise LineageBridgeError(
                f"The commit to {self.target} {known}, and the catalog can't be asked for it: {cause(error)}",
                hint=f"Look at the table {self.target.name}.snapshots before the next run.",
            ) from error

    def _condition(self, frame: DataFrame) -> str:
        """The SQL condition of the rows that the write is about, empty for all."""
        if self.slice_ is not None:
            return self.slice_.condition(self._type_in(frame))
        if self.options.write_mode != "overwrite_slice" or self.options.overwrite_filter == "true":
            return ""
        filtered(frame, self.options.overwrite_filter, f"overwrite_filter of {self.target}")
        return self.options.overwrite_filter

    def _type_in(self, frame: DataFrame) -> Callable[[str], DataType]:
        return lambda expr: type_of(frame, expr, f"partition_expr of {self.target}")

    def _without_flag(self, frame: DataFrame) -> DataFrame:
        return frame.drop(self.options.delete_column) if self.options.delete_column else frame

    def _create(self, schema: StructType, frame: DataFrame) -> None:
        """An empty table, so that every mode finds one."""
        fields: tuple[str, ...] = self.options.partition_by
        if not fields and self.slice_ is not None:
            fields = transforms(self.slice_, self._type_in(frame))
        parsed = partitioning.parse(fields, schema, str(self.target))
        _check_typed(schema, self.target)
        columns = java_schema(self.spark, schema).toDDL()
        # Partitions of a first backfill may all be here at once: one of them makes it.
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self.target.name} ({columns}) USING iceberg "
            f"{partitioning.clause(parsed)} TBLPROPERTIES ('format-version'='2')"
        )

    def _overwrite(self, frame: DataFrame) -> None:
        """All rows replaced. Other columns or another partitioning replace the table's definition with them,
        in the same commit; its snapshots stay."""
        from pyspark.sql import functions as F

        spark, name = self.spark, self.target.name
        schema = spark.table(name).schema
        now = partitioning.of_table(spark, name)
        wanted = partitioning.parse(self.options.partition_by, frame.schema, str(self.target))
        if same_columns(frame.schema, schema) and (not wanted or partitioning.same(wanted, now)):
            self.write.writer(conform(frame, schema), name).overwrite(F.lit(True))
            return
        _check_typed(frame.schema, self.target)
        fields = wanted or self._carried(now, frame.schema, schema)
        if is_sorted(spark, name):
            _log.warning("%s gets other columns, and loses its sort order; set it again.", self.target)
        with view(frame) as source, self.write.session(spark) as session:
            clause = partitioning.clause(fields)
            session.sql(f"REPLACE TABLE {name} USING iceberg {clause} AS TABLE {source}")

    def _carried(
        self, now: tuple[PartitionField, ...], frame: StructType, table: StructType
    ) -> tuple[PartitionField, ...]:
        """The partition fields whose columns stay as they are."""
        own = {field.name.lower(): stored(field.dataType) for field in frame}
        stays = {f.name.lower() for f in table if own.get(f.name.lower()) == stored(f.dataType)}
        carried = tuple(field for field in now if field.path[0].lower() in stays)
        for field in now:
            if field not in carried:
                _log.warning("%s is no longer partitioned by %s: its column changed.", self.target, field)
        return carried

    def _change(
        self, frame: DataFrame, kept: StructType, condition: str, before: Snapshot | None
    ) -> int | None:
        """Rows added, replaced or merged; the table keeps all else. Counts the rows of a merge."""
        from pyspark.sql.types import BooleanType, StructField, StructType

        name, options = self.target.name, self.options
        schema = self._fitting(kept)
        self._check_partitioning(kept)
        if options.write_mode == "merge":
            own = {field.name.lower() for field in kept}
            wanted = StructType([field for field in schema if field.name.lower() in own])
            if options.delete_column:
                wanted = wanted.add(StructField(options.delete_column, BooleanType()))
            rows = conform(frame, wanted)
            return merge(self._within(rows, condition), self.target, options, self.write)
        if options.join_cols:
            # A merge that replaces everything for once: the keys hold all the same.
            check_keys(frame, self.target, options)
        if options.delete_column:
            frame = frame.where(f"NOT coalesce({quoted(options.delete_column)}, false)")
        rows = conform(self._without_flag(frame), schema)
        if options.write_mode == "append":
            self.write.writer(self._within(rows, condition), name).append()
        else:
            self._replace_slice(self._within(rows, condition), condition, before)
        return None

    def _within(self, rows: DataFrame, condition: str) -> DataFrame:
        if not condition:
            return rows
        return within(rows, condition, self.slice_.exprs if self.slice_ else ())

    def _fitting(self, kept: StructType) -> StructType:
        """The table's schema, once it can take the frame's columns."""
        spark, name = self.spark, self.target.name
        schema = spark.table(name).schema
        found = differences(kept, schema)
        if self.options.write_mode == "merge":
            # New rows alone need what the frame lacks; Spark says so if there are any.
            found = [difference for difference in found if difference.frame is not None]
        if not found:
            return schema
        possible = all(difference.kind in ("new", "wider") for difference in found)
        if self.options.schema_update_mode == "error" or not possible:
            raise refuse(found, str(self.target))
        evolve(spark, name, kept, found)
        _log.info("%s: columns added or widened: %s", self.target, "; ".join(map(str, found)))
        return spark.table(name).schema

    def _check_partitioning(self, schema: StructType) -> None:
        wanted = partitioning.parse(self.options.partition_by, schema, str(self.target))
        now = partitioning.of_table(self.spark, self.target.name)
        if wanted and not partitioning.same(wanted, now):
            _log.warning(
                "%s stays partitioned by %s; partition_by says %s, which only a new table or write_mode "
                "overwrite takes. Change it with ALTER TABLE ... REPLACE PARTITION FIELD.",
                self.target,
                ", ".join(map(str, now)) or "nothing",
                ", ".join(map(str, wanted)),
            )

    def _replace_slice(self, rows: DataFrame, condition: str, before: Snapshot | None) -> None:
        """The rows of the slice replaced, for a reader at one moment.

        Where the slice is whole partitions one commit drops their files and adds the new ones. Elsewhere
        files hold other rows too: they are rewritten on a branch, which then becomes the table.
        """
        from pyspark.sql import functions as F

        spark, name = self.spark, self.target.name
        if not condition or _whole_partitions(spark, name, condition):
            self.write.writer(rows, name).overwrite(F.expr(condition or "true"))
            return
        if before is None:
            # There is nothing to branch from, and nothing to replace.
            self.write.writer(rows, name).append()
            return
        branch = f"lineage_bridge_{uuid.uuid4().hex[:12]}"
        load_table(spark, name).manageSnapshots().createBranch(branch, before.snapshot_id).commit()
        there = f"{name}.{quoted(f'branch_{branch}')}"
        try:
            with self.write.session(spark) as session:
                session.sql(f"DELETE FROM {there} WHERE {condition}")  # noqa: S608 - the user's own
            self.write.writer(rows, there).append()
            published = load_table(spark, name).manageSnapshots()
            published.fastForwardBranch("main", branch).removeBranch(branch).commit()
        except Exception:
            self._drop_branch(branch)
            raise

    def _drop_branch(self, branch: str) -> None:
        """Take away what a failed write left; that failure is the one to tell of."""
        try:
            table = load_table(self.spark, self.target.name)
            if branch in table.refs():
                table.manageSnapshots().removeBranch(branch).commit()
        except Exception as error:
            _log.warning("Branch %s of %s could not be removed: %s", branch, self.target, error)


def _whole_partitions(spark: SparkSession, name: str, condition: str) -> bool:
    """Whether a condition selects whole partitions of a table, so that no file has rows on both sides."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    jvm: Any = spark._jvm
    converter = jvm.org.apache.spark.sql.execution.datasources.SparkExpressionConverter
    session: Any = spark._jsparkSession
    try:
        resolved = converter.collectResolvedSparkExpression(session, name, condition)
        expression = converter.convertToIcebergExpression(resolved)
    except (Py4JJavaError, PySparkException):
        # Not one of Iceberg's expressions, such as `id % 2 = 0`: no partition can be told by it.
        return False
    selects = jvm.org.apache.iceberg.expressions.ExpressionUtil.selectsPartitions
    return bool(selects(expression, load_table(spark, name), False))


def _check_typed(schema: StructType, target: Target) -> None:
    untyped = [field.name for field in schema if field.dataType.typeName() == "void"]
    if untyped:
        raise LineageBridgeError(
            f"Column {untyped[0]} of the DataFrame for {target} has no type: it is null throughout.",
            hint=f'Cast it: .withColumn("{untyped[0]}", F.lit(None).cast("string")).',
        )
