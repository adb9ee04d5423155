"""The pages of tables beyond Glue: of the S3 Tables bucket, and of Tableflow's own catalog."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from lineage_bridge_dagster.embedded.arrived import Arrived
from lineage_bridge_dagster_tests.browser.pages import DagsterPages
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi, eventually
from lineage_bridge_dagster_tests.live import LiveStack

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]

IN_BUCKET = "glue/s3tables/sales/open_orders"
IN_TABLEFLOW = "glue/tableflow/lkc-7k2m9p/inventory-products"


def test_a_table_of_the_s3_tables_bucket_shows_what_was_pushed(
    dagster: DagsterPages, page: Page, all_pushed: LiveStack, live_ui: DagsterUi
) -> None:
    arrived = Arrived(all_pushed.stack)
    table = "s3tables.sales.open_orders"
    eventually(
        lambda: (found := arrived.tables().get(table)) and found.has_lineage, 300, f"lineage of {table}", 2
    )
    eventually(lambda: live_ui.metadata(IN_BUCKET) or None, 120, f"a materialization of {IN_BUCKET}")
    dagster.open_asset(IN_BUCKET)
    expect(page.get_by_text("Iceberg table open_orders in namespace sales").first).to_be_visible()
    dagster.hide_navigation()
    for line in ("topic orders.open", "connector lakehouse-iceberg", "ksqlDB query CTAS_OPEN_ORDERS_5"):
        expect(page.get_by_text(line).first).to_be_visible()


def test_a_table_in_confluents_own_storage_says_where_its_lineage_is(
    dagster: DagsterPages, page: Page, live_ui: DagsterUi
) -> None:
    eventually(lambda: IN_TABLEFLOW in live_ui.assets() or None, 300, f"the asset {IN_TABLEFLOW}")
    dagster.open_asset(IN_TABLEFLOW)
    dagster.hide_navigation()
    expect(page.get_by_text("Tableflow's catalog takes no properties").first).to_be_visible()
    expect(page.get_by_text("managed by Confluent").first).to_be_visible()
