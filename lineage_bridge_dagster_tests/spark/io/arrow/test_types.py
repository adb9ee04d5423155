"""Types that the libraries of frames do not have: what goes along with a frame, and what the table adds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from dagster import AssetSpec, asset
from pyiceberg.schema import Schema

from lineage_bridge_dagster.spark.io.iceberg_manager import IcebergIOManager
from lineage_bridge_dagster_tests.spark.io.arrow.test_names import existing, write, written
from lineage_bridge_dagster_tests.spark.io.runs import failure_of, run, stored

HEADERS = pa.map_(pa.string(), pa.binary())
#: A table such as Tableflow's, with a column of each type, and with nulls.
RECORDS = pa.table(
    {
        "id": pa.array([1, None]),
        "$$headers": pa.array([None, None], HEADERS),
        "headers": pa.array([[("k", b"v")], None], HEADERS),
        "note": pa.array([None, None], pa.string()),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
        "tags": pa.array([[], None], pa.list_(pa.string())),
        "nested": pa.array(
            [{"on": None, "price": Decimal(2), "n": 2**53 + 1}, {"on": None, "price": None, "n": None}],
            pa.struct([("on", pa.date32()), ("price", pa.decimal128(8, 2)), ("n", pa.int64())]),
        ),
        "options": pa.array(
            [[{"k": [("a", 1)]}], []], pa.list_(pa.struct([("k", pa.map_(pa.string(), pa.int64()))]))
        ),
        "code": pa.array([b"abcd", None], pa.binary(4)),
        "uuid": pa.array([bytes(16), None], pa.uuid()),
        "day": pa.array([date(2026, 1, 2), None]),
        "at": pa.array([datetime(2026, 1, 2, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "local": pa.array([datetime(2026, 1, 2), None], pa.timestamp("us")),
        "time": pa.array([time(1, 2, 3), None], pa.time64("us")),
        "flag": pa.array([True, None]),
        "small": pa.array([None, 1], pa.int32()),
        "ratio": pa.array([None, 0.5], pa.float32()),
        "raw": pa.array([None, b"\xff"]),
    }
)
OTHER = pd.DataFrame({"id": pd.array([1, None], "Int64"), "other": ["x", "y"]})


def loaded(manager: IcebergIOManager, kind: type) -> Any:
    seen: list[Any] = []

    def reader(orders: Any) -> None:
        seen.append(orders)

    reader.__annotations__["orders"] = kind
    assert run(manager, AssetSpec("orders"), asset(reader)).success
    return seen[0]


def copied(manager: IcebergIOManager, frame: Any) -> tuple[Schema, list[dict[str, Any]]]:
    """The columns and rows of a new table."""

    @asset(key="copy")
    def copy() -> Any:
        return frame

    result = run(manager, copy, raise_on_error=False)
    assert result.success, failure_of(result)
    table = stored(manager, "copy")
    return table.schema(), table.scan().to_arrow().to_pylist()


def types(schema: Schema) -> dict[str, str]:
    """Each column's Iceberg type, without the ids of fields."""
    arrow = schema.as_arrow()
    return {name: str(arrow.field(name).remove_metadata().type) for name in arrow.names if name != "other"}


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.Table, pa.RecordBatchReader])
def test_frame_that_was_read_makes_the_same_table(manager: IcebergIOManager, kind: type) -> None:
    existing(manager, RECORDS)
    schema, rows = copied(manager, loaded(manager, kind))
    assert types(schema) == types(stored(manager, "orders").schema())
    assert rows == written(manager)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame[frame["id"].isna()],
        lambda frame: frame.iloc[:0],
        lambda frame: frame.assign(other="x"),
        lambda frame: frame.sort_values("at").reset_index(drop=True),
        lambda frame: frame.astype({"small": "Int64"}).astype({"small": "Int32"}),
        lambda frame: pd.concat([frame, frame]),
    ],
)
def test_types_survive_operations_of_pandas(manager: IcebergIOManager, change: Callable[[Any], Any]) -> None:
    existing(manager, RECORDS)
    schema, _ = copied(manager, change(loaded(manager, pd.DataFrame)))
    assert types(schema) == types(stored(manager, "orders").schema())


def test_merged_frame_keeps_maps_and_what_is_all_null(manager: IcebergIOManager) -> None:
    existing(manager, RECORDS.select(["id", "$$headers", "headers", "note", "options"]))
    # The attributes get lost: the other frame does not have them.
    frame = loaded(manager, pd.DataFrame).merge(OTHER, on="id")
    assert not frame.attrs
    schema, _ = copied(manager, frame)
    assert types(schema) == types(stored(manager, "orders").schema())


@pytest.mark.parametrize(
    "frame_of",
    [
        # Plain Python values, as of a frame that a user has built.
        lambda manager: pd.DataFrame(
            {name: RECORDS.column(name).to_pylist() for name in RECORDS.column_names}
        ),
        lambda manager: (
            loaded(manager, pd.DataFrame).rename(columns=str.upper).merge(OTHER, left_on="ID", right_on="id")
        ),
        lambda manager: loaded(manager, pl.DataFrame),
        lambda manager: loaded(manager, pl.LazyFrame),
    ],
)
def test_types_that_got_lost_are_those_of_the_table(
    manager: IcebergIOManager, frame_of: Callable[[IcebergIOManager], Any]
) -> None:
    existing(manager, RECORDS)
    before = types(stored(manager, "orders").schema())
    frame = frame_of(manager)
    if isinstance(frame, pd.DataFrame):
        columns = {"other"} | ({"id"} if "ID" in frame.columns else {"id_"})
        frame = frame.drop(columns=[name for name in columns if name in frame.columns])
        by_name = {str(name).lower(): name for name in frame.columns}
        frame = frame.astype({by_name["id"]: "Int64", by_name["small"]: "Int32", by_name["ratio"]: "float32"})
    assert not write(manager, frame, write_mode="append")
    rows = written(manager)
    assert types(stored(manager, "orders").schema()) == before
    assert sorted(map(repr, rows)) == sorted(2 * [repr(row) for row in RECORDS.to_pylist()])


@pytest.mark.parametrize(
    ("frame", "column", "hint"),
    [
        (pd.DataFrame({"id": [1], "n": [None]}), "n", "frame['n'].astype(pandas.ArrowDtype(type))"),
        (pd.DataFrame({"id": [1], "n": [[]]}), "n.element", "frame['n'].astype(pandas.ArrowDtype(type))"),
        (pl.DataFrame({"id": [1], "n": [None]}), "n", "polars.col('n').cast(type)"),
        (pl.LazyFrame({"id": [1], "n": [{"x": None}]}), "n.x", "polars.col('n').cast(type)"),
        (pa.table({"id": [1], "n": pa.nulls(1)}), "n", "table.column('n').cast(type)"),
    ],
)
def test_column_without_a_type_is_named_or_takes_that_of_the_table(
    manager: IcebergIOManager, frame: Any, column: str, hint: str
) -> None:
    failure = write(manager, frame)
    assert f"Column {column} of the DataFrame for lake.sales.orders has no type" in failure
    assert hint in failure
    existing(manager, pa.table({"id": [1], "other": ["x"]}))
    assert f"Column {column} of the DataFrame" in write(
        manager, frame, write_mode="append", schema_update_mode="update"
    )


def test_values_are_not_cut_to_the_type_that_a_frame_once_had(manager: IcebergIOManager) -> None:
    existing(manager, RECORDS.select(["id", "day", "price", "code"]))
    frame = loaded(manager, pd.DataFrame)
    frame["day"] = pd.Series([datetime(2026, 1, 2, 3, 4), None], dtype=object)
    frame["price"] = pd.Series([Decimal("1.555"), None], dtype=object)
    frame["code"] = pd.Series([b"abc", b"abcde"], dtype=object)
    schema, rows = copied(manager, frame)
    assert types(schema)["price"] == "decimal128(4, 3)"
    assert rows[0]["day"] == datetime(2026, 1, 2, 3, 4)
    assert [row["code"] for row in rows] == [b"abc", b"abcde"]
    assert "code" in write(manager, frame[["id", "code"]], write_mode="append")
