"""What a write did, and its metadata: the same whatever engine wrote."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dagster import (
    MetadataValue,
    TableColumn,
    TableColumnConstraints,
    TableMetadataValue,
    TableRecord,
    TableSchema,
    TableSchemaMetadataValue,
)

from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.metadata import WriteMetadata
from lineage_bridge_dagster.spark.snapshot import Snapshot
from lineage_bridge_dagster.specs.metadata import StandardMetadata

#: Bounds of the preview: an event is kept forever, and a table may be wide.
PREVIEW_COLUMNS, _CHARACTERS = 30, 80


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did.

    Attributes:
        rows: rows of the DataFrame.
        snapshots: the write's snapshots, newest first.
        condition: of the slice that was written, empty for the whole table.
    """

    table: TableName
    rows: int
    snapshots: tuple[Snapshot, ...]
    condition: str = ""


def commit_metadata(result: WriteResult) -> dict[str, Any]:
    """What the write itself reports; nothing is read."""
    return {
        **StandardMetadata(table_name=f"{result.table.database}.{result.table.table}"),
        **WriteMetadata(rows_written=result.rows),
        **(_commit(result.snapshots) if result.snapshots else {}),
    }


def column_schema(columns: Iterable[tuple[str, str, str | None, bool]]) -> TableSchemaMetadataValue:
    """A table's columns: their names, types, comments, and whether they may be null."""
    found = [
        TableColumn(name, type_, description=doc, constraints=TableColumnConstraints(nullable=nullable))
        for name, type_, doc, nullable in columns
    ]
    return MetadataValue.table_schema(TableSchema(columns=found))


def preview(columns: Sequence[tuple[str, str]], rows: Iterable[Iterable[Any]]) -> TableMetadataValue | None:
    """A few rows as a table, values cut at 80 characters; None without rows."""
    names = [name for name, _ in columns]
    records = [TableRecord({n: _cell(v) for n, v in zip(names, row, strict=True)}) for row in rows]
    schema = TableSchema([TableColumn(name, type_) for name, type_ in columns])
    return MetadataValue.table(records=records, schema=schema) if records else None


def _cell(value: Any) -> str | int | float | bool | None:
    """A value of the preview, short enough for an event."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        # JSON has no NaN: a browser would fail to parse the page's data.
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    text = str(value)
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"


def _commit(snapshots: tuple[Snapshot, ...]) -> WriteMetadata:
    """The last snapshot of a write, and what all its snapshots added and deleted."""
    last = snapshots[0]
    deleted = ("deleted-records", "added-position-deletes", "added-equality-deletes")
    return WriteMetadata(
        snapshot_id=str(last.snapshot_id),
        committed_at=MetadataValue.timestamp(datetime.fromtimestamp(last.committed_at / 1000, UTC)),
        operation=", ".join(s.operation for s in reversed(snapshots)),
        added_records=sum(s.count("added-records") for s in snapshots),
        deleted_records=sum(s.count(key) for s in snapshots for key in deleted),
    )
