"""What a write of Arrow data does to its table: decided from schemas and options, before anything is changed.

The rules are those of the Spark path, in `spark.io.plan`, with one exception: a column that the table is or
was partitioned or sorted by is never replaced. The functions are pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.schema import Schema

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark import partitioning
from lineage_bridge_dagster.spark.column_names import match
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.arrow.conditions import parsed, slice_filter, slice_types
from lineage_bridge_dagster.spark.io.arrow.schemas import (
    differences,
    iceberg_schema,
    mismatch,
    same_columns,
    sql_type,
)
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.slices import Slice
from lineage_bridge_dagster.spark.mismatch import columns_to_change
from lineage_bridge_dagster.spark.partitioning import PartitionField


class ArrowAction(StrEnum):
    """What becomes of the rows that the table has."""

    APPEND = "append"
    REPLACE = "replace the rows of a condition"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class ArrowState:
    """What a plan depends on in an existing table; `fixed` are columns that it is or was arranged by."""

    schema: Schema
    partition_by: tuple[PartitionField, ...] = ()
    fixed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ArrowPlan:
    """One write.

    Attributes:
        action: what becomes of the rows that the table has.
        condition: the rows to replace, which all written rows satisfy.
        evolve: the columns to add or widen in the same commit.
        drop: the columns to drop in the same commit, before those of `evolve` are added.
        warnings: what the user might not expect.
    """

    action: ArrowAction
    condition: BooleanExpression
    evolve: Schema | None = None
    drop: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def plan_creation(
    frame: pa.Schema, table: TableName, options: WriteOptions, slice_: Slice | None
) -> tuple[Schema, tuple[PartitionField, ...]]:
    """The columns and partition fields of a new table; without `partition_by`, slices are whole files."""
    schema = iceberg_schema(frame, str(table))
    texts = options.partition_by
    if not texts and slice_ is not None:
        texts = slice_.transforms(slice_types(slice_, schema, str(table)))
    return schema, partitioning.parse(texts, schema, str(table))


def plan_arrow_write(
    frame: pa.Schema, table: TableName, state: ArrowState, options: WriteOptions, slice_: Slice | None = None
) -> ArrowPlan:
    """Plan the write of storable columns to an existing table.

    Raises:
        ConfigurationError: an option names a column that does not exist, or a condition is malformed.
        LineageBridgeError: the table cannot take the frame.
    """
    schema = iceberg_schema(frame, str(table))
    wanted = partitioning.parse(options.partition_by, schema, str(table))
    warnings: tuple[str, ...] = ()
    if wanted and not partitioning.same(wanted, state.partition_by):
        warnings = (
            f"{table} stays partitioned by {', '.join(map(str, state.partition_by)) or 'nothing'}; only a "
            f"new table takes partition_by {', '.join(map(str, wanted))}.",
        )
    if options.write_mode == "overwrite" and not same_columns(schema, state.schema):
        return replace(_plan_replacement(schema, table, state), warnings=warnings)
    changed = columns_to_change(
        differences(schema, state.schema),
        merges=options.write_mode == "merge",
        may_change=options.schema_update_mode != "error",
        error=lambda found: mismatch(found, str(table)),
    )
    evolve = Schema(*(field for field in schema.fields if field.name in changed)) if changed else None
    action = {"append": ArrowAction.APPEND, "merge": ArrowAction.MERGE}.get(
        options.write_mode, ArrowAction.REPLACE
    )
    return ArrowPlan(action, _condition(schema, table, state, options, slice_), evolve, warnings=warnings)


def _condition(
    schema: Schema, table: TableName, state: ArrowState, options: WriteOptions, slice_: Slice | None
) -> BooleanExpression:
    names = {field.name for field in state.schema.fields}
    new = [field for field in schema.fields if field.name not in names]
    known = Schema(*state.schema.fields, *(_renumbered(new, state.schema.highest_field_id)))
    if slice_ is not None:
        return slice_filter(slice_, known, str(table))
    if options.write_mode == "overwrite_slice" and options.overwrite_filter != "true":
        return parsed(options.overwrite_filter, known, f"overwrite_filter of {table}")
    return AlwaysTrue()


def _plan_replacement(schema: Schema, table: TableName, state: ArrowState) -> ArrowPlan:
    kept = {field.name: sql_type(field.field_type) for field in schema.fields}
    before = {field.name: sql_type(field.field_type) for field in state.schema.fields}
    drop = tuple(name for name, kind in before.items() if kept.get(name) != kind)
    if fixed := sorted(set(drop) & state.fixed):
        raise LineageBridgeError(
            f"{table} is or was partitioned or sorted by {fixed[0]}, which the DataFrame lacks or has in "
            "another type.",
            hint="Keep that column, or drop the table first; its snapshots go with it.",
        )
    add = [field for field in schema.fields if before.get(field.name) != sql_type(field.field_type)]
    return ArrowPlan(ArrowAction.REPLACE, AlwaysTrue(), evolve=Schema(*add) if add else None, drop=drop)


def with_merge_columns(options: WriteOptions, frame: pa.Schema, table: TableName) -> WriteOptions:
    """The options with the names that a frame has for the columns of its merge.

    Raises:
        ConfigurationError: it lacks one, or has several that are meant, or the type of one does not fit.
    """
    columns = frame.names

    def named(name: str, option: str) -> str:
        if (found := match(name, columns, f"{option} of {table}")) is None:
            raise ConfigurationError(
                f"{option} of {table} names {name}, which is not a column of the DataFrame.",
                hint=f"The columns are {', '.join(columns[:30])}.",
            )
        return found

    flag = named(options.delete_column, "delete_column") if options.delete_column else ""
    if flag and not pa.types.is_boolean(kind := frame.field(flag).type):
        raise ConfigurationError(
            f"delete_column {flag} of {table} is {kind}.",
            hint="Make it a boolean that is true on rows to delete.",
        )
    keys = tuple(named(name, "join_cols") for name in options.join_cols)
    for name in keys:
        kind = frame.field(name).type
        if pa.types.is_nested(kind) or isinstance(kind, pa.UuidType):
            raise ConfigurationError(
                f"join_cols of {table} names {name}, of type {kind}, which PyIceberg cannot compare.",
                hint="Name columns of numbers, text, times or bytes, or return a Spark DataFrame.",
            )
    return replace(options, join_cols=keys, delete_column=flag)


def _renumbered(fields: list, highest: int) -> list:  # type: ignore[type-arg]
    return [field.model_copy(update={"field_id": highest + 1000 + n}) for n, field in enumerate(fields)]
