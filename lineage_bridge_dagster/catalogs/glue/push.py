"""The push of a discovery: the lineage of all its Glue tables, or of selected ones, concurrently.

Tables are read in pages of 100 and written one by one: 100 tables take one or two pages and 100 writes, and a
second push that changes nothing takes only the pages.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import read_pages
from lineage_bridge_dagster.catalogs.glue.targets import GlueTarget, push_target, select_tables
from lineage_bridge_dagster.catalogs.glue.update_plan import TableUpdate, plan_update
from lineage_bridge_dagster.catalogs.glue.writer import GlueLineageWriter
from lineage_bridge_dagster.catalogs.table_runs import ProgressCallback, TableRun
from lineage_bridge_dagster.catalogs.writing.push import push_lineage
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.lineage.chains import Chain
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.glue_status import is_in_glue
from lineage_bridge_dagster.lineage.nodes import glue_tables
from lineage_bridge_dagster.lineage.push_results import PushReport, TableResult
from lineage_bridge_dagster.lineage.times import utc_now

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
    nodes = list(glue_tables(discovery.graph))
    selected, unknown = select_tables(nodes, tables)
    run = TableRun(settings.max_concurrency, progress)
    run.total = len(selected) + len(unknown)
    targets: list[GlueTarget] = []
    for target in (*(push_target(node, client.meta.region_name) for node in selected), *unknown):
        if isinstance(target, GlueTarget):
            targets.append(target)
        else:
            run.done(target)
    existing = [node for node in nodes if is_in_glue(node)]
    push_lineage(_Tables(writer, settings, dry_run), discovery, targets, existing, settings, run)
    order = [node.node_id for node in selected] + [result.table for result in unknown]
    return PushReport(tuple(run.results[key] for key in order), dry_run, writer.calls)


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of Glue."""

    writer: GlueLineageWriter
    settings: PushSettings
    dry_run: bool

    def read(self, targets: Iterable[GlueTarget]) -> Iterator[tuple[GlueTarget, GlueTable | None]]:
        by_place: dict[GluePlace, list[GlueTarget]] = {}
        for target in targets:
            by_place.setdefault(target.place, []).append(target)
        for place, table in read_pages(self.writer.reader, by_place):
            for target in by_place[place]:
                yield target, table

    def losses(self, targets: Iterable[GlueTarget]) -> Iterator[tuple[GlueTarget, GlueTable | None, bool]]:
        for target, page_table in self.read(targets):
            table = page_table
            if table is None:
                try:
                    table = self.writer.reader.table(target.place.database, target.place.table)
                except CallError as error:  # the push to the table will report it
                    logger.info("%s could not be read: %s", target.dotted, error.message)
            yield target, table, table is not None and self._plans_removal(table)

    def write(
        self, target: GlueTarget, chain: Chain | None, complete: bool, record: GlueTable | None
    ) -> TableResult:
        return self.writer.push(target, chain, complete=complete, table=record, dry_run=self.dry_run)

    def _plans_removal(self, table: GlueTable) -> bool:
        return isinstance(plan_update(table, None, self.settings, complete=True, now=""), TableUpdate)
