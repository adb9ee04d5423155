"""What a topic's table is to be, and what can stop it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from lineage_bridge_dagster.config.topic_tables import Truncations, TypeChanges
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import Rejections

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Failures = Literal["SUSPEND", "SKIP", "LOG"]
Mode = Literal["append", "upsert", "debezium"]

#: What a table goes on after, once someone has decided that it should.
Acceptable = Literal["lost_records", "recreated_topic"]

#: Table properties, set when the table is created.
MODE = "topic_to_iceberg.mode"
ORIGIN = "topic_to_iceberg.topic"

#: The columns of Spark's Kafka source with `includeHeaders`.
RECORD_DDL = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key: string, value: binary>>"
)
RECORD_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")


class TopicRecords(Protocol):
    """A topic that can be read by ranges of offsets: a Kafka topic, or a test's rows."""

    @property
    def name(self) -> str: ...

    def topic_id(self) -> str:
        """The topic's id, which a topic created again does not share; empty if the brokers do not say."""

    def bounds(self) -> tuple[Offsets, Offsets]:
        """The first offset and the end of every partition."""

    def read(
        self, spark: SparkSession, start: Offsets, end: Offsets, *, topic_id: str = "", tasks: int = 0
    ) -> DataFrame:
        """The records of `[start, end)`, in the columns of Spark's Kafka source with headers.

        Hints for speed are `topic_id`, what `topic_id()` returned before, if that was called, and the number
        of `tasks` to read by, which 0 leaves open.
        """


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
        location: base location of its data and metadata; None for the one that the catalog chooses.
        failures: what a record that cannot be a row does: stop the table (SUSPEND), or be left out (SKIP), in
            the dead letter queue if there is one (LOG).
        portable_names: whether metadata columns are named `cflt_metadata_...` and not `$$...`.
        raw_columns: whether rows have the bytes of their record's key and value.
        mode: `append`: a row for each record; `upsert`: a row for each key in its partition, from its last
            record, none if that has no value; `debezium`: the same from the after-state of Debezium's
            envelopes.
        partition_by: partition transforms such as `days(ts)` or `bucket(16, id)`.
        sort_by: the table's sort order, such as `id` or `ts desc nulls last`.
        properties: further table properties, set when the table is created.
        origin: the topic, as `{environment}/{cluster}/{topic}`; a table with another origin is refused.
        accept: what the table goes on after instead of raising an error.
        unavailable_value: the placeholder for a value that Debezium did not get, if it is not the default.
        truncations: whether Debezium's truncate events empty the table, or are handled like other records
            that cannot become rows.
        type_changes: whether a field stops the table or gets a new column when its column cannot take its
            type.
        replace_moved: whether a table of this name at another location makes way for a new one, as after
            Tableflow was disabled and enabled again; else it is refused.
    """

    name: TableName
    location: str | None = None
    failures: Failures = "SUSPEND"
    portable_names: bool = False
    raw_columns: bool = True
    mode: Mode = "append"
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    accept: frozenset[Acceptable] = frozenset()
    unavailable_value: str = ""
    truncations: Truncations = "suspend"
    type_changes: TypeChanges = "suspend"
    replace_moved: bool = False


@dataclass(frozen=True, slots=True)
class Advance:
    """The result of one step.

    Attributes:
        rows: records that are rows now, or that changed the table by key.
        skipped: records left out.
        offsets: up to which the topic was read.
        caught_up: whether that was the end, when the step began.
        unavailable: values that are null, as Debezium did not get them and the table did not have them.
        written: rows that the batch's snapshot added: by key, one for all records of a key.
        deleted: rows that were replaced or deleted.
        rejections: why records were left out, and where some of them are.
    """

    rows: int
    skipped: int
    offsets: Offsets
    caught_up: bool
    written: int = 0
    deleted: int = 0
    unavailable: int = 0
    rejections: Rejections = field(default_factory=Rejections)


class SuspendedError(LineageBridgeError):
    """The table cannot continue until the topic, its schema or its settings are changed."""


class NotOurTableError(SuspendedError):
    """A table of this name exists and is not this topic's, in this mode."""


class SecondWriterError(LineageBridgeError):
    """Another writer loads the same topic into the same table."""
