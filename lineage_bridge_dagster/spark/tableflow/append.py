"""A topic as an Iceberg table, the way Tableflow makes one in APPEND mode.

Every record becomes one row, exactly once: how far a table has got is written into the summary of the
snapshot that holds the rows, so one commit moves both or neither. There is nothing to lose beside the table.

The columns are the key's fields (or `key`, the bytes, for a key without a schema), the value's fields, then
Tableflow's metadata columns. Sources of the facts: the OpenAPI's `metadata_column_naming_scheme` for the two
ways to name metadata columns, Confluent's pages on Tableflow's schemas and write modes for the rest. Spark
does not tell a record's leader epoch, so that column is null here.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import quoted, spark_name
from lineage_bridge_dagster.spark.avro import SubjectSchemas, decoded, schema_id, unknown_id
from lineage_bridge_dagster.spark.iceberg_tables import ancestors, ensure_namespace, exists, location
from lineage_bridge_dagster.spark.kafka import Offsets

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: Key of the snapshot summary that holds the offsets: a JSON object of partition to the next offset.
OFFSETS = "tableflow.offsets"

Failures = Literal["SUSPEND", "SKIP", "LOG"]

_log = logging.getLogger(__name__)


class TopicRecords(Protocol):
    """A topic that can be read by ranges of offsets: a Kafka topic, or rows that a test holds."""

    @property
    def name(self) -> str: ...

    def bounds(self) -> tuple[Offsets, Offsets]:
        """The first offset and the end of every partition."""

    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> DataFrame:
        """The records of `[start, end)`, in the columns of Spark's Kafka source with headers."""


@dataclass(frozen=True, slots=True)
class TopicSchemas:
    """Schemas of a topic's keys and values; without one the bytes are the column."""

    key: SubjectSchemas = field(default_factory=lambda: SubjectSchemas(""))
    value: SubjectSchemas = field(default_factory=lambda: SubjectSchemas(""))


@dataclass(frozen=True, slots=True)
class Target:
    """The table. `failures` is what a record that can't be decoded does: stop the table, or be left out."""

    catalog: str
    database: str
    table: str
    location: str
    failures: Failures = "SUSPEND"
    portable_names: bool = False

    @property
    def name(self) -> str:
        """The quoted name in Spark."""
        return spark_name(self.catalog, self.database, self.table)


@dataclass(frozen=True, slots=True)
class Advance:
    """What one step did: rows committed, records left out, and the offsets that the table stands at."""

    rows: int
    skipped: int
    offsets: Offsets
    caught_up: bool


class SuspendedError(LineageBridgeError):
    """The table can't go on until the topic, its schema or its settings are changed."""


class TopicTable:
    """Keeps one table up to its topic. There must be one writer of a table at a time."""

    def __init__(
        self,
        spark: SparkSession,
        topic: TopicRecords,
        target: Target,
        schemas: Callable[[], TopicSchemas],
        *,
        max_records: int = 100_000,
    ) -> None:
        """`schemas` is asked at each step, for they evolve; a step takes at most about `max_records`."""
        self.target = target
        self._spark = spark
        self._topic = topic
        self._schemas = schemas
        self._max_records = max_records
        # Kafka allows a header twice; a map does not. The last one stands.
        spark.conf.set("spark.sql.mapKeyDedupPolicy", "LAST_WIN")

    def offsets(self) -> Offsets:
        """How far the table has got, from its snapshots; empty before the first rows.

        A snapshot that somebody else committed (a compaction) has no offsets: the one before it tells.
        """
        for snapshot in ancestors(self._spark, self.target.name):
            if OFFSETS in snapshot.summary:
                return {int(p): int(offset) for p, offset in json.loads(snapshot.summary[OFFSETS]).items()}
        return {}

    def ensure(self) -> None:
        """Create the database and the table unless they are there.

        A table of that name at another place is what an earlier enabling of the topic left: it is taken out
        of the catalog, its files stay.
        """
        spark, target = self._spark, self.target
        ensure_namespace(spark, target.catalog, target.database)
        if exists(spark, target.name):
            if location(spark, target.name) == target.location:
                return
            drop(spark, target)
        empty: list[Any] = []
        schema = rows(spark.createDataFrame(empty, RECORD_DDL), self._schemas(), target).schema
        writer = spark.createDataFrame(empty, schema).writeTo(target.name).using("iceberg")
        for key, value in _properties(target).items():
            writer = writer.tableProperty(key, value)
        writer.create()
        _log.info("Created %s.%s at %s", target.database, target.table, target.location)

    def advance(self) -> Advance:
        """Append the records that the table has not got yet, in one commit.

        Raises:
            LineageBridgeError: the topic could not be read.
            SuspendedError: it holds a record that can't be decoded, and failures are to suspend the table.
        """
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        done = self.offsets()
        first, last = self._topic.bounds()
        start, end = next_range(done, first, last, self._max_records)
        if start == end:
            return Advance(0, 0, start, True)
        spark, target, schemas = self._spark, self.target, self._schemas()
        records = self._topic.read(spark, start, end)
        seen, kept = Observation(), Observation()
        frame = rows(records.observe(seen, F.count(F.lit(1)).alias("n")), schemas, target)
        frame = frame.observe(kept, F.count(F.lit(1)).alias("n"))
        writer = frame.writeTo(target.name).option("mergeSchema", "true")
        # New columns are added at the table's end, wherever their fields are in the schema.
        writer = writer.option("check-ordering", "false")
        writer = writer.option(f"snapshot-property.{OFFSETS}", json.dumps(dict(sorted(end.items()))))
        try:
            writer.append()
        except Exception as error:
            if (undecoded := _undecodable(error)) is not None:
                raise SuspendedError(
                    f"Topic {self._topic.name}: {undecoded}",
                    hint="Set the Tableflow topic's error_handling to SKIP or LOG to leave such records out.",
                ) from error
            raise
        count = int(kept.get["n"])
        return Advance(count, int(seen.get["n"]) - count, end, end == last)


def next_range(done: Offsets, first: Offsets, last: Offsets, max_records: int) -> tuple[Offsets, Offsets]:
    """The offsets to read from and to, at most about `max_records` in all, fairly by partition.

    Records that retention removed before they were read are gone: reading goes on at the first there is. A
    topic that ends before where the table stands was made anew: it is read from its beginning.
    """
    start: dict[int, int] = {}
    for partition, begin in first.items():
        at = done.get(partition, begin)
        start[partition] = begin if at < begin or at > last[partition] else at
    share = max(1, max_records // max(1, len(start)))
    return start, {p: min(last[p], at + share) for p, at in start.items()}


def rows(records: DataFrame, schemas: TopicSchemas, target: Target) -> DataFrame:
    """Records in the columns of Spark's Kafka source as rows of the table."""
    from pyspark.sql import functions as F

    strict = target.failures == "SUSPEND"
    frame = records
    for side, subject in (("key", schemas.key), ("value", schemas.value)):
        if subject.reader is None:
            continue
        raw = F.col(side)
        value = decoded(raw, subject, corrupt="FAILFAST" if strict else "PERMISSIVE")
        if strict:
            told = F.concat(
                F.lit(f"{_UNDECODABLE}a {side} of schema id "),
                F.coalesce(schema_id(raw).cast("string"), F.lit("(none)")),
                F.lit(" at partition "),
                F.col("partition").cast("string"),
                F.lit(" offset "),
                F.col("offset").cast("string"),
                F.lit(f" is not of subject {subject.subject}"),
            )
            value = F.when(unknown_id(raw, subject), F.raise_error(told)).otherwise(value)
        frame = frame.withColumn(f"_{side}", value)
        if not strict:
            frame = frame.where(raw.isNull() | F.col(f"_{side}").isNotNull())
    columns: dict[str, Column] = {}
    for side, subject in (("value", schemas.value), ("key", schemas.key)):
        columns |= {n: c for n, c in _side(frame, side, subject).items() if n not in columns}
    key_first = [*_side(frame, "key", schemas.key), *_side(frame, "value", schemas.value)]
    ordered = [columns[name].alias(name) for name in dict.fromkeys(key_first)]
    return frame.select(*ordered, *_metadata_columns(target.portable_names))


def drop(spark: SparkSession, target: Target) -> None:
    """Take the table out of the catalog; its files stay where they are."""
    spark.sql(f"DROP TABLE IF EXISTS {target.name}")
    _log.info("Dropped %s.%s from the catalog", target.database, target.table)


#: The columns of Spark's Kafka source with `includeHeaders`.
RECORD_DDL = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key: string, value: binary>>"
)

_UNDECODABLE = "undecodable: "


def _undecodable(error: BaseException) -> str | None:
    """What a record that can't be decoded said, out of Spark's long account of the failed stage."""
    text = str(error)
    if _UNDECODABLE in text:
        return text.partition(_UNDECODABLE)[2].splitlines()[0].split(" SQLSTATE")[0]
    if "MALFORMED_AVRO_MESSAGE" in text or "Malformed records are detected" in text:
        return "a record is not of the schema that its id names"
    return None


def _side(frame: DataFrame, side: str, subject: SubjectSchemas) -> Mapping[str, Column]:
    """The columns that a key or a value becomes: its fields, or itself."""
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


def _properties(target: Target) -> dict[str, str]:
    return {
        "location": target.location,
        "format-version": "2",
        # A new field of the topic's schema becomes a new column with the records that first hold it.
        "write.spark.accept-any-schema": "true",
        # Lineage is pushed to the same Glue table: its update moves the version under a commit now and then.
        "commit.retry.num-retries": "20",
        "commit.retry.min-wait-ms": "50",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "20",
        "write.parquet.compression-codec": "zstd",
        # Steps are small and frequent: a file for each task of each would be most of them.
        "write.distribution-mode": "none",
    }
