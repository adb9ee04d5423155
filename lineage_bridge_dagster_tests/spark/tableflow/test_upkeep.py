"""Upkeep makes a table smaller, and keeps its rows and its offsets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from moto.s3.models import s3_backends
from tenacity import wait_none

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.spark import upkeep as module
from lineage_bridge_dagster.spark.commits import CommitConflictError
from lineage_bridge_dagster.spark.iceberg_tables import TableName, location
from lineage_bridge_dagster.spark.tableflow.config import NotOurTableError
from lineage_bridge_dagster.spark.tableflow.upkeep import keep_up_topic_table
from lineage_bridge_dagster.spark.upkeep import Upkeep, UpkeepLimits
from lineage_bridge_dagster_tests.spark.tableflow.loaded import Loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

KEEP_FILES = UpkeepLimits(orphan_days=None)


@pytest.fixture
def loaded(spark: SparkSession, database: str) -> Loaded:
    return Loaded(spark, database, mode="upsert")


def load(loaded: Loaded, batches: int) -> None:
    writer = loaded.writer()
    for _ in range(batches):
        writer.advance()
        loaded.add(3)
    writer.advance()


def kept(loaded: Loaded, limits: UpkeepLimits) -> Upkeep:
    return keep_up_topic_table(loaded.spark, loaded.config.name, limits, datetime.now(UTC))


def files(loaded: Loaded) -> int:
    return loaded.spark.table(f"{loaded.config.name.sql}.files").count()


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_small_files_become_few_and_a_second_upkeep_changes_nothing(
    spark: SparkSession, database: str, mode: str
) -> None:
    loaded = Loaded(spark, database, mode=mode)
    load(loaded, 5)
    before = files(loaded)
    done = kept(loaded, KEEP_FILES)
    assert done.compacted >= 5
    assert done.written < done.compacted
    assert files(loaded) < before
    loaded.check()
    assert kept(loaded, KEEP_FILES).is_nothing


def test_offsets_are_found_when_the_snapshots_of_loads_have_expired(loaded: Loaded) -> None:
    load(loaded, 5)
    done = kept(loaded, UpkeepLimits(snapshots=1, orphan_days=None))
    assert done.snapshots > 0
    assert done.expired > 0
    loaded.add(2)
    loaded.writer().advance()
    loaded.check()


def test_young_snapshots_are_kept_beyond_their_number(loaded: Loaded) -> None:
    load(loaded, 2)
    assert kept(loaded, UpkeepLimits(snapshots=1, hours=1.0, orphan_days=None)).snapshots == 0


def test_file_without_a_snapshot_is_removed_when_it_is_old(loaded: Loaded, spark_aws: StrictAws) -> None:
    load(loaded, 1)
    bucket, _, prefix = location(loaded.spark, loaded.config.name).removeprefix("s3://").partition("/")
    names = {name: f"{prefix}/data/{name}.parquet" for name in ("old", "young")}
    client = spark_aws.client("s3", "us-east-1")
    for key in names.values():
        client.put_object(Bucket=bucket, Key=key, Body=b"x")
    stored = s3_backends[spark_aws.account_id]["aws"].buckets[bucket].keys
    for key, item in stored.items():
        if key.startswith(prefix) and key != names["young"]:
            item.last_modified = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=9)
    assert kept(loaded, UpkeepLimits()).orphans == 1
    assert names["young"] in stored
    assert names["old"] not in stored
    loaded.check()


def test_upkeep_gives_way_to_a_loader_that_keeps_changing_the_files(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(loaded, 1)
    calls = []

    def conflict(*call: object, **_: object) -> list[object]:
        calls.append(call)
        raise RuntimeError

    monkeypatch.setattr(module, "_call", conflict)
    monkeypatch.setattr(module, "conflict_of", lambda *_: CommitConflictError("changed meanwhile"))
    monkeypatch.setattr(module, "wait_random_exponential", lambda **_: wait_none())
    with pytest.raises(CommitConflictError, match="kept changing the files"):
        kept(loaded, KEEP_FILES)
    assert len(calls) > 1
    loaded.check()


def test_table_of_someone_else_is_left_alone(spark: SparkSession, database: str) -> None:
    name = TableName("glue", database, "theirs")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS glue.`{database}`")
    spark.sql(f"CREATE TABLE {name.sql} (id bigint) USING iceberg")
    with pytest.raises(NotOurTableError, match="was not created from a topic"):
        keep_up_topic_table(spark, name, KEEP_FILES, datetime.now(UTC))


def test_table_without_rows_needs_nothing(loaded: Loaded) -> None:
    loaded.writer()
    assert kept(loaded, UpkeepLimits()).is_nothing
