"""A Spark Connect server whose executors are on the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.spark.session import spark_session
from lineage_bridge_dagster_tests.spark.cluster import on_driver
from lineage_bridge_dagster_tests.spark_cluster import ClusterDriver, SparkCluster
from lineage_bridge_dagster_tests.spark_connect import ConnectServer, connect_mode

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]


@pytest.fixture
def server(
    spark_cluster: SparkCluster, cluster_driver: ClusterDriver, tmp_path: Path
) -> Iterator[ConnectServer]:
    # The cluster has cores for one application.
    cluster_driver.close()
    server = ConnectServer(tmp_path, {**cluster_driver.conf, "spark.master": spark_cluster.url})
    try:
        yield server.start()
    finally:
        server.kill()


def test_session_of_a_server_has_executors_of_the_cluster_run_our_code(
    server: ConnectServer, spark_cluster: SparkCluster, spark_catalog: CatalogSettings
) -> None:
    with connect_mode(server.url):
        spark = spark_session(Catalogs.of(spark_catalog))
        files = {file for _, _, file in on_driver.workers_of(spark)}
        assert len({worker for worker, _ in spark_cluster.executors().values()}) == 2
    assert all("lineage_bridge_dagster.zip" in file for file in files)
