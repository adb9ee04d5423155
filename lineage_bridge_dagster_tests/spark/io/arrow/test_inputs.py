"""Frames as users have them: each is stored without loss, or refused by the name of its column."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal as D
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lineage_bridge_dagster.spark.io.iceberg_manager import IcebergIOManager
from lineage_bridge_dagster_tests.spark.io.arrow.test_names import existing, write, written
from lineage_bridge_dagster_tests.spark.io.runs import stored

APPEND = {"write_mode": "append"}
UTC = dt.UTC
NEW_YEAR = dt.datetime(2026, 1, 1)
NAN = float("nan")


def objects(*values: Any) -> pd.Series:
    return pd.Series(list(values), dtype=object)


#: A frame, the Iceberg type of its column `c`, and the values that are read back.
STORED: dict[str, tuple[Any, str, list[Any]]] = {
    "whole microseconds in nanoseconds": (
        pd.DataFrame({"c": pd.to_datetime(["2026-01-01 00:00:00.000001"])}),
        "timestamp",
        [NEW_YEAR + dt.timedelta(microseconds=1)],
    ),
    "seconds": (
        pa.table({"c": pa.array([1], pa.timestamp("s"))}),
        "timestamp",
        [dt.datetime(1970, 1, 1, 0, 0, 1)],
    ),
    "another time zone": (
        pd.DataFrame({"c": pd.to_datetime(["2026-07-01 12:00"]).tz_localize("Europe/Berlin")}),
        "timestamptz",
        [dt.datetime(2026, 7, 1, 10, tzinfo=UTC)],
    ),
    "an offset": (
        pa.table({"c": pa.array([0], pa.timestamp("ms", "+02:00"))}),
        "timestamptz",
        [dt.datetime(1970, 1, 1, tzinfo=UTC)],
    ),
    "times of several zones": (
        pd.DataFrame(
            {
                "c": objects(
                    NEW_YEAR.replace(tzinfo=UTC), NEW_YEAR.replace(tzinfo=dt.timezone(dt.timedelta(hours=2)))
                )
            }
        ),
        "timestamptz",
        [NEW_YEAR.replace(tzinfo=UTC), NEW_YEAR.replace(tzinfo=UTC) - dt.timedelta(hours=2)],
    ),
    "first and last year": (
        pd.DataFrame({"c": objects(dt.datetime(1, 1, 1), dt.datetime.max)}),
        "timestamp",
        [dt.datetime(1, 1, 1), dt.datetime.max],
    ),
    "date64": (pa.table({"c": pa.array([86_400_000], pa.date64())}), "date", [dt.date(1970, 1, 2)]),
    "dates with NaT": (pd.DataFrame({"c": objects(dt.date.min, pd.NaT)}), "date", [dt.date.min, None]),
    "time": (pl.DataFrame({"c": [dt.time(1, 2, 3, 4)]}), "time", [dt.time(1, 2, 3, 4)]),
    "large types": (
        pa.table({"c": pa.array([["x"]], pa.large_list(pa.large_string()))}),
        "list<string>",
        [["x"]],
    ),
    "views": (pa.table({"c": pa.array(["x"], pa.string_view())}), "string", ["x"]),
    "dictionary within a list": (
        pa.table({"c": pa.array([["a"], [], None], pa.list_(pa.dictionary(pa.int8(), pa.string())))}),
        "list<string>",
        [["a"], [], None],
    ),
    "categories": (pd.DataFrame({"c": pd.Categorical(["a", None])}), "string", ["a", None]),
    "categories of numbers": (pd.DataFrame({"c": pd.Categorical([2, 1])}), "long", [2, 1]),
    "no value of a category": (pd.DataFrame({"c": pd.Categorical([None], ["x"])}), "string", [None]),
    "enum of Polars": (pl.DataFrame({"c": pl.Series(["a"], dtype=pl.Enum(["a"]))}), "string", ["a"]),
    "array of Polars": (
        pl.DataFrame({"c": pl.Series([[1]], dtype=pl.Array(pl.Int64, 1))}),
        "list<long>",
        [[1]],
    ),
    "decimal of Polars": (pl.DataFrame({"c": [D("1.50")]}), "decimal(38, 2)", [D("1.50")]),
    "wide decimal that fits": (
        pa.table({"c": pa.array([D("1.5")], pa.decimal256(20, 2))}),
        "decimal(20, 2)",
        [D("1.50")],
    ),
    "narrow decimal": (
        pa.table({"c": pa.array([D("1.50")], pa.decimal32(5, 2))}),
        "decimal(5, 2)",
        [D("1.50")],
    ),
    "decimal of hundreds": (
        pa.table({"c": pa.array([D(100)], pa.decimal128(5, -2))}),
        "decimal(7, 0)",
        [D(100)],
    ),
    "decimals of several scales": (
        pd.DataFrame({"c": [D("1.5"), D("22.25"), D("NaN")]}),
        "decimal(4, 2)",
        [D("1.50"), D("22.25"), None],
    ),
    "unsigned": (pa.table({"c": pa.array([2**32 - 1], pa.uint32())}), "long", [2**32 - 1]),
    "long numbers with nulls": (pd.DataFrame({"c": objects(2**53 + 1, None)}), "long", [2**53 + 1, None]),
    "NaN of pandas": (pd.DataFrame({"c": [1.0, NAN]}), "double", [1.0, None]),
    "nullable float": (pd.DataFrame({"c": pd.array([1.5, None], "Float64")}), "double", [1.5, None]),
    "text with NaN and NA": (pd.DataFrame({"c": ["x", NAN, None, pd.NA]}), "string", ["x", None, None, None]),
    "half float": (pa.table({"c": pa.array([np.float16(1.5)])}), "float", [1.5]),
    "arrays of NumPy": (
        pd.DataFrame({"c": [np.array([1, 2]), np.array([3.5])]}),
        "list<double>",
        [[1.0, 2.0], [3.5]],
    ),
    "UUIDs": (pd.DataFrame({"c": [uuid.UUID(int=1)]}), "uuid", [uuid.UUID(int=1)]),
    "JSON": (pa.table({"c": pa.array(["{}"], pa.json_())}), "string", ["{}"]),
    "bool8": (pa.table({"c": pa.array([1], pa.int8()).cast(pa.bool8())}), "boolean", [True]),
    "no rows": (pl.DataFrame(schema={"c": pl.Int8}), "int", []),
    "named index": (pd.DataFrame({"x": [1]}, index=pd.Index([7], name="c")), "long", [7]),
}


@pytest.mark.parametrize(("frame", "kind", "values"), STORED.values(), ids=STORED)
def test_frame_is_stored_without_loss(
    manager: IcebergIOManager, frame: Any, kind: str, values: list[Any]
) -> None:
    assert not write(manager, frame)
    table = stored(manager, "orders")
    assert str(table.schema().find_type("c")) == kind
    assert table.scan().to_arrow().column("c").to_pylist() == values


@pytest.mark.parametrize("library", [pa.table, pl.DataFrame])
def test_nan_is_no_null_where_the_library_tells_them_apart(manager: IcebergIOManager, library: Any) -> None:
    assert not write(manager, library({"c": [1.0, NAN, None]}))
    assert repr([row["c"] for row in written(manager)]) == "[1.0, nan, None]"


#: A frame, and what the error says beside the column.
REFUSED: dict[str, tuple[Any, str]] = {
    "nanoseconds": (
        pd.DataFrame({"c": pd.to_datetime(["2026-01-01 00:00:00.000000001"])}),
        "would lose data",
    ),
    "nanoseconds of Polars": (
        pl.DataFrame({"c": pl.Series([1]).cast(pl.Datetime("ns", "UTC"))}),
        "would lose data",
    ),
    "time in nanoseconds": (pl.DataFrame({"c": pl.Series([1]).cast(pl.Time)}), "would lose data"),
    "half a day": (pa.table({"c": pa.array([1], pa.date64())}), "would lose data"),
    "times with and without a zone": (
        pd.DataFrame({"c": objects(NEW_YEAR, NEW_YEAR.replace(tzinfo=UTC))}),
        "some of its times have a time zone",
    ),
    "seconds out of range": (pa.table({"c": pa.array([10**15], pa.timestamp("s"))}), "out of bounds"),
    "year 10000": (pa.table({"c": pa.array([2**61], pa.timestamp("us"))}), "outside of the years 1 to 9999"),
    "date before year 1": (
        pa.table({"c": pa.array([-(10**6)], pa.date32())}),
        "outside of the years 1 to 9999",
    ),
    "duration": (pd.DataFrame({"c": pd.to_timedelta(["1s"])}), "durations to integers"),
    "duration of Polars": (pl.DataFrame({"c": [dt.timedelta(1)]}), "durations to integers"),
    "interval": (
        pa.table({"c": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}),
        "Iceberg does not have",
    ),
    "uint64": (pd.DataFrame({"c": np.array([1], "uint64")}), "decimal(20, 0)"),
    "int128": (pl.DataFrame({"c": pl.Series([1]).cast(pl.Int128)}), "is of type Int128"),
    "Python objects": (pl.DataFrame({"c": pl.Series([object()], dtype=pl.Object)}), "is of type Object"),
    "wide decimal": (pd.DataFrame({"c": [D("1" * 40)]}), "at most 38 digits"),
    "infinite decimal": (pd.DataFrame({"c": [D("1.5"), D("Infinity")]}), "is not a column of Arrow's"),
    "number of 70 bits": (pd.DataFrame({"c": [2**70]}), "too large"),
    "numbers and text": (pd.DataFrame({"c": [1, "x"]}), "Give all its values one type"),
    "complex numbers": (pd.DataFrame({"c": [1j]}), "Give all its values one type"),
    "matrices": (pd.DataFrame({"c": [np.zeros((2, 2))]}), "1-dimensional"),
    "members of an enum": (pd.DataFrame({"c": [enum.Enum("E", "a")["a"]]}), "Give all its values one type"),
    "half a surrogate": (pd.DataFrame({"c": ["\ud800"]}), "utf-8"),
    "periods": (pd.DataFrame({"c": pd.period_range("2026", periods=1, freq="M")}), "Iceberg does not have"),
    "sparse": (pd.DataFrame({"c": pd.arrays.SparseArray([0, 1])}), "is not a column of Arrow's"),
    "union": (
        pa.table({"c": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])}),
        "Iceberg does not have",
    ),
    "no rows of objects": (pd.DataFrame({"c": objects()}), "has no type"),
    "categories without any": (pd.DataFrame({"c": pd.Categorical([None])}), "has no type"),
    "structs without fields": (pa.table({"c": pa.array([{}], pa.struct([]))}), "has no type"),
    "path of another column": (pa.table({"c.element": [1], "c": [[1]]}), "Rename the column"),
}


@pytest.mark.parametrize(("frame", "message"), REFUSED.values(), ids=REFUSED)
def test_frame_is_refused_by_the_name_of_its_column(
    manager: IcebergIOManager, frame: Any, message: str
) -> None:
    failure = write(manager, frame)
    assert "the DataFrame for lake.sales.orders" in failure
    assert "Column c " in failure or "c.element" in failure
    assert message in failure
    assert "-> " in failure


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pa.table({"": [1]}), "Column number 1 of the DataFrame for lake.sales.orders has no name"),
        (
            pa.table({"a": [1], "_file": ["x"]}),
            "Column _file of the DataFrame for lake.sales.orders has a name",
        ),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "The columns 1 and 1"),
        (pd.DataFrame(), "has no columns"),
        (pl.DataFrame(), "has no columns"),
    ],
)
def test_columns_need_names_of_their_own(manager: IcebergIOManager, frame: Any, message: str) -> None:
    assert message in write(manager, frame)


@pytest.mark.parametrize(
    ("table", "frame", "message"),
    [
        (
            {"c": pa.array([0], pa.timestamp("us"))},
            {"c": pa.array([0], pa.timestamp("us", "UTC"))},
            "c: timestamp in the DataFrame, timestamp_ntz in the table",
        ),
        ({"c": pa.array([0], pa.timestamp("us"))}, {"c": [dt.date(2026, 1, 1)]}, "c: date in the DataFrame"),
        (
            {"c": pa.array([D("1.50")], pa.decimal128(10, 2))},
            {"c": pa.array([D("1.555")], pa.decimal128(10, 3))},
            "c: decimal(10,3) in the DataFrame, decimal(10,2) in the table",
        ),
        ({"c": pa.array([b"ab"], pa.binary(2))}, {"c": [b"abc"]}, "Column c "),
        (
            {
                "c": pa.array(
                    [{"a": 1, "b": 2}], pa.struct([("a", pa.int64()), pa.field("b", pa.int64(), False)])
                )
            },
            {"c": [{"a": 1}]},
            "c.b: required in the table, is not in the DataFrame",
        ),
    ],
)
@pytest.mark.parametrize("mode", [APPEND, {"write_mode": "merge", "join_cols": ["id"]}])
def test_values_that_a_table_cannot_hold_are_refused(
    manager: IcebergIOManager, table: Any, frame: Any, message: str, mode: dict[str, Any]
) -> None:
    existing(manager, pa.table({"id": [1], **table}))
    before = written(manager)
    assert message in write(manager, pa.table({"id": [1], **frame}), **mode)
    assert written(manager) == before


def test_flag_of_deleted_rows_is_a_boolean(manager: IcebergIOManager) -> None:
    frame = pa.table({"id": [1], "gone": ["false"]})
    failure = write(manager, frame, write_mode="merge", join_cols=["id"], delete_column="Gone")
    assert "delete_column gone of lake.sales.orders is string" in failure


@pytest.mark.parametrize(
    ("keys", "partition_by"),
    [
        (pa.array([bytes(16), bytes(15) + b"1", None], pa.uuid()), "c"),
        (pa.array([bytes(16), None], pa.uuid()), "bucket(4, c)"),
        (pa.array([dt.time(1), None]), "c"),
        (pa.array([D("1.50"), None], pa.decimal128(10, 2)), "truncate(10, c)"),
        (pa.array([b"xx", None], pa.binary(2)), "c"),
        (pa.array([-1, None], pa.timestamp("us", "UTC")), "hours(c)"),
        (pa.array(["a/b c=%", "", None]), "c"),
        (pa.array([1.5, NAN, None]), "c"),
    ],
)
def test_every_type_can_be_partitioned_by(
    manager: IcebergIOManager, keys: pa.Array, partition_by: str
) -> None:
    frame = pa.table({"c": keys})
    assert not write(manager, frame, partition_by=[partition_by])
    assert sorted(map(repr, written(manager))) == sorted(map(repr, frame.to_pylist()))


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([D("1.50"), D("2.00")], pa.decimal128(10, 2)),
        pa.array([0, 1], pa.timestamp("us", "UTC")),
        pa.array([NAN, 1.0]),
        pa.array([b"aa", b"bb"], pa.binary(2)),
        pa.array([dt.time(1), dt.time(2)]),
    ],
)
def test_rows_are_merged_by_keys_of_every_type(manager: IcebergIOManager, keys: pa.Array) -> None:
    existing(manager, pa.table({"k": keys, "v": [1, 2]}))
    assert not write(manager, pa.table({"k": keys[:1], "v": [9]}), write_mode="merge", join_cols=["k"])
    assert sorted(row["v"] for row in written(manager)) == [2, 9]


@pytest.mark.parametrize("keys", [pa.array([{"a": 1}]), pa.array([[1]]), pa.array([bytes(16)], pa.uuid())])
def test_keys_that_cannot_be_compared_are_refused(manager: IcebergIOManager, keys: pa.Array) -> None:
    failure = write(manager, pa.table({"k": keys}), write_mode="merge", join_cols=["k"])
    assert "join_cols of lake.sales.orders names k, of type" in failure
