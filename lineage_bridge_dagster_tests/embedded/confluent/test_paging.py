"""Pagination of lists."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator


def test_next_is_an_absolute_url_with_the_filters(call: Caller) -> None:
    next_url = call(f"{paths.TOPICS_US}&page_size=2").json()["metadata"]["next"]
    assert next_url.startswith(str(call.http.base_url))
    assert paths.US in next_url
    assert world.ENVIRONMENT_ID in next_url
    assert "page_size=2" in next_url


def test_default_and_maximum_page_size(emulator: ConfluentEmulator, call: Caller) -> None:
    statements = call(f"{paths.FLINK_US}/statements").json()["data"]
    assert len(statements) == min(10, sum(s.pool == world.POOLS[0].id for s in world.STATEMENTS))
    with emulator.options(max_page_size=2):
        assert len(call(f"{paths.FLINK_US}/statements?page_size=100").json()["data"]) == 2


@pytest.mark.parametrize("size", ["0", "101", "-1", "ten", ""])
def test_invalid_page_size_is_rejected(call: Caller, size: str) -> None:
    response = call(f"{paths.TOPICS_US}&page_size={size}")
    assert response.status_code == 400
    assert response.json()["errors"][0]["source"] == {"parameter": "page_size"}


@pytest.mark.parametrize("token", ["!!!", "eyJ9", "e30=", "eyJvIjogOTk5fQ=="])
def test_invalid_page_token_is_rejected(call: Caller, token: str) -> None:
    response = call.http.get(
        f"{paths.TOPICS_US}&page_token={token}",
        auth=(world.api_key("tableflow").key, world.api_key("tableflow").secret),
    )
    assert response.status_code == 400
