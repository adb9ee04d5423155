"""Page objects of Dagster's UI, which locate elements by text because the UI has no test ids."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from playwright.sync_api import Locator, Page, TimeoutError, expect
from tenacity import retry, retry_if_exception_type, stop_after_attempt

#: Timeout in milliseconds for a run, including its time in the queue and the start of its process.
RUN_TIMEOUT = 180_000


def exactly(text: str) -> re.Pattern[str]:
    """Return a pattern for an element whose entire text is `text`."""
    return re.compile(rf"^\s*{re.escape(text)}\s*$")


@dataclass(frozen=True)
class DagsterPages:
    """A browser page on the UI at `url`."""

    page: Page
    url: str

    def open_asset(self, key: str, **view: str) -> None:
        """Open the page of an asset key, with parts joined by `/`; `view="checks"` and such open a tab."""
        path = "/".join(quote(part, safe="") for part in key.split("/"))
        query = "&".join(f"{name}={value}" for name, value in view.items())
        self.page.goto(f"{self.url}/assets/{path}?{query}")

    def open_graph(self, selection: str = "") -> None:
        """Open the asset graph, optionally limited to a selection."""
        self.page.goto(f"{self.url}/asset-groups" + (f"~{quote(selection, safe='')}" if selection else ""))
        expect(self.node().first).to_be_visible()

    def select(self, selection: str) -> None:
        """Type a selection into the open graph's search field."""
        field = self.page.locator(".CodeMirror")
        field.click()
        self.page.keyboard.type(selection)
        self.page.keyboard.press("Enter")
        # Leave the field, which would take shortcuts as text.
        field.locator("textarea").evaluate("field => field.blur()")

    def hide_navigation(self) -> None:
        """Hide the navigation, on this and all later pages."""
        self.page.get_by_text("Hide navigation").click()

    def hide_groups(self) -> None:
        """Hide the list of groups next to the open graph."""
        # The navigation's button, which comes first, has the same icon.
        self.page.get_by_role("img", name="panel_show_right").last.click()

    def open_list(self, selection: str) -> None:
        """Open the catalog's list of the assets in a selection."""
        self.page.goto(f"{self.url}/assets?asset-selection={quote(selection, safe='')}")

    def open_sensor(self, sensor: str, **ticks: str) -> None:
        """Open the page of a sensor; `status="success"` lists only the ticks that requested a run."""
        query = "&".join(f"{name}={value}" for name, value in ticks.items())
        self.page.goto(f"{self.url}/locations/lineage_bridge_dagster/sensors/{sensor}?{query}")

    def node(self, label: str | None = None) -> Locator:
        """Locate the graph's nodes, including groups, by their label; nodes out of view do not exist."""
        nodes = self.page.locator("foreignObject:visible").filter(has_text=re.compile(r"\S"))
        return nodes if label is None else nodes.filter(has=self.page.get_by_text(label, exact=True))

    def expand_all_groups(self) -> None:
        """Expand all groups, provided that none is expanded: otherwise the shortcut collapses them."""
        self.page.keyboard.press("Alt+KeyE")

    def button(self, text: str) -> Locator:
        """Locate a button by its text, since its accessible name starts with its icon's."""
        return self.page.get_by_role("button").filter(has_text=exactly(text))

    def launch(self, button: str) -> str:
        """Press a button that launches a run and return the run's id."""
        self.button(button).click()
        link = self.page.get_by_role("link", name="View", exact=True)
        return _run_id(link.get_attribute("href") or "")

    def await_success(self, run_id: str) -> None:
        """Wait for a run to end and assert its success."""
        self.page.goto(f"{self.url}/runs/{run_id}")
        status = self.page.get_by_text(re.compile("^(Success|Failure|Canceled)$")).first
        expect(status).to_be_visible(timeout=RUN_TIMEOUT)
        expect(status).to_have_text("Success")

    def metadata(self, label: str) -> Locator:
        """Locate the row of a metadata entry on an asset's page."""
        return self.page.get_by_role("row").filter(has=self.page.get_by_text(label, exact=True))

    def read(self, label: str, on_visible: Callable[[], None] = lambda: None) -> str:
        """Return a metadata entry's text, from its dialog if needed; `on_visible` runs while it is shown."""
        row = self.metadata(label)
        expect(row).to_be_visible()
        more = row.get_by_text("[Show Markdown]")
        if not more.count():
            row.scroll_into_view_if_needed()
            on_visible()
            return row.inner_text()
        text = self._dialog_text(more, on_visible)
        expect(self.page.get_by_role("dialog")).to_have_count(0)
        return text

    @retry(retry=retry_if_exception_type(TimeoutError), stop=stop_after_attempt(3), reraise=True)
    def _dialog_text(self, opener: Locator, on_visible: Callable[[], None]) -> str:
        """Open a dialog, return its text and close it; try again if a refresh of the page closes it."""
        opener.click()
        dialog = self.page.get_by_role("dialog")
        close = dialog.get_by_text("Close", exact=True)
        close.wait_for()
        text = dialog.inner_text(timeout=5_000)
        on_visible()
        close.click(timeout=5_000)
        return text


def _run_id(url: str) -> str:
    run_id = url.rpartition("/")[2]
    assert re.fullmatch(r"[0-9a-f-]{36}", run_id), url
    return run_id
