"""The lineage tables: nodes, edges, the chains of the selected tables, and coverage, in one commit each.

Rows that differ from the stored ones are replaced; the others stay. A chain is replaced as a whole. Nodes and
edges are committed first, so that a chain never names a node that a reader cannot find, and coverage last,
with a note of what the tables hold now (see `settled`). A table in which nothing has changed gets no commit.
While the tables are as a note says, only chains that the change of nodes and edges can affect are computed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import string_literal
from lineage_bridge_dagster.lineage.affected import GraphChange
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.spark.chains.chain_update import FEW_TABLES, ChainUpdate, with_digest
from lineage_bridge_dagster.spark.chains.due import Due, Selection
from lineage_bridge_dagster.spark.chains.lineage_tables import (
    COLUMNS,
    UPSTREAM_CHAINS,
    Records,
    graph_records,
)
from lineage_bridge_dagster.spark.chains.places import Places
from lineage_bridge_dagster.spark.chains.records_update import (
    ATTEMPTS,
    CONTENT_DIGEST,
    RecordsUpdate,
    graph_change,
)
from lineage_bridge_dagster.spark.chains.settled import (
    Before,
    Input,
    Note,
    Settled,
)
from lineage_bridge_dagster.spark.chains.walks import walk_tables
from lineage_bridge_dagster.spark.commits import commit_after
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ensure_table, exists
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
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
        hops: table id -> rows of its chain, for every selected table; counted when first asked for if not
            all of them were computed.
        versions: of the lineage tables.
        walked: selected tables whose chains were computed, since they may have changed.
    """

    tables: int
    changed: int
    hops: Mapping[str, int] = field(default_factory=dict)
    versions: tuple[TableVersion, ...] = ()
    walked: int = 0

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
    selection = Selection.of(discovery, table_ids)
    selected = selection.selected
    missing = [table_id for table_id in selected if table_id not in discovery.graph]
    if missing:
        raise LineageBridgeError(
            f"{len(missing)} of {len(selected)} tables are not in the discovery, such as {missing[0]}.",
            hint="Run a discovery, and select tables that it has found.",
        )
    with no_garbage_collection():
        nodes, edges, coverage = graph_records(discovery)
        given = Input.of(discovery, (nodes, edges), sql, selected, whole=table_ids is None)
    write = _Write(spark, catalog, namespace, discovery, selection, given, _Steps(progress))
    if write.has_noted():
        write.coverage(coverage)
        write.steps.done("Nodes, edges and chains are stored already")
    else:
        write.changes(nodes, edges)
        write.coverage(coverage)
    hops: Mapping[str, int] = write.hops
    if len(hops) < len(selected):
        hops = _Counted(write.stored_hops)
    return LineageWrite(len(selected), write.changed, hops, tuple(write.versions), len(write.hops))


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


@dataclass(slots=True)
class _Write:
    """One write of the lineage tables, step by step.

    Attributes:
        note: that of an earlier write, if the stored chains are as the rules of this one have them.
        noted: the last commit of `coverage`, if that notes this input.
        at: what `nodes`, `edges` and `upstream_chains` are known to be at.
        versions: of the tables that are done.
        hops: the number of rows of each chain that was computed.
        changed: chains that were replaced or removed.
    """

    spark: SparkSession
    catalog: str
    namespace: str
    discovery: Discovery
    selection: Selection
    given: Input
    steps: _Steps
    note: Note | None = None
    noted: Snapshot | None = None
    at: list[Settled] = field(default_factory=list)
    versions: list[TableVersion] = field(default_factory=list)
    hops: dict[str, int] = field(default_factory=dict)
    changed: int = 0

    def name(self, table: str) -> TableName:
        return TableName(self.catalog, self.namespace, table)

    def has_noted(self) -> bool:
        """Whether an earlier write has noted that the tables hold this input, and nothing came after."""
        others = [self.name(table) for table in _BEFORE_COVERAGE]
        last = Note.last(self.spark, self.name("coverage"), others)
        if last is None:
            return False
        if not last.is_of(self.given):
            self.note = last if last.of_same_rules(self.given) else None
            return False
        self.given, self.noted = last.same_selection(self.given), last.snapshot
        self._done(*((each, False) for each in last.at))
        return True

    def changes(self, nodes: Records, edges: Records) -> None:
        """Store nodes, edges, and the chains that may differ from the stored ones."""
        due, places = Due.of(self.selection), None
        with ThreadPoolExecutor(1, "chains") as beside:
            if self.note is None:
                places = beside.submit(self._places, due)
            change = self.records(nodes, edges)
        if self.note is not None and change is not None:
            had_no_others = self.note.has_no_others
            due = Due.after(change, self.discovery.graph, self.selection, had_no_others=had_no_others)
        if self.note is not None and due.is_nothing:
            self._done((self.note.of(UPSTREAM_CHAINS), False))
            self.steps.done("No chain can have changed")
        else:
            self.chains(places.result() if places else self._places(due), due)
        if due.leaves_all:
            self.given = self.given.having(others=not self.selection.removes)

    def _places(self, due: Due) -> Places:
        return Places.of(self.discovery, due.tables, len(self.selection.tables))

    def stored_hops(self) -> dict[str, int]:
        """Rows of each selected table's stored chain."""
        from pyspark.sql import functions as F

        selected = self.selection.selected
        rows = self.spark.table(self.name(UPSTREAM_CHAINS).sql)
        if len(selected) <= FEW_TABLES:
            rows = rows.where(F.col("table_id").isin([clean(table_id) for table_id in selected]))
        counts = _by_table(rows.groupBy("table_id").count().toArrow(), "count")
        return {table_id: counts.get(clean(table_id), 0) for table_id in selected}

    def records(self, nodes: Records, edges: Records) -> GraphChange | None:
        """Store nodes and edges; how they differ from what the note is of, None if that is not certain."""
        of_nodes, of_edges = (
            RecordsUpdate(self.spark, self._ensured(each.table), each) for each in (nodes, edges)
        )
        with ThreadPoolExecutor(1, "edges") as beside:
            later = beside.submit(of_edges.apply)
            self._done((of_nodes.apply(), of_nodes.written), (later.result(), of_edges.written))
        written = [version.table for version in self.versions if version.written]
        self.steps.done(
            f"Stored {' and '.join(written)}" if written else "Nodes and edges are stored already"
        )
        return graph_change(of_nodes, of_edges, self.note)

    def chains(self, places: Places, due: Due) -> None:
        """Store the chains that have changed."""
        table = self._ensured(UPSTREAM_CHAINS)
        with walk_tables(self.spark, places.arrays, places.tables["table"]) as walk:
            chains = with_digest(places.tables, walk.summary)
            counts = dict(zip(chains["table_id"].to_pylist(), walk.summary["hops"].to_pylist(), strict=True))
            self.hops = {table_id: counts.get(clean(table_id), 0) for table_id in due.tables}
            hops = sum(self.hops.values())
            self.steps.done(f"Computed the chains of {len(due.tables):,} tables: {hops:,} hops")
            before = Before.of(self.spark, table)
            update = ChainUpdate(
                self.spark,
                table,
                walk,
                places.nodes,
                chains,
                due,
                self.selection,
                parse_iso(self.discovery.discovered_at),
            )
            later = commit_after(
                before.newest,
                self.spark,
                table,
                update.marker,
                update.write,
                attempts=ATTEMPTS,
            )
        self.changed = update.changed
        at = before.settled(table, later, update.marker)
        is_from_note = self.note is None or self.note.holds(UPSTREAM_CHAINS, before.content)
        if update.kept or not is_from_note:
            # A later discovery may remove more, or other chains than those that were computed have changed.
            at = replace(at, certain=False)
        self._done((at, bool(update.changed)))
        self.steps.done(
            f"Stored {update.changed:,} changed chains"
            if update.changed
            else "No chain changed, so none was stored"
        )

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
