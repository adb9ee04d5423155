"""DataFrames that executors compute, written to tables and read back by the IO manager."""

from __future__ import annotations

import pytest
from pyiceberg.catalog import load_catalog

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster_tests.spark.cluster import on_driver
from lineage_bridge_dagster_tests.spark_cluster import ClusterDriver
from lineage_bridge_dagster_tests.spark_session import pyiceberg_properties

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

ROWS = 20_000


def test_frames_are_written_by_executors_and_read_back(
    cluster_driver: ClusterDriver, spark_catalog: CatalogSettings, database: str
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
    driver = next(each for each in cluster_driver.status("executors") if each["id"] == "driver")
    assert driver["totalTasks"] == 0
