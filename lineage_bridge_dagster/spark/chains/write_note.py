"""The note of a write: its input, and the state in which it left the lineage tables.

A write that ends well puts the note into its last commit, that of `coverage`. While the snapshots that the
note names are the newest ones, a write of the same input has nothing to do. Snapshots that replace files by
others with the same rows, as a compaction does, do not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.spark.chains.lineage_tables import (
    UPSTREAM_CHAINS,
    Records,
    coverage_digest,
    of_columns,
)
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

#: The chains of all tables and no others; the chains of all tables.
_ALL, _EACH = "all", "each"


@dataclass(frozen=True, slots=True)
class TableVersion:
    """The version of a lineage table after a write.

    Attributes:
        snapshot_id: its newest snapshot that changed rows, None before the first one.
        written: False if nothing had changed.
        certain: False if the table may hold something else than what the write wanted, such as after a commit
            of someone else.
    """

    table: str
    snapshot_id: int | None
    written: bool = False
    certain: bool = True


@dataclass(frozen=True, slots=True)
class WriteInput:
    """What decides the rows of all lineage tables, except for times.

    Attributes:
        digest: of the nodes, the edges, the coverage and the setting for SQL.
        selection: of the tables whose chains are written: `all`, `each`, or a digest of their ids. With
            `all`, no other table has rows.
    """

    digest: str
    selection: str

    @classmethod
    def of(
        cls,
        coverage: Coverage,
        records: Sequence[Records],
        sql: str,
        selected: Sequence[str],
        *,
        has_all: bool,
        removes: bool,
    ) -> WriteInput:
        """Describe an input.

        Args:
            coverage: of the graph's discovery.
            records: nodes and edges.
            sql: how SQL is shown.
            selected: the ids of the selected tables.
            has_all: whether these are all tables of the graph.
            removes: whether the chains of tables that the graph does not have are removed.
        """
        # The other tables' columns are in the digests of their records.
        version = _VERSION + of_columns(UPSTREAM_CHAINS).hex()
        digest = _sha256([version, *(each.digest for each in records), coverage_digest(coverage), sql])
        whole = _ALL if removes else _EACH
        return cls(digest, whole if has_all else _sha256(sorted(selected)))

    def note(self, versions: Sequence[TableVersion]) -> dict[str, str]:
        """The summary entries that say that these tables hold this input; none if that is not certain."""
        if not all(version.certain for version in versions):
            return {}
        return {
            _INPUT: self.digest,
            _SELECTION: self.selection,
            **{_AT + version.table: str(version.snapshot_id or _NONE) for version in versions},
        }

    @property
    def has_all(self) -> bool:
        """Whether the chains of all tables are written."""
        return self.selection in (_ALL, _EACH)


@dataclass(frozen=True, slots=True)
class WriteNote:
    """The note of the last write that made one, while the tables are as that write left them.

    Attributes:
        snapshot: of `coverage`, with the note.
        versions: of the other tables.
    """

    snapshot: Snapshot
    versions: tuple[TableVersion, ...]

    @classmethod
    def last(cls, spark: SparkSession, coverage: TableName, others: Sequence[TableName]) -> WriteNote | None:
        """Read it; None if there is none, or if a table has changed since."""
        if not exists(spark, coverage) or (noted := _content(ancestors(spark, coverage))) is None:
            return None
        versions = []
        for table in others:
            at = noted.summary.get(_AT + table.table)
            if at is None or not exists(spark, table):
                return None
            snapshot = _content(ancestors(spark, table))
            version = TableVersion(table.table, snapshot.snapshot_id if snapshot else None)
            if at != str(version.snapshot_id or _NONE):
                return None
            versions.append(version)
        return cls(noted, tuple(versions))

    def is_of(self, given: WriteInput) -> bool:
        """Whether it is of this input, and of at least these tables' chains."""
        enough = {_ALL} if given.selection == _ALL else {_ALL, _EACH, given.selection}
        return self.snapshot.summary.get(_INPUT) == given.digest and self._selection in enough

    def same_selection(self, given: WriteInput) -> WriteInput:
        """An input with the selection of this note."""
        return replace(given, selection=self._selection)

    @property
    def _selection(self) -> str:
        return self.snapshot.summary.get(_SELECTION, "")


@dataclass(frozen=True, slots=True)
class TableBefore:
    """A table before a write.

    Attributes:
        content: the newest snapshot that changed rows, or the oldest one that is kept.
    """

    table: TableName
    newest: Snapshot | None
    content: Snapshot | None

    @classmethod
    def of(cls, spark: SparkSession, table: TableName) -> TableBefore:
        """Read it from the table."""
        loaded = open_table(spark, table)
        return cls(table, next(loaded.ancestors(), None), _content(loaded.ancestors()))

    def after(self, later: Sequence[Snapshot], marker: CommitMarker, *, written: bool) -> TableVersion:
        """The version that a write has left, certain if all commits since are its own.

        Args:
            later: all snapshots after the newest one of before, newest first.
            written: whether the write had anything to commit.
        """
        changes = [each for each in later if each.operation != _REPLACE]
        newest = changes[0] if changes else self.content
        return TableVersion(
            self.table.table,
            newest.snapshot_id if newest else None,
            written,
            all(map(marker.has_made, changes)),
        )


def _content(snapshots: Iterable[Snapshot]) -> Snapshot | None:
    """The newest snapshot that changed rows, or the oldest one that is kept; None before the first commit."""
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
