"""The push of a discovery to the tables of one kind of catalog, concurrently."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from lineage_bridge_dagster.catalogs.lineage_catalog import PushTarget
from lineage_bridge_dagster.catalogs.table_runs import TableRun
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.lineage.chains import Chain, chain_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.lineage.ownership import other_owner
from lineage_bridge_dagster.lineage.push_results import PushStatus, TableResult
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex

T = TypeVar("T", bound=PushTarget)
R = TypeVar("R")


class TablesPort(Protocol[T, R]):
    """The tables of a kind of catalog."""

    def read(self, targets: Iterable[T]) -> Iterable[tuple[T, R | None]]:
        """Each target with its table, or None if it has to be read on its own."""

    def losses(self, targets: Iterable[T]) -> Iterable[tuple[T, R | None, bool]]:
        """The same, and whether a push without upstream would remove lineage from the table."""

    def write(self, target: T, chain: Chain | None, complete: bool, record: R | None) -> TableResult:
        """Push the lineage of one table; without a chain, remove ours."""


def carries_lineage(node: Node, settings: PushSettings) -> bool:
    """Whether the discovery found lineage on a table that is ours to remove."""
    parameters = GlueTableNode.of(node).parameters
    return any(key.startswith(PREFIX) for key in parameters) and not _owner(parameters, settings)


def _owner(parameters: Mapping[str, str], settings: PushSettings) -> str:
    """The other instance that a table's lineage belongs to and stays with; empty if there is none."""
    return "" if settings.take_over else other_owner(parameters, settings)


def removal_limit(tables: int, share: float) -> int:
    """How many tables may lose their lineage at once: no more than the share, and one unless it is 0.

    >>> removal_limit(29, 0.1), removal_limit(30, 0.1), removal_limit(3, 0.1), removal_limit(3, 0)
    (2, 3, 1, 0)
    """
    # 0.29 * 100 is a little less than 29.
    return max(math.floor(share * tables + 1e-9), 1) if share else 0


def push_lineage(
    port: TablesPort[T, R],
    discovery: Discovery,
    targets: Sequence[T],
    existing: Collection[Node],
    settings: PushSettings,
    run: TableRun,
) -> None:
    """Push the lineage of these tables, and put the results into `run`.

    Tables without upstream come first, and lose our lineage unless that would be too many at once. Those
    whose lineage another instance wrote are not ours: they are skipped, and count for nothing.

    Args:
        port: the tables.
        discovery: the graph, and the coverage that decides which lineage may be shortened or removed.
        targets: the selected tables.
        existing: all tables of the graph that exist in such a catalog.
        settings: limits.
    """
    graph, coverage = discovery.graph, discovery.coverage
    index, gaps = UpstreamIndex.of(graph), Gaps(graph, coverage)

    def has_upstream(node: Node) -> bool:
        return bool(index.sources(node.node_id))

    def push(target: T, record: R | None) -> TableResult:
        if not has_upstream(target.node):
            return left_alone(port.write(target, None, coverage.covers_all_table_sources, record))
        chain = chain_of(graph, target.node.node_id, index, gaps=gaps)
        return port.write(target, chain, chain.complete, record)

    def left_alone(result: TableResult) -> TableResult:
        owner = _owner(result.before, settings)
        if result.status is not PushStatus.REFUSED or not owner:
            return result
        reason = f"it has no upstream here, and its lineage belongs to another instance, {owner}"
        return replace(result, status=PushStatus.SKIPPED, reason=reason, hint="")

    losses = list(port.losses([target for target in targets if not has_upstream(target.node)]))
    lost = [target for target, _, loses in losses if loses]
    # Tables outside the selection count as well, or pushes of a few tables each could remove everything.
    in_graph = sum(not has_upstream(node) and carries_lineage(node, settings) for node in existing)
    of_others = sum(
        not has_upstream(node) and bool(_owner(GlueTableNode.of(node).parameters, settings))
        for node in existing
    )
    count, ours = max(len(lost), in_graph), len(existing) - of_others
    limit = removal_limit(ours, settings.max_removal_share)
    if coverage.covers_all_table_sources and count > limit:
        share = settings.max_removal_share
        reason = (
            f"{count} of {ours} tables have no upstream any more, and one push may remove the "
            f"lineage of at most {limit} ({share:.0%}): none was removed"
        )
        hint = "If this is expected, raise LINEAGE_BRIDGE_PUSH_MAX_REMOVAL_SHARE for one push."
        for target in lost:
            run.done(target.result(PushStatus.REFUSED, reason, hint))
    run.each(
        ((target, record) for target, record, _ in losses if target.node.node_id not in run.results), push
    )
    run.each(port.read([target for target in targets if has_upstream(target.node)]), push)
