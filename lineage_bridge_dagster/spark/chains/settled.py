"""What the lineage tables are known to hold, so that an unchanged discovery costs a look at their snapshots.

A write that ends well notes in its last commit, that of `coverage`, what it was given and at which snapshots
it left the other tables. While those are their newest snapshots, the same input has nothing to write.
Snapshots that replace files by others with the same rows, as a compaction does, do not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage_bridge_dagster.spark.commits import CommitMarker
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors, exists, open_table
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INPUT = "lineage_bridge.input"
_SELECTION = "lineage_bridge.selection"
_AT = "lineage_bridge.at."

#: Part of an input's digest; raised whenever the same input leads to other rows.
_VERSION = "1"

#: The operation of a snapshot that holds the same rows as the one before it.
_REPLACE = "replace"

_NONE = "none"
_ALL = "all"
_EACH = "each"


@dataclass(frozen=True, slots=True)
class Settled:
    """A table that holds what a write wanted.

    Attributes:
        snapshot_id: its newest snapshot that changed rows, None before the first one.
        certain: False if someone else's commit came between, so that the table may hold something else.
    """

    table: TableName
    snapshot_id: int | None
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Input:
    """What decides the rows of all lineage tables, but for times.

    Attributes:
        digest: of the nodes, the edges, the coverage and the setting for SQL.
        selection: of the tables whose chains are written: `all`, `each`, or a digest of their ids.
    """

    digest: str
    selection: str

    @classmethod
    def of(cls, parts: Sequence[str], selected: Collection[str] | None, tables: Collection[str]) -> Input:
        """From digests of what is given, the ids of the selected tables and those of all tables of the graph.

        With None for the selected ones, rows of tables that are not in the graph are removed too.
        """
        if selected is None:
            selection = _ALL
        else:
            selection = _EACH if set(selected) >= set(tables) else _sha256(sorted(selected))
        return cls(_sha256([_VERSION, *parts]), selection)

    def note(self, tables: Sequence[Settled]) -> dict[str, str]:
        """The summary entries that say that these tables hold this input; none if that is not certain."""
        if not all(table.certain for table in tables):
            return {}
        return {
            _INPUT: self.digest,
            _SELECTION: self.selection,
            **{_AT + each.table.table: str(each.snapshot_id or _NONE) for each in tables},
        }

    def is_noted(self, summary: Mapping[str, str]) -> bool:
        """Whether a note is of this input, and of at least these tables' chains."""
        enough = {_ALL, self.selection} if self.selection == _ALL else {_ALL, _EACH, self.selection}
        return summary.get(_INPUT) == self.digest and summary.get(_SELECTION) in enough

    def as_noted(self, summary: Mapping[str, str]) -> Input:
        """This input, with the selection of a note of it."""
        return replace(self, selection=summary[_SELECTION])

    @property
    def is_whole(self) -> bool:
        """Whether the chains of all tables are written."""
        return self.selection in (_ALL, _EACH)


def unchanged(
    spark: SparkSession, note: Mapping[str, str], tables: Sequence[TableName]
) -> list[Settled] | None:
    """The tables, if all of them are as a note says; None if one is not."""
    found = []
    for table in tables:
        if not exists(spark, table):
            return None
        snapshot = content_snapshot(spark, table)
        snapshot_id = snapshot.snapshot_id if snapshot else None
        if note.get(_AT + table.table) != str(snapshot_id or _NONE):
            return None
        found.append(Settled(table, snapshot_id))
    return found


def content_snapshot(spark: SparkSession, table: TableName) -> Snapshot | None:
    """The newest snapshot that changed rows, or the oldest one that is kept; None before the first commit."""
    return _of_content(ancestors(spark, table))


@dataclass(frozen=True, slots=True)
class Before:
    """A table before a write.

    Attributes:
        newest: its newest snapshot.
        content: the newest one that changed rows, or the oldest one that is kept.
    """

    newest: Snapshot | None
    content: Snapshot | None

    @classmethod
    def of(cls, spark: SparkSession, table: TableName) -> Before:
        """Read it from the table."""
        loaded = open_table(spark, table)
        return cls(next(loaded.ancestors(), None), _of_content(loaded.ancestors()))

    def settled(self, table: TableName, later: Sequence[Snapshot], marker: CommitMarker) -> Settled:
        """What a write has left the table at, certain if all commits since are its own.

        Args:
            table: the table.
            later: all snapshots after the newest one of before, newest first.
            marker: of the write.
        """
        changes = [each for each in later if each.operation != _REPLACE]
        newest = changes[0] if changes else self.content
        return Settled(table, newest.snapshot_id if newest else None, all(map(marker.has_made, changes)))


def _of_content(snapshots: Iterable[Snapshot]) -> Snapshot | None:
    found = None
    for found in snapshots:
        if found.operation != _REPLACE:
            break
    return found


def _sha256(parts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
