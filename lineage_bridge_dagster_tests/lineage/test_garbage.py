"""Tests of the search for cyclic garbage."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.lineage import garbage
from lineage_bridge_dagster.lineage.garbage import kept_objects, no_garbage_collection


class _Cycle:
    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


@pytest.mark.parametrize("many", [True, False])
def test_what_a_large_load_made_is_not_searched_and_is_freed_once_it_is_replaced(
    monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    monkeypatch.setattr(garbage, "_MANY", 1 if many else 10**9)
    with kept_objects():
        kept = _Cycle()
        found = weakref.ref(kept)
    del kept
    gc.collect()
    assert (found() is not None) is many
    with kept_objects():
        _other = [_Cycle()]
    assert found() is None
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("many", "before", "after"),
    [(True, 700, garbage._NEW), (True, 10**6, 10**6), (True, 0, 0), (False, 700, 700)],
    ids=["large", "already rare", "off", "small"],
)
def test_a_large_load_makes_searches_rarer_and_never_more_frequent(
    monkeypatch: pytest.MonkeyPatch, many: bool, before: int, after: int
) -> None:
    monkeypatch.setattr(garbage, "_MANY", 1 if many else 10**9)
    gc.set_threshold(before, 11, 12)
    with kept_objects():
        _kept = [_Cycle()]
    assert gc.get_threshold() == (after, 11, 12)


@pytest.mark.parametrize("enabled", [True, False])
def test_a_pause_ends_as_the_collector_was(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    try:
        with no_garbage_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


def test_what_a_pause_leaves_counts_as_old_and_is_still_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_MANY", 1)
    with no_garbage_collection():
        cycle = _Cycle()
        found = weakref.ref(cycle)
        assert cycle in gc.get_objects(0)
    assert cycle in gc.get_objects(2)
    del cycle
    gc.collect()
    assert found() is None
