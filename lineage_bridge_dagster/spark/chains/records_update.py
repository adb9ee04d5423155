"""Nodes, edges and coverage brought to the records of a discovery: only what differs is made and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage_bridge_dagster.lineage.affected import GraphChange
from lineage_bridge_dagster.spark.chains.frames import frame_of
from lineage_bridge_dagster.spark.chains.lineage_tables import DIGEST, Records
from lineage_bridge_dagster.spark.chains.settled import Before, Note, Settled
from lineage_bridge_dagster.spark.commits import CommitMarker, commit_after
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.merge import MergeKeys, merge
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Key in the snapshot summary of `nodes`, `edges` and `coverage`. It is not a table property: Glue shows
#: those as parameters, where the pushed lineage is.
CONTENT_DIGEST = "content-digest"

#: Calls of a write that keeps conflicting with other writers.
ATTEMPTS = 6

#: From this share of rows to replace or remove, replacing all of them is cheaper than a MERGE.
_REPLACE_ALL = 0.3

_REMOVED, _CONTENT, _PLACE = "_removed", "_content", "_place"


@dataclass(frozen=True, slots=True)
class Difference:
    """How stored rows differ from a discovery's records.

    Attributes:
        changed: places of the records that are new or differ from their row.
        for_chains: those of them that are new, or differ in what chains take from them.
        removed: keys of the rows that have no record.
        only_new: whether no stored row is replaced or removed.
        certain: False if a key is stored twice, or rows of an earlier version have no digest. Then only
            `changed` is known, and replacing all rows is right.
        mergeable: False if replacing all rows is right, or cheaper.
    """

    changed: npt.NDArray[np.int64]
    for_chains: npt.NDArray[np.int64]
    removed: pa.Table
    only_new: bool
    certain: bool
    mergeable: bool

    @classmethod
    def nothing(cls, records: Records) -> Difference:
        """That of rows which are the records."""
        none = np.empty(0, dtype=np.int64)
        return cls(none, none, records.key_schema.empty_table(), only_new=True, certain=True, mergeable=True)

    @classmethod
    def unknown(cls, records: Records, changed: npt.NDArray[np.int64]) -> Difference:
        """The difference from stored rows that cannot be matched with the records."""
        nothing = records.key_schema.empty_table()
        return cls(changed, changed, nothing, only_new=False, certain=False, mergeable=False)

    @property
    def rows(self) -> int:
        return len(self.changed) + int(self.removed.num_rows)


def difference(
    records: Records, stored: pa.ChunkedArray, rows_of: Callable[[npt.NDArray[np.int64]], pa.Table]
) -> Difference:
    """Compare records with what is stored, by digests; more is read only of rows that differ.

    Args:
        records: of the discovery.
        stored: the digests in the table; those of rows of an earlier version are null.
        rows_of: reads `Records.compared` of the rows with some digests.
    """
    known = stored.drop_null().to_numpy()
    changed = np.flatnonzero(~np.isin(records.digests, known))
    gone = np.setdiff1d(known, records.digests)
    is_whole = bool(known.size) and known.size == len(stored) and known.size == len(np.unique(known))
    if not is_whole:
        return Difference.unknown(records, changed)
    if not gone.size:
        nothing = records.key_schema.empty_table()
        return Difference(changed, changed, nothing, only_new=True, certain=True, mergeable=True)
    keys = list(records.keys)
    rows = rows_of(gone)
    old = rows.select(keys).cast(records.key_schema)
    fresh = records.key_columns(changed)
    removed = old.join(fresh, keys, join_type="left anti")
    # The row of a record that is stored as it is, and in another form, too.
    is_twice = bool(removed.num_rows) and records.has_any(removed)
    if is_twice or old.group_by(keys).aggregate([]).num_rows < old.num_rows:
        return Difference.unknown(records, changed)
    for_chains = changed
    if records.content:
        old = old.append_column(_CONTENT, rows[records.content].cast(pa.int64()))
        fresh = fresh.append_column(_CONTENT, pa.array(records.contents(changed)))
        fresh = fresh.append_column(_PLACE, pa.array(changed))
        # A null, of a row of an earlier version, is like nothing.
        other = fresh.join(old, [*keys, _CONTENT], join_type="left anti")
        for_chains = np.sort(other[_PLACE].to_numpy())
    mergeable = len(gone) <= _REPLACE_ALL * len(records)
    return Difference(changed, for_chains, removed, only_new=False, certain=True, mergeable=mergeable)


@dataclass(slots=True)
class RecordsUpdate:
    """Brings one table to its records, in at most one commit.

    Attributes:
        properties: further entries of the commit's summary.
        renew: whether to commit for the sake of other properties than the last commit has.
        written: whether there was a commit, after `apply`.
        found: how the rows differed, after `apply`; None if they were not compared.
        before: the table's newest snapshot before that changed rows; None if there was none, or if someone
            else changed rows meanwhile, so that they may have been compared with later ones.
        on_rows: called when the rows to write are made, or there are none, so that the rest is Spark's work;
            again if a commit is tried again.
    """

    spark: SparkSession
    table: TableName
    records: Records
    properties: Mapping[str, str] = field(default_factory=dict)
    renew: bool = False
    written: bool = False
    found: Difference | None = None
    before: Snapshot | None = None
    on_rows: Callable[[], object] = lambda: None

    def apply(self) -> Settled:
        """Write what differs.

        Each writer writes a full discovery, so the last of several concurrent ones may win.

        Raises:
            CommitConflictError: other writers kept changing the table.
        """
        before = Before.of(self.spark, self.table)
        content = {CONTENT_DIGEST: self.records.digest}
        marker = CommitMarker({**content, **self.properties})
        enough = marker.properties if self.renew else content
        if before.content is not None and enough.items() <= before.content.summary.items():
            self.before, self.found = before.content, Difference.nothing(self.records)
            self.on_rows()
            return Settled(self.table, before.content.snapshot_id)
        later = commit_after(
            before.newest,
            self.spark,
            self.table,
            marker,
            lambda since: self._write(marker, since),
            attempts=ATTEMPTS,
        )
        settled = before.settled(self.table, later, marker)
        self.before = before.content if settled.certain else None
        return settled

    def _write(self, marker: CommitMarker, since: Snapshot | None) -> None:
        """Commit what differs from what is stored now, at this snapshot or later."""
        from pyspark.sql import functions as F

        records, table = self.records, self.table.sql
        found = self.found = self._difference() if records.keys and since is not None else None
        if found is not None and not found.rows and found.mergeable:
            self.on_rows()
            return
        self.written = True
        if found is None or not found.mergeable:
            # No isolation level: without a snapshot to validate from, the table's own history would count as
            # conflicts, and every overwrite after the second would fail.
            with records.frame(self.spark) as rows:
                self.on_rows()
                marker.writer(rows, table).overwrite(F.lit(True))
            return
        with records.frame(self.spark, found.changed) as changed:
            self.on_rows()
            if found.only_new:
                marker.add(changed, table, since)
                return
            removed = frame_of(self.spark, found.removed).withColumn(_REMOVED, F.lit(True))
            source = changed.withColumn(_REMOVED, F.lit(False)).unionByName(removed, allowMissingColumns=True)
            merge(source, self.table, MergeKeys(records.keys, delete_column=_REMOVED), marker)

    def _difference(self) -> Difference:
        from pyspark.sql import functions as F

        rows = self.spark.table(self.table.sql)

        def rows_of(digests: npt.NDArray[np.int64]) -> pa.Table:
            wanted = frame_of(self.spark, pa.table({DIGEST: digests}))
            return (
                rows.join(F.broadcast(wanted), DIGEST, "left_semi").select(*self.records.compared).toArrow()
            )

        return difference(self.records, rows.select(DIGEST).toArrow()[DIGEST], rows_of)


def graph_change(nodes: RecordsUpdate, edges: RecordsUpdate, note: Note | None) -> GraphChange | None:
    """How a graph that was stored differs from that of a note; None if that is not certain."""
    of_nodes, of_edges = _since(nodes, note), _since(edges, note)
    if of_nodes is None or of_edges is None:
        return None
    targets = [edges.records.key_columns(of_edges.for_chains), of_edges.removed]
    return GraphChange(
        nodes=set(nodes.records.key_columns(of_nodes.for_chains)["node_id"].to_pylist()),
        removed=set(of_nodes.removed["node_id"].to_pylist()),
        targets={target for rows in targets for target in rows["dst_id"].to_pylist()},
    )


def _since(update: RecordsUpdate, note: Note | None) -> Difference | None:
    if note is None or update.before is None or update.found is None or not update.found.certain:
        return None
    return update.found if note.holds(update.table.table, update.before) else None
