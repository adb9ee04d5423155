"""The lineage tables: nodes, edges, the chains of the selected tables, and coverage, in one commit each.

Rows that differ from the stored ones are replaced; the others stay. A chain is replaced as a whole. Nodes and
edges are committed first, so that a chain never names a node that a reader cannot find, and coverage last,
with a note of what the tables hold now (see `settled`). A table in which nothing has changed gets no commit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import string_literal
from lineage_bridge_dagster.lineage.catalog_tables import tables_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.spark.chains.adjacency import Adjacency, adjacency
from lineage_bridge_dagster.spark.chains.chain_update import FEW_TABLES, ChainUpdate, with_digest
from lineage_bridge_dagster.spark.chains.hops import HopNodes, hop_nodes, incomplete_nodes, table_rows
from lineage_bridge_dagster.spark.chains.lineage_tables import (
    COLUMNS,
    UPSTREAM_CHAINS,
    Records,
    coverage_digest,
    graph_records,
)
from lineage_bridge_dagster.spark.chains.records_update import ATTEMPTS, CONTENT_DIGEST, RecordsUpdate
from lineage_bridge_dagster.spark.chains.settled import (
    Before,
    Input,
    Settled,
    content_snapshot,
    unchanged,
)
from lineage_bridge_dagster.spark.chains.walks import walk_tables
from lineage_bridge_dagster.spark.commits import commit_after, read_points
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ensure_table, exists
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa
    from pyspark.sql import SparkSession

NAMESPACE = "lineage_bridge"

_PROPERTIES = {
    # A merge then writes what changed, not every file with a changed row.
    "write.merge.mode": "merge-on-read",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}

#: A commit of `coverage` notes the versions of these.
_BEFORE_COVERAGE = ("nodes", "edges", UPSTREAM_CHAINS)


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
        hops: table id -> rows of its chain, for every selected table; counted when first asked for if nothing
            had changed.
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
    tables = [node.node_id for node in tables_of(graph)]
    selected = list(dict.fromkeys(tables if table_ids is None else table_ids))
    missing = [table_id for table_id in selected if table_id not in graph]
    if missing:
        raise LineageBridgeError(
            f"{len(missing)} of {len(selected)} tables are not in the discovery, such as {missing[0]}.",
            hint="Run a discovery, and select tables that it has found.",
        )
    with no_garbage_collection():
        nodes, edges, coverage = graph_records(discovery)
    parts = [nodes.digest, edges.digest, coverage_digest(discovery.coverage), sql]
    given = Input.of(parts, None if table_ids is None else selected, tables)
    write = _Write(spark, catalog, namespace, given, _Steps(progress))
    if write.has_noted():
        write.coverage(coverage)
        write.steps.done("Nodes, edges and chains are stored already")
        stored = _Counted(lambda: write.stored_hops(selected))
        return LineageWrite(len(selected), 0, stored, tuple(write.versions))
    with ThreadPoolExecutor(1, "chains") as beside:
        places = beside.submit(_Places.of, discovery, selected)
        write.records(nodes, edges)
        hops, changed = write.chains(places.result(), everything=table_ids is None)
    write.coverage(coverage)
    return LineageWrite(len(selected), changed, hops, tuple(write.versions))


class _Counted(Mapping[str, int]):
    """Numbers that are counted when first asked for."""

    def __init__(self, count: Callable[[], Mapping[str, int]]) -> None:
        self._counts = cache(count)

    def __getitem__(self, key: str) -> int:
        return self._counts()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts())

    def __len__(self) -> int:
        return len(self._counts())


@dataclass(frozen=True, slots=True)
class _Places:
    """The graph as the walk needs it, which Python makes while Spark stores nodes and edges.

    Attributes:
        arrays: the upstream index.
        nodes: those that are hops.
        tables: the selected ones, as `table_rows`.
    """

    arrays: Adjacency
    nodes: HopNodes
    tables: pa.Table
    selected: Sequence[str]
    discovered_at: datetime | None

    @classmethod
    def of(cls, discovery: Discovery, selected: Sequence[str]) -> _Places:
        graph = discovery.graph
        with no_garbage_collection():
            arrays = adjacency(graph, incomplete_nodes(discovery))
            # The discovery is limited already, so that its SQL is shown as it is.
            nodes = hop_nodes(graph, arrays.hop_nodes, "full")
            arrays = arrays.with_hops(nodes.numbers, nodes.stale, nodes.contents)
            tables = table_rows(graph, selected)
        return cls(arrays, nodes, tables, selected, parse_iso(discovery.discovered_at))


@dataclass(slots=True)
class _Write:
    """One write of the lineage tables, step by step.

    Attributes:
        noted: the last commit of `coverage`, if that notes this input.
        at: what `nodes`, `edges` and `upstream_chains` are known to be at.
        versions: of the tables that are done.
    """

    spark: SparkSession
    catalog: str
    namespace: str
    given: Input
    steps: _Steps
    noted: Snapshot | None = None
    at: list[Settled] = field(default_factory=list)
    versions: list[TableVersion] = field(default_factory=list)

    def name(self, table: str) -> TableName:
        return TableName(self.catalog, self.namespace, table)

    def has_noted(self) -> bool:
        """Whether an earlier write has noted that the tables hold this input, and nothing came after."""
        if not exists(self.spark, self.name("coverage")):
            return False
        last = content_snapshot(self.spark, self.name("coverage"))
        if last is None or not self.given.is_noted(last.summary):
            return False
        at = unchanged(self.spark, last.summary, [self.name(table) for table in _BEFORE_COVERAGE])
        if at is None:
            return False
        self.given, self.noted = self.given.as_noted(last.summary), last
        self._done(*((each, False) for each in at))
        return True

    def stored_hops(self, selected: Sequence[str]) -> dict[str, int]:
        """Rows of each table's stored chain."""
        from pyspark.sql import functions as F

        rows = self.spark.table(self.name(UPSTREAM_CHAINS).sql)
        if len(selected) <= FEW_TABLES:
            rows = rows.where(F.col("table_id").isin([clean(table_id) for table_id in selected]))
        counts = _by_table(rows.groupBy("table_id").count().toArrow(), "count")
        return {table_id: counts.get(clean(table_id), 0) for table_id in selected}

    def records(self, *records: Records) -> None:
        """Store nodes and edges."""
        for each in records:
            update = RecordsUpdate(self.spark, self._ensured(each.table), each)
            at = update.apply()
            self._done((at, update.written))
        written = [version.table for version in self.versions if version.written]
        self.steps.done(
            f"Stored {' and '.join(written)}" if written else "Nodes and edges are stored already"
        )

    def chains(self, places: _Places, *, everything: bool) -> tuple[dict[str, int], int]:
        """Store the chains that have changed; the rows of each chain, and how many have changed."""
        table, selected = self._ensured(UPSTREAM_CHAINS), places.selected
        with walk_tables(self.spark, places.arrays, places.tables["table"]) as walk:
            chains = with_digest(places.tables, walk.summary)
            counts = dict(zip(chains["table_id"].to_pylist(), walk.summary["hops"].to_pylist(), strict=True))
            hops = {table_id: counts.get(clean(table_id), 0) for table_id in selected}
            self.steps.done(f"Computed the chains of {len(selected):,} tables: {sum(hops.values()):,} hops")
            before = Before.of(self.spark, table)
            update = ChainUpdate(
                self.spark,
                table,
                walk,
                places.nodes,
                chains,
                None if everything else {clean(table_id) for table_id in selected},
                places.discovered_at,
            )
            points = read_points(before.newest, self.spark, table)
            later = commit_after(
                before.newest,
                self.spark,
                table,
                update.marker,
                lambda: update.write(next(points)),
                attempts=ATTEMPTS,
            )
        changed = update.changed
        self._done((before.settled(table, later, update.marker), bool(changed)))
        self.steps.done(
            f"Stored {changed:,} changed chains" if changed else "No chain changed, so none was stored"
        )
        return hops, changed

    def coverage(self, records: Records) -> None:
        """Store coverage, with a note of what the other tables hold."""
        if self.noted is not None and self.noted.summary.get(CONTENT_DIGEST) == records.digest:
            self._done((Settled(self.name(records.table), self.noted.snapshot_id), False))
            return
        # Runs of some tables each would take turns to note what they have done, so they only note it if
        # coverage has changed.
        update = RecordsUpdate(
            self.spark,
            self._ensured(records.table),
            records,
            self.given.note(self.at),
            renew=self.given.is_whole,
        )
        at = update.apply()
        self._done((at, update.written))
        if update.written:
            self.steps.done("Stored coverage")

    def _ensured(self, table: str) -> TableName:
        name = self.name(table)
        _ensure_lineage_table(self.spark, name)
        return name

    def _done(self, *tables: tuple[Settled, bool]) -> None:
        for at, written in tables:
            self.at.append(at)
            self.versions.append(TableVersion(at.table.table, written, at.snapshot_id))


class _Steps:
    """Reports each step with the seconds since the previous one."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._began = time.monotonic()

    def done(self, step: str) -> None:
        self._report(f"{step} ({time.monotonic() - self._began:.1f} s)")
        self._began = time.monotonic()


def _by_table(rows: pa.Table, column: str) -> dict[str, int]:
    return dict(zip(rows["table_id"].to_pylist(), rows[column].to_pylist(), strict=True))


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
