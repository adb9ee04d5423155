"""A disk that takes no more bytes: the kernel refuses them, by a limit on the size of Spark's files."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.topic_to_iceberg.reports import LoadError
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import Loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]


@contextmanager
def full_disk(spark: SparkSession, free: int = 0) -> Iterator[None]:
    """Have the kernel refuse what Spark's JVM writes to a file beyond its first bytes."""
    jvm: Any = spark._jvm
    pid = int(jvm.java.lang.ProcessHandle.current().pid())
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (free, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("mode", "free", "disk", "setting"),
    [
        # Rows wait for their upload in a file.
        ("append", 0, "The disk where files wait for their upload to S3 is full", "s3.staging-dir"),
        # They fit, and the table's metadata does not.
        ("append", 5000, "The disk where files wait for their upload to S3 is full", "s3.staging-dir"),
        # Rows of a key are brought together first.
        ("upsert", 0, "The disk of shuffles and spilled rows is full", "spark.local.dir"),
    ],
    ids=["rows", "metadata", "shuffle"],
)
def test_full_disk_is_named_and_the_load_goes_on_when_it_has_space(
    mode: str, free: int, disk: str, setting: str, spark: SparkSession, database: str
) -> None:
    loaded = Loaded(spark, database, mode=mode)
    writer = loaded.writer()
    writer.advance()
    before = [tuple(row) for row in spark.table(loaded.config.name.sql).select("id").orderBy("id").collect()]
    loaded.add(2)
    with full_disk(spark, free), pytest.raises(Exception) as raised:  # noqa: PT011
        writer.advance()
    error = LoadError.of(raised.value)
    assert error.message.startswith(disk)
    assert setting in error.hint
    assert not error.suspended
    now = [tuple(row) for row in spark.table(loaded.config.name.sql).select("id").orderBy("id").collect()]
    assert now == before
    writer.advance()
    loaded.check()
