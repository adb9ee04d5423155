"""An emulator on brokers in memory, filled with the sample world."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent import planes
from lineage_bridge_dagster.embedded.confluent.server import ConfluentEmulator


@pytest.fixture(scope="module")
def emulator() -> Iterator[ConfluentEmulator]:
    """One for a module; a test that changes something changes it back."""
    with ConfluentEmulator() as started:
        started.seed()
        yield started


class Caller:
    """Asks the emulator with the key that a path wants."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=30, trust_env=False)

    def __call__(self, path: str, method: str = "GET", **more: object) -> httpx.Response:
        wanted = planes.target(path.partition("?")[0])
        key = world.api_key(wanted.planes[0], wanted.place)
        return self.http.request(method, path, auth=(key.key, key.secret), **more)  # type: ignore[arg-type]


@pytest.fixture
def call(emulator: ConfluentEmulator) -> Iterator[Caller]:
    caller = Caller(emulator.url)
    with caller.http:
        yield caller
