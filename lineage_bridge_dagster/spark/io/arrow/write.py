"""Arrow data written to its Iceberg table: the plan carried out, as one snapshot in one commit.

PyIceberg retries a commit that another writer's came before, if no file with rows of the condition was added
or removed since. Beyond its retries, and where a file has rows of other slices too, the write is planned
again on the new head, provided that the rows it replaces are still those that it found at first.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from dagster import TableMetadataValue
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan

from lineage_bridge_dagster.catalogs.errors import ConflictError
from lineage_bridge_dagster.catalogs.iceberg.guarded import writable
from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.table_errors import translate
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.commits import (
    WRITE_ID,
    CommitOvertakenError,
    after_conflicts,
    changed_meanwhile,
    overtaken,
)
from lineage_bridge_dagster.spark.io.arrow import tables
from lineage_bridge_dagster.spark.io.arrow.alignment import aligned
from lineage_bridge_dagster.spark.io.arrow.conditions import mask, outside
from lineage_bridge_dagster.spark.io.arrow.files import write_files
from lineage_bridge_dagster.spark.io.arrow.kinds import FrameKind, to_arrow, typing_hint
from lineage_bridge_dagster.spark.io.arrow.merge import MergeRows
from lineage_bridge_dagster.spark.io.arrow.plan import (
    ArrowAction,
    ArrowPlan,
    ArrowState,
    plan_arrow_write,
    plan_creation,
    with_merge_columns,
)
from lineage_bridge_dagster.spark.io.arrow.schemas import conform, sql_type, stored
from lineage_bridge_dagster.spark.io.metadata import WriteMetadata
from lineage_bridge_dagster.spark.io.requests import WriteRequest
from lineage_bridge_dagster.spark.io.results import (
    PREVIEW_COLUMNS,
    WriteResult,
    column_schema,
    commit_metadata,
    preview,
)
from lineage_bridge_dagster.spark.io.targets import refuse_tableflows_location
from lineage_bridge_dagster.spark.snapshot import Snapshot
from lineage_bridge_dagster.specs.metadata import StandardMetadata

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.metadata import TableMetadata

#: Plans of one write, each with PyIceberg's own retries of its commit.
_ATTEMPTS = 10

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ArrowResult:
    """What a write did, the table after it, and the rows of the slice that was written."""

    result: WriteResult
    table: Table
    condition: BooleanExpression


def write_rows(request: WriteRequest, frame: Any, kind: FrameKind) -> ArrowResult:
    """Write a frame, creating the database and the table if they do not exist.

    Raises:
        ConfigurationError: an option names a column that does not exist, or Tableflow writes the table.
        CommitConflictError: another writer interfered; nothing was written.
        LineageBridgeError: the table cannot take the frame, or the commit failed; the message says which.
    """
    name, label = request.table, str(request.table)
    catalog = open_catalog(request.catalogs, name.catalog)

    def columns() -> Schema | None:
        found = tables.find(catalog, name)
        return None if found is None else found.schema()

    rows = to_arrow(frame, kind, columns, label)
    if not rows.column_names:
        raise LineageBridgeError(f"The DataFrame for {name} has no columns.", hint="Select some.")
    options = with_merge_columns(request.options, rows.schema, name)
    flags = [False] * rows.num_rows
    if options.delete_column:
        flags = [bool(flag) for flag in rows.column(options.delete_column).to_pylist()]
        rows = rows.drop_columns(options.delete_column)
    write = _Write(replace(request, options=options), catalog, kind, stored(rows, label), flags)
    return after_conflicts(_ATTEMPTS, CommitOvertakenError, wait=0.2)(write.attempt)


@dataclass(slots=True)
class _Write:
    request: WriteRequest
    catalog: Catalog
    kind: FrameKind
    #: In storable types; the flags are true for rows that delete.
    rows: pa.Table
    flags: list[bool]
    #: The snapshot that the first attempt found, and whether there was an attempt.
    base: int | None = None
    started: bool = False
    #: The files of the rows, by the ids of the table's schema and partitioning: written once.
    files: dict[tuple[int, int], list[DataFile]] = field(default_factory=dict)

    def aligned(self, table: Table | None) -> pa.Table:
        """The rows in the names and types of a table."""
        schema = None if table is None else table.schema()
        return aligned(self.rows, schema, str(self.request.table), partial(typing_hint, self.kind))

    def attempt(self) -> ArrowResult:
        request, name = self.request, self.request.table
        table = tables.find(self.catalog, name)
        if table is None:
            columns = self.aligned(None).schema
            planned = plan_creation(columns, name, request.options, request.slice_)
            # Before a table is created for it, the write has to be possible at all.
            state = ArrowState(planned[0], planned[1])
            plan_arrow_write(columns, name, state, request.options, request.slice_)
            table = tables.create(self.catalog, request, *planned)
        refuse_tableflows_location(table.location(), name)
        rows = self.aligned(table)
        plan = plan_arrow_write(rows.schema, name, tables.state_of(table), request.options, request.slice_)
        head = table.current_snapshot()
        current = head.snapshot_id if head else None
        if not self.started:
            self.started, self.base = True, current
            for warning in plan.warnings:
                _log.warning(warning)
        elif plan.action is ArrowAction.REPLACE and not _unchanged(table, plan.condition, self.base, current):
            raise changed_meanwhile(name)
        transaction = table.transaction()
        self._stage(table, transaction, plan, rows)
        self._commit(transaction)
        return self._result(table, plan)

    def _stage(self, table: Table, transaction: Transaction, plan: ArrowPlan, rows: pa.Table) -> None:
        if plan.drop or plan.evolve is not None:
            try:
                _update_columns(transaction, plan)
            except ValueError as error:
                raise LineageBridgeError(
                    f"{self.request.table} cannot take the columns of this DataFrame: {error}",
                    hint="Rename the column that the message names, or write to another table.",
                ) from error
        schema = transaction.table_metadata.schema()
        label = str(self.request.table)
        condition, options = plan.condition, self.request.options
        if plan.action is ArrowAction.MERGE:
            merge = MergeRows.of(rows, self.flags, schema, options, label)
            condition = merge.condition
            existing = table.scan(row_filter=condition).to_arrow()
            merged = merge.applied_to(conform(existing, schema, label))
            files = self._written(transaction.table_metadata, table, merged)
        else:
            kept = MergeRows.without_deleted(rows, self.flags, schema, options, label)
            rows = conform(kept, schema, label)
            self._check_inside(rows, condition, transaction)
            at = (schema.schema_id, transaction.table_metadata.default_spec_id)
            if at not in self.files:
                self.files[at] = self._written(transaction.table_metadata, table, rows)
            files = self.files[at]
        snapshot = transaction.update_snapshot(snapshot_properties=self.request.marker.summary)
        if plan.action is ArrowAction.APPEND:
            producer: Any = snapshot.merge_append()
        else:
            replaced = list(self._replaced(table, transaction, condition))
            producer = snapshot.overwrite()
            producer.delete_by_predicate(condition)
            for old, rest in replaced:
                producer.delete_data_file(old)
                files = [*files, *rest]
        for each in files:
            producer.append_data_file(each)
        producer.commit()

    def _written(self, metadata: TableMetadata, table: Table, rows: pa.Table) -> list[DataFile]:
        return write_files(writable(metadata, self.catalog), table.io, rows)

    def _replaced(
        self, table: Table, transaction: Transaction, condition: BooleanExpression
    ) -> list[tuple[DataFile, list[DataFile]]]:
        """The files with rows to replace, each with files of the other rows that it has."""
        metadata = transaction.table_metadata
        found: list[tuple[DataFile, list[DataFile]]] = []
        for task in table.scan(row_filter=condition).plan_files():
            if isinstance(task.residual, AlwaysTrue):
                found.append((task.file, []))
                continue
            scan = ArrowScan(metadata, table.io, metadata.schema(), AlwaysTrue())
            rows = scan.to_table([task])
            others = rows.filter(~mask(condition, metadata.schema()))
            if others.num_rows < rows.num_rows:
                found.append((task.file, self._written(metadata, table, others)))
        return found

    def _check_inside(self, rows: pa.Table, condition: BooleanExpression, transaction: Transaction) -> None:
        if isinstance(condition, AlwaysTrue):
            return
        wrong = outside(rows, condition, transaction.table_metadata.schema())
        if not wrong.num_rows:
            return
        slice_ = self.request.slice_
        shown = ", ".join(
            str(wrong.column(name)[0].as_py())
            for name in wrong.column_names
            if slice_ is not None and name.lower() in {expr.lower() for expr in slice_.exprs}
        )
        raise LineageBridgeError(
            f"The DataFrame for {self.request.table} has a row outside the slice that it replaces"
            f"{f': {shown[:200]}' if shown else ''}. Nothing was written.",
            hint="Filter the DataFrame to the partition or the overwrite_filter.",
        )

    def _commit(self, transaction: Transaction) -> None:
        """Commit once, with PyIceberg's retries.

        Raises:
            CommitOvertakenError: another writer's commit came first.
            LineageBridgeError: the commit failed, or its outcome is unknown.
        """
        name = self.request.table
        try:
            transaction.commit_transaction()
        except (CommitFailedException, ValidationException) as error:
            raise overtaken(name) from error
        except Exception as error:
            failure = translate(error, action="Committing to", where=f"the table {name}")
            if isinstance(failure, ConflictError):
                raise overtaken(name) from error
            table = tables.find(self.catalog, name)
            if table is not None and self._snapshots(table):
                _log.warning("The commit to %s succeeded, though the catalog did not report it.", name)
                return
            raise LineageBridgeError(
                f"The catalog did not report whether the commit to {name} succeeded, and the table does not "
                f"have it now: {failure.message}",
                hint=f"Look at the table {name.sql}.snapshots before the next run.",
            ) from error

    def _result(self, table: Table, plan: ArrowPlan) -> ArrowResult:
        found = table.refresh()
        snapshots = self._snapshots(found)
        result = WriteResult(self.request.table, self.rows.num_rows, snapshots, str(plan.condition))
        return ArrowResult(result, found, plan.condition)

    def _snapshots(self, table: Table) -> tuple[Snapshot, ...]:
        """The write's snapshots, newest first."""
        ours = self.request.marker.write_id
        return tuple(each for each in tables.ancestors(table) if each.summary.get(WRITE_ID) == ours)


def _update_columns(transaction: Transaction, plan: ArrowPlan) -> None:
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for column in plan.drop:
            update.delete_column((column,))
        if plan.drop and plan.evolve is not None:
            for added in plan.evolve.fields:
                update.add_column((added.name,), added.field_type)
        elif plan.evolve is not None:
            update.union_by_name(plan.evolve)


def _unchanged(table: Table, condition: BooleanExpression, before: int | None, after: int | None) -> bool:
    """Whether the rows of a condition are the same in two snapshots, whichever files they are in."""
    if before == after:
        return True

    def rows(snapshot_id: int | None) -> Counter[str]:
        if snapshot_id is None:
            return Counter()
        scan = table.scan(row_filter=condition, snapshot_id=snapshot_id)
        return Counter(map(repr, scan.to_arrow().to_pylist()))

    return rows(before) == rows(after)


def arrow_output_metadata(written: ArrowResult, *, partitions: int, preview_rows: int) -> dict[str, Any]:
    """Metadata of a materialization, read from the snapshot that the write left.

    Args:
        partitions: how many of the asset's partitions; only one has a row count of its own.
        preview_rows: rows to show; 0 shows none.
    """
    table, schema = written.table, written.table.schema()
    snapshots = written.result.snapshots
    last = snapshots[0] if snapshots else None
    scan = table.scan(snapshot_id=last.snapshot_id if last else None)
    in_slice = scan.update(row_filter=written.condition)
    deletes = last and (last.count("total-position-deletes") or last.count("total-equality-deletes"))
    total = scan.count() if deletes or last is None else last.count("total-records")
    one_slice = partitions == 1 and not isinstance(written.condition, AlwaysTrue)
    return {
        **StandardMetadata(
            row_count=total,
            partition_row_count=in_slice.count() if one_slice else None,
            column_schema=column_schema(
                (each.name, sql_type(each.field_type), each.doc, not each.required) for each in schema.fields
            ),
            uri=table.location(),
        ),
        **commit_metadata(written.result),
        **WriteMetadata(preview=_preview(in_slice, schema, preview_rows) if preview_rows else None),
    }


def _preview(scan: Any, schema: Schema, limit: int) -> TableMetadataValue | None:
    """The first rows, of at most 30 columns."""
    columns = schema.fields[:PREVIEW_COLUMNS]
    rows = scan.update(selected_fields=tuple(each.name for each in columns), limit=limit).to_arrow()
    shown = (map(_readable, row.values()) for row in rows.to_pylist())
    return preview([(each.name, sql_type(each.field_type)) for each in columns], shown)


def _readable(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps(value, default=str) if isinstance(value, dict | list) else value
