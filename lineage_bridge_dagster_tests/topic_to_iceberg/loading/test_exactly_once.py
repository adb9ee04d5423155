"""No crash, no other writer and no upkeep loses or doubles a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.catalogs.iceberg.topic_progress import RawSnapshot
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.spark.classic import load_table
from lineage_bridge_dagster.spark.iceberg_tables import current_snapshot
from lineage_bridge_dagster.topic_to_iceberg.loading import topic_table as module
from lineage_bridge_dagster.topic_to_iceberg.loading.model import NotOurTableError, SecondWriterError
from lineage_bridge_dagster.topic_to_iceberg.loading.offsets import TopicRecreatedError
from lineage_bridge_dagster.topic_to_iceberg.loading.staging import STAGED, StagedTable
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import Loaded, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]


class Crash(Exception):
    """The process ends here."""


@contextmanager
def before_publishing(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> Iterator[None]:
    """Do something after a batch was staged, and before it is published."""
    publish, acted = StagedTable.publish, False

    def acting(table: StagedTable, staged: int, base: int | None) -> None:
        nonlocal acted
        if not acted:
            acted = True
            act()
        publish(table, staged, base)

    with monkeypatch.context() as patched:
        patched.setattr(StagedTable, "publish", acting)
        yield
    assert acted


def crash() -> None:
    raise Crash


@pytest.fixture
def loaded(spark: SparkSession, database: str, request: pytest.FixtureRequest) -> Loaded:
    """Rows that replace others, unless a test asks for more: all modes stage and publish alike."""
    return Loaded(spark, database, mode=getattr(request, "param", "upsert"))


in_both_modes = pytest.mark.parametrize("loaded", ["append", "upsert"], indirect=True)


@in_both_modes
def test_staged_batch_of_a_crash_is_published_by_the_next_run(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded.writer().advance()
    loaded.add(3)
    with before_publishing(monkeypatch, crash), pytest.raises(Crash):
        loaded.writer().advance()
    assert loaded.spark.table(loaded.config.name.sql).count() == 2
    reads = loaded.topic.reads
    assert loaded.writer().advance().caught_up
    loaded.check()
    # The batch is not read again; retention may have removed it by now.
    assert loaded.topic.reads == reads


def test_staged_batch_is_discarded_if_the_table_was_compacted(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded.writer().advance()
    loaded.add(3)
    with before_publishing(monkeypatch, crash), pytest.raises(Crash):
        loaded.writer().advance()
    loaded.compact()
    loaded.writer().advance()
    loaded.check()
    table = load_table(loaded.spark, loaded.config.name.sql)
    assert table.refs()[STAGED].snapshotId() == table.refs()["main"].snapshotId()


@in_both_modes
def test_compaction_between_has_the_batch_done_again(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = loaded.writer()
    writer.advance()
    loaded.add(3)
    with before_publishing(monkeypatch, loaded.compact):
        writer.advance()
    loaded.check()
    snapshot = current_snapshot(loaded.spark, loaded.config.name)
    assert snapshot is not None
    assert snapshot.count("total-records") - snapshot.count("total-position-deletes") == (
        loaded.spark.table(loaded.config.name.sql).count()
    )


def test_pushed_lineage_between_has_the_same_batch_published(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = loaded.writer()
    sql = f"ALTER TABLE {loaded.config.name.sql} SET TBLPROPERTIES ('pushed' = 'yes')"
    with before_publishing(monkeypatch, lambda: loaded.spark.sql(sql) and None):
        writer.advance()
    loaded.check()
    assert loaded.topic.reads == 1


def test_second_writer_is_refused(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = loaded.writer(), loaded.writer()
    first.advance()
    loaded.add(3)
    with before_publishing(monkeypatch, lambda: second.advance() and None):
        # The second one publishes what the first had staged, and writes nothing of its own.
        first.advance()
    loaded.check()
    loaded.add(1)
    second.advance()
    loaded.add(1)
    for _ in range(2):
        with pytest.raises(SecondWriterError, match="Nothing is lost or doubled"):
            first.advance()
    second.advance()
    loaded.check()


def test_writers_at_once_double_nothing(loaded: Loaded) -> None:
    loaded.write_at_once()


def test_commit_whose_outcome_is_unknown_is_looked_up(loaded: Loaded, spark_aws: StrictAws) -> None:
    writer = loaded.writer()
    writer.advance()
    for calls in (1, 2):
        loaded.add(2)
        spark_aws.fail("UpdateTable", "InternalServiceException", status=500, apply_first=True, times=calls)
        try:
            writer.advance()
        except Exception:
            loaded.writer().advance()
            writer = loaded.writer()
        finally:
            spark_aws.clear_faults()
        loaded.check()


def test_offsets_outlive_their_snapshots(spark: SparkSession, database: str) -> None:
    loaded = Loaded(spark, database)
    loaded.writer().advance()
    for _ in range(3):
        loaded.compact()
    name = f"`{database}`.orders"
    spark.sql(f"CALL glue.system.expire_snapshots(table => '{name}', retain_last => 1, older_than => now())")
    assert loaded.writer().offsets() == {0: 1, 1: 1}
    loaded.add(1)
    loaded.writer().advance()
    loaded.check()


def test_topic_created_again_is_noticed(spark: SparkSession, database: str) -> None:
    loaded = Loaded(spark, database)
    loaded.topic.id = "first"
    loaded.writer().advance()
    loaded.topic.id = "second"
    with pytest.raises(TopicRecreatedError, match="its id was first and is second"):
        loaded.writer().advance()
    loaded.config = changed(loaded.config, accept=["recreated_topic"])
    assert loaded.writer().advance().rows == 2
    snapshot = current_snapshot(spark, loaded.config.name)
    assert snapshot is not None
    assert snapshot.summary["topic_to_iceberg.accepted"].startswith("recreated_topic: its id was first")
    assert snapshot.summary["topic_to_iceberg.topic-id"] == "second"


def test_foreign_tables_are_refused(spark: SparkSession, database: str) -> None:
    loaded = Loaded(spark, database, mode="upsert", origin="env-1/lkc-1/orders")
    loaded.writer().advance()
    loaded.config = changed(loaded.config, mode="append")
    with pytest.raises(NotOurTableError, match="created in mode upsert, which cannot be changed to append"):
        loaded.writer()
    loaded.config = changed(loaded.config, mode="upsert", origin="env-1/lkc-1/Orders")
    with pytest.raises(NotOurTableError, match="the table of topic env-1/lkc-1/orders"):
        loaded.writer()
    loaded.config = changed(loaded.config, table="by_hand")
    spark.sql(f"CREATE TABLE {loaded.config.name.sql} (id bigint) USING iceberg")
    with pytest.raises(NotOurTableError, match=r"no property topic_to_iceberg\.mode"):
        loaded.writer()
    assert current_snapshot(spark, loaded.config.name) is None


def test_failed_write_leaves_nothing_behind(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = loaded.writer()
    for step in ("append", "merge", "evolve"):
        with monkeypatch.context() as broken:
            broken.setattr(module, step, lambda *_, **__: crash())
            if step in ("evolve", "append" if loaded.config.mode == "append" else "merge"):
                with pytest.raises(Crash):
                    writer.advance()
    assert writer.offsets() == {}
    writer.advance()
    loaded.check()


def test_step_reads_no_more_snapshots_as_the_table_ages(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, snapshot, reads = loaded.writer(), StagedTable.snapshot, 0

    def counting(table: StagedTable, snapshot_id: int) -> RawSnapshot | None:
        nonlocal reads
        reads += 1
        return snapshot(table, snapshot_id)

    writer.advance()
    monkeypatch.setattr(StagedTable, "snapshot", counting)
    of_steps = []
    for _ in range(3):
        loaded.add(1)
        before = reads
        writer.advance()
        of_steps.append(reads - before)
    assert len(set(of_steps)) == 1
