"""What a decoder makes of payloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.spark.decoding.decoder import Side, decoder_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Header = tuple[str, bytes | None]


def decode(
    spark: SparkSession,
    schemas: SubjectSchemas,
    *payloads: bytes | None,
    headers: list[list[Header] | None] | None = None,
    side: Side = "value",
) -> list[tuple[Any, str | None]]:
    """The decoded payloads, records as dictionaries, each with its error."""
    rows: list[Any] = [(number, payload) for number, payload in enumerate(payloads)]
    ddl = f"n int, {side} binary"
    if headers:
        rows = [(*row, header) for row, header in zip(rows, headers, strict=True)]
        ddl += ", headers array<struct<key: string, value: binary>>"
    decoded = decoder_for(schemas).decode(spark.createDataFrame(rows, ddl), side).collect()
    return [
        (value.asDict(recursive=True) if hasattr(value, "asDict") else value, error)
        for value, error in (
            (row[f"_{side}"], row[f"_{side}_error"])
            # Sorted by Spark, they would be decoded twice.
            for row in sorted(decoded, key=lambda row: int(row.n))
        )
    ]


def errors(results: list[tuple[Any, str | None]]) -> list[str | None]:
    """The errors; a record that has one has no value."""
    assert all(value is None for value, error in results if error)
    return [error for _, error in results]
