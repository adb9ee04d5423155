"""Names that differ only by case, in frames, tables and options; names of partition fields."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from dagster import AssetIn, AssetSpec, asset

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.spark.io.iceberg_manager import IcebergIOManager
from lineage_bridge_dagster_tests.spark.io.runs import failure_of, run, stored

APPEND = {"write_mode": "append"}
MAP_OF_A, MAP_OF_UPPER_A = (pa.map_(pa.string(), pa.struct([(name, pa.int64())])) for name in ("a", "A"))
TIME = pa.array([0], pa.timestamp("us"))


def existing(manager: IcebergIOManager, frame: pa.Table) -> None:
    """The table `orders` as another writer may have left it."""
    catalog = open_catalog(manager.tables, manager.tables.default.name)
    catalog.create_namespace_if_not_exists(("sales",))
    catalog.create_table(("sales", "orders"), frame.schema).append(frame)


def write(manager: IcebergIOManager, frame: Any, **options: Any) -> str:
    """Write the table `orders`; the failure, if there is one."""

    @asset(key="orders", metadata=options)
    def orders() -> Any:
        return frame

    result = run(manager, orders, raise_on_error=False)
    return "" if result.success else failure_of(result)


def written(manager: IcebergIOManager) -> list[dict[str, Any]]:
    """The rows of the table, newest first."""
    return stored(manager, "orders").scan().to_arrow().to_pylist()


@pytest.mark.parametrize(
    ("table", "frame", "options"),
    [
        (None, pa.table({"Id": [1], "id": [2]}), {}),
        (None, pl.DataFrame({"userId": [1], "userid": [3]}), {}),
        (None, pd.DataFrame([[1, 2]], columns=["a", "a"]), {}),
        (None, pd.DataFrame({"ID": [1]}, index=pd.Index([7], name="id")), {}),
        (None, pa.table({"s": [{"a": 1, "A": 2}]}), {}),
        (None, pa.table({"l": [[{"m": {"x": 1, "X": 2}}]]}), {}),
        ({"id": [1]}, pa.table({"id": [2], "ID": [3]}), APPEND),
        ({"id": [1]}, pa.table({"id": [2], "ID": [3]}), APPEND | {"schema_update_mode": "update"}),
        ({"id": [1]}, pa.table({"id": [2], "ID": [3]}), {}),
        ({"id": [1]}, pa.table({"id": [2], "N": [3], "n": [4]}), APPEND | {"schema_update_mode": "update"}),
        ({"s": [{"a": 1}]}, pa.table({"s": [{"a": 2, "A": 3}]}), APPEND),
    ],
)
def test_frame_with_names_that_others_take_for_one_is_refused(
    manager: IcebergIOManager, table: dict[str, Any] | None, frame: Any, options: dict[str, Any]
) -> None:
    if table is not None:
        existing(manager, pa.table(table))
    failure = write(manager, frame, **options)
    assert "of the DataFrame for lake.sales.orders" in failure
    assert "differ only by case" in failure or "have the same name" in failure
    if table is not None:
        assert written(manager) == pa.table(table).to_pylist()


@pytest.mark.parametrize(
    ("table", "frame", "options", "newest"),
    [
        ({"l": [[{"a": 1}]]}, {"l": [[{"A": 2}]]}, APPEND, {"l": [{"a": 2}]}),
        (
            {"m": pa.array([[("k", {"a": 1})]], MAP_OF_A)},
            {"M": pa.array([[("k", {"A": 2})]], MAP_OF_UPPER_A)},
            APPEND,
            {"m": [("k", {"a": 2})]},
        ),
        ({"o": [{"p": {"q": 1}}]}, {"O": [{"P": {"Q": 5}}]}, APPEND, {"o": {"p": {"q": 5}}}),
        ({"o": [{"p": {"q": 1}}]}, {"O": [{"P": {"Q": 5}}]}, {}, {"o": {"p": {"q": 5}}}),
        (
            {"s": [{"a": 1}]},
            {"s": [{"A": 2, "b": 3}]},
            APPEND | {"schema_update_mode": "update"},
            {"s": {"a": 2, "b": 3}},
        ),
        (
            {"id": [1], "s": [{"a": 1}]},
            {"ID": [1], "S": [{"A": 9}]},
            {"write_mode": "merge", "join_cols": ["iD"]},
            {"id": 1, "s": {"a": 9}},
        ),
        (
            {"id": [1], "s": [{"a": 1}]},
            {"ID": [1], "S": [{"A": 9}]},
            {"write_mode": "overwrite_slice", "overwrite_filter": "S.A < 10"},
            {"id": 1, "s": {"a": 9}},
        ),
        # A table that has both: each is written by its exact name.
        ({"a": [1], "A": [2]}, {"A": [20], "a": [10]}, APPEND, {"a": 10, "A": 20}),
        ({"a": [1], "A": [2]}, {"A": [20]}, APPEND, {"a": None, "A": 20}),
        (
            {"id": [1], "ID": [6], "v": [0]},
            {"id": [2], "ID": [6], "v": [9]},
            {"write_mode": "merge", "join_cols": ["ID"]},
            {"id": 2, "ID": 6, "v": 9},
        ),
        (
            {"a": [1], "A": [2]},
            {"a": [1], "A": [7]},
            {"write_mode": "overwrite_slice", "overwrite_filter": "a = 1"},
            {"a": 1, "A": 7},
        ),
    ],
)
def test_columns_and_fields_go_where_their_names_say(
    manager: IcebergIOManager,
    table: dict[str, Any],
    frame: dict[str, Any],
    options: dict[str, Any],
    newest: dict[str, Any],
) -> None:
    existing(manager, pa.table(table))
    assert not write(manager, pa.table(frame), **options)
    assert written(manager)[0] == newest


def test_options_of_an_input_name_columns_exactly_or_alone(manager: IcebergIOManager) -> None:
    existing(manager, pa.table({"id": [1, 2], "a": [10, 20], "A": [11, 21], "S": [{"f": 1, "F": 2}] * 2}))

    def read(**options: Any) -> Any:
        seen: list[Any] = []

        @asset(ins={"orders": AssetIn(metadata=options)})
        def reader(orders: pa.Table) -> None:
            seen.append(orders.to_pylist())

        result = run(manager, AssetSpec("orders"), reader, raise_on_error=False)
        return seen[0] if result.success else failure_of(result)

    assert read(columns=["ID", "a"]) == [{"id": 1, "a": 10}, {"id": 2, "a": 20}]
    assert read(columns=["s.F"], filter="a = 10 AND s.F = 2") == [{"F": 2}]
    assert read(columns=["A"], filter="NOT (A = 11 OR Id IN (7))") == [{"A": 21}]
    assert "s.x" in read(columns=["s.x"])
    assert "have the same name" in read(columns=["id", "ID"])
    assert "have the same name" in read(columns=["S.f", "s.f"])
    existing_pair = "which differ only by case"
    for ambiguous in ({"columns": ["S.f", "id"]}, {"filter": "a = 10"}):
        assert isinstance(read(**ambiguous), list)
    table = stored(manager, "orders")
    with table.update_schema() as update:
        update.rename_column("a", "aA")
        update.rename_column("A", "Aa")
    assert existing_pair in read(filter="aa = 10")
    assert existing_pair in read(columns=["AA"])


@pytest.mark.parametrize(
    ("frame", "partition_by", "expected"),
    [
        ({"ts": TIME, "ts_day": ["x"]}, ["days(ts)"], ["ts_day_2"]),
        ({"ts": TIME, "TS_Day": ["x"], "ts_day_2": ["y"]}, ["days(TS)"], ["ts_day_3"]),
        ({"id": [1]}, ["bucket(4, id)", "bucket(8, id)", "id"], ["id_bucket", "id_bucket_2", "id"]),
        ({"S": [{"Ts": 1}], "id": [1]}, ["s.ts", "truncate(10, ID)"], ["S.Ts", "id_trunc"]),
        ({"ts": TIME}, ["days(ts)", "hours(ts)"], "has both day(ts) and hour(ts)"),
        ({"s": ["x"]}, ["days(s)"], "Invalid source field s with type string for transform: day"),
    ],
)
def test_partition_fields_have_names_of_their_own(
    manager: IcebergIOManager, frame: dict[str, Any], partition_by: list[str], expected: list[str] | str
) -> None:
    for _ in range(2):
        failure = write(manager, pa.table(frame), write_mode="append", partition_by=partition_by)
        if isinstance(expected, str):
            assert expected in failure
            assert "credentials" not in failure
        else:
            assert not failure
    if not isinstance(expected, str):
        table = stored(manager, "orders")
        assert [field.name for field in table.spec().fields] == expected
        assert table.scan().to_arrow().num_rows == 2


def test_column_with_the_name_of_a_partition_field_is_refused_by_name(manager: IcebergIOManager) -> None:
    assert not write(manager, pa.table({"ts": TIME}), partition_by=["days(ts)"])
    frame = pa.table({"ts": TIME, "ts_day": ["x"]})
    failure = write(manager, frame, write_mode="append", schema_update_mode="update")
    assert "cannot take the columns of this DataFrame" in failure
    assert "ts_day" in failure
