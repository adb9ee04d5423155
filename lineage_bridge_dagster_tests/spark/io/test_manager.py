"""DataFrames of topics, tables and chains as inputs; DataFrames written as tables."""

from __future__ import annotations

from typing import Any

import pytest
from dagster import (
    AssetIn,
    AssetKey,
    AssetSpec,
    DailyPartitionsDefinition,
    MultiPartitionsDefinition,
    RetryPolicy,
    StaticPartitionsDefinition,
    asset,
    materialize,
)
from pyiceberg.catalog import load_catalog
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark.chains.write import write_lineage
from lineage_bridge_dagster.spark.commits import CommitConflictError
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.io.write import table_state
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster_tests.spark.graphs import table_of, world
from lineage_bridge_dagster_tests.spark.io.runs import failure_of, metadata_of, run
from lineage_bridge_dagster_tests.spark_session import duckdb_reader, pyiceberg_properties

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def manager(spark: SparkSession, spark_catalog: CatalogSettings, database: str) -> PySparkIcebergIOManager:
    resource = SparkResource(catalog=spark_catalog.model_dump(exclude_none=True))
    return PySparkIcebergIOManager(
        spark=resource, confluent=ConfluentSettingsResource(), namespace=database, database=database
    )


def test_frame_is_written_to_a_table_with_dots_in_its_name_and_read_back(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str, spark_catalog: CatalogSettings
) -> None:
    @asset(key=[database, "sales.by-Country"])
    def sales() -> DataFrame:
        return spark.createDataFrame([("de", 3), ("fr", 4)], "country string, n int")

    @asset(ins={"sales": AssetIn(key=AssetKey([database, "sales.by-Country"]))}, key=[database, "top"])
    def top(sales: DataFrame) -> DataFrame:
        return sales.where("n > 3")

    result = run(manager, sales, top)
    assert result.success
    stored = spark.table(quoted("glue", database, "top")).collect()
    assert [tuple(row) for row in stored] == [("fr", 4)]
    table = load_catalog("glue", **pyiceberg_properties(spark_catalog)).load_table(
        (database, "sales.by-country")
    )
    with duckdb_reader(spark_catalog) as duck:
        total = duck.sql("SELECT sum(n) FROM iceberg_scan(?)", params=[table.metadata_location]).fetchone()
    assert total == (7,)


def test_metadata_has_rows_schema_and_snapshot(
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
    assert spark.table(quoted("glue", database, "out.v1")).count() == 7


def test_chain_is_read_as_its_hops_in_order(
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


def test_reading_an_input_computes_nothing(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str
) -> None:
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS glue.`{database}`")
    spark.range(3).writeTo(quoted("glue", database, "src")).using("iceberg").create()
    jobs = spark.sparkContext.statusTracker()
    before = len(jobs.getJobIdsForGroup())

    @asset(ins={"src": AssetIn(key=AssetKey([database, "src"]))})
    def lazy(src: DataFrame) -> None:
        assert src.columns == ["id"]
        assert len(jobs.getJobIdsForGroup()) == before
        # The number of jobs does change with a job.
        assert src.count() == 3
        assert len(jobs.getJobIdsForGroup()) > before

    assert run(manager, AssetSpec([database, "src"]), lazy).success


def test_reading_a_topic_does_not_contact_its_broker(
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


DAYS = DailyPartitionsDefinition("2026-01-01", end_date="2026-02-01")


def test_partitions_replace_and_read_their_own_slice_of_one_table(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str
) -> None:
    """Daily partitions, read by a downstream asset with partitions and by one without."""
    sold = {"2026-01-01": 1, "2026-01-02": 2}
    seen: dict[str, list[int]] = {}

    @asset(key=[database, "sales"], partitions_def=DAYS, metadata={"partition_expr": "at"})
    def sales(context) -> DataFrame:  # type: ignore[no-untyped-def]
        text = f"SELECT timestamp'{context.partition_key} 05:00:00' AS at, {sold[context.partition_key]} AS n"
        return spark.sql(text)

    @asset(key=[database, "daily"], partitions_def=DAYS, ins={"sales": AssetIn(sales.key)})
    def daily(context, sales: DataFrame) -> None:  # type: ignore[no-untyped-def]
        seen[context.partition_key] = sorted(row.n for row in sales.collect())

    @asset(key=[database, "whole"], ins={"sales": AssetIn(sales.key)})
    def whole(sales: DataFrame) -> None:
        seen["whole"] = sorted(row.n for row in sales.collect())

    def materialized(day: str) -> dict[str, Any]:
        result = materialize(
            [sales, daily], resources={"io_manager": manager}, partition_key=day, raise_on_error=True
        )
        (event,) = result.asset_materializations_for_node(sales.op.name)
        return {name: value.value for name, value in event.metadata.items()}

    for day in sold:
        materialized(day)
    sold["2026-01-02"] = 20
    metadata = materialized("2026-01-02")

    assert (metadata["dagster/row_count"], metadata["dagster/partition_row_count"]) == (2, 1)
    assert metadata["lineage_bridge/operation"] == "overwrite"
    state = table_state(spark, TableName("glue", database, "sales"))
    assert state is not None
    assert [str(field) for field in state.partition_by] == ["day(at)"]
    # Rows outside all partitions are in the table, and in no input.
    spark.sql("SELECT timestamp'2030-01-01' AS at, 99 AS n").writeTo(
        quoted("glue", database, "sales")
    ).append()
    assert materialize([sales, whole], selection=[whole], resources={"io_manager": manager}).success
    assert seen == {"2026-01-01": [1], "2026-01-02": [20], "whole": [1, 20]}


def test_several_partition_dimensions_have_an_expression_each(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str
) -> None:
    both = MultiPartitionsDefinition({"day": DAYS, "country": StaticPartitionsDefinition(["de", "fr"])})

    @asset(
        key=[database, "sales"],
        partitions_def=both,
        metadata={"partition_expr": {"day": "at", "country": "land"}},
    )
    def sales(context) -> DataFrame:  # type: ignore[no-untyped-def]
        keys = context.partition_key.keys_by_dimension
        return spark.sql(f"SELECT date'{keys['day']}' AS at, '{keys['country']}' AS land, rand() AS n")

    for key in ("de|2026-01-01", "fr|2026-01-01", "de|2026-01-02", "de|2026-01-01"):
        assert materialize([sales], resources={"io_manager": manager}, partition_key=key).success
    stored = spark.table(quoted("glue", database, "sales")).select("land", "at").collect()
    assert sorted((row.land, str(row.at)) for row in stored) == [
        ("de", "2026-01-01"),
        ("de", "2026-01-02"),
        ("fr", "2026-01-01"),
    ]


def test_frame_with_rows_of_another_partition_is_refused(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str
) -> None:
    @asset(key=[database, "sales"], partitions_def=DAYS, metadata={"partition_expr": "at"})
    def sales() -> DataFrame:
        return spark.sql("SELECT explode(array(date'2026-01-01', date'2026-01-02')) AS at")

    result = materialize(
        [sales], resources={"io_manager": manager}, partition_key="2026-01-01", raise_on_error=False
    )
    assert "has a row outside the slice that it replaces: 2026-01-02" in failure_of(result)


def test_output_metadata_overrides_the_definition_for_one_run(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str
) -> None:
    mode = "append"

    @asset(key=[database, "log"], metadata={"write_mode": "append"})
    def log(context) -> DataFrame:  # type: ignore[no-untyped-def]
        context.add_output_metadata({"write_mode": mode, "preview_rows": 0})
        return spark.range(2)

    for _ in range(2):
        metadata = metadata_of(run(manager, log))
    assert metadata["dagster/row_count"] == 4
    assert "lineage_bridge/preview" not in metadata
    mode = "overwrite"
    assert metadata_of(run(manager, log))["dagster/row_count"] == 2


def test_misspelled_option_fails_before_anything_is_written(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str
) -> None:
    @asset(key=[database, "log"], metadata={"write_mod": "append"})
    def log() -> DataFrame:
        return spark.range(2)

    assert "Did you mean write_mode?" in failure_of(run(manager, log, raise_on_error=False))
    assert not spark.catalog.tableExists(quoted("glue", database, "log"))

    @asset(
        key=[database, "copy"], ins={"log": AssetIn(AssetKey([database, "log"]), metadata={"column": "id"})}
    )
    def copy(log: DataFrame) -> DataFrame:
        return log

    failure = failure_of(run(manager, AssetSpec([database, "log"]), copy, raise_on_error=False))
    assert "Did you mean columns?" in failure


def test_only_conflicts_of_writes_are_retried(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def conflicts(*_: Any) -> Any:
        calls.append("")
        raise (CommitConflictError if len(calls) == 1 else LineageBridgeError)("no")

    monkeypatch.setattr("lineage_bridge_dagster.spark.io.write.write_frame", conflicts)

    @asset(key=[database, "t"], retry_policy=RetryPolicy(max_retries=5))
    def t() -> DataFrame:
        return spark.range(1)

    assert not run(manager, t, raise_on_error=False).success
    assert len(calls) == 2


def test_failed_reads_are_retried_unless_options_are_wrong(
    spark: SparkSession, manager: PySparkIcebergIOManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[LineageBridgeError] = []

    def reads(*_: Any, **__: Any) -> DataFrame:
        if errors:
            raise errors.pop()
        return spark.range(1)

    monkeypatch.setattr("lineage_bridge_dagster.spark.io.read.read_frame", reads)

    @asset(ins={"t": AssetIn(AssetKey(["db", "t"]))}, retry_policy=RetryPolicy(max_retries=3))
    def reader(t: DataFrame) -> None:
        assert t.columns == ["id"]

    errors.append(LineageBridgeError("the broker did not respond"))
    assert run(manager, AssetSpec(["db", "t"]), reader).success
    errors.extend([LineageBridgeError("not raised"), ConfigurationError("no such column")])
    assert not run(manager, AssetSpec(["db", "t"]), reader, raise_on_error=False).success
    assert len(errors) == 1


def test_failed_preview_does_not_write_the_rows_again(
    spark: SparkSession, manager: PySparkIcebergIOManager, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the storage did not respond")

    monkeypatch.setattr("lineage_bridge_dagster.spark.io.output_metadata.preview", fails)

    @asset(key=[database, "log"], metadata={"write_mode": "append"}, retry_policy=RetryPolicy(max_retries=2))
    def log() -> DataFrame:
        return spark.range(2)

    metadata = metadata_of(run(manager, log))
    assert (metadata["lineage_bridge/rows_written"], metadata["lineage_bridge/operation"]) == (2, "append")
    assert spark.table(quoted("glue", database, "log")).count() == 2


def test_asset_key_of_one_part_is_read_from_the_database_it_was_written_to(
    spark: SparkSession, manager: PySparkIcebergIOManager
) -> None:
    @asset(key="alone")
    def alone() -> DataFrame:
        return spark.range(3)

    seen: list[int] = []

    @asset(ins={"alone": AssetIn(AssetKey("alone"))})
    def reader(alone: DataFrame) -> None:
        seen.append(alone.count())

    assert run(manager, alone, reader).success
    assert seen == [3]


def test_other_objects_than_frames_are_refused(manager: PySparkIcebergIOManager) -> None:
    @asset(key=["db", "wrong"])
    def wrong() -> list[int]:
        return [1]

    message = failure_of(run(manager, wrong, raise_on_error=False))
    assert "db/wrong returned a list" in message
    assert "io_manager_key" in message


def test_input_without_rows_is_refused(manager: PySparkIcebergIOManager) -> None:
    job = AssetSpec(["flink", "job"], metadata={"lineage_bridge/node_type": "flink_job"})

    @asset(ins={"job": AssetIn(key=job.key)})
    def reader(job: DataFrame) -> None: ...

    assert "flink/job is a flink_job" in failure_of(run(manager, job, reader, raise_on_error=False))
