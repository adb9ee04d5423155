"""What a write does to its table, decided from schemas and options. No session is started here."""

from __future__ import annotations

from typing import Any

import pytest
from dagster import DailyPartitionsDefinition
from pyspark.sql.types import StructType, TimestampType

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark import partitioning
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.plan import Action, TableState, WritePlan, plan_write
from lineage_bridge_dagster.spark.io.slices import slice_of
from lineage_bridge_dagster.spark.merge import MergeKeyError, MergeKeys
from lineage_bridge_dagster.spark.mismatch import SchemaMismatchError

TABLE = TableName("glue", "lkc-1", "orders.v1")


def schema(**columns: str) -> StructType:
    """Columns by Spark's JSON names of types."""
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in columns.items()]
    return StructType.fromJson({"type": "struct", "fields": fields})


ORDERS = schema(id="integer", country="string", total="double")


def state(columns: StructType = ORDERS, *partition_by: str, **more: Any) -> TableState:
    return TableState(columns, partitioning.parse(partition_by, columns, "t"), **more)


def plan(
    frame: StructType = ORDERS, table: TableState | None = None, mode: str = "append", **options: Any
) -> WritePlan:
    return plan_write(frame, TABLE, table, WriteOptions(write_mode=mode, **options))


def fields(planned: WritePlan) -> list[str]:
    return [str(field) for field in planned.partition_by]


@pytest.mark.parametrize(
    ("mode", "action", "options"),
    [
        ("append", Action.APPEND, {}),
        ("overwrite", Action.REPLACE_ROWS, {}),
        ("overwrite_slice", Action.REPLACE_SLICE, {"overwrite_filter": "country = 'de'"}),
        ("merge", Action.MERGE, {"join_cols": ("id",)}),
    ],
)
@pytest.mark.parametrize("table", [None, state()])
def test_each_mode_is_one_action_on_a_new_and_on_an_existing_table(
    mode: str, action: Action, options: dict[str, Any], table: TableState | None
) -> None:
    planned = plan(ORDERS, table, mode, **options)
    assert (planned.action, planned.columns, planned.warnings) == (action, ORDERS, ())
    assert planned.condition == options.get("overwrite_filter", "")
    assert planned.create == (ORDERS if table is None else None)
    assert planned.evolve is None


def test_new_table_has_nullable_columns_in_stored_types() -> None:
    frame = StructType().add("id", "short", nullable=False).add("deleted", "boolean")
    planned = plan(frame, None, "merge", join_cols=("id",), delete_column="deleted")
    assert planned.create == schema(id="integer")
    assert planned.columns == schema(id="integer", deleted="boolean")


def test_new_table_is_partitioned_by_partition_by_or_else_by_the_slice() -> None:
    days = DailyPartitionsDefinition("2026-01-01")
    by_day = slice_of(days, ["2026-01-02"], "at", "sales")
    frame = schema(id="integer", at="timestamp")
    options = WriteOptions(write_mode="overwrite_slice", partition_expr="at")
    planned = plan_write(frame, TABLE, None, options, slice_=by_day, types={"at": TimestampType()})
    assert fields(planned) == ["day(at)"]
    assert planned.condition.startswith("(((at >= TIMESTAMP '2026-01-02 00:00:00+00:00'")
    assert planned.slice_exprs == ("at",)
    explicit = WriteOptions(write_mode="append", partition_by=("bucket(4, id)",))
    planned = plan_write(frame, TABLE, None, explicit, slice_=by_day, types={"at": TimestampType()})
    assert fields(planned) == ["bucket(4, id)"]


def test_overwrite_keeps_the_table_while_columns_and_partitioning_are_the_same() -> None:
    table = state(ORDERS, "country", "bucket(4, id)")
    reordered = schema(TOTAL="double", id="integer", Country="string")
    assert plan(reordered, table, "overwrite").action is Action.REPLACE_ROWS
    same = plan(ORDERS, table, "overwrite", partition_by=("Country", "bucket(4, id)"))
    assert (same.action, same.columns) == (Action.REPLACE_ROWS, ORDERS)


def test_overwrite_with_other_columns_keeps_partition_fields_of_unchanged_columns() -> None:
    table = state(ORDERS, "country", "truncate(10, id)", is_sorted=True, sort_columns=frozenset({"id"}))
    frame = schema(country="string", id="string")
    planned = plan(frame, table, "overwrite")
    assert (planned.action, planned.columns, fields(planned)) == (Action.REPLACE_TABLE, frame, ["country"])
    assert planned.warnings == (
        "glue.lkc-1.orders.v1 is no longer partitioned by truncate(10, id): its column changed.",
        "glue.lkc-1.orders.v1 gets other columns, and loses its sort order; set it again.",
    )
    explicit = plan(ORDERS, state(ORDERS, "country"), "overwrite", partition_by=("truncate(1, country)",))
    assert (explicit.action, fields(explicit)) == (Action.REPLACE_TABLE, ["truncate(1, country)"])


def test_overwrite_without_a_column_that_the_table_was_ever_sorted_by_is_refused() -> None:
    table = state(ORDERS, sort_columns=frozenset({"id"}))
    with pytest.raises(LineageBridgeError, match=r"was once sorted by a column that the DataFrame lacks, id"):
        plan(schema(country="string"), table, "overwrite")
    assert plan(schema(ID="string"), table, "overwrite").action is Action.REPLACE_TABLE


def test_new_and_wider_columns_evolve_the_table_on_request_only() -> None:
    frame = schema(id="long", country="string", note="string")
    with pytest.raises(SchemaMismatchError, match="column id: bigint in the DataFrame, int in the table"):
        plan(frame, state())
    planned = plan(frame, state(), schema_update_mode="update")
    assert planned.evolve == schema(id="long", note="string")
    with pytest.raises(SchemaMismatchError, match=r'cast\("double"\)'):
        plan(schema(id="long", total="string"), state(), schema_update_mode="update")


def test_merge_sets_only_the_columns_of_the_frame() -> None:
    table = StructType().add("id", "integer").add("note", "string", nullable=False).add("total", "double")
    planned = plan(schema(total="double", id="integer"), state(table), "merge", join_cols=("id",))
    assert planned.columns == schema(id="integer", total="double")
    assert planned.keys == MergeKeys(("id",))
    # An append needs a value for the required column.
    with pytest.raises(SchemaMismatchError, match="note: required in the table"):
        plan(schema(id="integer", total="double"), state(table))


def test_full_refresh_of_a_merge_replaces_all_rows_and_still_checks_the_keys() -> None:
    options = WriteOptions(write_mode="merge", join_cols=("id",), delete_column="gone").full_refresh()
    planned = plan_write(schema(id="integer", gone="boolean"), TABLE, state(), options)
    assert (planned.action, planned.condition) == (Action.REPLACE_SLICE, "")
    assert planned.keys == MergeKeys(("id",), "gone")
    assert planned.columns == ORDERS


def test_another_partitioning_is_only_a_warning_where_rows_are_kept() -> None:
    planned = plan(ORDERS, state(ORDERS, "country"), partition_by=("bucket(4, id)",))
    (warning,) = planned.warnings
    assert warning.startswith("glue.lkc-1.orders.v1 stays partitioned by country; only a new table")
    assert planned.partition_by == ()


@pytest.mark.parametrize("table", [None, state()])
@pytest.mark.parametrize(
    ("error", "message", "frame", "mode", "options"),
    [
        (LineageBridgeError, "has no columns", StructType(), "append", {}),
        (
            ConfigurationError,
            r"names nope, which is not a column[^>]*> The columns are id",
            ORDERS,
            "append",
            {"partition_by": ("days(nope)",)},
        ),
        (
            ConfigurationError,
            "is not a partition transform",
            ORDERS,
            "append",
            {"partition_by": ("weeks(id)",)},
        ),
        (
            LineageBridgeError,
            "Column country .* has no type",
            schema(id="integer", country="void"),
            "overwrite",
            {},
        ),
        (
            MergeKeyError,
            "no column order_id, which join_cols names[^>]*> Its columns are id",
            ORDERS,
            "merge",
            {"join_cols": ("order_id",)},
        ),
        (
            MergeKeyError,
            "delete_column country .* is string",
            ORDERS,
            "merge",
            {"join_cols": ("id",), "delete_column": "country"},
        ),
    ],
)
def test_a_frame_that_the_options_do_not_fit_is_refused(
    table: TableState | None,
    error: type[Exception],
    message: str,
    frame: StructType,
    mode: str,
    options: dict[str, Any],
) -> None:
    with pytest.raises(error, match=message):
        plan(frame, table, mode, **options)
