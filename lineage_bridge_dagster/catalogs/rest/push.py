"""The push of a discovery to the tables of REST catalogs: all of them, or selected ones, concurrently."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.rest.iceberg_properties import IcebergPropertiesWriter, IcebergTarget
from lineage_bridge_dagster.catalogs.rest.tableflow_enrichment import TAKES_NO_PROPERTIES
from lineage_bridge_dagster.catalogs.table_runs import ProgressCallback, TableRun
from lineage_bridge_dagster.catalogs.writing.push import carries_lineage, push_lineage
from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.catalog_tables import IcebergTableNode
from lineage_bridge_dagster.lineage.chains import Chain
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import iceberg_rest_tables
from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import utc_now


def target_of(node: Node) -> IcebergTarget:
    """The table to push to."""
    table = IcebergTableNode.of(node)
    return IcebergTarget(node, table.catalog, table.namespace, table.table)


def names_of(node: Node) -> frozenset[str]:
    """The names by which a table is selected: its id, its qualified name and `catalog.namespace.table`."""
    return frozenset({node.node_id, node.qualified_name, target_of(node).dotted})


def push_iceberg_tables(
    discovery: Discovery,
    catalogs: Catalogs | LineageBridgeError,
    settings: PushSettings,
    *,
    tables: Collection[str] | None = None,
    dry_run: bool = False,
    progress: ProgressCallback | None = None,
    clock: Callable[[], datetime] = utc_now,
    sleep: Callable[[float], None] = time.sleep,
) -> PushReport:
    """Push the lineage of a discovery's tables of REST catalogs. One that fails does not affect the others.

    Tables of a catalog that is read-only or turned off are skipped. One that cannot be opened fails its own
    tables alone.

    Args:
        discovery: The graph, and the coverage that decides which lineage may be shortened or removed.
        catalogs: The catalogs of its tables, or why their settings cannot be read: the failure of each table.
        settings: What to write, and limits.
        tables: The tables to push, by `names_of`; names of others are left to who knows them. None means all.
        dry_run: Plan and compare, but do not commit.
        progress: Called after each table with the number of tables done, the total and the result.
        clock: The time for `last_synced`.
        sleep: Waits between attempts, in seconds.
    """
    nodes = list(iceberg_rest_tables(discovery.graph))
    selected = [node for node in nodes if tables is None or not names_of(node).isdisjoint(tables)]
    run = TableRun(settings.max_concurrency, progress)
    run.total = len(selected)
    writers, without = _writers(selected, catalogs, settings, clock, sleep)
    for result in without:
        run.done(result)
    targets = [target_of(node) for node in selected if node.node_id not in run.results]
    push_lineage(_Tables(writers, settings, dry_run), discovery, targets, nodes, settings, run)
    calls = sum((Counter(writer.calls) for writer in writers.values()), Counter[str]())
    return PushReport(tuple(run.results[node.node_id] for node in selected), dry_run, dict(calls))


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of REST catalogs, which have no call for several tables: each is read by its push.

    What a push would remove is what the discovery found.
    """

    writers: Mapping[str, IcebergPropertiesWriter]
    settings: PushSettings
    dry_run: bool

    def read(self, targets: Iterable[IcebergTarget]) -> Iterator[tuple[IcebergTarget, None]]:
        return ((target, None) for target in targets)

    def losses(self, targets: Iterable[IcebergTarget]) -> Iterator[tuple[IcebergTarget, None, bool]]:
        return ((target, None, carries_lineage(target.node, self.settings)) for target in targets)

    def write(self, target: IcebergTarget, chain: Chain | None, complete: bool, _record: None) -> TableResult:
        writer = self.writers[target.catalog]
        return writer.push(target, chain, complete=complete, dry_run=self.dry_run)


def combined(*reports: PushReport) -> PushReport:
    """One report of the pushes to several kinds of catalog."""
    calls: Counter[str] = Counter()
    for report in reports:
        calls.update(report.calls)
    results = tuple(result for report in reports for result in report.results)
    return replace(reports[0], results=results, calls=dict(calls))


def _writers(
    nodes: list[Node],
    catalogs: Catalogs | LineageBridgeError,
    settings: PushSettings,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None],
) -> tuple[dict[str, IcebergPropertiesWriter], list[TableResult]]:
    """A writer per catalog, and the results of the tables of catalogs that get none."""
    writers: dict[str, IcebergPropertiesWriter] = {}
    results: list[TableResult] = []
    by_catalog: dict[str, list[IcebergTarget]] = {}
    for node in nodes:
        target = target_of(node)
        if IcebergTableNode.of(node).not_writable == TAKES_NO_PROPERTIES:
            results.append(target.result(PushStatus.SKIPPED, TAKES_NO_PROPERTIES))
            continue
        by_catalog.setdefault(target.catalog, []).append(target)
    for name, targets in by_catalog.items():
        status, reason, hint = PushStatus.FAILED, "", ""
        try:
            if isinstance(catalogs, LineageBridgeError):
                raise catalogs
            if catalogs.is_off(name):
                status = PushStatus.SKIPPED
                reason = f"the catalog {name} is turned off: nothing is committed to it"
                hint = "Unset ICEBERG_ENABLED, or set it to true."
            elif catalogs[name].read_only:
                status = PushStatus.SKIPPED
                reason = f"the catalog {name} is read-only: the lineage stays in Dagster"
                hint = "The lineage tables have it, too."
            else:
                catalog = open_catalog(catalogs, name)
                writers[name] = IcebergPropertiesWriter(catalog, settings, clock=clock, sleep=sleep)
        except LineageBridgeError as error:
            reason, hint = error.message, error.hint
        if reason:
            results += [each.result(status, reason, hint) for each in targets]
    return writers, results
