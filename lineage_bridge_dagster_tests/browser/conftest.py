"""A headless Chromium, a fresh page for each test, and a picture of how each test ended."""

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

#: Kept after a run, as CI output; not in git.
SCREENSHOTS = Path(__file__).resolve().parents[2] / "ci-output" / "screenshots"

#: Milliseconds that a page gets to show what is waited for, where a test does not say otherwise.
PATIENCE = 30_000

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
    """The executable. Without one the test is skipped, but in CI it must be there."""
    try:
        return find_chromium()
    except ChromiumMissingError as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


# Playwright keeps an event loop running in the thread, and tests of other folders start loops of their own.
@pytest.fixture(scope="package")
def browser(chromium: Path) -> Iterator[Browser]:
    """One browser for all of this folder's tests in a worker."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Witness:
    """What a page did besides showing itself."""

    #: Requests that would have left this machine.
    outside: list[str] = field(default_factory=list)
    #: Errors of its console, and exceptions that nobody caught.
    errors: list[str] = field(default_factory=list)

    def saw_request(self, request: Request | WebSocket) -> None:
        if leaves_loopback(request.url):
            self.outside.append(request.url)

    def saw_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def watch(self, page: Page) -> None:
        page.context.on("request", self.saw_request)
        page.on("websocket", self.saw_request)
        page.on("console", self.saw_message)
        page.on("pageerror", lambda error: self.errors.append(str(error)))


@pytest.fixture
def witness() -> Witness:
    """What the test's page asked for and complained of, so far."""
    return Witness()


@pytest.fixture
def page(browser: Browser, witness: Witness, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page with nothing remembered from another test. It needs nothing from outside this machine."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    witness.watch(page)
    yield page
    name = re.sub(r"\W+", "_", request.node.name).strip("_")
    for before in SCREENSHOTS.glob(f"{name}.*"):
        before.unlink()
    failed = request.node.stash.get(_failed, False)
    _keep(page, f"{name}.failed" if failed else name)
    if witness.errors:
        (SCREENSHOTS / f"{name}.errors.txt").write_text("\n".join(witness.errors), encoding="utf-8")
    context.close()
    assert not witness.outside


def _keep(page: Page, name: str) -> None:
    page.screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled")


@pytest.fixture
def picture(page: Page) -> Callable[[str], None]:
    """Keeps a picture for the README, by the name that it has there."""
    return lambda name: _keep(page, f"readme/{name}")


@pytest.fixture
def dagster(page: Page, all_pushed: LiveStack, live_ui: DagsterUi) -> DagsterPages:
    """The UI on the running stack, every table of the sample world with its lineage."""
    return DagsterPages(page, live_ui.url)


@pytest.fixture
def by_hand(all_pushed: LiveStack, live_ui: DagsterUi) -> Iterator[LiveStack]:
    """The running stack with the sensor and the schedules off for the test."""
    with automation_off(live_ui):
        yield all_pushed
