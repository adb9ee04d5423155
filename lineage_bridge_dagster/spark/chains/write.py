"""The lineage tables: nodes, edges, the chains of the selected tables, and coverage, in one commit each.

Rows that differ from the stored ones are replaced; the others stay. A chain is replaced as a whole. Nodes and
edges are committed first, so that a chain never names a node that a reader cannot find, and coverage last,
with a note of what the tables hold now (see `write_note`). A table in which nothing has changed gets no
commit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted, string_literal
from lineage_bridge_dagster.formats import LINEAGE_TABLES
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.spark.chains.chain_update import ChainUpdate, Selection, with_digest
from lineage_bridge_dagster.spark.chains.computed import computed_chains
from lineage_bridge_dagster.spark.chains.freed_memory import release_freed
from lineage_bridge_dagster.spark.chains.lineage_tables import (
    COLUMNS,
    UPSTREAM_CHAINS,
    Records,
    graph_records,
)
from lineage_bridge_dagster.spark.chains.records_update import ATTEMPTS, CONTENT_DIGEST, RecordsUpdate
from lineage_bridge_dagster.spark.chains.write_note import TableBefore, TableVersion, WriteInput, WriteNote
from lineage_bridge_dagster.spark.commits import commit_after
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ensure_table, exists
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMESPACE = "lineage_bridge"

_PROPERTIES = {
    LINEAGE_TABLES.key: str(LINEAGE_TABLES.version),
    # A merge then writes what changed, not every file with a changed row.
    "write.merge.mode": "merge-on-read",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}

#: A commit of `coverage` notes the versions of these.
_BEFORE_COVERAGE = ("nodes", "edges", UPSTREAM_CHAINS)


@dataclass(frozen=True, slots=True)
class LineageWrite:
    """The result of a write of the lineage tables.

    Attributes:
        changed: selected tables whose rows were replaced, including removed tables.
    """

    tables: int
    changed: int
    versions: tuple[TableVersion, ...] = ()

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
        table_ids: node ids of the tables; None selects all that take lineage, and removes the rows of those
            that the graph no longer has.
        catalog: the catalog's name in Spark.
        sql: how SQL is shown: full, redacted, hash or none.
        progress: called with each finished step and the seconds that it took.

    Raises:
        LineageBridgeError: a table is not in the graph, or commits kept conflicting.
        ConfigurationError: the catalog has no warehouse.
    """
    # The graph lives throughout, and rows are built from it while Spark works.
    with no_garbage_collection():
        discovery = limited(discovery, sql)
        selection = Selection.of(discovery, table_ids)
        nodes, edges, coverage = graph_records(discovery)
        given = WriteInput.of(
            discovery.coverage,
            (nodes, edges),
            sql,
            selection.selected,
            has_all=selection.has_all,
            removes=selection.removes,
        )
        write = _Write(spark, catalog, namespace, discovery, selection, given, _Steps(progress))
        if write.has_noted():
            write.coverage(coverage)
            write.steps.done("Nodes, edges and chains are stored already")
        else:
            write.records(nodes, edges)
            write.chains()
            write.coverage(coverage)
            release_freed()
        return LineageWrite(len(selection.selected), write.changed, tuple(write.versions))


@dataclass(slots=True)
class _Write:
    """One write of the lineage tables, step by step.

    Attributes:
        noted: the last commit of `coverage`, if that notes this input.
        changed: chains that were replaced or removed.
    """

    spark: SparkSession
    catalog: str
    namespace: str
    discovery: Discovery
    selection: Selection
    given: WriteInput
    steps: _Steps
    noted: Snapshot | None = None
    versions: list[TableVersion] = field(default_factory=list)
    changed: int = 0

    def has_noted(self) -> bool:
        """Whether an earlier write has noted that the tables hold this input, and nothing came after."""
        others = [self._name(table) for table in _BEFORE_COVERAGE]
        last = WriteNote.last(self.spark, self._name("coverage"), others)
        if last is None or not last.is_of(self.given):
            return False
        self.given, self.noted = last.same_selection(self.given), last.snapshot
        self.versions.extend(last.versions)
        return True

    def records(self, nodes: Records, edges: Records) -> None:
        """Store nodes and edges."""
        updates = [RecordsUpdate(self.spark, self._ensured(each.table), each) for each in (nodes, edges)]
        with ThreadPoolExecutor(len(updates), "records") as pool:
            self.versions.extend(pool.map(RecordsUpdate.apply, updates))
        written = [version.table for version in self.versions if version.written]
        self.steps.done(
            f"Stored {' and '.join(written)}" if written else "Nodes and edges are stored already"
        )

    def chains(self) -> None:
        """Store the chains that have changed."""
        table, selected = self._ensured(UPSTREAM_CHAINS), self.selection.selected
        computed = computed_chains(self.spark, self.discovery, selected, len(self.selection.tables))
        chains = with_digest(computed.tables, computed.summary)
        hops = pc.sum(computed.summary["hops"]).as_py() or 0
        self.steps.done(f"Computed the chains of {len(selected):,} tables: {hops:,} hops")
        before = TableBefore.of(self.spark, table)
        discovered_at = parse_iso(self.discovery.discovered_at)
        update = ChainUpdate(self.spark, table, computed, chains, self.selection, discovered_at)
        later = commit_after(before.newest, self.spark, table, update.marker, update.write, attempts=ATTEMPTS)
        self.changed = update.changed
        version = before.after(later, update.marker, written=bool(update.changed))
        # A later discovery may remove chains that this one has kept.
        self.versions.append(replace(version, certain=version.certain and not update.kept))
        self.steps.done(
            f"Stored {update.changed:,} changed chains"
            if update.changed
            else "No chain changed, so none was stored"
        )

    def coverage(self, records: Records) -> None:
        """Store coverage, with a note of what the other tables hold."""
        if self.noted is not None and self.noted.summary.get(CONTENT_DIGEST) == records.digest:
            self.versions.append(TableVersion(records.table, self.noted.snapshot_id))
            return
        # Runs of some tables each would take turns to note what they have done, so they only note it if
        # coverage has changed.
        note, renew = self.given.note(self.versions), self.given.has_all
        version = RecordsUpdate(self.spark, self._ensured(records.table), records, note, renew).apply()
        self.versions.append(version)
        if version.written:
            self.steps.done("Stored coverage")

    def _name(self, table: str) -> TableName:
        return TableName(self.catalog, self.namespace, table)

    def _ensured(self, table: str) -> TableName:
        name = self._name(table)
        _ensure_lineage_table(self.spark, name)
        return name


class _Steps:
    """Reports each step with the seconds since the previous one."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._began = time.monotonic()

    def done(self, step: str) -> None:
        self._report(f"{step} ({time.monotonic() - self._began:.1f} s)")
        self._began = time.monotonic()


def _ensure_lineage_table(spark: SparkSession, table: TableName) -> None:
    """Create the table, or give one that an older version created the columns of this version.

    Raises:
        NewerFormatError: a newer version of this project wrote it, whose columns this one would drop.
    """
    columns = {
        name: f"`{name}` {kind} COMMENT {string_literal(comment)}"
        for name, kind, comment in COLUMNS[table.table]
    }
    if not exists(spark, table):
        ensure_table(spark, table, ", ".join(columns.values()), properties=_PROPERTIES)
        return
    properties = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {table.sql}").collect()}
    LINEAGE_TABLES.check(properties.get(LINEAGE_TABLES.key), str(table))
    stored = spark.table(table.sql).columns
    added = [f"{columns[name]} AFTER `{before}`" for before, name in pairwise(columns) if name not in stored]
    if added:
        spark.sql(f"ALTER TABLE {table.sql} ADD COLUMNS ({', '.join(added)})")
    # Spark overwrites no table with columns that the rows lack.
    for name in (name for name in stored if name not in columns):
        spark.sql(f"ALTER TABLE {table.sql} DROP COLUMN {quoted(name)}")
