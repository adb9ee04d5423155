"""The records of a topic that cannot be rows, for error handling LOG."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import (
    EXAMPLES,
    DeadLetter,
    DeadLetterQueue,
    Rejection,
    Rejections,
    batches,
)
from lineage_bridge_dagster.topic_to_iceberg.loading.columns import ERROR, KIND, SCHEMA_IDS
from lineage_bridge_dagster.topic_to_iceberg.loading.model import RECORD_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TIMESTAMP_TYPES = ("CREATE_TIME", "LOG_APPEND_TIME")


def dead_letters(judged: DataFrame, topic_id: str = "") -> Iterator[DeadLetter]:
    """The records that have an `_error`.

    Args:
        judged: records with the columns of Spark's Kafka source with headers.
        topic_id: the topic's id; empty if unknown.
    """
    found = judged.where(f"{ERROR} is not null").select(*RECORD_COLUMNS, ERROR, KIND, *SCHEMA_IDS)
    for row in found.toLocalIterator():
        yield _letter(row, topic_id)


def write_new(queue: DeadLetterQueue, letters: Iterator[DeadLetter], written: set[str]) -> Rejections:
    """Write dead letters, and count them by their kinds.

    Args:
        queue: takes the letters.
        letters: of a batch's records.
        written: the identities of letters that are not to be written again; those written are added.
    """
    found = Rejections()
    for batch in batches(letters):
        found = found.plus(Rejections.of(letter.rejection for letter in batch))
        if fresh := [letter for letter in batch if letter.identity not in written]:
            queue.write(fresh)
            written.update(letter.identity for letter in fresh)
    return found


def rejections(judged: DataFrame) -> Rejections:
    """How many records have an `_error`, with the last one of each kind in each partition as examples."""
    from pyspark.sql import functions as F

    place = F.struct("topic", "partition", "offset", ERROR, KIND, *SCHEMA_IDS)
    found = (
        judged.where(f"{ERROR} is not null")
        .groupBy(KIND, "partition")
        .agg(F.count(F.lit(1)).alias("n"), F.max_by(place, "offset").alias("last"))
        .collect()
    )
    counts: dict[str, int] = {}
    for row in found:
        counts[row[KIND]] = counts.get(row[KIND], 0) + row.n
    last = [
        Rejection(
            topic=each.topic,
            partition=each.partition,
            offset=each.offset,
            kind=each[KIND],
            error=each[ERROR],
            key_schema_id=each[SCHEMA_IDS[0]],
            value_schema_id=each[SCHEMA_IDS[1]],
        )
        for each in sorted((row["last"] for row in found), key=lambda each: (each.partition, each.offset))
    ]
    return Rejections(counts, tuple(last[-EXAMPLES:]))


def _letter(row: Any, topic_id: str) -> DeadLetter:
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
        error=row[ERROR],
        kind=row[KIND],
        key_schema_id=row[SCHEMA_IDS[0]],
        value_schema_id=row[SCHEMA_IDS[1]],
        topic_id=topic_id,
    )


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
