"""A batch has at most so many records, and about so many bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.topic_to_iceberg.loading.batch_size import SAMPLE, BatchSize
from lineage_bridge_dagster.topic_to_iceberg.loading.staging import writer_session
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import Loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MB = 1 << 20


def test_records_of_1_mb_make_small_batches() -> None:
    size = BatchSize(1_000_000, 1024 * MB)
    assert (size.records, size.needs_sample) == (SAMPLE, True)
    size.measured(SAMPLE, SAMPLE * MB)
    assert (size.records, size.needs_sample) == (1024, False)


def test_small_records_fill_the_batch() -> None:
    size = BatchSize(1_000_000, 1024 * MB)
    size.measured(SAMPLE, SAMPLE * 500)
    assert size.records == 1_000_000


def test_estimate_grows_at_once_and_falls_slowly() -> None:
    size = BatchSize(1_000_000, 1000)
    found = []
    for mean in (10, 100, 1, 1, 1):
        size.measured(10, 10 * mean)
        found.append(size.records)
    assert found == [100, 10, 20, 40, 80]


def test_record_over_the_limit_is_a_batch_of_its_own() -> None:
    size = BatchSize(100_000, MB)
    size.measured(3, 30 * MB)
    assert size.records == 1


def test_batch_without_records_changes_nothing() -> None:
    size = BatchSize(100_000, 1000)
    size.measured(10, 100)
    size.measured(0, 0)
    assert size.records == 100


def test_batches_within_a_sample_need_none() -> None:
    assert not BatchSize(SAMPLE, MB).needs_sample


def test_sample_of_offsets_without_records_is_repeated_with_more() -> None:
    size = BatchSize(50_000, MB)
    found = []
    while size.needs_sample:
        found.append(size.records)
        size.measured(0, 0)
    assert (found, size.records) == ([1000, 10_000], 50_000)


@pytest.mark.spark
@pytest.mark.xdist_group("topics")
def test_topic_of_large_records_is_read_in_small_batches(spark: SparkSession, database: str) -> None:
    loaded = Loaded(spark, database)
    loaded.add(SAMPLE + 200)
    size = len(loaded.topic.partitions[1][0]["value"] + loaded.topic.partitions[1][0]["key"])
    writer = loaded.writer(batch_bytes=600 * size, batch_records=100_000)
    steps = []
    while not steps or not steps[-1].caught_up:
        steps.append(writer.advance())
    assert sum(step.rows for step in steps) == SAMPLE + 202
    assert len(steps) >= 2
    assert all(step.rows <= 620 for step in steps)
    # One sample, then the batches.
    assert loaded.topic.reads == len(steps) + 1
    loaded.check()


def test_records_that_python_gets_at_a_time_are_bounded_by_their_bytes() -> None:
    size = BatchSize(1_000_000, 1 << 30)
    # Nothing is known: they may be large.
    assert size.records_within(16 << 20) == 16
    size.measured(1000, 1000 * 500)
    assert size.records_within(16 << 20) == 10_000
    size.measured(10, 10 * (10 << 20))
    assert size.records_within(16 << 20) == 1
    size.measured(10, 10 * (100 << 20))
    assert size.records_within(16 << 20) == 1


@pytest.mark.spark
@pytest.mark.xdist_group("topics")
def test_load_hands_few_records_to_python_until_their_size_is_known(
    spark: SparkSession, database: str
) -> None:
    """A first batch of 400 records of 1 MB, handed over at once, took all of the JVM's direct memory."""
    loaded = Loaded(spark, database)
    writer, option = loaded.writer(), "spark.sql.execution.arrow.maxRecordsPerBatch"
    writer.advance()
    assert writer_session(spark).conf.get(option) == "16"
    loaded.add(1)
    writer.advance()
    assert writer_session(spark).conf.get(option) == "10000"
