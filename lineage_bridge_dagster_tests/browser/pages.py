"""Dagster's UI as a person uses it: found by what it says, since it has no ids for tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from playwright.sync_api import Locator, Page, expect

#: Milliseconds for a run from its launch to its end: it waits in the queue, and its process starts.
RUN = 180_000


def exactly(text: str) -> re.Pattern[str]:
    """Matches an element whose whole text this is."""
    return re.compile(rf"^\s*{re.escape(text)}\s*$")


@dataclass(frozen=True)
class DagsterPages:
    """One browser page on the UI at `url`."""

    page: Page
    url: str

    def open_asset(self, key: str, **view: str) -> None:
        """An asset's page, its key's parts joined by `/`; `view="checks"` and such open a tab of it."""
        path = "/".join(quote(part, safe="") for part in key.split("/"))
        query = "&".join(f"{name}={value}" for name, value in view.items())
        self.page.goto(f"{self.url}/assets/{path}?{query}")

    def open_graph(self, selection: str = "") -> None:
        """The whole asset graph, or the part that a selection leaves."""
        self.page.goto(f"{self.url}/asset-groups" + (f"~{quote(selection, safe='')}" if selection else ""))
        expect(self.node().first).to_be_visible()

    def select(self, selection: str) -> None:
        """Type a selection into the open graph's search field."""
        field = self.page.locator(".CodeMirror")
        field.click()
        self.page.keyboard.type(selection)
        self.page.keyboard.press("Enter")
        # Out of the field, whose keys are words.
        field.locator("textarea").evaluate("field => field.blur()")

    def hide_navigation(self) -> None:
        """Leave its room to the page, here and on the pages to come."""
        self.page.get_by_text("Hide navigation").click()

    def hide_groups(self) -> None:
        """Take the list of groups from beside the open graph."""
        # The navigation's own button, before it, has the same icon.
        self.page.get_by_role("img", name="panel_show_right").last.click()

    def open_list(self, selection: str) -> None:
        """The catalog's list of the assets of a selection."""
        self.page.goto(f"{self.url}/assets?asset-selection={quote(selection, safe='')}")

    def launch_job(self, job: str) -> str:
        """Launch a job from its launchpad, as it stands there; returns the run's id."""
        self.page.goto(f"{self.url}/locations/lineage_bridge_dagster/jobs/{job}/playground")
        self.button("Launch Run").click()
        self.page.wait_for_url("**/runs/*")
        return _run_id(self.page.url)

    def open_sensor(self, sensor: str) -> None:
        self.page.goto(f"{self.url}/locations/lineage_bridge_dagster/sensors/{sensor}")

    def node(self, label: str | None = None) -> Locator:
        """Nodes of the graph, groups included, by their label. Those out of view are not there."""
        nodes = self.page.locator("foreignObject:visible").filter(has_text=re.compile(r"\S"))
        return nodes if label is None else nodes.filter(has=self.page.get_by_text(label, exact=True))

    def expand_all_groups(self) -> None:
        """Where none is expanded: the keys collapse them otherwise."""
        self.page.keyboard.press("Alt+KeyE")

    def button(self, text: str) -> Locator:
        """By its words alone: the name that it tells readers of the screen begins with its icon's."""
        return self.page.get_by_role("button").filter(has_text=exactly(text))

    def launch(self, button: str) -> str:
        """Press what launches a run, and is told so; returns the run's id."""
        self.button(button).click()
        link = self.page.get_by_role("link", name="View", exact=True)
        return _run_id(link.get_attribute("href") or "")

    def await_success(self, run_id: str) -> None:
        """Look at a run until it has ended, and well."""
        self.page.goto(f"{self.url}/runs/{run_id}")
        ended = self.page.get_by_text(re.compile("^(Success|Failure|Canceled)$")).first
        expect(ended).to_be_visible(timeout=RUN)
        expect(ended).to_have_text("Success")

    def metadata(self, label: str) -> Locator:
        """The row of an entry in the metadata of an asset's page."""
        return self.page.get_by_role("row").filter(has=self.page.get_by_text(label, exact=True))

    def read(self, label: str, seen: Callable[[], None] = lambda: None) -> str:
        """The text of an entry, also of one so long that it opens in a dialog; `seen` while it is in view."""
        row = self.metadata(label)
        expect(row).to_be_visible()
        more = row.get_by_text("[Show Markdown]")
        if not more.count():
            row.scroll_into_view_if_needed()
            seen()
            return row.inner_text()
        more.click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog.get_by_text("Close", exact=True)).to_be_visible()
        text = dialog.inner_text()
        seen()
        dialog.get_by_text("Close", exact=True).click()
        expect(dialog).to_have_count(0)
        return text


def _run_id(url: str) -> str:
    run_id = url.rpartition("/")[2]
    assert re.fullmatch(r"[0-9a-f-]{36}", run_id), url
    return run_id
