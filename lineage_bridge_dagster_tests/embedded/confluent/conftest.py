"""Fixtures: an emulator with in-memory brokers and the sample data, and an authenticated client."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent import planes
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator


@pytest.fixture(scope="module")
def emulator() -> Iterator[ConfluentEmulator]:
    """Module-wide emulator; tests that change it must revert the change."""
    with ConfluentEmulator() as running:
        running.seed()
        yield running


class Caller:
    """Calls the emulator with an API key that the path accepts."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=30, trust_env=False)

    def __call__(self, path: str, method: str = "GET", **options: object) -> httpx.Response:
        target = planes.target(path.partition("?")[0])
        key = world.api_key(target.planes[0], target.place)
        return self.http.request(method, path, auth=(key.key, key.secret), **options)  # type: ignore[arg-type]


@pytest.fixture
def call(emulator: ConfluentEmulator) -> Iterator[Caller]:
    caller = Caller(emulator.url)
    with caller.http:
        yield caller
