"""What a write does to its table: decided from schemas and options, before anything is changed.

Nothing of a table is lost by accident: partitioning, sort order, properties and columns that the DataFrame
lacks stay as they are in every mode but overwrite, and there too while the columns stay the same.

The functions are pure: they read no table and start no session. `write` carries the plan out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from pyspark.sql.types import BooleanType, DataType, StructField, StructType

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark import partitioning
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.slices import Slice
from lineage_bridge_dagster.spark.merge import MergeKeys
from lineage_bridge_dagster.spark.mismatch import columns_to_change
from lineage_bridge_dagster.spark.partitioning import PartitionField
from lineage_bridge_dagster.spark.schemas import (
    as_created,
    as_stored,
    by_table,
    check_creatable,
    differences,
    mismatch,
    same_columns,
)


class Action(StrEnum):
    """What becomes of the rows that the table has."""

    APPEND = "append"
    REPLACE_ROWS = "replace rows"
    REPLACE_TABLE = "replace rows and columns"
    REPLACE_SLICE = "replace a slice"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class TableState:
    """What a plan depends on in an existing table.

    `sort_columns` are the columns of every sort order that the table ever had; `is_sorted` is about the
    current one.
    """

    columns: StructType
    partition_by: tuple[PartitionField, ...] = ()
    sort_columns: frozenset[str] = frozenset()
    is_sorted: bool = False


@dataclass(frozen=True, slots=True)
class WritePlan:
    """One write.

    Attributes:
        action: what becomes of the rows that it has.
        columns: what the rows conform to.
        create: the columns of the table, if it has to be created first.
        evolve: the columns to add or widen first.
        partition_by: of a table that is created or replaced.
        condition: SQL condition of the slice, which all written rows must satisfy; empty for the whole table.
        slice_exprs: the expressions whose values name a row outside the slice.
        keys: how a merge matches rows; other actions only check them.
        warnings: what the user might not expect.
    """

    table: TableName
    action: Action
    columns: StructType
    create: StructType | None = None
    evolve: StructType | None = None
    partition_by: tuple[PartitionField, ...] = ()
    condition: str = ""
    slice_exprs: tuple[str, ...] = ()
    keys: MergeKeys | None = None
    warnings: tuple[str, ...] = ()


def plan_write(
    frame: StructType,
    table: TableName,
    state: TableState | None,
    options: WriteOptions,
    *,
    slice_: Slice | None = None,
    types: Mapping[str, DataType] | None = None,
) -> WritePlan:
    """Plan the write of a DataFrame with these columns.

    Args:
        state: of the table, None if it does not exist.
        slice_: the partitions that the rows belong to.
        types: the types of the slice's expressions.

    Raises:
        ConfigurationError: an option names a column that does not exist.
        LineageBridgeError: the table cannot take the frame.
    """
    if not frame.names:
        raise LineageBridgeError(f"The DataFrame for {table} has no columns.", hint="Select some.")
    keys = None
    if options.join_cols:
        keys = MergeKeys(options.join_cols, options.delete_column, options.null_keys == "match").of(
            frame, table
        )
    flag = keys.delete_column if keys else ""
    rows = StructType([field for field in frame if field.name != flag])
    wanted = partitioning.parse(options.partition_by, rows, str(table))
    if state is None:
        check_creatable(rows, f"the DataFrame for {table}")
        transforms = slice_.transforms(types or {}) if slice_ is not None else ()
        fields = wanted or partitioning.parse(transforms, rows, str(table))
        created = as_created(rows)
        planned = _plan_rows(rows, table, TableState(created, fields), options, wanted, keys)
        planned = replace(planned, create=created, partition_by=fields)
    else:
        planned = _plan_rows(rows, table, state, options, wanted, keys)
    if slice_ is not None:
        return replace(planned, condition=slice_.condition(types or {}), slice_exprs=slice_.exprs)
    everything = options.write_mode != "overwrite_slice" or options.overwrite_filter == "true"
    return planned if everything else replace(planned, condition=options.overwrite_filter)


def _plan_rows(
    rows: StructType,
    table: TableName,
    state: TableState,
    options: WriteOptions,
    wanted: tuple[PartitionField, ...],
    keys: MergeKeys | None,
) -> WritePlan:
    where = f"the DataFrame for {table}"
    named = by_table(rows, state.columns, where)
    keeps_partitioning = not wanted or partitioning.same(wanted, state.partition_by)
    if options.write_mode == "overwrite":
        if keeps_partitioning and same_columns(rows, state.columns, where):
            return WritePlan(table, Action.REPLACE_ROWS, state.columns)
        return _plan_replacement(rows, table, state, wanted)
    warnings = () if keeps_partitioning else (_stays_partitioned(table, state.partition_by, wanted),)
    merges = options.write_mode == "merge"
    changed = columns_to_change(
        differences(rows, state.columns, where),
        merges=merges,
        may_change=options.schema_update_mode != "error",
        error=lambda found: mismatch(found, str(table)),
    )
    evolve = None
    if changed:
        evolve = as_created(StructType([field for field in rows if field.name in changed]))
        check_creatable(evolve, where)
    columns = state.columns
    if merges and keys:
        table_names = {field.name: name for name, field in named.items()}
        keys = replace(keys, columns=tuple(table_names[name] for name in keys.columns))
        flag = [StructField(keys.delete_column, BooleanType())] if keys.delete_column else []
        columns = StructType([*(field for field in columns if field.name in named), *flag])
    action = {
        "merge": Action.MERGE,
        "append": Action.APPEND,
        "overwrite_slice": Action.REPLACE_SLICE,
    }[options.write_mode]
    return WritePlan(table, action, columns, evolve=evolve, keys=keys, warnings=warnings)


def _plan_replacement(
    rows: StructType, table: TableName, state: TableState, wanted: tuple[PartitionField, ...]
) -> WritePlan:
    """Other columns or another partitioning: they replace the table's, and its snapshots stay."""
    check_creatable(rows, f"the DataFrame for {table}")
    names = {name.lower() for name in rows.names}
    if missing := sorted(c for c in state.sort_columns if not {c.lower(), c.lower().split(".")[0]} & names):
        raise LineageBridgeError(
            f"{table} was once sorted by a column that the DataFrame lacks, {missing[0]}, and Iceberg cannot "
            "replace the columns of such a table.",
            hint="Keep that column, or drop the table first; its snapshots go with it.",
        )
    warnings = []
    fields = wanted
    if not fields:
        types = {field.name.lower(): as_stored(field.dataType) for field in rows}
        unchanged = {
            f.name.lower() for f in state.columns if types.get(f.name.lower()) == as_stored(f.dataType)
        }
        fields = tuple(field for field in state.partition_by if field.path[0].lower() in unchanged)
        warnings = [
            f"{table} is no longer partitioned by {field}: its column changed."
            for field in state.partition_by
            if field not in fields
        ]
    if state.is_sorted:
        warnings.append(f"{table} gets other columns, and loses its sort order; set it again.")
    return WritePlan(table, Action.REPLACE_TABLE, rows, partition_by=fields, warnings=tuple(warnings))


def _stays_partitioned(
    table: TableName, current: tuple[PartitionField, ...], wanted: tuple[PartitionField, ...]
) -> str:
    return (
        f"{table} stays partitioned by {', '.join(map(str, current)) or 'nothing'}; only a new table or "
        f"write_mode overwrite takes partition_by {', '.join(map(str, wanted))}. "
        "Change it with ALTER TABLE ... REPLACE PARTITION FIELD."
    )
