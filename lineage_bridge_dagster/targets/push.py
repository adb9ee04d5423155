"""The push of a discovery to the tables of REST catalogs: all of them, or selected ones, concurrently."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime

from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg.catalogs import open_catalog
from lineage_bridge_dagster.lineage.catalog_tables import IcebergTableNode
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, iceberg_rest_tables
from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.targets.iceberg_properties import IcebergPropertiesWriter, IcebergTarget
from lineage_bridge_dagster.targets.tableflow import TAKES_NO_PROPERTIES

logger = logging.getLogger(__name__)


#: Called after each table with the number of tables done, the total, and the table's result.
Progress = Callable[[int, int, TableResult], None]


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
    progress: Progress | None = None,
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
    graph = discovery.graph
    nodes = list(iceberg_rest_tables(graph))
    selected = [node for node in nodes if tables is None or not names_of(node).isdisjoint(tables)]
    index, gaps = UpstreamIndex.of(graph), Gaps(graph, discovery.coverage)
    # Tables outside the selection count as well, or pushes of a few tables each could remove everything.
    removals = {node.node_id for node in nodes if _loses_lineage(node, index)}
    limit = math.ceil(settings.max_removal_share * len(nodes))
    writers, results = _writers(selected, catalogs, settings, clock, sleep)

    def push(node: Node) -> TableResult:
        target = target_of(node)
        try:
            writer = writers[target.catalog]
            if not index.sources(node.node_id):
                complete = discovery.coverage.covers_all_table_sources
                if complete and node.node_id in removals and len(removals) > limit:
                    return target.result(
                        PushStatus.REFUSED,
                        f"{len(removals)} of {len(nodes)} tables have no upstream any more, and one push may "
                        f"remove the lineage of at most {limit} ({settings.max_removal_share:.0%}): none was "
                        "removed",
                        "If this is expected, raise LINEAGE_BRIDGE_PUSH_MAX_REMOVAL_SHARE for one push.",
                    )
                return writer.push(target, None, complete=complete, dry_run=dry_run)
            chain = chain_of(graph, node.node_id, index, gaps=gaps)
            return writer.push(target, chain, complete=chain.complete, dry_run=dry_run)
        except Exception as error:  # a bug in the chain of one table must not stop the push of the others
            logger.exception("The push to %s failed", target.dotted)
            return target.result(
                PushStatus.FAILED,
                f"{type(error).__name__}: {error}",
                "This is a bug: the log has the traceback.",
            )

    pending = [node for node in selected if node.node_id not in results]
    report = progress or _no_progress
    for done, result in enumerate(results.values(), start=1):
        report(done, len(selected), result)
    with ThreadPoolExecutor(settings.max_concurrency, thread_name_prefix="iceberg-push") as pool:
        for result in pool.map(push, pending):
            results[result.table] = result
            report(len(results), len(selected), result)
    calls: Counter[str] = Counter()
    for writer in writers.values():
        calls.update(writer.calls)
    return PushReport(tuple(results[node.node_id] for node in selected), dry_run, dict(calls))


def combined(*reports: PushReport) -> PushReport:
    """One report of the pushes to several kinds of catalog."""
    calls: Counter[str] = Counter()
    for report in reports:
        calls.update(report.calls)
    results = tuple(result for report in reports for result in report.results)
    return replace(reports[0], results=results, calls=dict(calls))


def _no_progress(_done: int, _total: int, _result: TableResult) -> None:
    """Report nothing."""


def _loses_lineage(node: Node, index: UpstreamIndex) -> bool:
    parameters = GlueTableNode.of(node).parameters
    return not index.sources(node.node_id) and any(key.startswith(PREFIX) for key in parameters)


def _writers(
    nodes: list[Node],
    catalogs: Catalogs | LineageBridgeError,
    settings: PushSettings,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None],
) -> tuple[dict[str, IcebergPropertiesWriter], dict[str, TableResult]]:
    """A writer per catalog, and the results of the tables of catalogs that get none."""
    writers: dict[str, IcebergPropertiesWriter] = {}
    results: dict[str, TableResult] = {}
    by_catalog: dict[str, list[IcebergTarget]] = {}
    for node in nodes:
        target = target_of(node)
        if IcebergTableNode.of(node).not_writable == TAKES_NO_PROPERTIES:
            results[node.node_id] = target.result(PushStatus.SKIPPED, TAKES_NO_PROPERTIES)
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
            results.update({each.node.node_id: each.result(status, reason, hint) for each in targets})
    return writers, results
