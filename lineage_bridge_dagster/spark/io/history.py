"""Which snapshots of a table an input reads: decided from its options and the table's history.

Both engines ask here, each with its own access to the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.increments import (
    Downstream,
    IncrementError,
    full_refresh_hint,
    position,
)
from lineage_bridge_dagster.spark.io.options import ReadOptions
from lineage_bridge_dagster.spark.snapshot import Snapshot


class TableHistory(Protocol):
    """What a table tells of its snapshots."""

    def ancestors(self) -> Iterator[Snapshot]:
        """The snapshots of the current branch, newest first, as far back as they are kept."""

    def snapshot(self, snapshot_id: int) -> Snapshot | None:
        """A snapshot that is still kept, on the current branch or not."""

    def history(self) -> list[tuple[int, int]]:
        """The snapshots that became current, oldest first: epoch milliseconds and ids."""


@dataclass(frozen=True, slots=True)
class SnapshotChoice:
    """The rows to read.

    Attributes:
        snapshot_id: the snapshot that they are in; None for the table as it is.
        after: if not None, only those that were appended after this snapshot.
    """

    snapshot_id: int | None = None
    after: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was appended."""
        return self.after is not None and self.after == self.snapshot_id


def chosen_snapshots(
    table: TableHistory,
    options: ReadOptions,
    downstream: Downstream | None,
    ancestors_of: Callable[[TableName], Iterable[Snapshot] | None],
    label: str,
) -> SnapshotChoice:
    """The snapshots that an input reads.

    Args:
        downstream: the table that consumes an incremental input; its `consumed` is set.
        ancestors_of: the snapshots of a table, newest first; None if it does not exist.
        label: the asset, for messages and as the name of its position in the downstream table.

    Raises:
        IncrementError: what is new cannot be determined.
        LineageBridgeError: the table has no such snapshot.
    """
    if options.incremental and downstream is not None:
        last = position(downstream, ancestors_of, label)
        current = next(table.ancestors(), None)
        downstream.consumed[label] = {"snapshot_id": str(current.snapshot_id) if current else ""}
        if current is None:
            return SnapshotChoice()
        if start := (last or {}).get("snapshot_id"):
            return _appended(table, int(start), current.snapshot_id, label, full_refresh_hint(label))
        return SnapshotChoice(current.snapshot_id)
    if (first := options.start_snapshot_id) is not None:
        current = next(table.ancestors(), None)
        end = options.end_snapshot_id or (current.snapshot_id if current else first)
        hint = "Set both ids to snapshots that the table's history lists, or read the full table."
        return _appended(table, first, end, label, hint)
    if options.as_of is not None:
        return SnapshotChoice(_as_of(table.history(), options.as_of, label))
    if options.snapshot_id is not None and table.snapshot(options.snapshot_id) is None:
        raise LineageBridgeError(
            f"{label} has no snapshot {options.snapshot_id}: it expired, or belongs to another table.",
            hint="Choose one that the table's metadata table snapshots lists.",
        )
    return SnapshotChoice(options.snapshot_id)


def _as_of(history: list[tuple[int, int]], moment: int, label: str) -> int:
    earlier = [snapshot_id for at, snapshot_id in history if at <= moment]
    if earlier:
        return earlier[-1]
    first = min((at for at, _ in history), default=None)
    known = f"begins at {_iso(first)}" if first is not None else "is empty"
    raise LineageBridgeError(
        f"{label} has no snapshot as of {_iso(moment)}: its history {known}.",
        hint="Choose a later time, or keep snapshots longer.",
    )


def _appended(table: TableHistory, start: int, end: int, label: str, hint: str) -> SnapshotChoice:
    """The rows after snapshot `start` up to snapshot `end`.

    Raises:
        IncrementError: one of them has expired or is not in the table's history, or rows were replaced or
            deleted since the first.
    """
    history: list[Snapshot] = []
    for found in table.ancestors():
        history.append(found)
        if found.snapshot_id == start:
            break
    ids = [found.snapshot_id for found in history]
    if start not in ids:
        reason = (
            "is no longer part of the table's history: the table was replaced or rolled back"
            if table.snapshot(start) is not None
            else "has expired, or belongs to another table"
        )
        raise IncrementError(
            f"Snapshot {start} of {label}, after which rows are new, {reason}.",
            hint=f"{hint} Keep snapshots longer than the longest pause between runs.",
        )
    if end not in ids:
        raise IncrementError(
            f"Snapshot {end} of {label} does not come after snapshot {start} in the table's history.",
            hint=hint,
        )
    since = history[ids.index(end) : ids.index(start)]
    changed = next((s for s in reversed(since) if s.operation not in ("append", "replace")), None)
    if changed is not None:
        raise IncrementError(
            f"{label} was not only appended to since snapshot {start}: snapshot {changed.snapshot_id} of "
            f"{_iso(changed.committed_at)} has operation {changed.operation}, which replaces or deletes "
            "rows.",
            hint=f"{hint} Read a table that is updated in place in full.",
        )
    return SnapshotChoice(end, start)


def _iso(moment: int) -> str:
    return iso(datetime.fromtimestamp(moment / 1000, UTC))
