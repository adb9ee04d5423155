"""Results that the steps of a run share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lineage_bridge_dagster.assets.run_cache import RunCache


def counter(calls: list[str], name: str) -> Callable[[], int]:
    def compute() -> int:
        calls.append(name)
        return len(calls)

    return compute


def test_a_result_is_computed_once_per_run_and_name() -> None:
    cache, calls = RunCache(), list[str]()
    for run in ("run 1", "run 2"):
        for name in ("push", "chains", "push"):
            cache.get(run, name, counter(calls, f"{run} {name}"))
    assert calls == ["run 1 push", "run 1 chains", "run 2 push", "run 2 chains"]
    assert cache.get("run 1", "push", counter(calls, "again")) == 1


def test_a_failure_is_remembered() -> None:
    cache, calls = RunCache(), list[str]()

    def fail() -> None:
        calls.append("called")
        raise OSError("Glue is down")

    for _ in range(3):
        with pytest.raises(OSError, match="Glue is down"):
            cache.get("run", "push", fail)
    assert calls == ["called"]


def test_instances_share_no_results() -> None:
    calls: list[str] = []
    for name in ("eu", "us"):
        RunCache().get("run", "push", counter(calls, name))
    assert calls == ["eu", "us"]


def test_results_of_old_runs_are_dropped() -> None:
    cache, calls = RunCache(), list[str]()
    for number in range(20):
        cache.get(f"run {number}", "push", counter(calls, "first"))
    cache.get("run 0", "push", counter(calls, "second"))
    cache.get("run 19", "push", counter(calls, "third"))
    assert calls == ["first"] * 20 + ["second"]
