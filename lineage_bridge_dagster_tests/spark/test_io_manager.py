"""A DataFrame of a topic, a table or a chain goes in; a DataFrame that comes out becomes a table."""

from __future__ import annotations

from typing import Any

import pytest
from dagster import (
    AssetIn,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
    ExecuteInProcessResult,
    asset,
    materialize,
)
from pyiceberg.catalog import load_catalog
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import CatalogConfig, spark_name
from lineage_bridge_dagster.spark.asset_source import AssetSource
from lineage_bridge_dagster.spark.chains import write_lineage
from lineage_bridge_dagster.spark.io_manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster_tests.spark.graphs import table_of, world
from lineage_bridge_dagster_tests.spark_session import duckdb_reader, pyiceberg_properties

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def manager(spark: SparkSession, spark_catalog: CatalogConfig, database: str) -> PySparkIcebergIOManager:
    resource = SparkResource(catalog=spark_catalog.model_dump(exclude_none=True))
    return PySparkIcebergIOManager(spark=resource, namespace=database, database=database)


def run(
    manager: PySparkIcebergIOManager, *assets: AssetsDefinition | AssetSpec, raise_on_error: bool = True
) -> ExecuteInProcessResult:
    return materialize(list(assets), resources={"io_manager": manager}, raise_on_error=raise_on_error)


def metadata_of(result: ExecuteInProcessResult) -> dict[str, Any]:
    (event,) = result.get_asset_materialization_events()
    return {name: value.value for name, value in event.materialization.metadata.items()}


def failure_of(result: ExecuteInProcessResult) -> str:
    (event,) = result.get_step_failure_events()
    data = event.step_failure_data
    return str((data.user_failure_data and data.user_failure_data.description) or data.error)


def test_a_frame_goes_to_a_table_whose_name_has_dots_and_comes_back(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str, spark_catalog: CatalogConfig
) -> None:
    @asset(key=[database, "sales.by-Country"])
    def sales() -> DataFrame:
        return spark.createDataFrame([("de", 3), ("fr", 4)], "country string, n int")

    @asset(ins={"sales": AssetIn(key=AssetKey([database, "sales.by-Country"]))}, key=[database, "top"])
    def top(sales: DataFrame) -> DataFrame:
        return sales.where("n > 3")

    result = run(manager, sales, top)
    assert result.success
    stored = spark.table(spark_name("glue", database, "top")).collect()
    assert [tuple(row) for row in stored] == [("fr", 4)]
    table = load_catalog("glue", **pyiceberg_properties(spark_catalog)).load_table(
        (database, "sales.by-country")
    )
    with duckdb_reader(spark_catalog) as duck:
        total = duck.sql("SELECT sum(n) FROM iceberg_scan(?)", params=[table.metadata_location]).fetchone()
    assert total == (7,)


def test_rows_schema_and_snapshot_are_in_the_metadata(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str
) -> None:
    @asset(key="out.v1", metadata={"dagster/table_name": f"{database}.out.v1"})
    def out() -> DataFrame:
        return spark.range(7).selectExpr("id", "array(id) AS ids")

    metadata = metadata_of(run(manager, out))
    assert metadata["dagster/row_count"] == 7
    assert [(c.name, c.type) for c in metadata["dagster/column_schema"].columns] == [
        ("id", "bigint"),
        ("ids", "array<bigint>"),
    ]
    assert metadata["lineage_bridge/snapshot_id"].isdigit()
    assert spark.table(spark_name("glue", database, "out.v1")).count() == 7


def test_a_second_run_replaces_the_rows_and_append_adds_them(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str
) -> None:
    @asset(key="replaced")
    def replaced() -> DataFrame:
        return spark.range(2)

    @asset(key="appended", metadata={"lineage_bridge/write_mode": "append"})
    def appended() -> DataFrame:
        return spark.range(2)

    for _ in range(2):
        assert run(manager, replaced, appended).success
    assert spark.table(spark_name("glue", database, "replaced")).count() == 2
    assert spark.table(spark_name("glue", database, "appended")).count() == 4


def test_a_chain_is_loaded_as_its_hops_in_order(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str
) -> None:
    write_lineage(spark, world(2), None, "glue", database)
    chain = AssetSpec(
        ["upstream_chain", "lkc-1", "orders.v1"],
        metadata={
            "lineage_bridge/node_type": "upstream_chain",
            "lineage_bridge/node_id": table_of("orders.v1"),
        },
    )
    seen: list[Any] = []

    @asset(ins={"chain": AssetIn(key=chain.key)})
    def reader(chain: DataFrame) -> None:
        seen.extend(chain.collect())

    assert run(manager, chain, reader).success
    assert [row.hop for row in seen] == list(range(1, 10))
    assert {row.table_id for row in seen} == {table_of("orders.v1")}


def test_loading_computes_nothing(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str
) -> None:
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS glue.`{database}`")
    spark.range(3).writeTo(spark_name("glue", database, "src")).using("iceberg").create()
    jobs = spark.sparkContext.statusTracker()
    before = len(jobs.getJobIdsForGroup())

    @asset(ins={"src": AssetIn(key=AssetKey([database, "src"]))})
    def lazy(src: DataFrame) -> None:
        assert src.columns == ["id"]
        assert len(jobs.getJobIdsForGroup()) == before
        # And the count of jobs does tell.
        assert src.count() == 3
        assert len(jobs.getJobIdsForGroup()) > before

    assert run(manager, AssetSpec([database, "src"]), lazy).success


def test_a_topic_is_planned_without_asking_its_broker(
    spark: SparkSession, manager: PySparkIcebergIOManager
) -> None:
    topic = AssetSpec(
        ["kafka", "lkc-1", "orders.v1"],
        metadata={
            "lineage_bridge/node_type": "kafka_topic",
            "lineage_bridge/node_id": "t",
            "lineage_bridge/topic": "orders.v1",
            "lineage_bridge/cluster_id": "lkc-1",
            "lineage_bridge/bootstrap": "127.0.0.1:9",
        },
    )
    columns: list[str] = []

    @asset(ins={"topic": AssetIn(key=topic.key)})
    def reader(topic: DataFrame) -> None:
        columns.extend(topic.columns)

    assert run(manager, topic, reader).success
    assert {"key", "value", "partition", "offset", "headers"} <= set(columns)


def test_something_else_than_a_frame_is_refused_by_name(manager: PySparkIcebergIOManager) -> None:
    @asset(key=["db", "wrong"])
    def wrong() -> list[int]:
        return [1]

    message = failure_of(run(manager, wrong, raise_on_error=False))
    assert "db/wrong returned a list" in message
    assert "io_manager_key" in message


def test_an_asset_without_rows_is_refused_by_name(manager: PySparkIcebergIOManager) -> None:
    job = AssetSpec(["flink", "job"], metadata={"lineage_bridge/node_type": "flink_job"})

    @asset(ins={"job": AssetIn(key=job.key)})
    def reader(job: DataFrame) -> None: ...

    assert "flink/job is a flink_job" in failure_of(run(manager, job, reader, raise_on_error=False))


def test_names_come_from_our_own_keys_before_the_shown_one() -> None:
    source = AssetSource.from_metadata(
        {
            "lineage_bridge/node_type": "catalog_table",
            "lineage_bridge/database": "lkc-1",
            "lineage_bridge/table": "o.v1",
            "dagster/table_name": "elsewhere.x",
        }
    )
    assert (source.database, source.table) == ("lkc-1", "o.v1")
    shown = AssetSource.from_metadata({"dagster/table_name": "lkc-1.o.v1"}, ("glue", "x", "y"))
    assert (shown.database, shown.table) == ("lkc-1", "o.v1")
    with pytest.raises(LineageBridgeError, match="does not say which topic"):
        AssetSource.from_metadata({"lineage_bridge/node_type": "kafka_topic"})
