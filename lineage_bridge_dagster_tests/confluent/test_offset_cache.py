from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.connectors import ConnectorRecord, resolve
from lineage_bridge_dagster.confluent.offset_cache import MAX_AGE, OffsetCache, question
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster_tests.confluent.discovered import NOW


def after(saved: Any, passed: timedelta = timedelta()) -> OffsetCache:
    """The cache of a discovery after one that stored this."""
    return OffsetCache(Discovery(caches={OffsetCache.NAME: saved}), NOW + passed)


@pytest.fixture
def saved() -> dict[str, Any]:
    cache = OffsetCache(None, NOW)
    cache.put("lcc-1", "q", ("shop.public.orders",), complete=True)
    return cache.to_json()


def test_answer_is_used_until_it_is_too_old(saved: dict[str, Any]) -> None:
    found = after(saved, MAX_AGE).fresh("lcc-1", "q")
    assert found is not None
    assert (found.names, found.complete) == (("shop.public.orders",), True)
    assert after(saved, MAX_AGE + timedelta(seconds=1)).fresh("lcc-1", "q") is None


def test_answer_to_another_question_is_not_fresh_but_the_last_known(saved: dict[str, Any]) -> None:
    cache = after(saved)
    assert cache.fresh("lcc-1", "other") is None
    last = cache.last("lcc-1")
    assert last is not None
    assert last.names == ("shop.public.orders",)
    assert cache.last("lcc-2") is None


def test_partial_answer_is_asked_again() -> None:
    cache = OffsetCache(None, NOW)
    cache.put("lcc-1", "q", ("t",), complete=False)
    assert after(cache.to_json()).fresh("lcc-1", "q") is None


def test_answers_about_connectors_that_are_gone_are_dropped(saved: dict[str, Any]) -> None:
    assert after(saved).to_json()["entries"] == {}
    assert after(saved).to_json(keep_all=True)["entries"] == saved["entries"]
    cache = after(saved)
    cache.fresh("lcc-1", "q")
    assert cache.to_json() == saved


def test_answer_of_the_future_is_not_fresh(saved: dict[str, Any]) -> None:
    assert after(saved, timedelta(hours=-2)).fresh("lcc-1", "q") is None


@pytest.mark.parametrize(
    "saved",
    [
        None,
        [],
        {"version": 1},
        {"version": 1, "entries": []},
        {"version": 1, "entries": {"lcc-1": None}},
        {"version": 1, "entries": {"lcc-1": {"names": "t", "complete": True, "asked_at": "x"}}},
        {"version": 1, "entries": {"lcc-1": {"names": ["t"], "complete": True, "asked_at": 7}}},
    ],
)
def test_malformed_cache_counts_as_empty(saved: Any) -> None:
    cache = after(saved)
    assert cache.last("lcc-1") is None
    assert cache.fresh("lcc-1", "q") is None


def test_unreadable_time_is_not_fresh() -> None:
    entry = {"question": "q", "names": ["t"], "complete": True, "asked_at": "yesterday"}
    assert after({"version": 1, "entries": {"lcc-1": entry}}).fresh("lcc-1", "q") is None


def test_cache_of_another_version_counts_as_empty(saved: dict[str, Any]) -> None:
    assert after({**saved, "version": 2}).last("lcc-1") is None


def asked(config: dict[str, str], *topics: str) -> str:
    connector = ConnectorRecord("c", "sink", "lcc-1", {"connector.class": "S3_SINK", **config})
    return question(connector, resolve(connector, topics))


def test_question_changes_with_the_configuration_and_with_the_topics_that_it_matches() -> None:
    config = {"topics.regex": "a.*", "s3.bucket.name": "b"}
    assert asked(config, "a1", "x") == asked(config, "a1", "y")
    assert (
        len({asked(config, "a1"), asked(config, "a1", "a2"), asked({**config, "flush.size": "1"}, "a1")}) == 3
    )
