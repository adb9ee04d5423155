"""Chains, written by executors that are processes of their own."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
import yaml
from pyiceberg.catalog import load_catalog

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.lineage.chains import chains_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster_tests.spark.cluster import on_driver
from lineage_bridge_dagster_tests.spark.graphs import world
from lineage_bridge_dagster_tests.spark_cluster import ClusterDriver, SparkCluster
from lineage_bridge_dagster_tests.spark_session import pyiceberg_properties

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]


def stored(catalog: CatalogSettings, database: str) -> set[tuple[str, str, int]]:
    """The rows of the chains table, read without Spark."""
    table = load_catalog("glue", **pyiceberg_properties(catalog)).load_table((database, "upstream_chains"))
    rows = table.scan(selected_fields=("table_id", "node_id", "hop")).to_arrow().to_pylist()
    assert len({tuple(row.values()) for row in rows}) == len(rows)
    return {(row["table_id"], row["node_id"], row["hop"]) for row in rows}


def expected(discovery: Discovery) -> set[tuple[str, str, int]]:
    """The chains as the pure function computes them."""
    return {
        (chain.table.node_id, hop.node.node_id, hop.distance)
        for chain in chains_of(discovery.graph)
        for hop in chain.hops
    }


def test_component_with_a_master_in_its_yaml_has_executors_write_chains(
    cluster_driver: ClusterDriver,
    spark_cluster: SparkCluster,
    spark_catalog: CatalogSettings,
    database: str,
    tmp_path: Path,
) -> None:
    spark = {
        "master": spark_cluster.url,
        "conf": cluster_driver.conf,
        "catalog": spark_catalog.model_dump(exclude_defaults=True),
        "namespace": database,
    }
    text = yaml.safe_dump({"aws": {"region": "us-east-1"}, "spark": spark})
    discovery = world(60)
    assert cluster_driver.run(on_driver.materialize_chains, text, discovery, tmp_path) == (True, 60)
    assert stored(spark_catalog, database) == expected(discovery)
    executors = {each["id"]: each for each in cluster_driver.status("executors")}
    assert executors.pop("driver")["totalTasks"] == 0
    assert executors.keys() == spark_cluster.executors().keys()
    assert sum(each["completedTasks"] for each in executors.values()) > 0


def test_python_workers_run_the_code_that_the_driver_has_sent(
    cluster_driver: ClusterDriver, spark_cluster: SparkCluster, spark_catalog: CatalogSettings
) -> None:
    tasks = cluster_driver.run(on_driver.workers, spark_catalog)
    assert all("lineage_bridge_dagster.zip" in file for _, _, file in tasks)
    # Workers are forked from a daemon, which is the executor's child.
    daemons = {psutil.Process(parent).ppid() for _, parent, _ in tasks}
    assert daemons == {pid for _, pid in spark_cluster.executors().values()}
