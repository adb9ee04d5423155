"""The graph of a running platform: where a table is from, and a new table without a hand on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from lineage_bridge_dagster.embedded.world import actions
from lineage_bridge_dagster_tests.browser.pages import DagsterPages
from lineage_bridge_dagster_tests.live import LiveStack

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]

#: Seconds for a table to be written, found and put into the graph.
APPEARS = 240


def test_a_table_stands_in_the_graph_with_all_that_is_upstream_of_it(
    dagster: DagsterPages, picture: Callable[[str], None]
) -> None:
    dagster.open_graph('+key:"glue/lkc-7k2m9p/orders.v1"')
    dagster.hide_navigation()
    dagster.hide_groups()
    dagster.expand_all_groups()
    for label in ("postgres-shop-cdc", "shop.public.orders", "enrich-orders"):
        expect(dagster.node(label)).to_have_count(1)
    # The topic, its table and the table's chain.
    expect(dagster.node("orders.v1")).to_have_count(3)
    # Nothing that is beside it.
    expect(dagster.node("clickstream")).to_have_count(0)
    # The table and its chain are drawn as materialized.
    expect(dagster.node("orders.v1").locator("[style*=green]")).to_have_count(2)
    picture("graph")


def test_the_link_of_a_tables_metadata_opens_all_that_is_upstream_of_it(
    dagster: DagsterPages, page: Page
) -> None:
    dagster.open_asset("glue/lkc-7k2m9p/orders.v1")
    link = dagster.metadata("lineage_bridge/lineage").get_by_role("link").first
    # It would open in a window of its own.
    page.goto(dagster.url + (link.get_attribute("href") or ""))
    for label in ("postgres-shop-cdc", "enrich-orders"):
        expect(dagster.node(label)).to_have_count(1)


def test_a_new_table_appears_in_the_open_graph_by_itself(
    dagster: DagsterPages, page: Page, all_pushed: LiveStack
) -> None:
    dagster.open_graph('key:"glue/analytics_eu/*"')
    dagster.expand_all_groups()
    expect(dagster.node("orders.v1")).to_be_visible()
    expect(dagster.node("payments-v1")).to_have_count(0)
    loads: list[str] = []
    page.on("load", lambda loaded: loads.append(loaded.url))
    actions.enable_tableflow(all_pushed.stack.home, "payments-v1")
    expect(dagster.node("payments-v1")).to_be_visible(timeout=APPEARS * 1000)
    expect(dagster.node("payments-v1")).to_contain_text("Materialized", timeout=APPEARS * 1000)
    assert not loads
