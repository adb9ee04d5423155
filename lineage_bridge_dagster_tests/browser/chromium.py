"""Chromium as browser tests run it: found on this machine, headless, and kept on the loopback.

`python -m lineage_bridge_dagster_tests.browser.chromium` prints where it is, or says what to do and exits 1.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

#: Names a Chromium or Chrome that is not on PATH.
VARIABLE = "LINEAGE_BRIDGE_CHROMIUM"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

MACOS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

MISSING = f"no Chromium found: make browser (or name one in {VARIABLE})"

FLAGS = (
    # In containers it can't make the namespaces of its sandbox; it sees our own pages alone.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Whatever a page or the browser itself asks for beyond the loopback is not found.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class ChromiumMissingError(Exception):
    """There is none where one is looked for."""


def find_chromium(env: Mapping[str, str] | None = None, places: Sequence[str] = MACOS) -> Path:
    """The executable that the variable names, else the first on PATH, else where macOS has it.

    Raises:
        ChromiumMissingError: there is none, or the variable names none.
    """
    env = os.environ if env is None else env
    named = env.get(VARIABLE)
    if named:
        found = shutil.which(named, path=env.get("PATH", ""))
        if found is None:
            raise ChromiumMissingError(f"{VARIABLE} is {named}, and there is no such program")
        return Path(found)
    on_path = (shutil.which(name, path=env.get("PATH", "")) for name in NAMES)
    for place in (*on_path, *(shutil.which(place) for place in places)):
        if place:
            return Path(place)
    raise ChromiumMissingError(MISSING)


def leaves_loopback(url: str) -> bool:
    """Whether a request would go out of this machine; `data:` and `blob:` go nowhere."""
    address = urlsplit(url)
    return address.scheme in ("http", "https", "ws", "wss") and address.hostname not in _LOOPBACK


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{find_chromium()}\n")
    except ChromiumMissingError as missing:
        sys.exit(f"{missing}")
