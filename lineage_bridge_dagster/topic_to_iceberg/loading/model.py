"""What the engine reads, what a step returns, and what can stop a table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.formats import TOPIC_TABLE
from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import Rejections

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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

    def offsets_at(self, at_ms: int) -> Offsets:
        """The offset of each partition's first record at or after a time in Unix milliseconds."""

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

    def in_table(self, properties: Any) -> Self:
        """The schemas with the names that a table's format gives to columns, by its properties.

        A table without a mode is one that Tableflow created.
        """
        if properties.get(MODE) is None or properties.get(TOPIC_TABLE.key) not in (None, "1"):
            return self
        return type(self)(
            *(
                replace(side, versions=tuple(replace(each, first_format=True) for each in side.versions))
                for side in (self.key, self.value)
            )
        )


@dataclass(frozen=True, slots=True)
class LoadStep:
    """One commit, or an attempt that found nothing to commit.

    Attributes:
        offsets: up to which the topic was read.
        caught_up: whether that was the end, when the step began.
        records: that are rows now, or that changed the table by key.
        rows: that were written: by key, one for all records of a key.
        removed: rows of keys that were updated, whose new rows are among `rows`, or deleted.
        skipped: records that were left out for good.
        dead_letters: those that went to the dead letter topic.
        unavailable: values that are null, as Debezium did not send them and the table did not have them.
        rejections: why records were left out, and where some of them are.
        committed: whether there is a new snapshot.
    """

    offsets: Offsets
    caught_up: bool
    records: int = 0
    rows: int = 0
    removed: int = 0
    skipped: int = 0
    dead_letters: int = 0
    unavailable: int = 0
    committed: bool = False
    rejections: Rejections = field(default_factory=Rejections)


class SuspendedError(LineageBridgeError):
    """The table cannot continue until the topic, its schema or its settings are changed."""


class NotOurTableError(SuspendedError):
    """A table of this name exists and is not this topic's, in this mode."""


class SecondWriterError(LineageBridgeError):
    """Another writer loads the same topic into the same table."""
