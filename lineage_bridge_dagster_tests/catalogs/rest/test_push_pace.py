"""The calls of a push to a REST catalog: how many for how many tables, and how many a second."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lineage_bridge_dagster.catalogs.calls import Pace
from lineage_bridge_dagster.catalogs.rest.rest_catalogs import IcebergTarget
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.catalogs.table_push import TableRun, push_table
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table
from lineage_bridge_dagster_tests.catalogs.glue.light_glue import Limit
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock, no_sleep
from lineage_bridge_dagster_tests.catalogs.glue.virtual_time import virtual_time
from lineage_bridge_dagster_tests.catalogs.rest.light_rest import NAMESPACE, LightRest
from lineage_bridge_dagster_tests.catalogs.rest.tables import opened

TABLES = 150


def push_all(
    rest: LightRest, *, threads: int = 8, sleep: Callable[[float], None] = no_sleep, pace: Pace | None = None
) -> set[PushStatus]:
    """Push to all tables of the catalog, and return what became of them."""
    graph = Graph()
    limits = {"pace": lambda: pace} if pace else {}
    catalogs = opened(rest.open(), PushSettings(), clock=clock, sleep=sleep, **limits)
    targets = [IcebergTarget(add_table(graph, name), "light", (NAMESPACE,), name) for name in rest.tables]
    index = UpstreamIndex.of(graph)
    run = TableRun(threads)
    run.each(
        ((target, None) for target in targets),
        lambda target, _: push_table(
            catalogs, target, chain_of(graph, target.node.node_id, index), complete=True
        ),
    )
    assert len(run.results) == len(targets)
    return {result.status for result in run.results.values()}


def tables(rest: LightRest) -> LightRest:
    for number in range(TABLES):
        rest.add(f"t{number:04d}")
    return rest


def test_a_table_takes_a_load_and_a_commit_and_one_in_sync_a_load() -> None:
    rest = tables(LightRest())
    assert push_all(rest) == {PushStatus.UPDATED}
    assert rest.traffic.calls == {"LoadTable": TABLES, "CommitTable": TABLES}
    rest.traffic.calls.clear()
    assert push_all(rest) == {PushStatus.UNCHANGED}
    assert rest.traffic.calls == {"LoadTable": TABLES}
    assert {table["properties"]["owner"] for table in rest.tables.values()} == {"theirs"}


@pytest.mark.parametrize("threads", [8, 32])
def test_throttled_push_keeps_the_rate_that_the_catalog_allows(threads: int) -> None:
    rate = 20
    with virtual_time() as time:
        rest = tables(LightRest(0.03, clock=time.time, sleep=time.sleep))
        rest.limit = Limit(rate, clock=time.time)
        start = time.now
        pace = Pace(time.time, time.sleep)
        assert push_all(rest, threads=threads, sleep=time.sleep, pace=pace) == {PushStatus.UPDATED}
        seconds = time.now - start
    assert set(rest.commits.values()) == {1}
    assert (rest.traffic.total - rest.traffic.throttled) / seconds >= 0.9 * rate
    assert rest.traffic.throttled <= threads + 0.1 * rest.traffic.total
