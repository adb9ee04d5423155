"""Topics that executors read from a broker, decode and load."""

from __future__ import annotations

import pytest
from pyiceberg.catalog import load_catalog

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster_tests.spark.cluster import on_driver
from lineage_bridge_dagster_tests.spark.cluster.topic import SCHEMAS, OrdersTopic
from lineage_bridge_dagster_tests.spark_cluster import ClusterDriver
from lineage_bridge_dagster_tests.spark_session import pyiceberg_properties

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]


def stored(catalog: CatalogSettings, orders: OrdersTopic) -> list[int]:
    """The ids in the topic's table, read without Spark."""
    table = load_catalog("glue", **pyiceberg_properties(catalog)).load_table((orders.name, "orders"))
    return sorted(table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())


def test_executors_append_a_topic(
    cluster_driver: ClusterDriver, spark_catalog: CatalogSettings, orders: OrdersTopic
) -> None:
    orders.add(2_000)
    given = (spark_catalog, orders.name, orders.address, orders.topic, "append", SCHEMAS)
    done = cluster_driver.run(on_driver.load_topic, *given)
    assert (done.rows, done.skipped, done.caught_up) == (2_000, 0, True)
    assert stored(spark_catalog, orders) == list(range(1, 2_001))
