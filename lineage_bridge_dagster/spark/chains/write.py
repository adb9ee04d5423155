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

import pyarrow as pa
import pyarrow.compute as pc

from lineage_bridge_dagster.catalogs.iceberg.spark_names import string_literal
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.affected import GraphChange
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.spark.chains.chain_update import FEW_TABLES, ChainUpdate, with_digest
from lineage_bridge_dagster.spark.chains.due import Due, Selection
from lineage_bridge_dagster.spark.chains.freed_memory import release_freed
from lineage_bridge_dagster.spark.chains.lineage_tables import (
    COLUMNS,
    UPSTREAM_CHAINS,
    Records,
)
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
from lineage_bridge_dagster.spark.chains.source import Computable, DiscoverySource, Source
from lineage_bridge_dagster.spark.commits import commit_after
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ensure_table, exists
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
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
        hops: table id -> rows of its chain, for every selected table; counted when first asked for.
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
    # The graph lives throughout, and rows are built from it while Spark works.
    with no_garbage_collection():
        source = DiscoverySource(limited(discovery, sql))
        return write_source(spark, source, table_ids, catalog, namespace, sql=sql, progress=progress)


def write_source(
    spark: SparkSession,
    source: Source,
    table_ids: Sequence[str] | None,
    catalog: str,
    namespace: str,
    *,
    sql: str,
    progress: Callable[[str], None],
) -> LineageWrite:
    """`write_lineage` of a graph whose SQL is limited."""
    selection = Selection.of(source, table_ids)
    selected = selection.selected
    if table_ids is not None and (missing := source.missing(selected)):
        raise LineageBridgeError(
            f"{len(missing)} of {len(selected)} tables are not in the discovery, such as {missing[0]}.",
            hint="Run a discovery, and select tables that it has found.",
        )
    nodes, edges, coverage = source.records()
    given = Input.of(source.coverage, (nodes, edges), sql, selected, whole=table_ids is None)
    write = _Write(spark, catalog, namespace, source, selection, given, _Steps(progress))
    if write.has_noted():
        write.coverage(coverage)
        write.steps.done("Nodes, edges and chains are stored already")
    else:
        write.changes(nodes, edges)
        # Without the note of that commit, the next write compares everything.
        source.confirm()
        write.coverage(coverage)
        release_freed()
    count = write.computed_hops if write.walked == len(selected) else write.stored_hops
    return LineageWrite(len(selected), write.changed, _Counted(count), tuple(write.versions), write.walked)


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
        walked: tables whose chains were computed.
        hops: `table_id, hops` of those of them that have hops.
        changed: chains that were replaced or removed.
    """

    spark: SparkSession
    catalog: str
    namespace: str
    source: Source
    selection: Selection
    given: Input
    steps: _Steps
    note: Note | None = None
    noted: Snapshot | None = None
    at: list[Settled] = field(default_factory=list)
    versions: list[TableVersion] = field(default_factory=list)
    walked: int = 0
    hops: pa.Table | None = None
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
        due = Due.of(self.selection)
        of_nodes, of_edges = (
            RecordsUpdate(self.spark, self._ensured(each.table), each) for each in (nodes, edges)
        )
        with ThreadPoolExecutor(1, "chains") as beside:
            start = cache(lambda: beside.submit(self._part, due))
            if self.note is None:
                # Earlier, the two threads would only take turns.
                of_nodes.on_rows = start
            change = self.records(of_nodes, of_edges)
            part = start() if self.note is None else None
        if self.note is not None and change is not None:
            had_no_others = self.note.has_no_others
            due = Due.after(change, self.source, self.selection, had_no_others=had_no_others)
        if self.note is not None and due.is_nothing:
            self._done((self.note.of(UPSTREAM_CHAINS), False))
            self.steps.done("No chain can have changed")
        else:
            self.chains(part.result() if part else self._part(due), due)
        if due.leaves_all:
            self.given = self.given.having(others=not self.selection.removes)

    def _part(self, due: Due) -> Computable:
        return self.source.part(due.tables, len(self.selection.tables))

    def stored_hops(self) -> dict[str, int]:
        """Rows of each selected table's stored chain."""
        from pyspark.sql import functions as F

        selected = self.selection.selected
        rows = self.spark.table(self.name(UPSTREAM_CHAINS).sql)
        if len(selected) <= FEW_TABLES:
            rows = rows.where(F.col("table_id").isin([clean(table_id) for table_id in selected]))
        return self._of_selected(rows.groupBy("table_id").count().toArrow())

    def computed_hops(self) -> dict[str, int]:
        """The same, where the chains of all selected tables were computed."""
        return self._of_selected(self.hops) if self.hops is not None else {}

    def _of_selected(self, counted: pa.Table) -> dict[str, int]:
        counts = dict(zip(*(column.to_pylist() for column in counted.columns), strict=True))
        return {table_id: counts.get(clean(table_id), 0) for table_id in self.selection.selected}

    def records(self, of_nodes: RecordsUpdate, of_edges: RecordsUpdate) -> GraphChange | None:
        """Store nodes and edges; how they differ from what the note is of, None if that is not certain."""
        with ThreadPoolExecutor(1, "edges") as beside:
            later = beside.submit(of_edges.apply)
            self._done((of_nodes.apply(), of_nodes.written), (later.result(), of_edges.written))
        written = [version.table for version in self.versions if version.written]
        self.steps.done(
            f"Stored {' and '.join(written)}" if written else "Nodes and edges are stored already"
        )
        return graph_change(of_nodes, of_edges, self.note)

    def chains(self, part: Computable, due: Due) -> None:
        """Store the chains that have changed."""
        table = self._ensured(UPSTREAM_CHAINS)
        with part.compute(self.spark) as computed:
            chains = with_digest(computed.tables, computed.summary)
            self.walked = len(due.tables)
            self.hops = chains.select(["table_id"]).append_column("hops", computed.summary["hops"])
            hops = pc.sum(computed.summary["hops"]).as_py() or 0
            self.steps.done(f"Computed the chains of {len(due.tables):,} tables: {hops:,} hops")
            before = Before.of(self.spark, table)
            update = ChainUpdate(
                self.spark,
                table,
                computed,
                chains,
                due,
                self.selection,
                parse_iso(self.source.discovered_at),
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
