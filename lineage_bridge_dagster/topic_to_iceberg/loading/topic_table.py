"""A topic materialized as an Iceberg table, as Tableflow does.

In mode `append` every record becomes one row. In `upsert` and `debezium` the table has one row for each key
of each partition, from its last record. How that is exactly once is told in `staging`.

With error handling LOG, records that cannot be rows go to a dead letter queue before the commit that leaves
them out: none is lost, and one is written twice only if the process ends in between.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.iceberg.topic_progress import (
    ACCEPTED,
    OFFSETS,
    START,
    TOPIC_ID,
    WRITER,
    TopicProgress,
    summary_of,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.schemas.comments import Comments, comments
from lineage_bridge_dagster.spark import classic, division
from lineage_bridge_dagster.spark.commits import conflict_of
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.spark.python_workers import HANDED_BYTES, hand_over
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetterQueue, Rejections
from lineage_bridge_dagster.topic_to_iceberg.loading import creation
from lineage_bridge_dagster.topic_to_iceberg.loading.batch_size import BatchSize
from lineage_bridge_dagster.topic_to_iceberg.loading.changes import TRUNCATION, truncated_at
from lineage_bridge_dagster.topic_to_iceberg.loading.columns import Decoders, undecodable
from lineage_bridge_dagster.topic_to_iceberg.loading.dead_letters import dead_letters, rejections, write_new
from lineage_bridge_dagster.topic_to_iceberg.loading.evolution import aligned, check_schemas, evolve
from lineage_bridge_dagster.topic_to_iceberg.loading.model import (
    RECORD_DDL,
    LoadStep,
    SecondWriterError,
    SuspendedError,
    TopicRecords,
    TopicSchemas,
)
from lineage_bridge_dagster.topic_to_iceberg.loading.offsets import Batch, TopicBounds, next_batch
from lineage_bridge_dagster.topic_to_iceberg.loading.staging import MovedError, StagedTable, writer_session
from lineage_bridge_dagster.topic_to_iceberg.loading.table_rows import (
    all_become_rows,
    append,
    counted,
    judged,
    measured,
    merge,
    required_keys,
    table_rows,
    tallied,
    unavailable,
)
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Rows that a snapshot took away: in files that it rewrote, or by files of positions.
_REMOVED = ("deleted-records", "added-position-deletes")

#: Times that a batch is written when compactions keep changing the table meanwhile.
_ATTEMPTS = 5

_RECORD_HINT = (
    "Correct the record's schema or its producer. To leave such records out, set failures: skip or log "
    "(error_handling SKIP or LOG in Tableflow)."
)
_TRUNCATION_HINT = (
    "Set truncations: apply to delete the rows here too. To keep them and go on, set failures: skip or log; "
    "to be spared such events, leave t in the connector's skipped.operations."
)

_log = logging.getLogger(__name__)


class TopicTable:
    """Keeps a topic's table up to date. A second writer of the same table is noticed, and refused."""

    def __init__(
        self,
        spark: SparkSession,
        topic: TopicRecords,
        config: TopicLoad,
        schemas: Callable[[], TopicSchemas],
        *,
        dead_letter_queue: DeadLetterQueue | None = None,
        origin: Callable[[], Offsets] | None = None,
    ) -> None:
        """Schemas evolve: each step calls `schemas`.

        `origin` returns the offsets at which a table without rows begins, instead of the topic's first ones.

        Raises:
            ValueError: failures are logged, and there is no dead letter queue to log them to.
        """
        if config.failures == "log" and dead_letter_queue is None:
            raise ValueError(f"{config.name} logs its failures, so it needs a dead letter queue.")
        self.config = config
        self.writer = uuid.uuid4().hex
        self._dead_letter_queue = dead_letter_queue if config.failures == "log" else None
        #: The dead letters that are written and that no commit has passed yet.
        self._written: set[str] = set()
        self._spark = spark
        self._topic = topic
        self._schemas = schemas
        self._size = BatchSize(config.batch_records, config.batch_bytes)
        self._origin = origin
        #: The progress that this writer has seen last.
        self._seen: TopicProgress | None = None

    def progress(self) -> TopicProgress | None:
        """What the table has of the topic; None before the first batch."""
        return StagedTable(self._spark, self.config.name).progress()

    def offsets(self) -> Offsets:
        """The offsets up to which the topic was read; empty before the first batch."""
        done = self.progress()
        return done.offsets if done else {}

    def ensure(self, *, create: bool = True) -> bool:
        """Create the database and the table if they do not exist; return whether they exist now.

        Args:
            create: whether to create them.

        Raises:
            NotOurTableError: there is a table of this name that is not this topic's, in this mode.
            ConfigurationError: the partitions or the sort order do not suit the columns.
        """
        session = writer_session(self._spark)
        is_there = creation.is_there(session, self.config)
        if self._dead_letter_queue is not None and (is_there or create):
            self._dead_letter_queue.prepare()
        if is_there or not create:
            return is_there
        empty: list[Any] = []
        schemas, config = self._schemas(), self.config
        records = session.createDataFrame(empty, RECORD_DDL)
        decoders = Decoders.of_table(schemas, config)
        shaped = table_rows(judged(records, self._topic.name, decoders, config), decoders, config)
        required = required_keys(shaped, schemas.key)
        creation.ensure_table(session, config, shaped.columns, required, self._comments(schemas).latest)
        return True

    def advance(self, until: Offsets | None = None) -> LoadStep:
        """Write the records that the table does not have yet, in one batch.

        Args:
            until: the offsets at which to stop; by default the topic's end.

        Raises:
            LineageBridgeError: the topic could not be read, or the commit failed; the next call goes on.
            OffsetsLostError: retention removed records that the table does not have.
            TopicRecreatedError: the topic is not the one that the table was loaded from.
            SuspendedError: a record cannot be a row, and failures suspend the table.
            SecondWriterError: another writer has moved the offsets.
        """
        session = writer_session(self._spark)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._step(session, until)
            except MovedError as error:
                if attempt == _ATTEMPTS:
                    raise
                _log.info("%s", error.message)
        raise AssertionError("unreachable")

    def _step(self, session: SparkSession, until: Offsets | None) -> LoadStep:
        config = self.config
        table = StagedTable(session, config.name)
        table.prepare()
        done = table.progress()
        self._check_single(done)
        self._seen = done
        topic_id, (first, last) = self._topic.topic_id(), self._topic.bounds()
        state = TopicBounds(self._topic.name, first, last, topic_id)
        origin = self._origin() if self._origin and done is None else None

        def planned() -> Batch:
            return next_batch(
                done, state, self._size.records, accept=config.accept, origin=origin, until=until
            )

        batch = planned()
        while self._size.needs_sample and not batch.caught_up:
            self._size.measured(
                *measured(self._topic.read(session, batch.start, batch.end, topic_id=topic_id, tasks=1))
            )
            batch = planned()
        if batch.is_empty:
            return LoadStep(batch.start, batch.caught_up)
        head = table.head
        try:
            counts = self._stage(session, table, batch, topic_id)
        except Exception as error:
            if conflict_of(error, config.name) is not None:
                # Another writer's batch, on the same branch.
                raise _moved(config.name) from error
            if (found := undecodable(error)) is None:
                raise
            raise SuspendedError(
                f"Topic {self._topic.name}: {found}",
                hint=_TRUNCATION_HINT if TRUNCATION in found else _RECORD_HINT,
            ) from error
        table.refresh()
        staged = table.staged
        entry = None if staged is None else table.snapshot(staged)
        written = TopicProgress.of(entry) if entry else None
        if written is None or (written.writer, written.offsets) != (self.writer, batch.end):
            raise _moved(config.name)
        self._check_same(table, topic_id)
        table.publish(written.snapshot_id, head)
        self._seen = written
        self._written.clear()
        summary = entry.summary if entry else {}
        return replace(
            counts,
            rows=int(summary.get("added-records", 0)),
            removed=sum(int(summary.get(name, 0)) for name in _REMOVED),
        )

    def _check_same(self, table: StagedTable, topic_id: str) -> None:
        """Discard a staged batch unless its records are certainly those of the topic with this id."""
        try:
            now = self._topic.topic_id()
        except LineageBridgeError:
            # The next step would publish it without asking.
            table.discard()
            raise
        if now != topic_id:
            table.discard()
            raise MovedError(f"Topic {self._topic.name} was created again while it was read.")

    def _stage(self, session: SparkSession, table: StagedTable, batch: Batch, topic_id: str) -> LoadStep:
        """Write the batch's rows and its summary to the staged branch."""
        from pyspark.sql import Observation

        config, schemas = self.config, self._schemas().in_table(table.java.properties())
        decoders = Decoders.of_table(schemas, config)
        tasks = division.tasks(self._size.bytes_of(batch.most_records), classic.parallelism(session))
        records = self._topic.read(session, batch.start, batch.end, topic_id=topic_id, tasks=tasks)
        hand_over(session, self._size.records_within(HANDED_BYTES))
        decided = judged(records, self._topic.name, decoders, config)
        found = Rejections()
        if self._dead_letter_queue is not None:
            # Before anything is staged, for the next step publishes what a crash leaves staged.
            found = write_new(self._dead_letter_queue, dead_letters(decided, topic_id), self._written)
        observation, at_end = Observation(), all_become_rows(config, decoders)
        shaped = table_rows(
            decided,
            decoders,
            config,
            None if at_end else observation,
            truncated_at=self._truncated_at(decided, batch),
        )
        required = required_keys(shaped, schemas.key)
        check_schemas(table.java, config, schemas)
        evolved = evolve(
            session,
            table.java,
            config,
            shaped.columns,
            required,
            self._comments(schemas),
            keys=shaped.keys,
        )
        summary = self._summary(batch, topic_id)
        rows = aligned(shaped.frame, evolved, extra=shaped.added)
        if not shaped.keys:
            append(counted(rows, config, observation) if at_end else rows, config.name, summary)
        else:
            present = table.current_snapshot()
            matching = division.matching_tasks(tasks, present.count("total-records") if present else 0)
            merge(rows, config.name, shaped, evolved, summary, tasks=matching)
        observed = observation.get
        missing = int(observed.get("unavailable") or 0)
        if missing and shaped.keys:
            missing = unavailable(rows, config.name, shaped, evolved.columns, is_first=table.head is None)
        read, good = int(observed["n"]), int(observed["good"])
        self._size.measured(read, int(observed["bytes"] or 0))
        if read > batch.most_records:
            # Spark counts records once more where it does tasks again, as when an executor is lost.
            read, good = tallied(decided)
        skipped, logs = read - good, self._dead_letter_queue is not None
        if skipped and not logs:
            found = rejections(decided)
        return LoadStep(
            batch.end,
            batch.caught_up,
            records=good,
            skipped=0 if logs else skipped,
            dead_letters=skipped if logs else 0,
            unavailable=missing,
            committed=read > 0,
            rejections=found,
        )

    def _truncated_at(self, judged: DataFrame, batch: Batch) -> int | None:
        """The offset of the last truncation that is to be applied; None if there is none.

        Raises:
            SuspendedError: it is not known which rows of other partitions came before it.
        """
        if self.config.mode != "debezium" or self.config.truncations != "apply":
            return None
        found = truncated_at(judged)
        if found and len(batch.start) > 1:
            ((partition, offset), *_) = found.items()
            raise SuspendedError(
                f"Topic {self._topic.name}: the record at partition {partition} offset {offset} is a "
                f"truncate event of Debezium, and the topic has {len(batch.start)} partitions: Kafka does "
                "not say which records of the other partitions came before it.",
                hint="Nothing was written. Have Debezium write the table to a topic with one partition, and "
                "load that into a new table; or set failures: skip or log and truncations: suspend to leave "
                "the event out, and delete the rows yourself.",
            )
        return max(found.values(), default=None)

    def _comments(self, schemas: TopicSchemas) -> Comments:
        return comments(schemas.key, schemas.value, envelopes=self.config.mode == "debezium")

    def _summary(self, batch: Batch, topic_id: str) -> dict[str, str]:
        """What the batch's snapshot says of it."""
        summary = {OFFSETS: summary_of(batch.end), START: summary_of(batch.start), WRITER: self.writer}
        if topic_id:
            summary[TOPIC_ID] = topic_id
        if batch.accepted:
            summary[ACCEPTED] = "; ".join(batch.accepted)
        return summary

    def _check_single(self, done: TopicProgress | None) -> None:
        """Refuse to go on beside another writer that has moved the offsets since this one saw them."""
        if done is None or self._seen is None or done.writer in ("", self.writer):
            return
        if done.snapshot_id == self._seen.snapshot_id or not done.is_after(self._seen):
            return
        raise SecondWriterError(
            f"Another writer loads topic {self._topic.name} into {self.config.name}: it has committed "
            f"snapshot {done.snapshot_id} since this one's last step. Nothing is lost or doubled.",
            hint="Let one of the two run; this one, restarted, goes on from the table's offsets.",
        )


def _moved(name: TableName) -> MovedError:
    return MovedError(
        f"Another writer has staged a batch of {name} meanwhile.",
        hint="Let one writer at a time load the table.",
    )
