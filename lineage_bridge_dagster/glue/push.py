"""The push of a discovery: the lineage of all its Glue tables, or of selected ones, concurrently.

Tables are read in pages of 100 and written one by one: 100 tables take one or two pages and 100 writes, and a
second push that changes nothing takes only the pages.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.glue.errors import GlueError
from lineage_bridge_dagster.glue.plan import Update, plan_update
from lineage_bridge_dagster.glue.reader import read_pages
from lineage_bridge_dagster.glue.table_runs import ProgressCallback, Reading, TableRun
from lineage_bridge_dagster.glue.tables import GlueTable
from lineage_bridge_dagster.glue.targets import PushTarget, push_target, select_tables
from lineage_bridge_dagster.glue.writer import GlueLineageWriter
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.glue_status import is_in_glue
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, glue_tables
from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

logger = logging.getLogger(__name__)


def push_tables(
    discovery: Discovery,
    client: GlueClient,
    settings: PushSettings,
    *,
    tables: Collection[str] | None = None,
    dry_run: bool = False,
    progress: ProgressCallback | None = None,
    clock: Callable[[], datetime] = utc_now,
    sleep: Callable[[float], None] = time.sleep,
) -> PushReport:
    """Push the lineage of a discovery's Glue tables. A table that fails does not affect the others.

    Args:
        discovery: the graph, and the coverage that decides which lineage may be shortened or removed. Nothing
            is removed for a graph without coverage, such as one from a file.
        client: a Glue client.
        settings: what to write, and limits.
        tables: the tables to push, by node id, `glue://DB/TABLE` or `DB.TABLE`; None means all.
        dry_run: plan and compare, but do not write.
        clock: the time for `last_synced`.
        sleep: waits between attempts, in seconds.
    """
    writer = GlueLineageWriter(client, settings, clock=clock, sleep=sleep)
    return _Push(discovery, writer, settings, client.meta.region_name, dry_run, progress).run(tables)


class _Push:
    """One call of `push_tables`."""

    def __init__(
        self,
        discovery: Discovery,
        writer: GlueLineageWriter,
        settings: PushSettings,
        region: str,
        dry_run: bool,
        progress: ProgressCallback | None,
    ) -> None:
        self._graph = discovery.graph
        self._coverage = discovery.coverage
        self._writer = writer
        self._settings = settings
        self._region = region
        self._dry_run = dry_run
        self._tables = TableRun(settings.max_concurrency, progress)
        self._index = UpstreamIndex.of(discovery.graph)
        self._gaps = Gaps(discovery.graph, discovery.coverage)

    def run(self, selection: Collection[str] | None) -> PushReport:
        nodes = list(glue_tables(self._graph))
        selected, unknown = select_tables(nodes, selection)
        self._tables.total = len(selected) + len(unknown)
        targets: list[PushTarget] = []
        for node in selected:
            target = push_target(node, self._region)
            if isinstance(target, PushTarget):
                targets.append(target)
            else:
                self._tables.done(target)
        for result in unknown:
            self._tables.done(result)
        self._remove([target for target in targets if not self._has_upstream(target.node)], nodes)
        self._push_each(self._read([target for target in targets if self._has_upstream(target.node)]))
        order = [node.node_id for node in selected] + [result.table for result in unknown]
        return PushReport(
            tuple(self._tables.results[key] for key in order), self._dry_run, self._writer.calls
        )

    def _has_upstream(self, node: Node) -> bool:
        return bool(self._index.sources(node.node_id))

    def _remove(self, targets: list[PushTarget], nodes: list[Node]) -> None:
        """Remove our lineage from the tables that have no upstream any more, unless they are too many."""
        tables = {target.node.node_id: table for target, table in self._read_fully(targets)}
        removals = [
            target
            for target in targets
            if (table := tables.get(target.node.node_id)) is not None and self._plans_removal(table)
        ]
        in_glue = [node for node in nodes if is_in_glue(node)]
        # Tables outside the selection count as well, or pushes of a few tables each could remove everything.
        in_graph = sum(
            not self._has_upstream(node)
            and any(key.startswith(PREFIX) for key in GlueTableNode.of(node).parameters)
            for node in in_glue
        )
        count = max(len(removals), in_graph)
        share = self._settings.max_removal_share
        limit = math.ceil(share * len(in_glue))
        if self._coverage.covers_all_table_sources and count > limit:
            reason = (
                f"{count} of {len(in_glue)} tables have no upstream any more, and one push may remove the "
                f"lineage of at most {limit} ({share:.0%}): none was removed"
            )
            hint = "If this is expected, raise LINEAGE_BRIDGE_PUSH_MAX_REMOVAL_SHARE for one push."
            for target in removals:
                self._tables.done(target.result(PushStatus.REFUSED, reason, hint))
        self._push_each(
            (target, tables.get(target.node.node_id))
            for target in targets
            if target.node.node_id not in self._tables.results
        )

    def _plans_removal(self, table: GlueTable) -> bool:
        return isinstance(plan_update(table, None, self._settings, complete=True, now=""), Update)

    def _read(self, targets: Iterable[PushTarget]) -> Iterator[tuple[PushTarget, GlueTable | None]]:
        """Yield each target with its table as a page returned it, or None if it has to be read on its own."""
        by_place: dict[GluePlace, list[PushTarget]] = {}
        for target in targets:
            by_place.setdefault(target.place, []).append(target)
        for place, table in read_pages(self._writer.reader, by_place):
            for target in by_place[place]:
                yield target, table

    def _read_fully(self, targets: Iterable[PushTarget]) -> Iterator[tuple[PushTarget, GlueTable | None]]:
        """Yield each target with its table, or None if there is none or if its push will report an error."""
        for target, page_table in self._read(targets):
            table = page_table
            if table is None:
                try:
                    table = self._writer.reader.table(target.place.database, target.place.table)
                except GlueError as error:
                    logger.info("%s could not be read: %s", target.place.dotted, error.message)
            yield target, table

    def _push_each(self, readings: Iterable[Reading]) -> None:
        self._tables.each(readings, self._push)

    def _push(self, target: PushTarget, table: GlueTable | None) -> TableResult:
        node_id = target.node.node_id
        try:
            if self._has_upstream(target.node):
                chain = chain_of(self._graph, node_id, self._index, gaps=self._gaps)
                complete = chain.complete
            else:
                chain, complete = None, self._coverage.covers_all_table_sources
            return self._writer.push(target, chain, complete=complete, table=table, dry_run=self._dry_run)
        except Exception as error:  # a bug in the chain of one table must not stop the push of the others
            return target.bug(error)
