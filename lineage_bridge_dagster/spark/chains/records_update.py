"""Nodes, edges and coverage brought to the records of a discovery: only what differs is made and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage_bridge_dagster.spark.chains.frames import frame_of
from lineage_bridge_dagster.spark.chains.lineage_tables import DIGEST, Records
from lineage_bridge_dagster.spark.chains.write_note import TableBefore, TableVersion
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

_REMOVED = "_removed"


@dataclass(frozen=True, slots=True)
class RowDifference:
    """How stored rows differ from a discovery's records.

    Attributes:
        changed: places of the records that are new or differ from their row.
        removed: keys of the rows that have no record; not known if `mergeable` is false.
        only_new: whether no stored row is replaced or removed.
        mergeable: False if replacing all rows is cheaper, or right, since a key is stored twice or rows of an
            earlier version have no digest.
    """

    changed: npt.NDArray[np.int64]
    removed: pa.Table
    only_new: bool = False
    mergeable: bool = True

    @property
    def rows(self) -> int:
        return len(self.changed) + int(self.removed.num_rows)


def difference(
    records: Records, stored: pa.ChunkedArray, keys_of: Callable[[npt.NDArray[np.int64]], pa.Table]
) -> RowDifference:
    """Compare records with what is stored, by digests; more is read only of rows that differ.

    Args:
        stored: the digests in the table; those of rows of an earlier version are null.
        keys_of: reads the key columns of the rows with some digests.
    """
    digests = stored.drop_null().to_numpy()
    changed = np.flatnonzero(~np.isin(records.digests, digests))
    gone = np.setdiff1d(digests, records.digests)
    nothing = records.key_schema.empty_table()
    replace_all = RowDifference(changed, nothing, mergeable=False)
    if not digests.size or digests.size < len(stored) or digests.size > len(np.unique(digests)):
        return replace_all
    if not gone.size:
        return RowDifference(changed, nothing, only_new=True)
    if len(gone) > _REPLACE_ALL * len(records):
        return replace_all
    keys = list(records.keys)
    old = keys_of(gone).cast(records.key_schema)
    removed = old.join(records.key_columns(changed), keys, join_type="left anti")
    # The row of a record that is stored as it is, and in another form, too.
    is_twice = bool(removed.num_rows) and records.has_any(removed)
    if is_twice or old.group_by(keys).aggregate([]).num_rows < old.num_rows:
        return replace_all
    return RowDifference(changed, removed)


@dataclass(slots=True)
class RecordsUpdate:
    """Brings one table to its records, in at most one commit.

    Attributes:
        properties: further entries of the commit's summary.
        renew: whether to commit for the sake of other properties than the last commit has.
        written: whether there was anything to commit, after `apply`.
    """

    spark: SparkSession
    table: TableName
    records: Records
    properties: Mapping[str, str] = field(default_factory=dict)
    renew: bool = False
    written: bool = False

    def apply(self) -> TableVersion:
        """Write what differs.

        Each writer writes a full discovery, so the last of several concurrent ones may win.

        Raises:
            CommitConflictError: other writers kept changing the table.
        """
        before = TableBefore.of(self.spark, self.table)
        content = {CONTENT_DIGEST: self.records.digest}
        marker = CommitMarker({**content, **self.properties})
        enough = marker.properties if self.renew else content
        if before.content is not None and enough.items() <= before.content.summary.items():
            return TableVersion(self.table.table, before.content.snapshot_id)
        later = commit_after(
            before.newest,
            self.spark,
            self.table,
            marker,
            lambda since: self._write(marker, since),
            attempts=ATTEMPTS,
        )
        return before.after(later, marker, written=self.written)

    def _write(self, marker: CommitMarker, since: Snapshot | None) -> None:
        """Commit what differs from what is stored now, at this snapshot or later."""
        from pyspark.sql import functions as F

        records, table = self.records, self.table.sql
        found = self._difference() if records.keys and since is not None else None
        if found is not None and not found.rows and found.mergeable:
            return
        self.written = True
        if found is None or not found.mergeable:
            # No isolation level: without a snapshot to validate from, the table's own history would count as
            # conflicts, and every overwrite after the second would fail.
            with records.frame(self.spark) as rows:
                marker.writer(rows, table).overwrite(F.lit(True))
            return
        with records.frame(self.spark, found.changed) as changed:
            if found.only_new:
                marker.add(changed, table, since)
                return
            removed = frame_of(self.spark, found.removed).withColumn(_REMOVED, F.lit(True))
            source = changed.withColumn(_REMOVED, F.lit(False)).unionByName(removed, allowMissingColumns=True)
            merge(source, self.table, MergeKeys(records.keys, delete_column=_REMOVED), marker)

    def _difference(self) -> RowDifference:
        from pyspark.sql import functions as F

        rows = self.spark.table(self.table.sql)

        def keys_of(digests: npt.NDArray[np.int64]) -> pa.Table:
            wanted = F.broadcast(frame_of(self.spark, pa.table({DIGEST: digests})))
            return rows.join(wanted, DIGEST, "left_semi").select(*self.records.keys).toArrow()

        return difference(self.records, rows.select(DIGEST).toArrow()[DIGEST], keys_of)
