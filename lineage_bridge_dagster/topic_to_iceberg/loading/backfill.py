"""A slice of time of a topic, loaded again into its table beside the loader.

Rows are identified by their record's partition and offset. The records of the slice become rows as they do in
a load, and are compared with the table's: rows that are missing are inserted, rows with other values updated,
rows of records that cannot be rows deleted. Rows whose records the topic no longer has stay as they are.

Why nothing is lost or doubled:

- Only records below the table's own offsets are read, or below the offsets where the table begins. The loader
  never writes those again, so the two never write the same row.
- Each batch is one commit to `main`, Spark's MERGE. Its snapshot has no offsets, so the loader's progress is
  that of the snapshot before. A batch that the loader has staged meanwhile it writes once more, as it does
  beside a compaction: see `staging`.
- MERGE's isolation is `serializable`, Iceberg's default: the commit fails if anyone has committed rows since
  it read the table that can be of the batch's partitions and offsets, as another backfill of the slice does,
  or has replaced a file that it rewrites, as a compaction does. The loader's files have later offsets. After
  a failure the batch is done again on the table as it is then.
- What is written depends on the topic and the table alone. A process that ends at any point leaves the
  commits that it made, and the next run finds their rows right and does the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.schemas.comments import comments
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.commits import CommitMarker, commit, global_view
from lineage_bridge_dagster.spark.iceberg_tables import exists
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.spark.python_workers import HANDED_BYTES, hand_over
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetterQueue, Rejections
from lineage_bridge_dagster.topic_to_iceberg.loading.batch_size import BatchSize
from lineage_bridge_dagster.topic_to_iceberg.loading.columns import Decoders, undecodable
from lineage_bridge_dagster.topic_to_iceberg.loading.creation import check_own
from lineage_bridge_dagster.topic_to_iceberg.loading.dead_letters import dead_letters, rejections, write_new
from lineage_bridge_dagster.topic_to_iceberg.loading.evolution import aligned, check_schemas, evolve
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicRecords, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.offsets import TopicBounds
from lineage_bridge_dagster.topic_to_iceberg.loading.slice_changes import (
    SliceColumns,
    changes,
    merge_changes,
    rejected_places,
)
from lineage_bridge_dagster.topic_to_iceberg.loading.slices import (
    SliceCounts,
    SliceRange,
    SliceRefusedError,
    SliceReport,
    TimeSlice,
    check_contiguous,
    end_times,
    slice_range,
)
from lineage_bridge_dagster.topic_to_iceberg.loading.staging import StagedTable
from lineage_bridge_dagster.topic_to_iceberg.loading.table_rows import judged, measured, table_rows
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Key of a snapshot's summary: the slices that the commit loaded again, as `first/last`.
SLICES = "topic_to_iceberg.slices"

#: Times that a batch is written when others keep changing the rows that it rewrites.
_ATTEMPTS = 5

_ISOLATION = "write.merge.isolation-level"

_log = logging.getLogger(__name__)


class Backfill:
    """Loads slices of a topic again into its table, which the loader may be loading meanwhile."""

    def __init__(
        self,
        spark: SparkSession,
        topic: TopicRecords,
        config: TopicLoad,
        schemas: Callable[[], TopicSchemas],
        *,
        dead_letter_queue: DeadLetterQueue | None = None,
        origin: Callable[[], Offsets] = dict,
    ) -> None:
        """Schemas evolve: each batch calls `schemas`. See `TopicTable` for the arguments.

        Raises:
            ValueError: failures are logged, and there is no dead letter queue to log them to.
        """
        if config.failures == "log" and dead_letter_queue is None:
            raise ValueError(f"{config.name} logs its failures, so it needs a dead letter queue.")
        self.config = config
        self._spark = spark
        self._topic = topic
        self._schemas = schemas
        self._size = BatchSize(config.batch_records, config.batch_bytes)
        self._queue = dead_letter_queue if config.failures == "log" else None
        self._origin = origin

    def run(self, slices: Sequence[TimeSlice], late: timedelta | None = None) -> Iterator[SliceReport]:
        """Load slices again, and yield a report of each one once all of its records were read.

        Args:
            slices: in their order, each beginning where the one before ends.
            late: how much later than a record of its slice's end a record comes at most; None if that is not
                known, and all that the table was loaded with has to be read.

        Raises:
            SliceRefusedError: the table or the topic is not one that a slice of can be loaded again.
            NotOurTableError: the table is not this topic's, in mode append.
            SuspendedError: a record cannot be a row, and failures suspend the table.
            CommitConflictError: others kept changing the rows that a batch rewrites.
            LineageBridgeError: the topic could not be read, or the commit failed; a further run goes on.
        """
        check_contiguous(slices)
        marker = CommitMarker({SLICES: f"{slices[0].name}/{slices[-1].name}"})
        session = marker.session(self._spark)
        # As the loader's: Kafka allows a header twice, a map does not.
        session.conf.set("spark.sql.mapKeyDedupPolicy", "LAST_WIN")
        self._check_table(session)
        if self._queue is not None:
            self._queue.prepare()
        found, topic_id = self._range(session, slices, late)
        counts = [SliceCounts() for _ in slices]
        at, told = found.start, 0
        while True:
            while told < len(slices) and found.is_past(told, at):
                yield SliceReport(slices[told], counts[told])
                told += 1
            if told == len(slices):
                return
            end = self._batch_end(session, found, at, topic_id)
            for number, more in self._batch(session, marker, slices, at, end, topic_id).items():
                counts[number] = counts[number].plus(more)
            at = end
            left = sum(stop - at[p] for p, stop in found.stop.items())
            _log.info("%s: %s offsets to read", self.config.name, f"{left:,}")

    def _check_table(self, session: SparkSession) -> None:
        """Refuse a table whose rows are not one for each record, or not this topic's."""
        name = self.config.name
        if self.config.mode != "append":
            raise SliceRefusedError(
                f"{name} has a row for each key (mode {self.config.mode}), which is that of the key's last "
                "record: a slice of time has no rows of its own.",
                hint="Load the topic into a new table: name another one with table, and set start.",
            )
        if not exists(session, name):
            raise SliceRefusedError(
                f"{name} does not exist, so there is nothing to load again.",
                hint="Materialize the asset that loads the topic first: it creates the table, and its start "
                "says what it loads by itself.",
            )
        table = StagedTable(session, name).java
        properties = classic.plain(session, table.properties())
        check_own(properties, str(table.location()), self.config)
        if properties.get(_ISOLATION, "serializable") != "serializable":
            raise SliceRefusedError(
                f"{name} has the property {_ISOLATION} with the value {properties[_ISOLATION]}: two "
                "backfills at once could write rows twice.",
                hint=f"Run ALTER TABLE {name.sql} UNSET TBLPROPERTIES ('{_ISOLATION}').",
            )

    def _range(
        self, session: SparkSession, slices: Sequence[TimeSlice], late: timedelta | None
    ) -> tuple[SliceRange, str]:
        """The offsets to read, and the topic's id."""
        topic = self._topic
        topic_id, (first, last) = topic.topic_id(), topic.bounds()
        start = topic.offsets_at(int(slices[0].start.timestamp() * 1000))
        ends = [None if at is None else topic.offsets_at(at) for at in end_times(slices, late)]
        done = StagedTable(session, self.config.name).progress()
        state = TopicBounds(topic.name, first, last, topic_id)
        return slice_range(done, {} if done else self._origin(), state, start, ends), topic_id

    def _batch_end(self, session: SparkSession, found: SliceRange, at: Offsets, topic_id: str) -> Offsets:
        end = found.batch_end(at, self._size.records)
        while self._size.needs_sample and end != found.stop:
            self._size.measured(*measured(self._topic.read(session, at, end, topic_id=topic_id)))
            end = found.batch_end(at, self._size.records)
        return end

    def _batch(
        self,
        session: SparkSession,
        marker: CommitMarker,
        slices: Sequence[TimeSlice],
        start: Offsets,
        end: Offsets,
        topic_id: str,
    ) -> Mapping[int, SliceCounts]:
        """Load a batch again; what was done, by the number of the slice."""
        config, name = self.config, self.config.name
        table = StagedTable(session, name).java
        schemas = self._schemas().in_table(table.properties())
        decoders = Decoders.of_table(schemas, self.config)
        within = of_slices(self._topic.read(session, start, end, topic_id=topic_id), slices)
        hand_over(session, self._size.records_within(HANDED_BYTES))
        records = judged(within, self._topic.name, decoders, config)
        found = Rejections()
        if self._queue is not None:
            found = write_new(self._queue, dead_letters(records, topic_id), set())
        shaped = table_rows(records, decoders, config).frame
        check_schemas(table, config, schemas)
        stored = evolve(session, table, config, shaped.schema, (), comments(schemas.key, schemas.value))
        # Only the topic's own columns: what others have added to the table is theirs.
        present = {stored.name(name) for name in shaped.columns}
        kinds = type(stored.columns)([each for each in stored.columns if each.name in present])
        columns = SliceColumns.of(kinds, portable=config.portable_names)
        rejected = None if config.failures == "suspend" else rejected_places(records, columns)
        done: Mapping[int, SliceCounts] = {}

        def write() -> None:
            nonlocal done
            rows = aligned(shaped, replace(stored, columns=kinds))
            plan = changes(rows, rejected, session.table(name.sql), columns, (start, end), slices)
            if plan.ambiguous is not None:
                raise self._ambiguous(*plan.ambiguous)
            if columns.raw:
                self._size.measured(plan.records, plan.bytes)
            done = plan.counts
            if plan.is_changed:
                with global_view(plan.changed) as source:
                    session.sql(merge_changes(name.sql, source, columns, (start, end)))

        try:
            self._check_same(topic_id)
            commit(session, name, marker, write, attempts=_ATTEMPTS)
        except Exception as error:
            if (place := undecodable(error)) is None:
                raise
            raise SliceRefusedError(
                f"Topic {self._topic.name}: {place}",
                hint="Nothing of this batch was changed. Correct the schema, or have failures skipped or "
                "logged: such a record then has no row, and a row that it has is deleted.",
            ) from error
        skipping = [number for number, each in done.items() if each.skipped]
        if skipping and self._queue is None:
            found = rejections(records)
        return {
            number: replace(each, rejections=found) if number == min(skipping, default=None) else each
            for number, each in done.items()
        }

    def _ambiguous(self, partition: int, offset: int) -> SliceRefusedError:
        return SliceRefusedError(
            f"The record at partition {partition} offset {offset} of topic {self._topic.name} has two rows "
            f"in {self.config.name}, or one with another time: the topic was created again since, or "
            "somebody else wrote rows.",
            hint="Nothing of this batch was changed. Load the topic into a new table.",
        )

    def _check_same(self, topic_id: str) -> None:
        if topic_id != self._topic.topic_id():
            raise SliceRefusedError(
                f"Topic {self._topic.name} was created again while it was read.",
                hint="Nothing of this batch was changed. See what the loader's check not_suspended says.",
            )


def of_slices(records: DataFrame, slices: Sequence[TimeSlice]) -> DataFrame:
    """The records of some slices that follow one another."""
    from pyspark.sql import functions as F

    def at(moment: Any) -> Any:
        return F.timestamp_millis(F.lit(int(moment.timestamp() * 1000)))

    time = F.col("timestamp")
    return records.where((time >= at(slices[0].start)) & (time < at(slices[-1].end)))
