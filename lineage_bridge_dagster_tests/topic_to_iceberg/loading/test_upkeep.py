"""Upkeep makes a table smaller, and keeps its rows and its offsets."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from moto.s3.models import s3_backends
from tenacity import wait_none

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.spark import classic, commits
from lineage_bridge_dagster.spark import upkeep as module
from lineage_bridge_dagster.spark.commits import CommitConflictError
from lineage_bridge_dagster.spark.iceberg_tables import TableName, location
from lineage_bridge_dagster.spark.upkeep import ForeignFilesError, Upkeep, UpkeepLimits
from lineage_bridge_dagster.topic_to_iceberg.loading.model import NotOurTableError
from lineage_bridge_dagster.topic_to_iceberg.loading.upkeep import keep_up_topic_table
from lineage_bridge_dagster_tests.spark_session import BUCKET, REGION
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import Loaded

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


def test_small_files_become_few_and_a_second_upkeep_changes_nothing(loaded: Loaded) -> None:
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


def aged(aws: StrictAws, at: str, *but: str) -> Any:
    """Have all objects below a location be nine days old, but for some; returns the bucket's objects."""
    bucket, _, prefix = at.removeprefix("s3://").partition("/")
    stored = s3_backends[aws.account_id]["aws"].buckets[bucket].keys
    for key, item in stored.items():
        if key.startswith(prefix) and key not in but:
            item.last_modified = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=9)
    return stored


def test_file_without_a_snapshot_is_removed_when_it_is_old(loaded: Loaded, spark_aws: StrictAws) -> None:
    load(loaded, 1)
    at = location(loaded.spark, loaded.config.name)
    bucket, _, prefix = at.removeprefix("s3://").partition("/")
    names = {name: f"{prefix}/data/{name}.parquet" for name in ("old", "young")}
    client = spark_aws.client("s3", "us-east-1")
    for key in names.values():
        client.put_object(Bucket=bucket, Key=key, Body=b"x")
    stored = aged(spark_aws, at, names["young"])
    assert kept(loaded, UpkeepLimits()).orphans == 1
    assert names["young"] in stored
    assert names["old"] not in stored
    loaded.check()


def victim(loaded: Loaded) -> TableName:
    """Another table of the database."""
    name = replace(loaded.config.name, table="customers")
    loaded.spark.sql(f"CREATE TABLE {name.sql} USING iceberg AS SELECT 7L AS id")
    return name


def files_of(aws: StrictAws, at: str) -> set[str]:
    bucket, _, prefix = at.removeprefix("s3://").partition("/")
    return {key for key in s3_backends[aws.account_id]["aws"].buckets[bucket].keys if key.startswith(prefix)}


def test_table_that_was_moved_to_anothers_folder_removes_nothing_there(
    loaded: Loaded, spark_aws: StrictAws
) -> None:
    load(loaded, 2)
    spark, name = loaded.spark, loaded.config.name
    home, there = location(spark, name), location(spark, victim(loaded))
    for moved, given in ((there, {}), (home.rpartition("/")[0], {}), (home, {"location": there})):
        spark.sql(f"ALTER TABLE {name.sql} SET LOCATION '{moved}'")
        before = files_of(spark_aws, there)
        aged(spark_aws, there)
        if moved == home:
            # The default location stays the table's own, whatever was configured since.
            assert not kept(loaded, UpkeepLimits(**given)).orphans
        else:
            with pytest.raises(
                ForeignFilesError, match=f"is at {moved}, where .* Nothing was changed"
            ) as error:
                kept(loaded, UpkeepLimits(**given))
            assert str(name) in str(error.value)
            assert f"ALTER TABLE {name.sql} SET LOCATION" in error.value.hint
        assert files_of(spark_aws, there) == before
    loaded.check()


def test_location_that_the_configuration_gives_is_looked_after(loaded: Loaded, spark_aws: StrictAws) -> None:
    load(loaded, 1)
    spark, name = loaded.spark, loaded.config.name
    given = f"s3://{BUCKET}/elsewhere/{name.database}"
    spark.sql(f"ALTER TABLE {name.sql} SET LOCATION '{given}'")
    load(loaded, 1)
    spark_aws.client("s3", REGION).put_object(
        Bucket=BUCKET, Key=f"elsewhere/{name.database}/data/x.parquet", Body=b"x"
    )
    aged(spark_aws, given)
    assert kept(loaded, UpkeepLimits(snapshots=1, location=given)).orphans == 1
    loaded.check()


@pytest.mark.parametrize("listed", ["data", "statistics"])
def test_files_of_another_table_that_the_table_lists_do_not_expire(
    loaded: Loaded, spark_aws: StrictAws, listed: str
) -> None:
    load(loaded, 1)
    spark, name, other = loaded.spark, loaded.config.name, victim(loaded)
    path = spark.table(f"{other.sql}.files").first().file_path  # type: ignore[union-attr]
    table = classic.load_table(spark, name.sql)
    if listed == "data":
        spec = table.spec()
        files = classic.java_class(spark, "org.apache.iceberg.DataFiles").builder(spec)
        file = files.withPath(path).withFileSizeInBytes(1000).withRecordCount(1).build()
        table.newAppend().appendFile(file).commit()
        table.newDelete().deleteFile(file).commit()
    else:
        kind = classic.java_class(spark, "org.apache.iceberg.GenericStatisticsFile")
        nothing = classic.java_class(spark, "java.util.List").of()
        file = kind(table.currentSnapshot().snapshotId(), path, 1000, 100, nothing)
        table.updateStatistics().setStatistics(file).commit()
    loaded.writer().advance()
    before = files_of(spark_aws, location(spark, other))
    with pytest.raises(ForeignFilesError, match=f"lists {path}, .* No snapshot was expired"):
        kept(loaded, UpkeepLimits(snapshots=1))
    assert files_of(spark_aws, location(spark, other)) == before
    own_paths = UpkeepLimits(snapshots=1, orphan_days=None, paths=(path.rpartition("/")[0],))
    if listed == "data":
        assert kept(loaded, own_paths).expired


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
    monkeypatch.setattr(commits, "wait_random_exponential", lambda **_: wait_none())
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
