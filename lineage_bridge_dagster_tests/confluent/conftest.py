"""Fixtures for tests of the Confluent discovery."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.discovered import NOW, Run
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, settings, small_world


@pytest.fixture(scope="session")
def parser() -> Iterator[FlinkSqlParser]:
    """The Flink parser, one for all tests of a worker."""
    with FlinkSqlParser() as parser:
        yield parser


@pytest.fixture
def fake() -> FakeConfluent:
    return FakeConfluent()


@pytest.fixture
def world() -> FakeConfluent:
    return small_world()


@pytest.fixture
def waits() -> list[float]:
    """Seconds that the session would have slept."""
    return []


@pytest.fixture
def session(fake: FakeConfluent, waits: list[float]) -> Iterator[ConfluentSession]:
    with ConfluentSession(settings(), fake.transport, sleep=waits.append) as made:
        yield made


@pytest.fixture
def session_with(fake: FakeConfluent, waits: list[float]) -> Iterator[Callable[..., ConfluentSession]]:
    """Opens sessions with changed settings, and closes them."""
    made: list[ConfluentSession] = []

    def make(**changes: Any) -> ConfluentSession:
        made.append(ConfluentSession(settings(**changes), fake.transport, sleep=waits.append))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def run(world: FakeConfluent, parser: FlinkSqlParser) -> Run:
    """Discovers the small world, with the given settings changed, on top of the `last` discovery."""

    def discovered(last: Discovery | None = None, **changes: Any) -> Discovery:
        configured = settings(**{"max_attempts": 1, **changes})
        return discover(configured, transport=world.transport, parser=parser, last=last, clock=lambda: NOW)

    return discovered
