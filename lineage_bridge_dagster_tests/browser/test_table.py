"""A Glue table's page: its checks, a manual materialization, and the metadata that it shows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from lineage_bridge_dagster_tests.browser.by_hand import wipe_lineage
from lineage_bridge_dagster_tests.browser.pages import DagsterPages
from lineage_bridge_dagster_tests.live import LiveStack

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]

DATABASE, TABLE = "analytics_eu", "revenue.global"
KEY = f"glue/{DATABASE}/{TABLE}"
CHECK = {"view": "checks", "checkDetail": "lineage_in_sync"}


def test_a_wiped_tables_check_fails_and_materializing_it_fixes_it_and_shows_the_diff(
    dagster: DagsterPages, page: Page, manual_stack: LiveStack, picture: Callable[[str], None]
) -> None:
    wipe_lineage(manual_stack, f"{DATABASE}.{TABLE}")
    dagster.open_asset(KEY, **CHECK)
    for check in ("schema_matches", "tableflow_healthy"):
        expect(page.get_by_text(check).first).to_be_visible()
    dagster.await_success(dagster.launch("Execute"))
    dagster.open_asset(KEY, **CHECK)
    expect(_result(page)).to_have_text("Failed")
    expect(page.get_by_text("What to do:")).to_be_visible()
    picture("checks")

    dagster.open_asset(KEY)
    dagster.await_success(dagster.launch("Materialize"))
    assert "lineage_bridge.digest" in manual_stack.tables()[f"{DATABASE}.{TABLE}"].parameters
    dagster.open_asset(KEY, **CHECK)
    expect(_result(page)).to_have_text("Passed")

    dagster.open_asset(KEY)
    dagster.hide_navigation()
    expect(dagster.metadata("lineage_bridge/diff")).to_be_visible()
    picture("table")
    diff = dagster.read("lineage_bridge/diff", lambda: picture("diff"))
    assert "lineage_bridge.source_topics" in diff
    assert "Revenue.Global,orders.v1" in diff
    tree = dagster.read("lineage_bridge/description_tree", lambda: picture("tree"))
    for line in ("- external_dataset: mysql://", "- connector: eu-orders-cdc", "- topic: Revenue.Global"):
        assert line in tree
    assert tree.index("external_dataset: postgres://") < tree.index("tableflow_table: lkc-4x8w1q")


def test_a_chains_page_shows_its_drawing(
    dagster: DagsterPages, page: Page, picture: Callable[[str], None]
) -> None:
    dagster.open_asset("upstream_chain/lkc-7k2m9p/orders.v1")
    dagster.metadata("lineage_bridge/drawing").get_by_text("[Show Markdown]").click()
    image = page.get_by_role("dialog").locator("img")
    expect(image).to_be_visible()
    # An image that the UI's content policy blocks, or that is not an SVG, has no width.
    assert image.evaluate("image => image.naturalWidth") > 100
    picture("drawing")


def test_a_topics_page_shows_what_it_feeds_to_the_column(
    dagster: DagsterPages, picture: Callable[[str], None]
) -> None:
    dagster.open_asset("kafka/lkc-7k2m9p/orders.v1")
    fed = dagster.read("lineage_bridge/downstream", lambda: picture("downstream"))
    assert "Feeds 2 connectors" in fed
    for kind in ("table", "Flink statement", "topic"):
        assert kind in fed
    assert "revenue.global" in fed


def _result(page: Page) -> Locator:
    """Locate the text below `Evaluation result` on a check's tab."""
    return page.get_by_text("Evaluation result", exact=True).locator("xpath=following::*[text()][1]")
