"""A headless Chromium with a new page per test, and a screenshot at the end of each test."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, WebSocket, expect, sync_playwright

from lineage_bridge_dagster_tests.browser.by_hand import automation_off
from lineage_bridge_dagster_tests.browser.chromium import (
    FLAGS,
    ChromiumMissingError,
    find_chromium,
    leaves_loopback,
)
from lineage_bridge_dagster_tests.browser.pages import DagsterPages
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi
from lineage_bridge_dagster_tests.live import LiveStack

#: CI output, ignored by git.
SCREENSHOTS = Path(__file__).resolve().parents[2] / "ci-output" / "screenshots"

#: Default timeout in milliseconds for what a test expects on a page.
TIMEOUT = 30_000

_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_failed] = item.stash.get(_failed, False) or report.failed
    return report


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser's executable; without one the test is skipped, or fails in CI."""
    try:
        return find_chromium()
    except ChromiumMissingError as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


# Package-scoped: Playwright's event loop runs in this thread, and tests of other folders start their own.
@pytest.fixture(scope="package")
def browser(chromium: Path) -> Iterator[Browser]:
    """The browser that a worker's tests share."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class PageMonitor:
    """Records a page's errors and its requests to other machines."""

    #: URLs that would have left this machine.
    external_requests: list[str] = field(default_factory=list)
    #: Console errors and uncaught exceptions.
    errors: list[str] = field(default_factory=list)

    def on_request(self, request: Request | WebSocket) -> None:
        if leaves_loopback(request.url):
            self.external_requests.append(request.url)

    def on_console_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def watch(self, page: Page) -> None:
        page.context.on("request", self.on_request)
        page.on("websocket", self.on_request)
        page.on("console", self.on_console_message)
        page.on("pageerror", lambda error: self.errors.append(str(error)))


@pytest.fixture
def page_monitor() -> PageMonitor:
    """The monitor of the test's page."""
    return PageMonitor()


@pytest.fixture
def page(browser: Browser, page_monitor: PageMonitor, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page with its own browser context; fails the test if the page requests anything off this machine."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(TIMEOUT)
    expect.set_options(timeout=TIMEOUT)
    page_monitor.watch(page)
    yield page
    name = re.sub(r"\W+", "_", request.node.name).strip("_")
    for outdated in SCREENSHOTS.glob(f"{name}.*"):
        outdated.unlink()
    failed = request.node.stash.get(_failed, False)
    _save_screenshot(page, f"{name}.failed" if failed else name)
    if page_monitor.errors:
        (SCREENSHOTS / f"{name}.errors.txt").write_text("\n".join(page_monitor.errors), encoding="utf-8")
    context.close()
    assert not page_monitor.external_requests


def _save_screenshot(page: Page, name: str) -> None:
    page.screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled")


@pytest.fixture
def picture(page: Page) -> Callable[[str], None]:
    """Saves a screenshot for the README under its name there."""
    return lambda name: _save_screenshot(page, f"readme/{name}")


@pytest.fixture
def dagster(page: Page, all_pushed: LiveStack, live_ui: DagsterUi) -> DagsterPages:
    """The UI on the running stack, with the lineage of the sample world pushed."""
    return DagsterPages(page, live_ui.url)


@pytest.fixture
def manual_stack(all_pushed: LiveStack, live_ui: DagsterUi) -> Iterator[LiveStack]:
    """The running stack, with the sensor and the schedules stopped during the test."""
    with automation_off(live_ui):
        yield all_pushed
