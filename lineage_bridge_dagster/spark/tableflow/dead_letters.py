"""The records of a topic that cannot be decoded, for error handling LOG."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from lineage_bridge_dagster.spark.decoding.avro import decoded, schema_id, unknown_id
from lineage_bridge_dagster.topics.schemas import SubjectSchemas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Records that are written to the dead letter queue at once.
BATCH = 500

_TIMESTAMP_TYPES = ("CREATE_TIME", "LOG_APPEND_TIME")


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record as it is in its topic, with all of its headers, and why it has no row."""

    topic: str
    partition: int
    offset: int
    timestamp: datetime | None
    timestamp_type: str
    headers: tuple[tuple[str, bytes | None], ...]
    key: bytes | None
    value: bytes | None
    error: str

    @property
    def identity(self) -> tuple[int, int, str]:
        """What tells it from the topic's other records, also from those of a topic created again."""
        content = repr((self.timestamp, self.headers, self.key, self.value))
        return self.partition, self.offset, hashlib.sha256(content.encode()).hexdigest()


class DeadLetterQueue(Protocol):
    """Where dead letters go."""

    def prepare(self) -> None:
        """Create the topic if it does not exist."""

    def write(self, letters: list[DeadLetter]) -> None:
        """Write letters, and return when all of them are stored; raises if they are not."""


def dead_letters(records: DataFrame, *subjects: tuple[str, SubjectSchemas]) -> Iterator[DeadLetter]:
    """The records that have no row because their key or value cannot be decoded.

    Args:
        records: in the columns of Spark's Kafka source with headers.
        subjects: `("key", schemas)` and `("value", schemas)`.
    """
    from pyspark.sql import functions as F

    frame, errors = records, []
    for side, subject in subjects:
        if subject.reader is None:
            continue
        raw = F.col(side)
        frame = frame.withColumn(f"_{side}", decoded(raw, subject, corrupt="PERMISSIVE"))
        reason = F.when(unknown_id(raw, subject), F.lit(f"is not of subject {subject.subject}"))
        message = F.concat(
            F.lit(f"a {side} of schema id "),
            F.coalesce(schema_id(raw).cast("string"), F.lit("(none)")),
            F.lit(" "),
            reason.otherwise("does not match that schema"),
        )
        errors.append(F.when(raw.isNotNull() & F.col(f"_{side}").isNull(), message))
    if not errors:
        return
    frame = frame.withColumn("_error", F.concat_ws("; ", *errors)).where(F.col("_error") != "")
    for row in frame.select(*records.columns, "_error").toLocalIterator():
        yield _letter(row)


def _letter(row: Any) -> DeadLetter:
    return DeadLetter(
        topic=row.topic,
        partition=row.partition,
        offset=row.offset,
        # PySpark returns times without a zone, in that of this machine.
        timestamp=row.timestamp.astimezone(UTC) if row.timestamp else None,
        timestamp_type=_TIMESTAMP_TYPES[row.timestampType] if row.timestampType in (0, 1) else "",
        headers=tuple((header.key, _bytes(header.value)) for header in row.headers or ()),
        key=_bytes(row.key),
        value=_bytes(row.value),
        error=row._error,
    )


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
