"""Finding a browser, the behaviour without one, and its restriction to this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page

from lineage_bridge_dagster_tests.browser.chromium import (
    VARIABLE,
    ChromiumMissingError,
    find_chromium,
    leaves_loopback,
)
from lineage_bridge_dagster_tests.browser.conftest import PageMonitor
from lineage_bridge_dagster_tests.http_server import Answering, served

pytest_plugins = ["pytester"]


def _program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_the_variable_precedes_the_path_and_the_path_precedes_the_fallbacks(tmp_path: Path) -> None:
    configured, fallback = _program(tmp_path, "mine"), _program(tmp_path / "apps", "Google Chrome")
    on_path = _program(tmp_path / "bin", "google-chrome")
    path = {"PATH": str(on_path.parent)}
    assert find_chromium({**path, VARIABLE: str(configured)}, [str(fallback)]) == configured
    assert find_chromium(path, [str(fallback)]) == on_path
    assert find_chromium({"PATH": ""}, [str(fallback)]) == fallback


def test_a_missing_browser_is_reported_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ChromiumMissingError, match="no Chromium found: make browser"):
        find_chromium({"PATH": str(tmp_path)}, [])
    with pytest.raises(ChromiumMissingError, match=f"{VARIABLE} is /nowhere"):
        find_chromium({"PATH": "", VARIABLE: "/nowhere"}, [])


@pytest.mark.parametrize(("ci", "outcome"), [("", "skipped"), ("true", "errors")])
def test_without_a_browser_tests_are_skipped_except_in_ci(
    ci: str, outcome: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv(VARIABLE, "/nowhere")
    pytester.makeconftest('pytest_plugins = ["lineage_bridge_dagster_tests.browser.conftest"]')
    pytester.makepyfile("def test_a_page(page): page.goto('about:blank')")
    result = pytester.runpytest_inprocess("-p", "no:xdist", "-p", "no:cacheprovider", "-rs")
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([f"*{VARIABLE} is /nowhere*"])


@pytest.mark.parametrize(
    ("url", "leaves"),
    [
        ("http://127.0.0.1:3000/graphql", False),
        ("ws://localhost:3000/graphql", False),
        ("http://[::1]:80/", False),
        ("data:image/png;base64,AAAA", False),
        ("blob:http://127.0.0.1:3000/1", False),
        ("https://dagster.io/", True),
        ("http://127.0.0.1.example.com/", True),
        ("wss://example.com/socket", True),
    ],
)
def test_leaves_loopback(url: str, leaves: bool) -> None:
    assert leaves_loopback(url) is leaves


@pytest.fixture
def site() -> Iterator[str]:
    """A page that is served on the loopback."""

    class Hello(Answering):
        def do_GET(self) -> None:
            self.reply(200, b"<h1>Hello</h1>")

    with served(Hello) as url:
        yield url


def test_requests_to_other_machines_are_blocked_and_recorded(
    page: Page, page_monitor: PageMonitor, site: str
) -> None:
    page.goto(site)
    assert page.get_by_role("heading", name="Hello").is_visible()
    assert not page_monitor.external_requests
    for url in ("http://example.com/", "http://192.0.2.1/"):
        with pytest.raises(Error, match="Failed to fetch"):
            page.evaluate("url => fetch(url, {mode: 'no-cors'})", url)
        assert page_monitor.external_requests.pop() == url
        assert "ERR_NAME_NOT_RESOLVED" in page_monitor.errors[-1]
