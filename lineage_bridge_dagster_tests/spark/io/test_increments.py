"""Incremental inputs: each new row is read once, whatever fails in between."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dagster import (
    AssetIn,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
    DagsterInstance,
    InMemoryIOManager,
    asset,
    materialize,
)
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.spark.classic import load_table
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors, current_snapshot
from lineage_bridge_dagster.spark.io.increments import CONSUMED, FULL_REFRESH, IncrementError, offsets_since
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.write import write_frame
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster_tests.spark.io.test_manager import failure_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


class World:
    """A table `orders`, and an asset `newest` that reads it incrementally."""

    def __init__(self, spark: SparkSession, catalog: CatalogSettings, database: str) -> None:
        self.spark = spark
        self.source = TableName("glue", database, "orders.v1")
        self.result = TableName("glue", database, "newest")
        self.orders = AssetSpec([database, "orders.v1"])
        resource = SparkResource(catalog=catalog.model_dump(exclude_none=True))
        self.manager = PySparkIcebergIOManager(
            spark=resource, confluent=ConfluentSettingsResource(), namespace=database
        )
        self.instance = DagsterInstance.ephemeral()
        self.read: list[list[int]] = []
        self.fails = False

    def add(self, *ids: int, value: str = "x") -> None:
        frame = self.spark.createDataFrame([(i, value) for i in ids], "id int, value string")
        write_frame(frame, self.source, WriteOptions(write_mode="append"))

    def newest(self, **metadata: Any) -> AssetsDefinition:
        @asset(
            key=[self.result.database, "newest"],
            ins={"orders": AssetIn(self.orders.key, metadata={"incremental": True})},
            metadata={"write_mode": "append", **metadata},
        )
        def newest(orders: DataFrame) -> DataFrame:
            self.read.append(sorted(row.id for row in orders.collect()))
            if self.fails:
                raise RuntimeError("halfway")
            return orders

        return newest

    def run(self, definition: AssetsDefinition | None = None, **tags: str) -> Any:
        return materialize(
            [self.orders, definition or self.newest()],
            resources={"io_manager": self.manager},
            instance=self.instance,
            raise_on_error=False,
            tags=tags,
        )

    @property
    def ids(self) -> list[int]:
        return sorted(row.id for row in self.spark.table(self.result.sql).collect())


@pytest.fixture
def world(spark: SparkSession, spark_catalog: CatalogSettings, database: str) -> World:
    world = World(spark, spark_catalog, database)
    world.add(1, 2)
    return world


def test_each_row_is_read_once_and_again_after_a_failed_run(world: World) -> None:
    assert world.run().success
    world.add(3)
    world.fails = True
    assert not world.run().success
    world.fails = False
    world.add(4)
    (event,) = world.run().get_asset_materialization_events()
    assert world.run().success
    assert world.read == [[1, 2], [3], [3, 4], []]
    assert world.ids == [1, 2, 3, 4]
    # The position is in the materialization, and in the snapshot with the rows.
    position = {"snapshot_id": str(current_snapshot(world.spark, world.source).snapshot_id)}  # type: ignore[union-attr]
    label = "/".join(world.orders.key.path)
    assert event.materialization.metadata["lineage_bridge/consumed"].value == {label: position}
    newest = next(ancestors(world.spark, world.result))
    assert json.loads(newest.summary[CONSUMED]) == {label: position}


def test_compactions_add_no_new_rows_and_do_not_hide_the_position(
    world: World,
) -> None:
    assert world.run().success
    world.add(3)
    for target in (world.source, world.result):
        world.spark.sql(
            f"CALL glue.system.rewrite_data_files(table => '`{target.database}`.`{target.table}`', "
            "options => map('rewrite-all', 'true'))"
        )
    assert world.run().success
    assert world.read[1:] == [[3]]


def test_changed_rows_are_refused_until_a_full_refresh(world: World) -> None:
    assert world.run().success
    write_frame(
        world.spark.sql("SELECT 1 AS id, 'changed' AS value"),
        world.source,
        WriteOptions(write_mode="merge", join_cols=("id",)),
    )
    message = failure_of(world.run())
    assert "has operation overwrite, which replaces or deletes rows" in message
    assert f"run tag {FULL_REFRESH}: true" in message
    assert world.run(**{FULL_REFRESH: "true"}).success
    assert world.read[-1] == [1, 2]
    assert world.ids == [1, 2]
    world.add(5)
    assert world.run().success
    assert world.read[-1] == [5]


def test_expired_snapshot_and_replaced_table_are_reported_as_such(world: World) -> None:
    assert world.run().success
    world.add(3)
    table = load_table(world.spark, world.source.sql)
    table.expireSnapshots().expireOlderThan(table.currentSnapshot().timestampMillis()).retainLast(1).commit()
    assert "has expired" in failure_of(world.run())
    assert world.run(**{FULL_REFRESH: "true"}).success
    world.spark.sql("SELECT 9 AS id").writeTo(world.source.sql).using("iceberg").createOrReplace()
    assert "the table was replaced or rolled back" in failure_of(world.run())


def test_table_with_rows_of_unknown_position_is_not_appended_to(world: World) -> None:
    write_frame(world.spark.sql("SELECT 7 AS id, 'x' AS value"), world.result, WriteOptions())
    assert "none of its snapshots records their position in" in failure_of(world.run())
    assert world.ids == [7]
    assert world.run(**{FULL_REFRESH: "true"}).success
    assert world.ids == [1, 2]


def test_dropped_table_is_created_again_from_the_beginning(world: World) -> None:
    assert world.run().success
    world.spark.sql(f"DROP TABLE {world.result.sql}")
    assert world.run().success
    assert world.ids == [1, 2]


def test_incremental_input_of_an_overwritten_table_is_refused(world: World) -> None:
    assert "write_mode overwrite would drop the rows" in failure_of(
        world.run(world.newest(write_mode="overwrite"))
    )

    @asset(
        key=AssetKey([world.result.database, "switched"]),
        ins={"orders": AssetIn(world.orders.key, metadata={"incremental": True})},
        metadata={"write_mode": "append"},
    )
    def switched(context, orders: DataFrame) -> DataFrame:  # type: ignore[no-untyped-def]
        context.add_output_metadata({"write_mode": "overwrite"})
        return orders

    assert "write_mode overwrite would drop the rows" in failure_of(world.run(switched))


def test_incremental_input_without_a_table_of_this_io_manager_is_refused(world: World) -> None:
    @asset(ins={"orders": AssetIn(world.orders.key, metadata={"incremental": True})}, io_manager_key="files")
    def elsewhere(orders: DataFrame) -> int:
        return orders.count()

    result = materialize(
        [world.orders, elsewhere],
        resources={"io_manager": world.manager, "files": InMemoryIOManager()},
        raise_on_error=False,
    )
    assert "is incremental, and its step does not produce one asset" in failure_of(result)

    @asset(ins={"orders": AssetIn(world.orders.key, metadata={"incremental": True})})
    def nothing(orders: DataFrame) -> None: ...

    assert "is incremental, and its step does not produce one asset" in failure_of(world.run(nothing))

    @asset(
        key=[world.result.database, "late"],
        ins={"orders": AssetIn(world.orders.key, metadata={"incremental": True})},
        metadata={"write_mode": "append"},
    )
    def late(orders: DataFrame):  # type: ignore[no-untyped-def]
        return None

    assert "is incremental, and its step does not produce one asset" in failure_of(world.run(late))


def test_offsets_continue_from_the_position_of_the_table() -> None:
    first, end = {0: 10, 1: 0}, {0: 20, 1: 5}
    assert offsets_since(None, first, end, "t") == (first, end)
    last = {"offsets": {"0": 15}}
    assert offsets_since(last, first, end, "t") == ({0: 15, 1: 0}, end)
    with pytest.raises(IncrementError, match="Records 5 to 9 of partition 0 of t were removed"):
        offsets_since({"offsets": {"0": 5}}, first, end, "t")
    with pytest.raises(IncrementError, match="was recreated"):
        offsets_since({"offsets": {"0": 25}}, first, end, "t")
