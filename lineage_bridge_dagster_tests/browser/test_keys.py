"""Assets with special characters in their names open by the UI's own links."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from lineage_bridge_dagster_tests.browser.pages import DagsterPages

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]


KEYS = {
    "glue/lkc-7k2m9p/orders-v1": "orders-v1",
    "kafka/lkc-4x8w1q/Customer.Profiles-EU": "Customer.Profiles-EU",
    "external/postgres:||pg-shop.example:5432|shop.public.orders": (
        "postgres://pg-shop.example:5432/shop.public.orders"
    ),
}


def test_assets_open_from_the_asset_list_and_by_their_urls(dagster: DagsterPages, page: Page) -> None:
    dagster.open_list(" or ".join(f'key:"{key}"' for key in KEYS))
    for key, text in KEYS.items():
        page.get_by_role("link").filter(has_text=key.replace("/", " / ")).click()
        _expect_shown(page, text)
        # As somebody does who was sent the link.
        page.reload()
        _expect_shown(page, text)
        page.go_back()


def _expect_shown(page: Page, text: str) -> None:
    """Expect the asset's page with its content: the UI has a page for unknown keys, too."""
    expect(page.get_by_text("lineage_bridge/node_id")).to_be_visible()
    expect(page.get_by_text(re.compile(re.escape(text))).first).to_be_visible()
