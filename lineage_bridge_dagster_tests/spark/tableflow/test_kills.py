"""A loading process that is killed in the middle of a request loses and doubles nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.spark.tableflow.config import TopicSchemas
from lineage_bridge_dagster.spark.tableflow.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1
from lineage_bridge_dagster_tests.spark.tableflow import load_and_die
from lineage_bridge_dagster_tests.spark_session import CREDENTIALS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

#: Seconds that a request hangs, in which the process is killed.
HANG = 15.0


@pytest.mark.parametrize(
    ("operation", "matching", "skipped", "is_applied"),
    [
        pytest.param("PutObject", "/data/", 0, False, id="while rows are written"),
        pytest.param("PutObject", "/metadata/snap-", 0, False, id="while manifests are written"),
        pytest.param("UpdateTable", "", 0, True, id="while the batch is staged"),
        pytest.param("UpdateTable", "", 1, False, id="before the batch is published"),
        pytest.param("UpdateTable", "", 1, True, id="after the batch was published, before the answer"),
    ],
)
def test_killed_process_loses_and_doubles_nothing(
    operation: str,
    matching: str,
    skipped: int,
    is_applied: bool,
    spark: SparkSession,
    spark_aws: StrictAws,
    spark_catalog: CatalogSettings,
    database: str,
) -> None:
    argv = ("upsert", database, spark_catalog.model_dump_json(exclude_defaults=True))
    command = [sys.executable, "-m", load_and_die.__name__, *argv]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        command, env={**os.environ, **CREDENTIALS}, start_new_session=True, **pipes
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "half\n"
            spark_aws.clear_faults()
            for _ in range(skipped):
                spark_aws.fail(operation, matching=matching)
            options = {"delay_seconds": HANG, "drop": True, "apply_first": is_applied}
            spark_aws.fail(operation, matching=matching, **options)
            process.stdin.write("\n")
            process.stdin.flush()
            wait_for(lambda: spark_aws.pending_faults == 0, process)
        finally:
            # The JVM is of its process group.
            os.killpg(process.pid, signal.SIGKILL)
            spark_aws.clear_faults()

    config = load_and_die.table(database, "upsert")
    writer = TopicTable(spark, load_and_die.topic(), config, lambda: TopicSchemas(value=ORDERS_V1))
    writer.ensure()
    while not writer.advance().caught_up:
        pass
    # The last record of each key of each partition.
    last = {(number % 2, number % 4): number for number in range(load_and_die.RECORDS)}
    assert sorted(row.id for row in spark.table(config.name.sql).collect()) == sorted(last.values())


def wait_for(condition: Any, process: subprocess.Popen[str], timeout: float = 120) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
