"""Frames of PyArrow, pandas and Polars as inputs and outputs, without Spark."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from dagster import AssetIn, AssetKey, AssetSpec, RetryPolicy, asset

from lineage_bridge_dagster.spark.io.iceberg_manager import IcebergIOManager
from lineage_bridge_dagster_tests.spark.io.runs import failure_of, metadata_of, rows, run, stored

ORDERS = pa.table({"id": [1, 2, None], "country": ["de", "fr", None]})
FRAMES: dict[type, Any] = {
    pa.Table: lambda: ORDERS,
    pa.RecordBatchReader: ORDERS.to_reader,
    pd.DataFrame: lambda: ORDERS.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
    pl.DataFrame: lambda: pl.from_arrow(ORDERS),
    pl.LazyFrame: lambda: pl.from_arrow(ORDERS).lazy(),
}


@pytest.mark.parametrize("kind", FRAMES, ids=lambda kind: f"{kind.__module__.split('.')[0]}.{kind.__name__}")
def test_frame_of_each_kind_is_written_and_read_back_as_annotated(
    manager: IcebergIOManager, kind: type
) -> None:
    seen: list[Any] = []

    def orders() -> Any:
        return FRAMES[kind]()

    def reader(orders: Any) -> None:
        seen.append(orders)

    orders.__annotations__["return"] = kind
    reader.__annotations__["orders"] = kind
    assert run(manager, asset(key="orders")(orders), asset(reader)).success

    assert rows(manager, "orders") == sorted([(1, "de"), (2, "fr"), (None, None)], key=repr)
    (found,) = seen
    assert isinstance(found, kind)
    values = found.to_arrow() if isinstance(found, pl.DataFrame) else found
    if isinstance(found, pl.LazyFrame):
        values = found.collect().to_arrow()
    if isinstance(found, pa.RecordBatchReader):
        values = found.read_all()
    if isinstance(found, pd.DataFrame):
        assert found["id"].dtype == pd.Int64Dtype()
        values = pa.Table.from_pandas(found)
    assert values.to_pydict() == ORDERS.to_pydict()


def test_metadata_is_that_of_the_spark_path(manager: IcebergIOManager) -> None:
    @asset(key=["sales", "orders.v1"])
    def orders() -> pa.Table:
        return pa.table({"id": [1, 2], "ids": [[1], [2]]})

    metadata = metadata_of(run(manager, orders))
    assert (metadata["dagster/row_count"], metadata["lineage_bridge/rows_written"]) == (2, 2)
    assert metadata["dagster/table_name"] == "sales.orders.v1"
    assert [(c.name, c.type) for c in metadata["dagster/column_schema"].columns] == [
        ("id", "bigint"),
        ("ids", "array<bigint>"),
    ]
    assert metadata["lineage_bridge/snapshot_id"].isdigit()
    assert metadata["lineage_bridge/added_records"] == 2
    assert [record.data for record in metadata["lineage_bridge/preview"].records] == [
        {"id": 1, "ids": "[1]"},
        {"id": 2, "ids": "[2]"},
    ]
    summary = stored(manager, "orders.v1").current_snapshot().summary
    assert summary["dagster-run-id"]


def test_second_run_replaces_the_rows_or_appends_them_in_one_snapshot_each(manager: IcebergIOManager) -> None:
    @asset(key="replaced")
    def replaced() -> pa.Table:
        return pa.table({"n": [1, 2]})

    @asset(key="appended", metadata={"write_mode": "append"})
    def appended() -> pa.Table:
        return pa.table({"n": [1, 2]})

    for _ in range(2):
        assert run(manager, replaced, appended).success
    assert rows(manager, "replaced") == [(1,), (2,)]
    assert rows(manager, "appended") == [(1,), (1,), (2,), (2,)]
    assert [s.summary.operation.value for s in stored(manager, "replaced").snapshots()] == [
        "append",
        "overwrite",
    ]


def test_columns_filter_and_time_travel_of_an_input(manager: IcebergIOManager) -> None:
    seen: dict[str, Any] = {}

    @asset(key="orders", metadata={"write_mode": "append"})
    def orders() -> pa.Table:
        return pa.table({"id": [1, 2], "address": [{"city": "Bonn"}, {"city": "Köln"}]})

    run(manager, orders)
    first = stored(manager, "orders").current_snapshot()
    run(manager, orders)

    def reads(name: str, **options: Any) -> None:
        @asset(name=name, ins={"orders": AssetIn(metadata=options)})
        def reader(orders: pa.Table) -> None:
            seen[name] = orders.to_pydict()

        assert run(manager, AssetSpec("orders"), reader).success

    reads("some", columns=["address.city"], filter="id = 2", snapshot_id=str(first.snapshot_id))
    reads("before", columns="id", as_of=first.timestamp_ms)
    reads("appended", columns="id", start_snapshot_id=str(first.snapshot_id))
    assert seen["some"] == {"city": ["Köln"]}
    assert sorted(seen["before"]["id"]) == [1, 2]
    assert sorted(seen["appended"]["id"]) == [1, 2]


def test_incremental_input_is_read_once(manager: IcebergIOManager) -> None:
    new = [1]

    @asset(key="events", metadata={"write_mode": "append"})
    def events() -> pa.Table:
        return pa.table({"n": new})

    @asset(
        key="copied",
        ins={"events": AssetIn(metadata={"incremental": True})},
        metadata={"write_mode": "append"},
    )
    def copied(events: pa.Table) -> pa.Table:
        return events

    run(manager, events, copied)
    new[:] = [2, 3]
    run(manager, events)
    for _ in range(2):
        run(manager, AssetSpec("events"), copied)
    assert rows(manager, "copied") == [(1,), (2,), (3,)]


def test_merge_updates_inserts_and_deletes_by_key(manager: IcebergIOManager) -> None:
    frames = [
        pa.table({"id": [1, 2], "name": ["a", "b"], "note": ["x", "y"], "gone": [False, False]}),
        pa.table({"id": [2, 3, 1], "name": ["B", "C", "-"], "gone": [False, False, True]}),
    ]

    @asset(key="orders", metadata={"write_mode": "merge", "join_cols": ["id"], "delete_column": "gone"})
    def orders() -> pa.Table:
        return frames.pop(0)

    run(manager, orders)
    run(manager, orders)
    assert rows(manager, "orders") == [(2, "B", "y"), (3, "C", None)]
    frames.append(pa.table({"id": [1, 1], "name": ["a", "b"], "gone": [False, False]}))
    assert "several rows with the same key: id = 1" in failure_of(run(manager, orders, raise_on_error=False))


def test_other_columns_need_an_update_of_the_schema_or_an_overwrite(manager: IcebergIOManager) -> None:
    frame = pa.table({"id": pa.array([1], pa.int32())})
    mode: dict[str, str] = {"write_mode": "append"}

    @asset(key="orders")
    def orders(context) -> pa.Table:  # type: ignore[no-untyped-def]
        context.add_output_metadata(dict(mode))
        return frame

    run(manager, orders)
    frame = pa.table({"id": [2], "note": ["x"]})
    failure = failure_of(run(manager, orders, raise_on_error=False))
    assert "id: bigint in the DataFrame, int in the table" in failure
    assert "schema_update_mode: update" in failure
    mode["schema_update_mode"] = "update"
    run(manager, orders)
    assert rows(manager, "orders") == [(1, None), (2, "x")]
    assert len(stored(manager, "orders").snapshots()) == 2
    frame, mode = pa.table({"id": ["text"], "other": [1.5]}), {"write_mode": "overwrite"}
    run(manager, orders)
    assert rows(manager, "orders") == [("text", 1.5)]


def test_what_cannot_be_written_is_refused_before_a_table_exists(manager: IcebergIOManager) -> None:
    @asset(key="orders")
    def orders() -> pa.Table:
        return pa.table({"id": pa.nulls(1)})

    assert "id of the DataFrame for lake.sales.orders has no type" in failure_of(
        run(manager, orders, raise_on_error=False)
    )

    @asset(key="log", metadata={"write_mod": "append"})
    def log() -> pa.Table:
        return ORDERS

    assert "Did you mean write_mode?" in failure_of(run(manager, log, raise_on_error=False))

    @asset(key="wrong", retry_policy=RetryPolicy(max_retries=3))
    def wrong() -> list[int]:
        return [1]

    assert "sales/wrong" not in (failure := failure_of(run(manager, wrong, raise_on_error=False)))
    assert "wrong returned a list" in failure

    @asset(ins={"none": AssetIn(AssetKey(["sales", "none"]))})
    def reader(none: pa.Table) -> None: ...

    assert "no database sales" in failure_of(
        run(manager, AssetSpec(["sales", "none"]), reader, raise_on_error=False)
    )


def test_a_topic_needs_spark(manager: IcebergIOManager) -> None:
    topic = AssetSpec(
        ["kafka", "orders"],
        metadata={
            "lineage_bridge/node_type": "kafka_topic",
            "lineage_bridge/topic": "orders",
            "lineage_bridge/bootstrap": "127.0.0.1:9",
        },
    )

    @asset(ins={"topic": AssetIn(topic.key)})
    def reader(topic: pa.Table) -> None: ...

    assert "whose records only Spark reads" in failure_of(run(manager, topic, reader, raise_on_error=False))


_WITHOUT_SPARK = """
import sys
import pyarrow as pa
from dagster import asset, materialize
from lineage_bridge_dagster.catalogs.settings.catalogs_resource import CatalogsResource
from lineage_bridge_dagster.spark.io.iceberg_manager import IcebergIOManager

@asset(key=["sales", "orders"])
def orders() -> pa.Table:
    return pa.table({"n": [1]})

@asset(key=["sales", "doubled"])
def doubled(orders: pa.Table) -> pa.Table:
    return orders

catalog = {"type": "jdbc", "uri": f"jdbc:sqlite:{sys.argv[1]}/c.db", "warehouse": f"file://{sys.argv[1]}"}
manager = IcebergIOManager(catalogs=CatalogsResource(catalog=catalog))
assert materialize([orders], resources={"io_manager": manager}).success
print(sorted({"pyspark", "py4j", "polars", "dagster_pyspark"} & set(sys.modules)))
"""


def test_neither_pyspark_nor_polars_is_imported_for_arrow(tmp_path: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_SPARK, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr[-2000:]
