"""Names that other systems fold or break open by the UI's own links."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from lineage_bridge_dagster_tests.browser.pages import DagsterPages

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("glue/lkc-7k2m9p/orders.v1", "orders.v1"),
        ("glue/lkc-7k2m9p/orders-v1", "orders-v1"),
        ("kafka/lkc-4x8w1q/Customer.Profiles-EU", "Customer.Profiles-EU"),
        (
            "external/postgres:||pg-shop.example:5432|shop.public.orders",
            "postgres://pg-shop.example:5432/shop.public.orders",
        ),
    ],
    ids=["dots", "hyphens", "capitals", "slashes"],
)
def test_an_asset_opens_by_the_link_of_the_list_and_by_its_address(
    key: str, says: str, dagster: DagsterPages, page: Page
) -> None:
    dagster.open_list(f'key:"{key}"')
    page.get_by_role("link").filter(has_text=key.replace("/", " / ")).click()
    _is_shown(page, says)
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    _is_shown(page, says)


def _is_shown(page: Page, says: str) -> None:
    """The asset's own page, with what it says of itself: the UI has a page for an unknown key, too."""
    expect(page.get_by_text("lineage_bridge/node_id")).to_be_visible()
    expect(page.get_by_text(re.compile(re.escape(says))).first).to_be_visible()
