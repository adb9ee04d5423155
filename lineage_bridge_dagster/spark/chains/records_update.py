"""Nodes, edges and coverage brought to the records of a discovery: only what differs is made and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lineage_bridge_dagster.spark.chains.frames import frame_of
from lineage_bridge_dagster.spark.chains.lineage_tables import DIGEST, Records
from lineage_bridge_dagster.spark.chains.settled import Before, Settled
from lineage_bridge_dagster.spark.commits import CommitMarker, commit_after
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.merge import MergeKeys, merge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Key in the snapshot summary of `nodes`, `edges` and `coverage`. It is not a table property: Glue shows
#: those as parameters, where the pushed lineage is.
CONTENT_DIGEST = "content-digest"

#: Calls of a write that keeps conflicting with other writers.
ATTEMPTS = 6

#: From this share of changed rows, replacing all of them is cheaper than a MERGE.
_REPLACE_ALL = 0.3

_REMOVED = "_removed"


@dataclass(frozen=True, slots=True)
class Difference:
    """How stored rows differ from a discovery's records.

    Attributes:
        changed: places of the records that are new or differ from their row.
        removed: keys of the rows that have no record.
        mergeable: False if a key is stored twice, or nothing is stored.
    """

    changed: npt.NDArray[np.int64]
    removed: pa.Table
    mergeable: bool

    @property
    def rows(self) -> int:
        return len(self.changed) + int(self.removed.num_rows)


def difference(records: Records, stored: pa.Table) -> Difference:
    """Compare records with what is stored.

    Args:
        records: of the discovery.
        stored: the key columns of the table, and its digests; those of rows of an earlier version are null.
    """
    keys = list(records.keys)
    fresh = records.key_columns()
    joined = (
        fresh.append_column("place", pa.array(np.arange(len(records)), pa.int64()))
        .append_column("fresh", pa.array(records.digests, pa.int64()))
        .join(stored.select([*keys, DIGEST]).cast(_stored_schema(fresh.schema)), keys, join_type="full outer")
    )
    known = joined.filter(pc.is_valid(joined["place"]))
    differs = pc.fill_null(pc.not_equal(known["fresh"], known[DIGEST]), True)
    removed = joined.filter(pc.is_null(joined["place"])).select(keys)
    return Difference(
        np.unique(known["place"].filter(differs).to_numpy()),
        removed.group_by(keys).aggregate([]),
        mergeable=bool(stored.num_rows) and known.num_rows == len(records),
    )


@dataclass(slots=True)
class RecordsUpdate:
    """Brings one table to its records, in at most one commit.

    Attributes:
        properties: further entries of the commit's summary.
        renew: whether to commit for the sake of other properties than the last commit has.
        written: whether there was a commit, after `apply`.
    """

    spark: SparkSession
    table: TableName
    records: Records
    properties: Mapping[str, str] = field(default_factory=dict)
    renew: bool = False
    written: bool = False

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
            return Settled(self.table, before.content.snapshot_id)
        later = commit_after(
            before.newest, self.spark, self.table, marker, lambda: self._write(marker), attempts=ATTEMPTS
        )
        return before.settled(self.table, later, marker)

    def _write(self, marker: CommitMarker) -> None:
        """Commit what differs from what is stored now."""
        from pyspark.sql import functions as F

        records = self.records
        found = self._difference() if records.keys else None
        if found is not None and not found.rows and found.mergeable:
            return
        self.written = True
        if found is None or not found.mergeable or found.rows > _REPLACE_ALL * len(records):
            # No isolation level: without a snapshot to validate from, the table's own history would count as
            # conflicts, and every overwrite after the second would fail.
            frame = frame_of(self.spark, records.rows)
            marker.writer(frame, self.table.sql).overwrite(F.lit(True))
            return
        changed = records.take(found.changed)
        source = pa.concat_tables(
            [
                changed.append_column(_REMOVED, pa.repeat(pa.scalar(False), changed.num_rows)),
                found.removed.append_column(_REMOVED, pa.repeat(pa.scalar(True), found.removed.num_rows)),
            ],
            promote_options="default",
        )
        keys = MergeKeys(records.keys, delete_column=_REMOVED)
        merge(frame_of(self.spark, source), self.table, keys, marker)

    def _difference(self) -> Difference:
        stored = self.spark.table(self.table.sql).select(*self.records.keys, DIGEST)
        return difference(self.records, stored.toArrow())


def _stored_schema(keys: pa.Schema) -> pa.Schema:
    return keys.append(pa.field(DIGEST, pa.int64()))
