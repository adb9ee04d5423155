"""The push of a discovery: the lineage of all tables, or of selected ones, in every kind of catalog."""

from __future__ import annotations

import logging
import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.business_context.business_context import BusinessContext
from lineage_bridge_dagster.catalogs.every_catalog import every_catalog
from lineage_bridge_dagster.catalogs.lineage_catalog import LineageCatalog, PushTarget
from lineage_bridge_dagster.catalogs.plans import Hold, NoChange, Refuse, Wanted
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.catalogs.table_push import ProgressCallback, TableRun, push_table
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.lineage.ownership import other_owner
from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus, TableResult
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.text import did_you_mean

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

logger = logging.getLogger(__name__)

#: How long a push takes for Glue's business context at most: every table costs two calls or more there.
FORMS_SECONDS = 600.0

AnyCatalog = LineageCatalog[Any, Any, Any]


def push_tables(
    discovery: Discovery,
    client: GlueClient,
    catalogs: Callable[[], Catalogs],
    settings: PushSettings,
    *,
    tables: Collection[str] | None = None,
    dry_run: bool = False,
    progress: ProgressCallback | None = None,
) -> PushReport:
    """Push to the tables in Glue, then to those of REST catalogs. One that fails does not affect the others.

    Last, if the settings say so, Glue's business context takes the lineage of its tables, too. What becomes
    of that is only reported.

    Args:
        discovery: The graph, and the coverage that decides which lineage may be shortened or removed. Nothing
            is removed for a graph without coverage, such as one from a file.
        catalogs: Reads the catalogs; called only if the graph has tables of REST catalogs to push to.
        tables: The tables to push, by node id or name, as for `push_to`; None means all.
        progress: Called after each table with the number of tables done and the total, for Glue's and for
            the others, and with the result.
    """
    found = every_catalog(client, catalogs, settings)
    report = push_to(found, discovery, tables=tables, dry_run=dry_run, progress=progress)
    if not settings.business_context:
        return report
    return replace(report, business_context=_push_forms(discovery, client, settings, report))


def _push_forms(
    discovery: Discovery, client: GlueClient, settings: PushSettings, pushed: PushReport
) -> PushReport:
    """Push to the assets of the tables that were pushed to Glue and are there; errors are results.

    Those that were written come first, then the others in an order of chance: where time is short, all of
    them are looked at within some pushes.
    """
    nodes = discovery.graph.nodes
    results = [
        result
        for result in pushed.results
        if result.status is not PushStatus.SKIPPED and isinstance(nodes.get(result.table), GlueTableNode)
    ]
    results.sort(key=lambda result: (result.status is not PushStatus.UPDATED, random.random()))  # noqa: S311 - an order
    try:
        context = BusinessContext(client, settings, seconds=FORMS_SECONDS)
        tables = [result.table for result in results]
        report = push_to([context], discovery, tables=tables, dry_run=pushed.dry_run)
        return replace(report, results=tuple(map(context.told, report.results)))
    except Exception as error:  # whatever it is, the push to the tables themselves is done
        logger.exception("The push to Glue's business context failed")
        return PushReport(
            tuple(
                TableResult(each.table, each.database, each.table_name, PushStatus.FAILED, repr(error))
                for each in results
            ),
            pushed.dry_run,
        )


def push_to(
    catalogs: Sequence[AnyCatalog],
    discovery: Discovery,
    *,
    tables: Collection[str] | None = None,
    dry_run: bool = False,
    progress: ProgressCallback | None = None,
) -> PushReport:
    """Push to the tables of these kinds of catalogs, in their order.

    Args:
        discovery: As for `push_tables`.
        tables: The tables to push, by node id, qualified name or dotted name, ignoring case; None means all.
        progress: Called after each table with the number of tables of its kind that are done, the total of
            that kind, and the result.
    """
    graph = discovery.graph
    nodes = [list(catalog.tables(graph)) for catalog in catalogs]
    selected, unknown = (nodes, []) if tables is None else _select(catalogs, nodes, tables)
    lineage = _Lineage(graph, UpstreamIndex.of(graph), Gaps(graph, discovery.coverage))
    results: list[TableResult] = []
    calls: Counter[str] = Counter()
    for catalog, every, chosen in zip(catalogs, nodes, selected, strict=True):
        if chosen or unknown:
            run = TableRun(catalog.settings.max_concurrency, progress)
            run.total = len(chosen) + len(unknown)
            targets = []
            for target in (*catalog.targets(chosen), *unknown):
                if isinstance(target, TableResult):
                    run.done(target)
                else:
                    targets.append(target)
            existing = [node for node in every if catalog.exists(node)]
            _Push(catalog, discovery, lineage, run, dry_run).tables(targets, existing)
            order = [*(node.node_id for node in chosen), *(result.table for result in unknown)]
            results += [run.results[key] for key in order]
            unknown = []
        calls.update(catalog.calls)
    return PushReport(tuple(results), dry_run, dict(calls))


def _select(
    catalogs: Sequence[AnyCatalog], nodes: Sequence[Sequence[Node]], names: Collection[str]
) -> tuple[list[list[Node]], list[TableResult]]:
    """The nodes of each kind of catalog that these names select, and a failure for each name of none."""
    known: list[dict[str, list[Node]]] = []
    for catalog, tables in zip(catalogs, nodes, strict=True):
        by_name: dict[str, list[Node]] = {}
        for node in tables:
            for name in set(catalog.names_of(node)):
                by_name.setdefault(name, []).append(node)
        known.append(by_name)
    selected: list[dict[str, Node]] = [{} for _ in catalogs]
    unknown = []
    for name in dict.fromkeys(names):
        # `lake.sales.orders` names a table of the catalog `lake` before one of Glue's database `lake`.
        for by_name, chosen in zip(reversed(known), reversed(selected), strict=True):
            if found := by_name.get(name) or by_name.get(name.lower()):
                chosen.update((node.node_id, node) for node in found)
                break
        else:
            unknown.append(_unknown_table(name, [each for by_name in known for each in by_name]))
    return [list(chosen.values()) for chosen in selected], unknown


def _unknown_table(name: str, known: Sequence[str]) -> TableResult:
    database, _, table = name.removeprefix("glue://").replace("/", ".", 1).partition(".")
    return TableResult(
        name,
        database,
        table,
        PushStatus.FAILED,
        f"The graph has no Glue table {name}.",
        did_you_mean(name.lower(), [other for other in known if ":" not in other])
        + "Name tables as DB.TABLE; `lineage-bridge push --dry-run` lists them.",
    )


def removal_limit(tables: int, share: float) -> int:
    """How many tables may lose their lineage at once: no more than the share, and one unless it is 0.

    >>> removal_limit(29, 0.1), removal_limit(30, 0.1), removal_limit(3, 0.1), removal_limit(3, 0)
    (2, 3, 1, 0)
    """
    # 0.29 * 100 is a little less than 29.
    return max(math.floor(share * tables + 1e-9), 1) if share else 0


@dataclass(frozen=True, slots=True)
class _Lineage:
    graph: Graph
    index: UpstreamIndex
    gaps: Gaps

    def reaches(self, node: Node) -> bool:
        return bool(self.index.sources(node.node_id))


@dataclass(frozen=True, slots=True)
class _Push:
    """The push to the tables of one kind of catalog, concurrently; the results go to `run`."""

    catalog: AnyCatalog
    discovery: Discovery
    lineage: _Lineage
    run: TableRun
    dry_run: bool

    def tables(self, targets: Sequence[PushTarget], existing: Collection[Node]) -> None:
        """Push to these tables.

        Tables without upstream come first, and lose our lineage unless that would be too many at once. Those
        whose lineage another instance wrote are not ours: they are skipped, and count for nothing.

        Args:
            existing: All tables of the graph that exist in such a catalog.
        """
        fed = [target for target in targets if self.lineage.reaches(target.node)]
        losses = list(self._losses([target for target in targets if not self.lineage.reaches(target.node)]))
        lost = [target for target, _, loses in losses if loses]
        # Tables outside the selection count as well, or pushes of a few tables each could remove everything.
        orphans = [node for node in existing if not self.lineage.reaches(node)]
        count = max(len(lost), sum(map(self._carries_ours, orphans)))
        ours = len(existing) - sum(bool(self._owner(GlueTableNode.of(node).parameters)) for node in orphans)
        share = self.catalog.settings.max_removal_share
        limit = removal_limit(ours, share)
        if self.discovery.coverage.covers_all_table_sources and count > limit:
            reason = (
                f"{count} of {ours} tables have no upstream any more, and one push may remove the "
                f"lineage of at most {limit} ({share:.0%}): none was removed"
            )
            hint = "If this is expected, raise LINEAGE_BRIDGE_PUSH_MAX_REMOVAL_SHARE for one push."
            for target in lost:
                self.run.done(target.result(PushStatus.REFUSED, reason, hint))
        remaining = (each[:2] for each in losses if each[0].node.node_id not in self.run.results)
        self.run.each(remaining, self._push)
        self.run.each(self.catalog.read_many(fed), self._push)

    def _push(self, target: PushTarget, record: Any) -> TableResult:
        if not self.lineage.reaches(target.node):
            complete = self.discovery.coverage.covers_all_table_sources
            result = push_table(
                self.catalog, target, None, complete=complete, table=record, dry_run=self.dry_run
            )
            return self._left_alone(result)
        chain = chain_of(self.lineage.graph, target.node.node_id, self.lineage.index, gaps=self.lineage.gaps)
        return push_table(
            self.catalog, target, chain, complete=chain.complete, table=record, dry_run=self.dry_run
        )

    def _left_alone(self, result: TableResult) -> TableResult:
        owner = self._owner(result.before)
        if result.status is not PushStatus.REFUSED or not owner:
            return result
        reason = f"it has no upstream here, and its lineage belongs to another instance, {owner}"
        return replace(result, status=PushStatus.SKIPPED, reason=reason, hint="")

    def _losses(self, targets: Sequence[PushTarget]) -> Iterator[tuple[PushTarget, Any, bool]]:
        """Each target with its table, if it was read, and whether a push would remove lineage from it."""
        removal = Wanted(None, True, "")
        for target, table in self.catalog.read_many(targets, each=True):
            if table is None:
                yield target, None, self._carries_ours(target.node)
                continue
            plan = self.catalog.plan(table, removal, self.catalog.settings)
            yield target, table, not isinstance(plan, NoChange | Hold | Refuse)

    def _carries_ours(self, node: Node) -> bool:
        """Whether the discovery found lineage on a table that is ours to remove."""
        parameters = GlueTableNode.of(node).parameters
        return any(key.startswith(PREFIX) for key in parameters) and not self._owner(parameters)

    def _owner(self, parameters: Mapping[str, str]) -> str:
        """The other instance that a table's lineage belongs to and stays with; empty if there is none."""
        settings = self.catalog.settings
        return "" if settings.take_over else other_owner(parameters, settings)
