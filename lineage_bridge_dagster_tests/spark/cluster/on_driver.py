"""What tests have a driver do: functions for `ClusterDriver.run`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from dagster import AssetIn, AssetKey, asset, materialize
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.schemas.schemas import Mode
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.kafka import SparkTopic
from lineage_bridge_dagster.spark.python_workers import map_in_arrow
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster.topic_to_iceberg.loading.model import LoadStep, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark_cluster import driver_session
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into


def materialize_chains(yaml: str, discovery: Discovery, folder: Path) -> tuple[bool, int]:
    """Materialize all chains of a component, as its YAML says; whether that succeeded, and how many."""
    component = LineageBridgeComponent.resolve_from_yaml(yaml)
    state = folder / "state"
    graph_json.dump(discovery, state)
    definitions = component.build_defs_from_state(None, state)
    chains = [
        key
        for key in definitions.resolve_asset_graph().get_all_asset_keys()
        if key.path[0] == "upstream_chain"
    ]
    job = definitions.resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(asset_selection=chains, raise_on_error=False)
    return result.success, len(chains)


def workers(catalog: CatalogSettings) -> list[tuple[int, int, str]]:
    """`workers_of` the driver's session."""
    return workers_of(driver_session(catalog))


def workers_of(spark: SparkSession) -> list[tuple[int, int, str]]:
    """For each of four tasks: its Python worker, that worker's parent, and where our code comes from."""

    def origin(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time

        import lineage_bridge_dagster.spark.chains.shared_files as code

        # So that one executor does not do all tasks.
        time.sleep(0.5)
        found = {"pid": [os.getpid()], "parent": [os.getppid()], "file": [code.__file__]}
        yield pa.RecordBatch.from_pydict(found, schema=pa.schema(
            [("pid", pa.int64()), ("parent", pa.int64()), ("file", pa.string())]
        ))  # fmt: skip

    frame = spark.range(0, 4, 1, 4)
    rows = map_in_arrow(frame, origin, "pid long, parent long, file string").collect()
    return [(row.pid, row.parent, row.file) for row in rows]


def materialize_frames(catalog: CatalogSettings, database: str, rows: int) -> bool:
    """Materialize a table of numbers, and one with a sum for each remainder of them by 7; twice, by key."""
    spark = driver_session(catalog)

    @asset(key=[database, "numbers"])
    def numbers() -> DataFrame:
        return spark.range(0, rows, 1, 4).selectExpr("id", "id % 7 AS remainder")

    by_key = {"write_mode": "merge", "join_cols": ["remainder"]}

    @asset(
        ins={"numbers": AssetIn(key=AssetKey([database, "numbers"]))},
        key=[database, "sums"],
        metadata=by_key,
    )
    def sums(numbers: DataFrame) -> DataFrame:
        return numbers.groupBy("remainder").agg({"id": "sum"}).toDF("remainder", "total")

    resource = SparkResource(catalog=catalog.model_dump(exclude_none=True))
    manager = PySparkIcebergIOManager(
        spark=resource, confluent=ConfluentSettingsResource(), namespace=database, database=database
    )
    results = [materialize([numbers, sums], resources={"io_manager": manager}) for _ in range(2)]
    return all(result.success for result in results)


def load_topic(
    catalog: CatalogSettings, database: str, broker: str, topic: str, mode: Mode, schemas: TopicSchemas
) -> LoadStep:
    """Load all records of a topic into the table `orders`, in one batch."""
    config = load_into(database, mode=mode)
    kafka = SparkTopic(topic, Bootstrap.parse(broker), timeout_seconds=60.0)
    table = TopicTable(driver_session(catalog), kafka, config, lambda: schemas)
    table.ensure()
    return table.advance()
