"""A receiver of events over HTTP, and an environment in which none is configured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster_tests.http_server import Answering, served


class Collector:
    """An HTTP receiver that answers with `statuses`, then with 200."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.statuses: list[int] = []
        self.url = ""


@contextmanager
def collecting() -> Iterator[Collector]:
    """A receiver that runs within the block."""
    found = Collector()

    class Handler(Answering):
        def do_POST(self) -> None:
            found.requests.append((self.path, dict(self.headers), json.loads(self.body())))
            status = found.statuses.pop(0) if found.statuses else 200
            self.reply(status, headers={"Location": "http://127.0.0.1:1/elsewhere"})

    with served(Handler) as found.url:
        yield found


def configure_nothing(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Take away every configuration of OpenLineage's client, that of a user and of a folder too."""
    for name in [each for each in os.environ if each.startswith("OPENLINEAGE")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
