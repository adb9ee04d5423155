"""Finds Chromium on this machine and restricts it to the loopback.

`python -m lineage_bridge_dagster_tests.browser.chromium` prints its path, or what to do and exits with 1.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

#: Environment variable for the path of a Chromium or Chrome that is not on PATH.
VARIABLE = "LINEAGE_BRIDGE_CHROMIUM"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

MACOS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

MISSING = f"no Chromium found: make browser (or set {VARIABLE} to its path)"

FLAGS = (
    # Containers do not permit the sandbox's namespaces, and the browser opens only our own pages.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Hosts beyond the loopback do not resolve, neither for pages nor for the browser itself.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class ChromiumMissingError(Exception):
    """No Chromium or Chrome was found."""


def find_chromium(env: Mapping[str, str] | None = None, fallbacks: Sequence[str] = MACOS) -> Path:
    """Return the executable that the variable names, or else the first on PATH or among `fallbacks`.

    Raises:
        ChromiumMissingError: none was found, or the variable's path does not exist.
    """
    env = os.environ if env is None else env
    path = env.get("PATH", "")
    if configured := env.get(VARIABLE):
        executable = shutil.which(configured, path=path)
        if executable is None:
            raise ChromiumMissingError(f"{VARIABLE} is {configured}, which is not an executable")
        return Path(executable)
    on_path = (shutil.which(name, path=path) for name in NAMES)
    for candidate in (*on_path, *(shutil.which(fallback) for fallback in fallbacks)):
        if candidate:
            return Path(candidate)
    raise ChromiumMissingError(MISSING)


def leaves_loopback(url: str) -> bool:
    """Whether a request would leave this machine; `data:` and `blob:` URLs are local."""
    parts = urlsplit(url)
    return parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in _LOOPBACK


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{find_chromium()}\n")
    except ChromiumMissingError as missing:
        sys.exit(f"{missing}")
