"""An asset takes what is new of its inputs, once each, whatever fails between."""

from __future__ import annotations

import json
from collections.abc import Callable
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

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.spark.commits import CONSUMED, Target
from lineage_bridge_dagster.spark.iceberg_tables import ancestors, current_snapshot, load_table
from lineage_bridge_dagster.spark.io.increments import FULL_REFRESH, IncrementError, offsets_since
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.write import store
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster_tests.spark.io.test_manager import failure_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

Run = Callable[..., Any]


class World:
    """A table `orders`, and an asset `newest` that takes from it what is new."""

    def __init__(self, spark: SparkSession, catalog: CatalogSettings, database: str) -> None:
        self.spark = spark
        self.source = Target("glue", database, "orders.v1")
        self.result = Target("glue", database, "newest")
        self.orders = AssetSpec([database, "orders.v1"])
        resource = SparkResource(catalog=catalog.model_dump(exclude_none=True))
        self.manager = PySparkIcebergIOManager(spark=resource, namespace=database)
        self.instance = DagsterInstance.ephemeral()
        self.given: list[list[int]] = []
        self.fails = False

    def add(self, *ids: int, value: str = "x") -> None:
        frame = self.spark.createDataFrame([(i, value) for i in ids], "id int, value string")
        store(frame, self.source, WriteOptions(write_mode="append"))

    def newest(self, **metadata: Any) -> AssetsDefinition:
        @asset(
            key=[self.result.database, "newest"],
            ins={"orders": AssetIn(self.orders.key, metadata={"incremental": True})},
            metadata={"write_mode": "append", **metadata},
        )
        def newest(orders: DataFrame) -> DataFrame:
            self.given.append(sorted(row.id for row in orders.collect()))
            if self.fails:
                raise RuntimeError("half way")
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
        return sorted(row.id for row in self.spark.table(self.result.name).collect())


@pytest.fixture
def world(spark: SparkSession, spark_catalog: CatalogSettings, database: str) -> World:
    made = World(spark, spark_catalog, database)
    made.add(1, 2)
    return made


def test_each_row_is_taken_once_and_a_run_that_fails_takes_none(world: World) -> None:
    assert world.run().success
    world.add(3)
    world.fails = True
    assert not world.run().success
    world.fails = False
    world.add(4)
    (event,) = world.run().get_asset_materialization_events()
    assert world.run().success
    assert world.given == [[1, 2], [3], [3, 4], []]
    assert world.ids == [1, 2, 3, 4]
    # What was taken stands in the materialization, and with the rows.
    upto = {"snapshot_id": str(current_snapshot(world.spark, world.source.name).snapshot_id)}  # type: ignore[union-attr]
    shown = "/".join(world.orders.key.path)
    assert event.materialization.metadata["lineage_bridge/consumed"].value == {shown: upto}
    newest = next(ancestors(world.spark, world.result.name))
    assert json.loads(newest.summary[CONSUMED]) == {shown: upto}


def test_rows_rewritten_by_a_compaction_are_not_new_and_its_snapshot_does_not_hide_the_position(
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
    assert world.given[1:] == [[3]]


def test_rows_that_were_changed_are_refused_until_a_full_refresh(world: World) -> None:
    assert world.run().success
    store(
        world.spark.sql("SELECT 1 AS id, 'changed' AS value"),
        world.source,
        WriteOptions(write_mode="merge", join_cols=("id",)),
    )
    message = failure_of(world.run())
    assert "is of operation overwrite, which replaces or deletes rows" in message
    assert f"run tag {FULL_REFRESH}: true" in message
    assert world.run(**{FULL_REFRESH: "true"}).success
    assert world.given[-1] == [1, 2]
    assert world.ids == [1, 2]
    world.add(5)
    assert world.run().success
    assert world.given[-1] == [5]


def test_a_snapshot_that_has_expired_is_told_from_a_table_that_was_replaced(world: World) -> None:
    assert world.run().success
    world.add(3)
    table = load_table(world.spark, world.source.name)
    table.expireSnapshots().expireOlderThan(table.currentSnapshot().timestampMillis()).retainLast(1).commit()
    assert "has expired" in failure_of(world.run())
    assert world.run(**{FULL_REFRESH: "true"}).success
    world.spark.sql("SELECT 9 AS id").writeTo(world.source.name).using("iceberg").createOrReplace()
    assert "it was replaced or rolled back" in failure_of(world.run())


def test_a_table_with_rows_of_unknown_origin_is_not_added_to(world: World) -> None:
    store(world.spark.sql("SELECT 7 AS id, 'x' AS value"), world.result, WriteOptions())
    assert "none of its snapshots says how far they go in" in failure_of(world.run())
    assert world.ids == [7]
    assert world.run(**{FULL_REFRESH: "true"}).success
    assert world.ids == [1, 2]


def test_a_table_that_was_dropped_is_made_again_from_the_beginning(world: World) -> None:
    assert world.run().success
    world.spark.sql(f"DROP TABLE {world.result.name}")
    assert world.run().success
    assert world.ids == [1, 2]


def test_where_incremental_makes_no_sense_it_is_refused(world: World) -> None:
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


def test_an_asset_that_is_stored_elsewhere_has_no_position_to_go_on_from(world: World) -> None:
    @asset(ins={"orders": AssetIn(world.orders.key, metadata={"incremental": True})}, io_manager_key="files")
    def elsewhere(orders: DataFrame) -> int:
        return orders.count()

    result = materialize(
        [world.orders, elsewhere],
        resources={"io_manager": world.manager, "files": InMemoryIOManager()},
        raise_on_error=False,
    )
    assert "is incremental, and its step does not make one asset" in failure_of(result)

    @asset(ins={"orders": AssetIn(world.orders.key, metadata={"incremental": True})})
    def nothing(orders: DataFrame) -> None: ...

    assert "is incremental, and its step does not make one asset" in failure_of(world.run(nothing))

    @asset(
        key=[world.result.database, "late"],
        ins={"orders": AssetIn(world.orders.key, metadata={"incremental": True})},
        metadata={"write_mode": "append"},
    )
    def late(orders: DataFrame):  # type: ignore[no-untyped-def]
        return None

    assert "is incremental, and its step does not make one asset" in failure_of(world.run(late))


def test_offsets_go_on_from_where_the_table_stands() -> None:
    first, end = {0: 10, 1: 0}, {0: 20, 1: 5}
    assert offsets_since(None, first, end, "t") == (first, end)
    last = {"offsets": {"0": 15}}
    assert offsets_since(last, first, end, "t") == ({0: 15, 1: 0}, end)
    with pytest.raises(IncrementError, match="Records 5 to 9 of partition 0 of t were removed"):
        offsets_since({"offsets": {"0": 5}}, first, end, "t")
    with pytest.raises(IncrementError, match="made anew"):
        offsets_since({"offsets": {"0": 25}}, first, end, "t")
