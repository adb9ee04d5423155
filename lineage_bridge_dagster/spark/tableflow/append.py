"""A topic materialized as an Iceberg table, as Tableflow does in APPEND mode.

Every record becomes one row, exactly once: the summary of the snapshot that holds the rows also holds the
offsets up to which the topic was read, so one commit moves both or neither. There is no other state.

The columns are the key's fields (or `key`, the bytes, for a key without a schema), the value's fields, then
Tableflow's metadata columns. Sources: the OpenAPI's `metadata_column_naming_scheme` for the two ways to name
metadata columns, Confluent's pages on Tableflow's schemas and write modes for the rest. Spark does not expose
a record's leader epoch, so that column is null.

With error handling LOG, records that cannot be decoded go to a dead letter queue before the commit that
leaves them out: none is lost, and one is written twice only if the process ends in between.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lineage_bridge_dagster.dead_letters.letter import DeadLetterQueue, batches
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import quoted
from lineage_bridge_dagster.iceberg.snapshots import OFFSETS
from lineage_bridge_dagster.spark.commits import CommitMarker, commit
from lineage_bridge_dagster.spark.decoding.avro import decoded, schema_id, unknown_id
from lineage_bridge_dagster.spark.iceberg_tables import (
    TableName,
    ancestors,
    ensure_namespace,
    exists,
    location,
)
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.spark.tableflow.dead_letters import dead_letters
from lineage_bridge_dagster.topics.schemas import SubjectSchemas

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Failures = Literal["SUSPEND", "SKIP", "LOG"]

_log = logging.getLogger(__name__)


class TopicRecords(Protocol):
    """A topic that can be read by ranges of offsets: a Kafka topic, or a test's rows."""

    @property
    def name(self) -> str: ...

    def bounds(self) -> tuple[Offsets, Offsets]:
        """The first offset and the end of every partition."""

    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> DataFrame:
        """The records of `[start, end)`, in the columns of Spark's Kafka source with headers."""


@dataclass(frozen=True, slots=True)
class TopicSchemas:
    """Schemas of a topic's keys and values; without a schema, the bytes become the column."""

    key: SubjectSchemas = field(default_factory=lambda: SubjectSchemas(""))
    value: SubjectSchemas = field(default_factory=lambda: SubjectSchemas(""))


@dataclass(frozen=True, slots=True)
class TopicTableConfig:
    """The table of a topic.

    Attributes:
        name: the table's name.
        location: base location of its data and metadata.
        failures: what a record that cannot be decoded does: stop the table (SUSPEND), or be left out (SKIP),
            in the dead letter queue if there is one (LOG).
        portable_names: whether metadata columns are named `cflt_metadata_...` and not `$$...`.
    """

    name: TableName
    location: str
    failures: Failures = "SUSPEND"
    portable_names: bool = False


@dataclass(frozen=True, slots=True)
class Advance:
    """The result of one step: rows committed, records left out, and the offsets up to which it read."""

    rows: int
    skipped: int
    offsets: Offsets
    caught_up: bool


class SuspendedError(LineageBridgeError):
    """The table cannot continue until the topic, its schema or its settings are changed."""


class TopicTable:
    """Appends a topic's records to its table. Only one writer of a table may run at a time."""

    def __init__(
        self,
        spark: SparkSession,
        topic: TopicRecords,
        config: TopicTableConfig,
        schemas: Callable[[], TopicSchemas],
        *,
        max_records: int = 100_000,
        dead_letter_queue: DeadLetterQueue | None = None,
    ) -> None:
        """Schemas evolve: each step calls `schemas`. A step reads at most about `max_records`.

        Raises:
            ValueError: failures are logged, and there is no dead letter queue to log them to.
        """
        if config.failures == "LOG" and dead_letter_queue is None:
            raise ValueError(f"{config.name} logs its failures, so it needs a dead letter queue.")
        self.config = config
        self._dead_letter_queue = dead_letter_queue if config.failures == "LOG" else None
        #: The dead letters that are written and that no commit has passed yet.
        self._written: set[str] = set()
        self._spark = spark
        self._topic = topic
        self._schemas = schemas
        self._max_records = max_records
        # Kafka allows a header twice, a map does not: the last one is kept.
        spark.conf.set("spark.sql.mapKeyDedupPolicy", "LAST_WIN")

    def offsets(self) -> Offsets:
        """The offsets up to which the topic was read; empty before the first rows.

        A snapshot that another writer committed (a compaction) has no offsets: an earlier one has.
        """
        for snapshot in ancestors(self._spark, self.config.name):
            if OFFSETS in snapshot.summary:
                return {int(p): int(offset) for p, offset in json.loads(snapshot.summary[OFFSETS]).items()}
        return {}

    def ensure(self) -> None:
        """Create the database and the table if they do not exist.

        A table of that name at another location was left when Tableflow was enabled for the topic before: it
        is dropped from the catalog, and its files stay.
        """
        spark, config = self._spark, self.config
        if self._dead_letter_queue is not None:
            self._dead_letter_queue.prepare()
        ensure_namespace(spark, config.name.catalog, config.name.database)
        if exists(spark, config.name):
            if location(spark, config.name) == config.location:
                return
            drop(spark, config.name)
        empty: list[Any] = []
        schema = rows(spark.createDataFrame(empty, RECORD_DDL), self._schemas(), config).schema
        writer = spark.createDataFrame(empty, schema).writeTo(config.name.sql).using("iceberg")
        for key, value in {"location": config.location, **_PROPERTIES}.items():
            writer = writer.tableProperty(key, value)
        writer.create()
        _log.info("Created %s at %s", config.name, config.location)

    def advance(self) -> Advance:
        """Append the records that the table does not have yet, in one commit.

        Raises:
            LineageBridgeError: the topic could not be read, or the commit failed.
            SuspendedError: a record cannot be decoded, and failures suspend the table.
        """
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        done = self.offsets()
        first, last = self._topic.bounds()
        start, end = next_range(done, first, last, self._max_records)
        if start == end:
            return Advance(0, 0, start, True)
        spark, config, schemas = self._spark, self.config, self._schemas()
        records = self._topic.read(spark, start, end)
        if self._dead_letter_queue is not None:
            self._log_failures(self._dead_letter_queue, records, schemas)
        seen, appended = Observation(), Observation()
        frame = rows(records.observe(seen, F.count(F.lit(1)).alias("n")), schemas, config)
        frame = frame.observe(appended, F.count(F.lit(1)).alias("n"))
        marker = CommitMarker({OFFSETS: json.dumps(dict(sorted(end.items())))})
        writer = marker.writer(frame, config.name.sql).option("mergeSchema", "true")
        # New columns are added at the table's end, wherever their fields are in the schema.
        writer = writer.option("check-ordering", "false")
        try:
            commit(spark, config.name, marker, writer.append)
        except Exception as error:
            if (undecodable := _undecodable(error)) is not None:
                raise SuspendedError(
                    f"Topic {self._topic.name}: {undecodable}",
                    hint="Set the Tableflow topic's error_handling to SKIP or LOG to leave such records out.",
                ) from error
            raise
        self._written.clear()
        count = int(appended.get["n"])
        return Advance(count, int(seen.get["n"]) - count, end, end == last)

    def _log_failures(self, queue: DeadLetterQueue, records: DataFrame, schemas: TopicSchemas) -> None:
        """Write the records that will have no row, but for those of a step before whose commit failed."""
        found = dead_letters(records, ("key", schemas.key), ("value", schemas.value))
        fresh = (letter for letter in found if letter.identity not in self._written)
        for batch in batches(fresh):
            queue.write(batch)
            self._written.update(letter.identity for letter in batch)


def next_range(done: Offsets, first: Offsets, last: Offsets, max_records: int) -> tuple[Offsets, Offsets]:
    """The offsets to read from and to: at most about `max_records` in all, an equal share of each partition.

    If retention removed records before they were read, reading continues at the first remaining one. A topic
    that ends before the offset already read was recreated: it is read from its beginning.
    """
    start: dict[int, int] = {}
    for partition, begin in first.items():
        at = done.get(partition, begin)
        start[partition] = begin if at < begin or at > last[partition] else at
    share = max(1, max_records // max(1, len(start)))
    return start, {p: min(last[p], at + share) for p, at in start.items()}


def rows(records: DataFrame, schemas: TopicSchemas, config: TopicTableConfig) -> DataFrame:
    """The rows of the table for records in the columns of Spark's Kafka source."""
    from pyspark.sql import functions as F

    strict = config.failures == "SUSPEND"
    frame = records
    for side, subject in (("key", schemas.key), ("value", schemas.value)):
        if subject.reader is None:
            continue
        raw = F.col(side)
        value = decoded(raw, subject, corrupt="FAILFAST" if strict else "PERMISSIVE")
        if strict:
            message = F.concat(
                F.lit(f"{_UNDECODABLE}a {side} of schema id "),
                F.coalesce(schema_id(raw).cast("string"), F.lit("(none)")),
                F.lit(" at partition "),
                F.col("partition").cast("string"),
                F.lit(" offset "),
                F.col("offset").cast("string"),
                F.lit(f" is not of subject {subject.subject}"),
            )
            value = F.when(unknown_id(raw, subject), F.raise_error(message)).otherwise(value)
        frame = frame.withColumn(f"_{side}", value)
        if not strict:
            frame = frame.where(raw.isNull() | F.col(f"_{side}").isNotNull())
    columns: dict[str, Column] = {}
    for side, subject in (("value", schemas.value), ("key", schemas.key)):
        columns |= {n: c for n, c in _side(frame, side, subject).items() if n not in columns}
    key_first = [*_side(frame, "key", schemas.key), *_side(frame, "value", schemas.value)]
    ordered = [columns[name].alias(name) for name in dict.fromkeys(key_first)]
    return frame.select(*ordered, *_metadata_columns(config.portable_names))


def drop(spark: SparkSession, table: TableName) -> None:
    """Drop the table from the catalog; its files stay."""
    spark.sql(f"DROP TABLE IF EXISTS {table.sql}")
    _log.info("Dropped %s from the catalog", table)


#: The columns of Spark's Kafka source with `includeHeaders`.
RECORD_DDL = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key: string, value: binary>>"
)

_UNDECODABLE = "undecodable: "

_PROPERTIES = {
    "format-version": "2",
    # A new field of the topic's schema becomes a new column with the records that first have it.
    "write.spark.accept-any-schema": "true",
    # Pushes of lineage update the same Glue table, and so may change its version during a commit.
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "50",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "write.parquet.compression-codec": "zstd",
    # Steps are small and frequent: a shuffle before each write would be most of its cost.
    "write.distribution-mode": "none",
}


def _undecodable(error: BaseException) -> str | None:
    """The message of a record that cannot be decoded, from Spark's account of the failed stage."""
    text = str(error)
    if _UNDECODABLE in text:
        return text.partition(_UNDECODABLE)[2].splitlines()[0].split(" SQLSTATE")[0]
    if "MALFORMED_AVRO_MESSAGE" in text or "Malformed records are detected" in text:
        return "a record does not match the schema of its id"
    return None


def _side(frame: DataFrame, side: str, subject: SubjectSchemas) -> Mapping[str, Column]:
    """The columns of a key or a value: its fields, or itself."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    if subject.reader is None:
        return {side: F.col(side)}
    kind = frame.schema[f"_{side}"].dataType
    if not subject.is_record or not isinstance(kind, StructType):
        return {side: F.col(f"_{side}")}
    return {name: F.col(quoted(f"_{side}", name)) for name in kind.names}


def _metadata_columns(portable: bool) -> list[Column]:
    from pyspark.sql import functions as F

    kinds = F.array(F.lit("CREATE_TIME"), F.lit("LOG_APPEND_TIME"))
    columns = {
        "topic": F.col("topic"),
        "partition": F.col("partition"),
        "headers": F.map_from_entries("headers"),
        "leader-epoch": F.lit(None).cast("int"),
        "offset": F.col("offset"),
        "timestamp": F.col("timestamp"),
        "timestamp-type": F.get(kinds, F.col("timestampType")),
        "raw-key": F.col("key"),
        "raw-value": F.col("value"),
    }
    return [
        column.alias(f"cflt_metadata_{name.replace('-', '_')}" if portable else f"$${name}")
        for name, column in columns.items()
    ]
