"""Which browser is taken, what is said where there is none, and that it stays on this machine."""

from __future__ import annotations

import http.server
import threading
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
from lineage_bridge_dagster_tests.browser.conftest import Witness

pytest_plugins = ["pytester"]


def _program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_the_variable_wins_over_the_path_and_the_path_over_the_places_of_macos(tmp_path: Path) -> None:
    named, macos = _program(tmp_path, "mine"), _program(tmp_path / "apps", "Google Chrome")
    on_path = _program(tmp_path / "bin", "google-chrome")
    path = {"PATH": str(on_path.parent)}
    assert find_chromium({**path, VARIABLE: str(named)}, [str(macos)]) == named
    assert find_chromium(path, [str(macos)]) == on_path
    assert find_chromium({"PATH": ""}, [str(macos)]) == macos


def test_where_there_is_none_the_word_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ChromiumMissingError, match="no Chromium found: make browser"):
        find_chromium({"PATH": str(tmp_path)}, [])
    with pytest.raises(ChromiumMissingError, match=f"{VARIABLE} is /nowhere"):
        find_chromium({"PATH": "", VARIABLE: "/nowhere"}, [])


@pytest.mark.parametrize(("ci", "outcome"), [("", "skipped"), ("true", "errors")])
def test_without_a_chromium_tests_are_skipped_but_never_in_ci(
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
def test_what_leaves_the_loopback(url: str, leaves: bool) -> None:
    assert leaves_loopback(url) is leaves


@pytest.fixture
def site() -> Iterator[str]:
    """A page of this machine's own."""

    class Hello(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<h1>Hello</h1>")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_request_that_would_leave_this_machine_is_blocked_and_named(
    page: Page, witness: Witness, site: str
) -> None:
    page.goto(site)
    assert page.get_by_role("heading", name="Hello").is_visible()
    assert not witness.outside
    for url in ("http://example.com/", "http://192.0.2.1/"):
        with pytest.raises(Error, match="Failed to fetch"):
            page.evaluate("url => fetch(url, {mode: 'no-cors'})", url)
        assert witness.outside.pop() == url
        assert "ERR_NAME_NOT_RESOLVED" in witness.errors[-1]
