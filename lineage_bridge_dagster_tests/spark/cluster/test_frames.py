"""DataFrames that executors compute, written to tables and read back by the IO manager."""

from __future__ import annotations

import psutil
import pytest
from pyiceberg.catalog import load_catalog

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster_tests.spark.cluster import on_driver
from lineage_bridge_dagster_tests.spark_cluster import ClusterDriver, SparkCluster
from lineage_bridge_dagster_tests.spark_session import pyiceberg_properties

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

ROWS = 20_000


def test_frames_are_written_by_executors_and_read_back(
    cluster_driver: ClusterDriver, spark_cluster: SparkCluster, spark_catalog: CatalogSettings, database: str
) -> None:
    assert cluster_driver.run(on_driver.materialize_frames, spark_catalog, database, ROWS)
    catalog = load_catalog("glue", **pyiceberg_properties(spark_catalog))
    numbers = catalog.load_table((database, "numbers"))
    assert sorted(numbers.scan().to_arrow()["id"].to_pylist()) == list(range(ROWS))
    # A file for each task.
    assert len(numbers.inspect.files()) == 4
    sums = catalog.load_table((database, "sums")).scan().to_arrow().to_pylist()
    totals = {row["remainder"]: row["total"] for row in sums}
    assert len(sums) == len(totals)
    assert totals == {n: sum(range(n, ROWS, 7)) for n in range(7)}
    check_executors(cluster_driver, spark_cluster)


def check_executors(driver: ClusterDriver, cluster: SparkCluster) -> None:
    """Check that all tasks ran in executors, which are processes of their own and fetched data remotely."""
    found = {each["id"]: each for each in driver.status("executors")}
    executors = cluster.executors()
    assert found.keys() == {"driver", *executors}
    pids = {pid for _, pid in executors.values()}
    assert len(pids) == len({worker for worker, _ in executors.values()}) == 2
    assert not pids & {driver.pid, *(child.pid for child in psutil.Process(driver.pid).children(True))}
    assert found["driver"]["totalTasks"] == 0
    for name in executors:
        assert found[name]["completedTasks"] > 0
        assert "Finished task" in cluster.executor_log(driver.application, name)
    assert sum(stage["shuffleRemoteBytesRead"] for stage in driver.status("stages?status=complete")) > 0
