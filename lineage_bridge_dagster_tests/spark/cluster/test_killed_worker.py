"""A worker that ends with its executor in the middle of a write: the other one finishes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster_tests.spark.cluster import on_driver, test_loading
from lineage_bridge_dagster_tests.spark.cluster.topic import SCHEMAS, OrdersTopic
from lineage_bridge_dagster_tests.spark_cluster import ClusterDriver, SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster")]

#: Seconds that a request hangs, longer than its executor lives.
HANG = 600.0
REACHED = 480.0


@pytest.fixture(autouse=True)
def _two_workers(spark_aws: StrictAws, spark_cluster: SparkCluster) -> Iterator[None]:
    """Let no request of another test hang, and leave two workers to others."""
    spark_aws.clear_faults()
    yield
    spark_aws.clear_faults()
    spark_cluster.ensure_workers()


def kill_waiting_worker(
    done: Future[Any], aws: StrictAws, cluster: SparkCluster, driver: ClusterDriver
) -> None:
    """Kill the worker whose request hangs."""
    wait_for(lambda: aws.pending_faults == 0, done)

    def busy() -> list[str]:
        found = [each for each in driver.status("executors") if each["id"] != "driver" and each["isActive"]]
        return [each["id"] for each in found if each["activeTasks"]]

    # The other one has no task left but this.
    wait_for(lambda: len(busy()) == 1, done)
    (executor,) = busy()
    worker, _ = cluster.executors()[executor]
    cluster.kill_worker(worker)


def hang(aws: StrictAws, files: str) -> None:
    """Have the next request to write one of these files hang."""
    aws.fail("PutObject", matching=files, delay_seconds=HANG, drop=True)


def wait_for(condition: Callable[[], bool], done: Future[Any]) -> None:
    deadline = time.monotonic() + REACHED
    while not condition():
        assert not done.done(), done.result()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def failed_tasks(driver: ClusterDriver) -> int:
    return sum(stage["numFailedTasks"] for stage in driver.status("stages"))


def test_topic_is_merged_once(
    cluster_driver: ClusterDriver,
    spark_cluster: SparkCluster,
    spark_aws: StrictAws,
    spark_catalog: CatalogSettings,
    orders: OrdersTopic,
) -> None:
    given = (spark_catalog, orders.name, orders.address, orders.topic, "upsert", SCHEMAS)
    orders.add(200)
    cluster_driver.run(on_driver.load_topic, *given)
    orders.add(400)
    before = failed_tasks(cluster_driver)
    hang(spark_aws, f"{orders.name}.db/orders/data/")
    loading = cluster_driver.submit(on_driver.load_topic, *given)
    kill_waiting_worker(loading, spark_aws, spark_cluster, cluster_driver)
    done = loading.result(REACHED)
    assert failed_tasks(cluster_driver) > before
    assert test_loading.stored(spark_catalog, orders) == orders.newest()
    # What has been lost with the worker was read again, and is counted once.
    assert (done.records, done.skipped) == (400, 0)
