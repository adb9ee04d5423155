"""A running platform's asset graph: a table's upstream lineage, and a new table that appears by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from lineage_bridge_dagster_tests.browser.pages import DagsterPages

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]

#: Timeout in seconds for a table to be written, discovered and shown in the graph.
TABLE_TIMEOUT = 240


def test_the_graph_shows_a_table_with_all_its_upstream_assets(
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
    # Unrelated assets are not shown.
    expect(dagster.node("clickstream")).to_have_count(0)
    # The table and its chain are shown as materialized.
    expect(dagster.node("orders.v1").locator("[style*=green]")).to_have_count(2)
    picture("graph")


def test_the_lineage_link_of_a_tables_metadata_opens_its_upstream_graph(
    dagster: DagsterPages, page: Page
) -> None:
    dagster.open_asset("glue/lkc-7k2m9p/orders.v1")
    link = dagster.metadata("lineage_bridge/lineage").get_by_role("link").first
    # Opened directly, as the link opens a new window.
    page.goto(dagster.url + (link.get_attribute("href") or ""))
    for label in ("postgres-shop-cdc", "enrich-orders"):
        expect(dagster.node(label)).to_have_count(1)


def test_a_new_table_appears_in_the_open_graph_by_itself(
    dagster: DagsterPages, page: Page, request: pytest.FixtureRequest
) -> None:
    dagster.open_graph('key:"glue/analytics_eu/*"')
    dagster.expand_all_groups()
    expect(dagster.node("orders.v1")).to_be_visible()
    expect(dagster.node("payments-v1")).to_have_count(0)
    loads: list[str] = []
    page.on("load", lambda loaded: loads.append(loaded.url))
    request.getfixturevalue("new_tables")
    expect(dagster.node("payments-v1")).to_be_visible(timeout=TABLE_TIMEOUT * 1000)
    expect(dagster.node("payments-v1")).to_contain_text("Materialized", timeout=TABLE_TIMEOUT * 1000)
    assert not loads
