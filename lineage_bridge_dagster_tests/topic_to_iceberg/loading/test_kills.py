"""A loading process that is killed in the middle of a request loses and doubles nothing.

One process loads a table for each point, all at once. It is killed when each table is at its point.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.staging import StagedTable
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1
from lineage_bridge_dagster_tests.spark_session import CREDENTIALS
from lineage_bridge_dagster_tests.topic_to_iceberg.loading import load_and_die

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

#: Seconds that a request hangs: longer than the wait for the last table to reach its point.
HANG = 300.0
REACHED = 240.0


@dataclass(frozen=True, slots=True)
class Point:
    """A request of a batch in which the process is killed.

    Attributes:
        operation: of Glue or S3.
        files: what the key of the request begins with, below the table's location; empty for Glue.
        skipped: calls of the operation before that one.
        is_applied: whether the service does what the request asks for.
        left: what the batch is when the process has ended.
    """

    operation: str
    files: str = ""
    skipped: int = 0
    is_applied: bool = False
    left: Literal["unwritten", "staged", "published"] = "unwritten"


POINTS = {
    "while rows are written": Point("PutObject", "data/"),
    "while manifests are written": Point("PutObject", "metadata/snap-"),
    "while the batch is staged": Point("UpdateTable", is_applied=True, left="staged"),
    "before the batch is published": Point("UpdateTable", skipped=1, left="staged"),
    "after the batch was published, before the answer": Point(
        "UpdateTable", skipped=1, is_applied=True, left="published"
    ),
}


@pytest.fixture(scope="module")
def killed(spark_aws: StrictAws, spark_catalog: CatalogSettings) -> Mapping[str, str]:
    """The database of each point's table, whose process was killed there."""
    databases = {name: f"lkc-{uuid.uuid4().hex[:8]}" for name in POINTS}
    argv = ("upsert", spark_catalog.model_dump_json(exclude_defaults=True), *databases.values())
    command = [sys.executable, "-m", load_and_die.__name__, *argv]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        command, env={**environment(), **CREDENTIALS}, start_new_session=True, **pipes
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "half\n"
            spark_aws.clear_faults()
            for name, point in POINTS.items():
                hang_at(point, databases[name], spark_aws)
            process.stdin.write("\n")
            process.stdin.flush()
            # Those that hang further requests stay.
            wait_for(lambda: spark_aws.pending_faults == len(POINTS), process)
        finally:
            # The JVM is of its process group.
            os.killpg(process.pid, signal.SIGKILL)
            spark_aws.clear_faults()
    return databases


def environment() -> dict[str, str]:
    """The variables without a developer's own of AWS, and without those of an embedded stack."""
    ours = ("AWS_", "LINEAGE_BRIDGE_", "ICEBERG_", "DAGSTER_HOME")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def hang_at(point: Point, database: str, aws: StrictAws) -> None:
    """Have a point's request hang, and every later one, with which a client would go on."""
    matching = f"{database}.db/orders/{point.files}" if point.files else database
    for _ in range(point.skipped):
        aws.fail(point.operation, matching=matching)
    for times in (1, -1):
        aws.fail(
            point.operation,
            matching=matching,
            times=times,
            delay_seconds=HANG,
            drop=True,
            apply_first=point.is_applied and times == 1,
        )


@pytest.mark.parametrize("point", POINTS)
def test_killed_process_loses_and_doubles_nothing(
    point: str, killed: Mapping[str, str], spark: SparkSession
) -> None:
    config = load_and_die.table(killed[point], "upsert")
    writer = TopicTable(spark, load_and_die.topic(), config, lambda: TopicSchemas(value=ORDERS_V1))
    assert batch_of(StagedTable(spark, config.name)) == POINTS[point].left
    writer.ensure()
    while not writer.advance().caught_up:
        pass
    # The last record of each key of each partition.
    last = {(number % 2, number % 4): number for number in range(load_and_die.RECORDS)}
    assert sorted(row.id for row in spark.table(config.name.sql).collect()) == sorted(last.values())


def batch_of(table: StagedTable) -> str:
    """What has become of the second batch."""
    done = table.progress()
    assert done is not None
    if sum(done.offsets.values()) == load_and_die.RECORDS:
        return "published"
    return "unwritten" if table.staged == table.head else "staged"


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + REACHED
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
