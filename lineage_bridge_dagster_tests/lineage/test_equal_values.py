from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage import equal_values as module
from lineage_bridge_dagster.lineage.equal_values import EqualValues

JSON = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, -0.0, 2**70, "", "a", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def written(value: Any) -> str:
    """A text that tells values apart by their type and the order of their keys, too."""
    return json.dumps(value)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), JSON, max_size=3), max_size=6))
def test_shared_values_are_those_that_were_given(values: list[dict[str, Any]]) -> None:
    equal = EqualValues()
    shared = [equal.attributes(value) for value in values] + [equal.value(value) for value in values]
    assert [*map(written, shared)] == [*map(written, values * 2)]


def test_equal_texts_fields_and_lists_are_one() -> None:
    equal = EqualValues()
    first, second, third = (
        equal.attributes(json.loads(text))
        for text in (
            '{"scope": "kafka:env-1:lkc-1", "fields": [{"name": "id", "type": "long"}, {"name": "at"}]}',
            '{"scope": "kafka:env-1:lkc-1", "fields": [{"name": "id", "type": "long"}, {"name": "at"}]}',
            '{"fields": [{"name": "id", "type": "long"}]}',
        )
    )
    assert first is not second
    assert first["fields"] is second["fields"]
    assert first["scope"] is second["scope"]
    assert first["fields"][0] is third["fields"][0]
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_no_more_is_remembered_than_the_limits_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_TEXTS", 3)
    monkeypatch.setattr(module, "_MOST_VALUES", 2)
    equal = EqualValues()
    values: list[Any] = [[f"text {number}", [number]] for number in range(9)]
    assert [equal.value(value) for value in values] == values
    assert (len(equal._texts), len(equal._values)) <= (3, 2)


@pytest.mark.parametrize("depth", [300, 5_000])
def test_value_that_is_nested_deeply_stays_as_it_is(depth: int) -> None:
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep, "a"]
    shared = EqualValues().value(deep)
    for _ in range(depth):
        assert shared[1] == "a"
        shared = shared[0]
    assert shared == []
