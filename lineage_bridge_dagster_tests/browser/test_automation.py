"""The sensor's page: its switch, and the logs of its ticks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from lineage_bridge_dagster_tests.browser.by_hand import turn_on
from lineage_bridge_dagster_tests.browser.pages import DagsterPages
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi, eventually

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]

SENSOR = "lineage_sensor"


@pytest.fixture
def restart_sensor(live_ui: DagsterUi) -> Iterator[None]:
    """Restart the sensor after the test, whatever its outcome."""
    yield
    turn_on(live_ui, SENSOR)


@pytest.mark.usefixtures("restart_sensor")
def test_the_sensor_can_be_turned_off_and_on_from_its_page_and_ticks_again(
    dagster: DagsterPages, page: Page, live_ui: DagsterUi, picture: Callable[[str], None]
) -> None:
    dagster.open_sensor(SENSOR)
    checkbox = page.get_by_role("checkbox")
    expect(checkbox).to_be_checked()
    _switch(checkbox, live_ui, on=False)

    turned_on = time.time()
    _switch(checkbox, live_ui, on=True)
    live_ui.await_tick(SENSOR, turned_on)
    # Without the filter from the start, the first of the logs is that of a tick which requested nothing.
    dagster.open_sensor(SENSOR, status="success")
    page.get_by_text("View logs").first.click()
    expect(page.get_by_role("dialog").get_by_text("Requesting").first).to_be_visible()
    picture("sensor")


def _switch(checkbox: Locator, ui: DagsterUi, *, on: bool) -> None:
    """Click the switch until the sensor's stored status stays what it shows.

    Dagster's daemon writes back the status that it read before a tick, when the tick starts and when it ends,
    so a click at either moment is undone.
    """

    def switched() -> bool:
        if checkbox.is_checked() != on:
            # The visible switch covers the checkbox.
            checkbox.dispatch_event("click")
            expect(checkbox).to_be_checked(checked=on)
        state = ui.sensor(SENSOR)
        ticking = any(tick["status"] == "STARTED" for tick in state["ticks"])
        return state["status"] == ("RUNNING" if on else "STOPPED") and (on or not ticking)

    turned = f"the sensor to be turned {'on' if on else 'off'}"
    # Both the page and the daemon look at the status only every few seconds.
    eventually(lambda: switched() or None, 180, turned, interval=2)
