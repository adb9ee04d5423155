"""The topics of a cluster, found by how their names start and end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics

_NAMES = st.text("ab.é\ud800\U0010ffff", max_size=5)


def test_topics_are_sorted_once() -> None:
    topics = ExistingTopics(["b", "a", "b"])
    assert [*topics] == ["a", "b"]
    assert len(topics) == 2
    assert "a" in topics
    assert "c" not in topics
    assert ExistingTopics.of(topics) is topics
    assert [*ExistingTopics.of({"c"})] == ["c"]


@given(st.lists(_NAMES), _NAMES)
def test_starting_finds_what_a_scan_finds(names: list[str], prefix: str) -> None:
    assert [*ExistingTopics(names).starting(prefix)] == sorted(
        {name for name in names if name.startswith(prefix)}
    )


@given(st.lists(_NAMES), _NAMES, _NAMES)
def test_between_finds_what_a_scan_finds(names: list[str], prefix: str, suffix: str) -> None:
    found = {name for name in names if name.startswith(prefix) and name[len(prefix) :].endswith(suffix)}
    assert {*ExistingTopics(names).between(prefix, suffix)} == found


def test_topics_that_differ_only_in_case_are_found_together() -> None:
    topics = ExistingTopics(["S.Orders", "s.orders", "s.users"])
    assert topics.by_lower_case["s.orders"] == ["S.Orders", "s.orders"]
