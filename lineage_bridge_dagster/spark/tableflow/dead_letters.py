"""The records of a topic that cannot be decoded, for error handling LOG."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.dead_letters.letter import UNDECODABLE_KEY, UNDECODABLE_VALUE, DeadLetter
from lineage_bridge_dagster.spark.decoding.avro import decoded, schema_id, unknown_id
from lineage_bridge_dagster.topics.schemas import SubjectSchemas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TIMESTAMP_TYPES = ("CREATE_TIME", "LOG_APPEND_TIME")


def dead_letters(records: DataFrame, *subjects: tuple[str, SubjectSchemas]) -> Iterator[DeadLetter]:
    """The records that have no row because their key or value cannot be decoded.

    Args:
        records: in the columns of Spark's Kafka source with headers.
        subjects: `("key", schemas)` and `("value", schemas)`.
    """
    from pyspark.sql import functions as F

    frame, errors, found = records, [], {}
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
        found[f"_{side}_schema_id"] = schema_id(raw)
    if not errors:
        return
    kind = F.when(F.col("_error").startswith("a key "), UNDECODABLE_KEY).otherwise(UNDECODABLE_VALUE)
    frame = frame.withColumn("_error", F.concat_ws("; ", *errors)).where(F.col("_error") != "")
    frame = frame.withColumns({"_kind": kind, **found})
    for row in frame.select(*records.columns, "_error", "_kind", *found).toLocalIterator():
        yield _letter(row)


def _letter(row: Any) -> DeadLetter:
    fields = row.asDict()
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
        kind=row._kind,
        key_schema_id=fields.get("_key_schema_id"),
        value_schema_id=fields.get("_value_schema_id"),
    )


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
