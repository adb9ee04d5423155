"""The lineage tables: nodes, edges, coverage, and the chains of the selected tables, each in one commit.

The rows of a table's chain are replaced if the chain changed; those of other tables stay. Nodes, edges and
coverage are committed first, so that a chain never names a node that a reader cannot find.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.catalog_tables import tables_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.spark.chains.adjacency import adjacency, shared
from lineage_bridge_dagster.spark.chains.hops import hop_rows, incomplete_nodes
from lineage_bridge_dagster.spark.chains.lineage_tables import (
    COLUMNS,
    UPSTREAM_CHAINS,
    Records,
    graph_records,
)
from lineage_bridge_dagster.spark.commits import CommitMarker, commit
from lineage_bridge_dagster.spark.iceberg_tables import (
    TableName,
    current_snapshot,
    ensure_table,
    exists,
    string_literal,
)
from lineage_bridge_dagster.spark.merge import MergeKeys, merge, persisted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAMESPACE = "lineage_bridge"

#: Key in the snapshot summary of `nodes`, `edges` and `coverage`. It is not a table property: Glue shows
#: those as parameters, where the pushed lineage is.
_DIGEST = "content-digest"

#: Calls of a write that keeps conflicting with other writers.
_ATTEMPTS = 6

#: Columns that may change between two computations of an unchanged chain.
_NOT_IN_DIGEST = frozenset({"chain_digest", "discovered_at", "computed_at", "complete", "stale_since"})

_PROPERTIES = {
    # A merge then writes what changed, not every file with a changed row.
    "write.merge.mode": "merge-on-read",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}

_KEYS = MergeKeys(("table_id", "node_id"), delete_column="_removed")


@dataclass(frozen=True, slots=True)
class TableVersion:
    """The version of a lineage table after a write. `written` is False if nothing had changed."""

    table: str
    written: bool
    snapshot_id: int | None


@dataclass(frozen=True, slots=True)
class LineageWrite:
    """The result of a write of the lineage tables.

    Attributes:
        tables: tables selected.
        changed: those of them whose rows were replaced, including tables that were removed.
        hops: table id -> rows of its chain, for every selected table.
        versions: of the lineage tables.
    """

    tables: int
    changed: int
    hops: Mapping[str, int] = field(default_factory=dict)
    versions: tuple[TableVersion, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of all selected chains."""
        return sum(self.hops.values())

    @property
    def snapshot_id(self) -> int | None:
        """The snapshot of `upstream_chains` that holds the chains."""
        return next((v.snapshot_id for v in self.versions if v.table == UPSTREAM_CHAINS), None)

    @property
    def written(self) -> bool:
        """Whether `upstream_chains` got a commit."""
        return any(v.written for v in self.versions if v.table == UPSTREAM_CHAINS)


def write_lineage(
    spark: SparkSession,
    discovery: Discovery,
    table_ids: Sequence[str] | None = None,
    catalog: str = "glue",
    namespace: str = NAMESPACE,
    *,
    sql: str = "redacted",
    progress: Callable[[str], None] = lambda _line: None,
) -> LineageWrite:
    """Write nodes, edges, coverage and the chains of the selected tables.

    Args:
        spark: a session with the catalog.
        discovery: the graph and its coverage.
        table_ids: node ids of the tables; None selects all that take lineage, and removes the rows of those
            that the graph no longer has.
        catalog: the catalog's name in Spark.
        namespace: of the lineage tables.
        sql: how SQL is shown: full, redacted, hash or none.
        progress: called with each finished step and the seconds that it took.

    Raises:
        LineageBridgeError: a table is not in the graph, or commits kept conflicting.
        ConfigurationError: the catalog has no warehouse.
    """
    discovery = limited(discovery, sql)
    graph = discovery.graph
    everything = table_ids is None
    if table_ids is None:
        table_ids = [node.node_id for node in tables_of(graph)]
    selected = list(dict.fromkeys(table_ids))
    missing = [table_id for table_id in selected if table_id not in graph]
    if missing:
        raise LineageBridgeError(
            f"{len(missing)} of {len(selected)} tables are not in the discovery, such as {missing[0]}.",
            hint="Run a discovery, and select tables that it has found.",
        )
    steps = _Steps(progress)
    versions = [
        _replace(spark, TableName(catalog, namespace, records.table), records)
        for records in graph_records(discovery)
    ]
    written = [version.table for version in versions if version.written]
    steps.done(f"Stored {', '.join(written)}" if written else "Nodes, edges and coverage are stored already")
    chains = TableName(catalog, namespace, UPSTREAM_CHAINS)
    _ensure_lineage_table(spark, chains)
    with (
        shared(spark, adjacency(graph, incomplete_nodes(discovery))) as arrays,
        persisted(_with_digest(hop_rows(spark, graph, arrays, selected, sql))) as rows,
    ):
        ids = {clean(table_id): table_id for table_id in selected}
        hops = dict.fromkeys(selected, 0)
        digests: dict[str, str] = {}
        for table_id, digest, count in rows.groupBy("table_id", "chain_digest").count().collect():
            hops[ids[table_id]], digests[table_id] = count, digest
        steps.done(f"Computed the chains of {len(selected):,} tables: {sum(hops.values()):,} hops")
        update = _ChainUpdate(
            spark, chains, rows, digests, None if everything else ids, parse_iso(discovery.discovered_at)
        )
        commit(spark, chains, update.marker, update.write, attempts=_ATTEMPTS)
    changed = update.changed
    steps.done(f"Stored {changed:,} changed chains" if changed else "No chain changed, so none was stored")
    after = current_snapshot(spark, chains)
    versions.append(TableVersion(UPSTREAM_CHAINS, bool(changed), after.snapshot_id if after else None))
    return LineageWrite(len(selected), changed, hops, tuple(versions))


class _Steps:
    """Reports each step with the seconds since the previous one."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._began = time.monotonic()

    def done(self, step: str) -> None:
        self._report(f"{step} ({time.monotonic() - self._began:.1f} s)")
        self._began = time.monotonic()


def _with_digest(rows: DataFrame) -> DataFrame:
    """Add `chain_digest`. Rows combine by exclusive or: a chain has no order, and no row twice."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    content = [name for name in rows.columns if name not in _NOT_IN_DIGEST]
    # NULL and "" must differ, and xxhash64 skips NULL.
    parts = [F.coalesce(F.col(name).cast("string"), F.lit("\0")) for name in content]
    digest = F.bit_xor(F.xxhash64(*parts)).over(Window.partitionBy("table_id"))
    flags = F.concat_ws(
        "",
        F.when(F.col("complete"), "c").otherwise("p"),
        F.when(F.max("stale_since").over(Window.partitionBy("table_id")).isNull(), "f").otherwise("s"),
    )
    return rows.withColumn("chain_digest", F.concat(F.lower(F.hex(digest)), flags))


@dataclass(slots=True)
class _ChainUpdate:
    """Brings the chains table to the computed rows.

    Attributes:
        digests: table id -> digest of its chain, for tables that have one.
        selected: the table ids to update, None for all of them.
        changed: tables whose chains differ from the stored ones, after `write`.
    """

    spark: SparkSession
    table: TableName
    rows: DataFrame
    digests: Mapping[str, str]
    selected: Mapping[str, str] | None
    discovered_at: datetime | None
    marker: CommitMarker = field(default_factory=CommitMarker)
    changed: int = 0

    def write(self) -> None:
        """Replace the rows of chains that differ from what is stored now, in at most one commit."""
        from pyspark.sql import functions as F

        spark, table, digests = self.spark, self.table.sql, self.digests
        stored: dict[str, set[str]] = {}
        for table_id, digest in spark.table(table).select("table_id", "chain_digest").distinct().collect():
            stored.setdefault(table_id, set()).add(digest)
        candidates = stored.keys() | digests.keys() if self.selected is None else self.selected.keys()
        changed = sorted(
            t for t in candidates if stored.get(t, set()) != ({digests[t]} if t in digests else set())
        )
        self.changed = len(changed)
        if not changed:
            return
        ids = F.broadcast(spark.createDataFrame(pa.table({"table_id": pa.array(changed, pa.string())})))
        fresh = (
            self.rows.join(ids, "table_id", "left_semi")
            .withColumn("discovered_at", F.lit(self.discovered_at).cast("timestamp"))
            .withColumn("computed_at", F.lit(datetime.now(UTC)).cast("timestamp"))
            .select(*(column for column, _, _ in COLUMNS[UPSTREAM_CHAINS]))
        )
        writer = self.marker.writer(fresh.sortWithinPartitions("table_id", "hop"), table)
        if not stored:
            writer.append()
        elif stored.keys() <= set(changed):
            # No row stays, so replacing all of them is cheaper than matching.
            writer.overwrite(F.lit(True))
        else:
            self._merge(fresh, ids)

    def _merge(self, fresh: DataFrame, ids: DataFrame) -> None:
        """Replace the chains of some tables.

        Rows to delete are part of the source, with a flag, so that MERGE joins on matches alone: for
        `NOT MATCHED BY SOURCE` it would read the rows of all other tables.
        """
        from pyspark.sql import functions as F

        keys = list(_KEYS.columns)
        stored = self.spark.table(self.table.sql).join(ids, "table_id", "left_semi")
        removed = stored.join(fresh.select(*keys), keys, "left_anti")
        flag = _KEYS.delete_column
        source = fresh.withColumn(flag, F.lit(False)).unionByName(removed.withColumn(flag, F.lit(True)))
        with persisted(source) as rows:
            merge(rows, self.table, _KEYS, self.marker)


def _replace(spark: SparkSession, table: TableName, records: Records) -> TableVersion:
    """Replace all rows of a lineage table in one commit, unless it has the same already."""
    from pyspark.sql import functions as F

    _ensure_lineage_table(spark, table)
    before = current_snapshot(spark, table)
    if before is not None and before.summary.get(_DIGEST) == records.digest:
        return TableVersion(records.table, False, before.snapshot_id)
    marker = CommitMarker({_DIGEST: records.digest})
    # Each writer writes a full discovery, so the last of several concurrent ones may win. No isolation
    # level: without a snapshot to validate from, the table's own history would count as conflicts, and every
    # overwrite after the second would fail.
    writer = marker.writer(spark.createDataFrame(records.rows), table.sql)
    snapshots = commit(spark, table, marker, lambda: writer.overwrite(F.lit(True)), attempts=_ATTEMPTS)
    return TableVersion(records.table, True, snapshots[0].snapshot_id if snapshots else None)


def _ensure_lineage_table(spark: SparkSession, table: TableName) -> None:
    """Create the table, or add the columns that it lacks since an earlier version created it."""
    columns = {
        name: f"`{name}` {kind} COMMENT {string_literal(comment)}"
        for name, kind, comment in COLUMNS[table.table]
    }
    if not exists(spark, table):
        ensure_table(spark, table, ", ".join(columns.values()), properties=_PROPERTIES)
        return
    known = set(spark.table(table.sql).columns)
    added = [f"{columns[name]} AFTER `{before}`" for before, name in pairwise(columns) if name not in known]
    if added:
        spark.sql(f"ALTER TABLE {table.sql} ADD COLUMNS ({', '.join(added)})")
