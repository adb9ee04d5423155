"""Pushing a discovery: every Glue table of its graph, or some, many at once.

Tables are read by pages of 100 and written one by one: two pages and 100 writes for 100 tables, and a second
push that writes nothing is page reads alone.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.glue.errors import GlueError
from lineage_bridge_dagster.glue.plan import Update, plan_update
from lineage_bridge_dagster.glue.results import PushReport, PushStatus, TableResult
from lineage_bridge_dagster.glue.tables import GlueReader, GlueTable, read_some
from lineage_bridge_dagster.glue.writer import GlueLineageWriter, push_options, unpushable
from lineage_bridge_dagster.lineage.chains import Chain, chain_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, glue_tables
from lineage_bridge_dagster.lineage.times import utc_now

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

__all__ = ["GlueLineageWriter", "Progress", "push_options", "push_tables"]

logger = logging.getLogger(__name__)

#: Called with how many tables are done, of how many, and the one just done; one call at a time.
Progress = Callable[[int, int, TableResult], None]

#: Tables read and not yet pushed, at most; a table's record may be 100 kB.
_READ_AHEAD = 200


def push_tables(
    discovery: Discovery,
    client: GlueClient,
    settings: PushSettings,
    *,
    tables: Collection[str] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    chains: Mapping[str, Chain] | None = None,
    clock: Callable[[], datetime] = utc_now,
    sleep: Callable[[float], None] = time.sleep,
) -> PushReport:
    """Push the lineage of a discovery's Glue tables; one table's failure leaves the others be.

    Args:
        discovery: the graph, and the coverage that says what of it may shorten or remove what stands. From a
            graph without coverage (a plain file) nothing is removed.
        client: a Glue client.
        settings: what to write, and the bounds.
        tables: only these, by node id, `glue://DB/TABLE` or `DB.TABLE`; None means all.
        dry_run: plan and diff, and write nothing.
        chains: chains by table id, where they have been computed already.
        sleep: waits between tries, in seconds.
    """
    run = _Run(discovery, client, settings, dry_run, progress, chains or {}, clock, sleep)
    return run.push(tables)


@dataclass(frozen=True, slots=True)
class _Target:
    order: int
    node: Node
    database: str
    name: str


class _Run:
    """One call of `push_tables`."""

    def __init__(
        self,
        discovery: Discovery,
        client: GlueClient,
        settings: PushSettings,
        dry_run: bool,
        progress: Progress | None,
        chains: Mapping[str, Chain],
        clock: Callable[[], datetime],
        sleep: Callable[[float], None],
    ) -> None:
        self._graph = discovery.graph
        self._coverage = discovery.coverage
        self._settings = settings
        self._dry_run = dry_run
        self._progress = progress
        self._chains = chains
        self._region = client.meta.region_name
        self._writer = GlueLineageWriter(client, settings=settings, clock=clock, sleep=sleep)
        self._reader: GlueReader = self._writer.reader
        self._index = discovery.graph.upstream_index()
        self._gaps = Gaps(discovery.graph, discovery.coverage)
        self._lock = threading.Lock()
        self._results: dict[int, TableResult] = {}
        self._total = 0

    def push(self, tables: Collection[str] | None) -> PushReport:
        nodes = list(glue_tables(self._graph))
        targets: list[_Target] = []
        early: list[tuple[int, TableResult]] = []
        chosen, missing = _choose(nodes, tables)
        self._total = len(chosen) + len(missing)
        for order, node in enumerate(chosen):
            place = GlueTableNode.of(node).home_place
            if place is None or unpushable(node, self._region) is not None:
                early.append((order, self._writer.push(node, None)))
            else:
                targets.append(_Target(order, node, place.database, place.table))
        early += [(len(chosen) + i, _not_in_graph(name)) for i, name in enumerate(missing)]
        for order, result in early:
            self._done(order, result)

        stripped = [target for target in targets if not self._upstream(target.node)]
        if stripped:
            self._strip(stripped, nodes)
        self._each([target for target in targets if self._upstream(target.node)])
        results = tuple(self._results[order] for order in sorted(self._results))
        return PushReport(results, self._dry_run, self._writer.calls)

    def _upstream(self, node: Node) -> bool:
        known = self._chains.get(node.node_id)
        return bool(known.hops) if known is not None else bool(self._index.get(node.node_id))

    def _strip(self, targets: list[_Target], nodes: list[Node]) -> None:
        """Take our lineage from tables that have nothing upstream any more, unless that is too many."""
        read = self._read_all(targets)
        standing = [
            target
            for target in targets
            if (table := read.get(target.order)) is not None and self._would_strip(table)
        ]
        # Counted over the whole graph too, so that a run that pushes in parts can't strip it part by part.
        known = sum(
            1
            for node in nodes
            if not self._upstream(node)
            and any(key.startswith(PREFIX) for key in GlueTableNode.of(node).parameters)
        )
        count = max(len(standing), known)
        limit = math.ceil(self._settings.max_removal_share * len(nodes))
        held = (
            {target.order for target in standing}
            if self._coverage.covers_all_table_sources and count > limit
            else set()
        )
        for target in targets:
            if target.order in held:
                reason = (
                    f"{count} of {len(nodes)} tables have lost all upstream, and one push may strip {limit} "
                    f"of them ({self._settings.max_removal_share:.0%}); none was"
                )
                hint = "If that is right, raise LINEAGE_BRIDGE_PUSH_MAX_REMOVAL_SHARE for one push."
                result = TableResult(
                    target.node.node_id, target.database, target.name, PushStatus.REFUSED, reason, hint
                )
                self._done(target.order, result)
        rest = [target for target in targets if target.order not in held]
        self._run_pool((target, read.get(target.order)) for target in rest)

    def _would_strip(self, table: GlueTable) -> bool:
        plan = plan_update(table, None, self._writer.options, complete=True, now="")
        return isinstance(plan, Update)

    def _read_all(self, targets: list[_Target]) -> dict[int, GlueTable]:
        """The tables as they stand, but for those that can't be read: their push will say why."""
        found: dict[int, GlueTable] = {}
        for target, page_table in self._readings(targets):
            table = page_table
            if table is None:
                try:
                    table = self._reader.table(target.database, target.name)
                except GlueError as error:
                    logger.info("%s.%s could not be read: %s", target.database, target.name, error.message)
            if table is not None:
                found[target.order] = table
        return found

    def _each(self, targets: list[_Target]) -> None:
        self._run_pool(self._readings(targets))

    def _readings(self, targets: list[_Target]) -> Iterable[tuple[_Target, GlueTable | None]]:
        """Each target with its table as a page gave it, or None where it has to be read by itself."""
        at: dict[tuple[str, str], list[_Target]] = {}
        wanted: dict[str, list[str]] = {}
        for target in targets:
            at.setdefault((target.database, target.name), []).append(target)
            wanted.setdefault(target.database, []).append(target.name)
        for database, name, table in read_some(self._reader, wanted):
            for target in at[database, name]:
                yield target, table

    def _run_pool(self, readings: Iterable[tuple[_Target, GlueTable | None]]) -> None:
        room = threading.BoundedSemaphore(_READ_AHEAD)

        def work(target: _Target, table: GlueTable | None) -> None:
            try:
                self._done(target.order, self._one(target, table))
            finally:
                room.release()

        pool = ThreadPoolExecutor(self._settings.max_concurrency, thread_name_prefix="glue-push")
        try:
            futures = []
            for target, table in readings:
                room.acquire()
                futures.append(pool.submit(work, target, table))
            for future in futures:
                future.result()
        finally:
            # An interrupt ends what has not begun; what was sent is waited for.
            pool.shutdown(wait=True, cancel_futures=True)

    def _one(self, target: _Target, table: GlueTable | None) -> TableResult:
        try:
            if not self._upstream(target.node):
                complete = self._coverage.covers_all_table_sources
                return self._writer.push(
                    target.node, None, table=table, complete=complete, dry_run=self._dry_run
                )
            chain = self._chains.get(target.node.node_id)
            if chain is None:
                chain = chain_of(self._graph, target.node.node_id, self._index, gaps=self._gaps)
            return self._writer.push(target.node, chain, table=table, dry_run=self._dry_run)
        except Exception as error:  # a bug in one table's chain must not cost the others their push
            logger.exception("Push of %s.%s", target.database, target.name)
            return TableResult(
                target.node.node_id,
                target.database,
                target.name,
                PushStatus.FAILED,
                f"{type(error).__name__}: {error}",
                "This is a bug: the log has the traceback.",
            )

    def _done(self, order: int, result: TableResult) -> None:
        with self._lock:
            self._results[order] = result
            if self._progress is not None:
                self._progress(len(self._results), self._total, result)


def _choose(nodes: list[Node], tables: Collection[str] | None) -> tuple[list[Node], list[str]]:
    """The nodes asked for, and the names that none of them goes by."""
    if tables is None:
        return nodes, []
    by_name: dict[str, list[Node]] = {}
    for node in nodes:
        place = GlueTableNode.of(node).home_place
        names = {node.node_id, node.qualified_name.lower(), *([place.dotted] if place else ())}
        for name in names:
            by_name.setdefault(name, []).append(node)
    chosen: dict[str, Node] = {}
    missing = []
    for asked in dict.fromkeys(tables):
        found = by_name.get(asked) or by_name.get(asked.lower()) or []
        chosen.update((node.node_id, node) for node in found)
        if not found:
            missing.append(asked)
    return list(chosen.values()), missing


def _not_in_graph(asked: str) -> TableResult:
    database, _, name = asked.removeprefix("glue://").replace("/", ".", 1).partition(".")
    return TableResult(
        asked,
        database,
        name,
        PushStatus.FAILED,
        f"{asked} is no Glue table of this graph.",
        "Tables go by DB.TABLE, as `lineage-bridge push --dry-run` lists them.",
    )
