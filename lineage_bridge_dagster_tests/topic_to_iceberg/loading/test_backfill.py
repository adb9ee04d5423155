"""A slice of time that is loaded again has the rows that its records say, beside a loader at work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws, application
from lineage_bridge_dagster.spark.commits import commit
from lineage_bridge_dagster.spark.iceberg_tables import current_snapshot
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetter
from lineage_bridge_dagster.topic_to_iceberg.loading import backfill as module
from lineage_bridge_dagster.topic_to_iceberg.loading.backfill import SLICES, Backfill
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.slice_changes import Changes, changes, merge_changes
from lineage_bridge_dagster.topic_to_iceberg.loading.slices import SliceCounts, SliceRefusedError, TimeSlice
from lineage_bridge_dagster.topic_to_iceberg.loading.staging import StagedTable
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1, InMemoryTopic, order_v1
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import changed, load_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

#: Three days, of which each record's number names one.
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = [
    TimeSlice(f"2026-01-0{number + 1}", FIRST + timedelta(days=number), FIRST + timedelta(days=number + 1))
    for number in range(3)
]


class Table:
    """A topic with a record at noon of each of three days in each of two partitions, and its table."""

    def __init__(self, spark: SparkSession, database: str, **options: Any) -> None:
        self.spark = spark
        self.topic = InMemoryTopic()
        self.config = load_into(database, **options)
        self.queue: list[DeadLetter] = []
        #: Where the table begins.
        self.origin: dict[int, int] = {}
        for day in range(3):
            for partition in (0, 1):
                self.add(day, partition)

    def add(self, day: int, partition: int, value: bytes | None = None) -> None:
        number = len(self.topic.partitions[0]) + len(self.topic.partitions[1]) + 1
        at = FIRST + timedelta(days=day, hours=12)
        self.topic.add(partition, value or order_v1(number), headers=[("a", b"1"), ("b", b"2")], at=at)

    def prepare(self) -> None:
        """As a dead letter queue."""

    def write(self, letters: list[DeadLetter]) -> None:
        self.queue += letters

    def load(self, **options: Any) -> TopicTable:
        table = TopicTable(
            self.spark,
            self.topic,
            changed(self.config, **options),
            lambda: TopicSchemas(value=ORDERS_V1),
            dead_letter_queue=self,
            origin=lambda: self.origin,
        )
        table.ensure()
        while not table.advance().caught_up:
            pass
        return table

    def backfill(
        self, *slices: TimeSlice, late: timedelta | None = None, **options: Any
    ) -> dict[str, SliceCounts]:
        backfill = Backfill(
            self.spark,
            self.topic,
            changed(self.config, **options),
            lambda: TopicSchemas(value=ORDERS_V1),
            dead_letter_queue=self,
            origin=lambda: self.origin,
        )
        return {report.slice.name: report.counts for report in backfill.run(slices, late)}

    def sql(self, text: str) -> None:
        self.spark.sql(text.format(self.config.name.sql))

    def ids(self) -> list[int]:
        return sorted(row.id for row in self.spark.table(self.config.name.sql).collect())

    def snapshot(self) -> int:
        found = current_snapshot(self.spark, self.config.name)
        assert found is not None
        return found.snapshot_id

    def progress(self) -> dict[int, int]:
        return dict(
            TopicTable(self.spark, self.topic, self.config, TopicSchemas, dead_letter_queue=self).offsets()
        )


@pytest.fixture
def table(spark: SparkSession, database: str) -> Table:
    return Table(spark, database)


def test_rows_of_the_slice_are_inserted_updated_and_left_and_a_second_run_writes_nothing(
    table: Table,
) -> None:
    table.load()
    table.sql("DELETE FROM {} WHERE id = 3")
    table.sql("UPDATE {} SET item = 'wrong' WHERE id IN (4, 5)")
    assert table.backfill(DAYS[1]) == {"2026-01-02": SliceCounts(inserted=1, updated=1)}
    rows = {row.id: row for row in table.spark.table(table.config.name.sql).collect()}
    # The wrong row of the third day is not of the slice.
    assert {number: row.item for number, row in rows.items() if row.item != f"item {number}"} == {5: "wrong"}
    assert rows[3]["$$headers"] == {"a": b"1", "b": b"2"}
    assert table.progress() == {0: 3, 1: 3}
    before = table.snapshot()
    assert table.backfill(DAYS[1]) == {"2026-01-02": SliceCounts(unchanged=2)}
    assert table.snapshot() == before
    table.add(2, 0)
    table.load()
    assert table.ids() == [1, 2, 3, 4, 5, 6, 7]


def test_records_before_the_start_of_the_table_are_loaded_and_none_past_its_offsets(table: Table) -> None:
    table.origin = {0: 2, 1: 2}
    loader = table.load()
    assert table.ids() == [5, 6]
    table.add(0, 0)
    assert table.backfill(DAYS[0]) == {"2026-01-01": SliceCounts(inserted=2)}
    assert table.ids() == [1, 2, 5, 6]
    # The late record of the first day is the loader's.
    assert loader.advance().rows == 1
    assert table.ids() == [1, 2, 5, 6, 7]


def test_a_table_without_rows_can_be_loaded_with_what_was_before_its_start(table: Table) -> None:
    table.origin = {0: 3, 1: 3}
    table.load()
    assert table.backfill(*DAYS)["2026-01-03"] == SliceCounts(inserted=2)
    assert table.progress() == {}
    table.add(2, 0)
    table.load()
    assert table.ids() == [1, 2, 3, 4, 5, 6, 7]


def test_rows_whose_records_retention_removed_stay(table: Table) -> None:
    table.load()
    table.topic.expire(0, 2)
    table.topic.expire(1, 1)
    before = table.snapshot()
    assert table.backfill(*DAYS) == {
        "2026-01-01": SliceCounts(),
        "2026-01-02": SliceCounts(unchanged=1),
        "2026-01-03": SliceCounts(unchanged=2),
    }
    assert table.snapshot() == before
    assert table.ids() == [1, 2, 3, 4, 5, 6]


def test_slices_of_one_run_are_read_in_batches_and_counted_each(table: Table) -> None:
    table.origin = {0: 3, 1: 3}
    table.load()
    reads = table.topic.reads
    found = table.backfill(*DAYS, batch_records=2)
    assert found == {day.name: SliceCounts(inserted=2) for day in DAYS}
    assert table.topic.reads - reads == 3
    snapshot = current_snapshot(table.spark, table.config.name)
    assert snapshot is not None
    assert snapshot.summary[SLICES] == "2026-01-01/2026-01-03"


def test_a_record_that_came_late_is_found_and_a_known_lateness_ends_the_reading(table: Table) -> None:
    table.add(0, 0)
    table.load()
    table.sql("DELETE FROM {} WHERE id IN (1, 7)")
    assert table.backfill(DAYS[0], late=timedelta(hours=1))["2026-01-01"].inserted == 1
    assert table.ids() == [1, 2, 3, 4, 5, 6]
    assert table.backfill(DAYS[0])["2026-01-01"] == SliceCounts(inserted=1, unchanged=2)
    assert table.ids() == [1, 2, 3, 4, 5, 6, 7]


def test_a_record_that_cannot_be_a_row_loses_the_row_that_it_had(spark: SparkSession, database: str) -> None:
    table = Table(spark, database, failures="log")
    table.load()
    # What an older decoder took for a row.
    table.topic.partitions[0][1]["value"] = b"no Avro"
    table.add(1, 1, b"no Avro either")
    table.load()
    counts = table.backfill(DAYS[1], failures="skip")["2026-01-02"]
    assert replace(counts, rejections=SliceCounts().rejections) == SliceCounts(
        deleted=1, unchanged=1, skipped=2
    )
    assert counts.rejections.total == 2
    assert table.ids() == [1, 2, 4, 5, 6]
    before = table.snapshot()
    assert len(table.queue) == 1
    again = table.backfill(DAYS[1])["2026-01-02"]
    assert (again.deleted, again.skipped) == (0, 2)
    assert table.snapshot() == before
    # Each record has one identity, by which a replay sends it once.
    assert len({letter.identity for letter in table.queue}) == 2 < len(table.queue)


def test_a_record_that_cannot_be_a_row_suspends_the_slice_before_anything_is_changed(table: Table) -> None:
    table.load()
    table.sql("DELETE FROM {} WHERE id = 4")
    table.topic.partitions[0][1]["value"] = b"no Avro"
    before = table.snapshot()
    with pytest.raises(SliceRefusedError, match="partition 0 offset 1") as raised:
        table.backfill(DAYS[1])
    assert "have failures skipped or logged" in raised.value.hint
    assert table.snapshot() == before
    assert table.backfill(DAYS[0])["2026-01-01"].unchanged == 2


def test_columns_that_others_added_keep_their_values(table: Table) -> None:
    table.load()
    table.sql("ALTER TABLE {} ADD COLUMN note string")
    table.sql("UPDATE {} SET note = 'mine', item = 'wrong'")
    assert table.backfill(DAYS[0])["2026-01-01"] == SliceCounts(updated=2)
    rows = table.spark.table(table.config.name.sql).where("id < 3").collect()
    assert {(row.note, row.item) for row in rows} == {("mine", "item 1"), ("mine", "item 2")}


def test_a_topic_created_again_and_tables_of_two_topics_are_refused(table: Table) -> None:
    table.topic.id = "first"
    table.load()
    table.topic.id = "second"
    with pytest.raises(SliceRefusedError, match="its id was first and is second"):
        table.backfill(DAYS[0])
    # The loader went on after it, so that two records were at each place.
    table.topic.partitions = {0: [], 1: []}
    for partition in (0, 1):
        table.add(1, partition)
    table.config = changed(table.config, accept=["recreated_topic"])
    table.load()
    before = table.snapshot()
    with pytest.raises(SliceRefusedError, match=r"partition [01] offset 0 of topic orders.v1 has two rows"):
        table.backfill(DAYS[1])
    assert table.snapshot() == before


def test_tables_that_slices_cannot_be_loaded_into_are_refused(spark: SparkSession, database: str) -> None:
    table = Table(spark, database)
    with pytest.raises(SliceRefusedError, match="does not exist"):
        table.backfill(DAYS[0])
    table.load()
    table.sql("ALTER TABLE {} SET TBLPROPERTIES ('write.merge.isolation-level' = 'snapshot')")
    with pytest.raises(SliceRefusedError, match="backfills at once could write rows twice"):
        table.backfill(DAYS[0])
    table.config = changed(table.config, mode="upsert")
    with pytest.raises(SliceRefusedError, match="a slice of time has no rows of its own") as raised:
        table.backfill(DAYS[0])
    assert "Load the topic into a new table" in raised.value.hint


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any], times: int = 1) -> None:
    """Do something after a batch was compared with the table, and before it is written."""
    left = [act] * times

    def acting(*args: Any) -> str:
        if left:
            left.pop()()
        return merge_changes(*args)

    monkeypatch.setattr(module, "merge_changes", acting)


def test_a_batch_of_the_loader_in_between_is_kept(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = table.load()
    table.sql("DELETE FROM {} WHERE id IN (1, 4)")
    table.add(2, 0)
    between(monkeypatch, loader.advance)
    table.backfill(*DAYS)
    assert table.ids() == [1, 2, 3, 4, 5, 6, 7]
    assert table.progress() == {0: 4, 1: 3}


def test_a_backfill_between_two_steps_of_the_loader_has_its_batch_written_again(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = table.load()
    table.sql("DELETE FROM {} WHERE id = 2")
    table.add(2, 0)
    publish = StagedTable.publish
    done: list[dict[str, SliceCounts]] = []

    def acting(staged: StagedTable, snapshot: int, base: int | None) -> None:
        if not done:
            done.append(table.backfill(*DAYS))
        publish(staged, snapshot, base)

    monkeypatch.setattr(StagedTable, "publish", acting)
    assert loader.advance().rows == 1
    assert done[0]["2026-01-01"].inserted == 1
    assert table.ids() == [1, 2, 3, 4, 5, 6, 7]


def test_another_backfill_of_the_slice_in_between_doubles_nothing(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.origin = {0: 3, 1: 3}
    table.load()
    between(monkeypatch, lambda: table.backfill(*DAYS))
    table.backfill(*DAYS)
    assert table.ids() == [1, 2, 3, 4, 5, 6]


def test_a_run_that_died_after_a_batch_is_finished_by_the_next_one(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.origin = {0: 3, 1: 3}
    table.load()

    class Crash(Exception):
        pass

    def crash() -> None:
        raise Crash

    with monkeypatch.context() as patched:
        between(patched, crash)
        with pytest.raises(Crash):
            table.backfill(*DAYS)
    assert table.ids() == []
    calls: list[Any] = []

    def once(*args: Any, **options: Any) -> Any:
        if calls:
            crash()
        calls.append(args)
        return commit(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(module, "commit", once)
        with pytest.raises(Crash):
            table.backfill(*DAYS, batch_records=2)
    assert table.ids() == [1, 2]
    found = table.backfill(*DAYS, batch_records=2)
    assert [each.inserted for each in found.values()] == [0, 2, 2]
    assert table.ids() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("other", "comparisons"), [("loader", 1), ("backfill", 3)])
def test_a_commit_that_another_one_overtakes_is_checked_against_its_rows(
    table: Table, spark_aws: StrictAws, monkeypatch: pytest.MonkeyPatch, other: str, comparisons: int
) -> None:
    """The loader's rows do no harm; those of another backfill are seen when the batch is done again."""
    table.origin = {0: 2, 1: 2}
    loader = table.load()
    table.add(2, 0)
    compared: list[int] = []
    arrived, overtaken = threading.Event(), threading.Event()

    def comparing(*args: Any) -> Changes:
        compared.append(1)
        return changes(*args)

    def hold(_seconds: float) -> None:
        arrived.set()
        assert overtaken.wait(120)

    monkeypatch.setattr(module, "changes", comparing)
    monkeypatch.setattr(application, "time", SimpleNamespace(sleep=hold))
    spark_aws.clear_faults()
    spark_aws.fail("UpdateTable", delay_seconds=1)
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(table.backfill, *DAYS)
        try:
            assert arrived.wait(120)
            if other == "loader":
                loader.advance()
            else:
                table.backfill(*DAYS)
        finally:
            overtaken.set()
        held.result()
    assert len(compared) == comparisons
    table.load()
    assert table.ids() == [1, 2, 3, 4, 5, 6, 7]


def test_a_loader_and_two_backfills_at_once_lose_and_double_nothing(table: Table) -> None:
    table.origin = {0: 2, 1: 2}
    table.load()
    for _ in range(3):
        table.add(2, 0)

    def load() -> None:
        table.load(batch_records=1)

    with ThreadPoolExecutor(3) as pool:
        tasks: list[Future[Any]] = [
            pool.submit(load),
            *(pool.submit(table.backfill, *DAYS, batch_records=3) for _ in range(2)),
        ]
        for task in tasks:
            task.result()
    assert table.ids() == list(range(1, 10))
