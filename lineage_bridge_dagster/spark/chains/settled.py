"""What the lineage tables are known to hold, so that what has not changed costs a look at their snapshots.

A write that ends well notes in its last commit, that of `coverage`, what it was given and at which snapshots
it left the other tables. While those are their newest snapshots, the same input has nothing to write, and of
another one only the chains that the difference can affect. Snapshots that replace files by others with the
same rows, as a compaction does, do not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.spark.chains.lineage_tables import Records, coverage_digest
from lineage_bridge_dagster.spark.commits import CommitMarker
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors, exists, open_table
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INPUT = "lineage_bridge.input"
_RULES = "lineage_bridge.rules"
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
        rules: a digest of what decides chains besides the nodes and the edges.
        selection: of the tables whose chains are written: `all`, `each`, or a digest of their ids. With
            `all`, no other table has rows.
    """

    digest: str
    rules: str
    selection: str

    @classmethod
    def of(
        cls,
        coverage: Coverage,
        records: Sequence[Records],
        sql: str,
        selected: Sequence[str],
        *,
        whole: bool,
    ) -> Input:
        """From what is given, and the ids of the selected tables.

        Args:
            coverage: of the graph's discovery.
            records: of the graph.
            sql: how SQL is shown.
            selected: the ids of the selected tables.
            whole: whether theirs are to be the only chains.
        """
        parts = [*(each.digest for each in records), coverage_digest(coverage), sql]
        selection = _ALL if whole else _sha256(sorted(selected))
        reports = sorted(f"{each.scope} {each.status} {each.by_name}" for each in coverage)
        return cls(_sha256([_VERSION, *parts]), _sha256([_VERSION, sql, *reports]), selection)

    def note(self, tables: Sequence[Settled]) -> dict[str, str]:
        """The summary entries that say that these tables hold this input; none if that is not certain."""
        if not all(table.certain for table in tables):
            return {}
        return {
            _INPUT: self.digest,
            _RULES: self.rules,
            _SELECTION: self.selection,
            **{_AT + each.table.table: str(each.snapshot_id or _NONE) for each in tables},
        }

    def having(self, *, others: bool) -> Input:
        """This input after a write that has left the chains of all tables right."""
        return replace(self, selection=_EACH if others else _ALL)

    @property
    def is_whole(self) -> bool:
        """Whether the chains of all tables are written."""
        return self.selection in (_ALL, _EACH)


@dataclass(frozen=True, slots=True)
class Note:
    """The note of the last write that made one, while the tables are as that has left them.

    Attributes:
        snapshot: of `coverage`, with the note.
        at: the other tables.
    """

    snapshot: Snapshot
    at: tuple[Settled, ...]

    @classmethod
    def last(cls, spark: SparkSession, coverage: TableName, others: Sequence[TableName]) -> Note | None:
        """Read it; None if there is none, or if a table has changed since."""
        if not exists(spark, coverage) or (noted := content_snapshot(spark, coverage)) is None:
            return None
        found = []
        for table in others:
            if _AT + table.table not in noted.summary or not exists(spark, table):
                return None
            snapshot = content_snapshot(spark, table)
            snapshot_id = snapshot.snapshot_id if snapshot else None
            if noted.summary[_AT + table.table] != str(snapshot_id or _NONE):
                return None
            found.append(Settled(table, snapshot_id))
        return cls(noted, tuple(found))

    def is_of(self, given: Input) -> bool:
        """Whether it is of this input, and of at least these tables' chains."""
        enough = {_ALL} if given.selection == _ALL else {_ALL, _EACH, given.selection}
        return self.snapshot.summary.get(_INPUT) == given.digest and self._selection in enough

    def of_same_rules(self, given: Input) -> bool:
        """Whether the stored chains are those of all stored tables, as they would be made now."""
        return self.snapshot.summary.get(_RULES) == given.rules and self._selection in (_ALL, _EACH)

    @property
    def has_no_others(self) -> bool:
        """Whether all stored chains are of tables that are stored, too."""
        return self._selection == _ALL

    def same_selection(self, given: Input) -> Input:
        """An input with the selection of this note."""
        return replace(given, selection=self._selection)

    def of(self, table: str) -> Settled:
        """One of the other tables."""
        return next(each for each in self.at if each.table.table == table)

    def holds(self, table: str, content: Snapshot | None) -> bool:
        """Whether this snapshot is the one at which it knows a table."""
        return self.of(table).snapshot_id == (content.snapshot_id if content else None)

    @property
    def _selection(self) -> str:
        return self.snapshot.summary.get(_SELECTION, "")


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
