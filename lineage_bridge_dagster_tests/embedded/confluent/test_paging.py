"""Lists come in pages, and following them yields everything once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.server import ConfluentEmulator
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller


def walk(call: Caller, path: str) -> tuple[list[Any], list[Any]]:
    """Everything in a list, and what each page said came next."""
    items, said = [], []
    following: str | None = path
    while following:
        body = call(following).json()
        items += body["data"]
        said.append(body["metadata"].get("next", "absent"))
        following = said[-1] if said[-1] not in ("", None, "absent") else None
        if following:
            following = following.removeprefix(str(call.http.base_url).rstrip("/"))
    return items, said


@pytest.fixture
def options(emulator: ConfluentEmulator) -> Iterator[Any]:
    """Sets options for a test."""
    with emulator.client() as client:
        before = client.post("/emulator/options", json={}).json()
        yield lambda **wanted: client.post("/emulator/options", json=wanted).raise_for_status()
        client.post("/emulator/options", json=before).raise_for_status()


@pytest.mark.parametrize("path", paths.PAGED)
def test_pages_of_one_yield_what_one_page_yields(call: Caller, path: str) -> None:
    joined = "&" if "?" in path else "?"
    whole, said = walk(call, f"{path}{joined}page_size=100")
    assert len(said) == 1
    pieces, _ = walk(call, f"{path}{joined}page_size=1")
    # A catalog's last sync is the moment that it was asked.
    assert [_name(i) for i in pieces] == [_name(i) for i in whole]


def _name(item: dict[str, Any]) -> str:
    return str(item.get("id") or item.get("name") or item["spec"]["display_name"])


def test_the_next_page_is_a_full_url_that_keeps_the_filters(call: Caller) -> None:
    following = call(f"{paths.TOPICS_US}&page_size=2").json()["metadata"]["next"]
    assert following.startswith(str(call.http.base_url))
    assert paths.US in following
    assert world.ENVIRONMENT_ID in following
    assert "page_size=2" in following


def test_a_page_has_ten_unless_asked(call: Caller, options: Any) -> None:
    statements = call(f"{paths.FLINK_US}/statements").json()["data"]
    assert len(statements) == min(10, sum(s.pool == world.POOLS[0].id for s in world.STATEMENTS))
    options(max_page_size=2)
    assert len(call(f"{paths.FLINK_US}/statements?page_size=100").json()["data"]) == 2


@pytest.mark.parametrize(("style", "last"), [("null", None), ("empty", ""), ("absent", "absent")])
def test_the_last_page_says_so_in_each_way_there_is(
    call: Caller, options: Any, style: str, last: object
) -> None:
    options(next_style=style)
    items, said = walk(call, f"{paths.TOPICS_US}&page_size=2")
    assert said[-1] == last
    assert len(said) == 3
    assert len(items) == 5


@pytest.mark.parametrize("size", ["0", "101", "-1", "ten", ""])
def test_a_page_size_that_is_none_is_refused(call: Caller, size: str) -> None:
    answer = call(f"{paths.TOPICS_US}&page_size={size}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["source"] == {"parameter": "page_size"}


@pytest.mark.parametrize("token", ["!!!", "eyJ9", "e30=", "eyJvIjogOTk5fQ=="])
def test_a_page_token_that_is_none_is_refused(call: Caller, token: str) -> None:
    answer = call.http.get(
        f"{paths.TOPICS_US}&page_token={token}",
        auth=(world.api_key("tableflow").key, world.api_key("tableflow").secret),
    )
    assert answer.status_code == 400


def test_filters_narrow_a_list(call: Caller) -> None:
    pool = world.POOLS[0].id
    assert call(f"{paths.FLINK_US}/statements?spec.compute_pool_id={pool}").json()["data"]
    assert not call(f"{paths.FLINK_US}/statements?spec.compute_pool_id=lfcp-none").json()["data"]
    assert not call(f"{paths.TOPICS_US}&spec.table_formats=DELTA").json()["data"]
    assert len(call(f"/fcpm/v2/compute-pools?{paths.ENV}&spec.region=eu-west-1").json()["data"]) == 1
    assert len(call("/fcpm/v2/regions?cloud=AWS&region_name=eu-west-1").json()["data"]) == 1
    assert not call(f"/pim/v1/integrations?{paths.ENV}&provider=azure").json()["data"]
