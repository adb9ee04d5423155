"""Each fault at each step of a push, to Glue and to a REST catalog alike.

After each, a second push makes the table whole, nothing of others changed, and nothing was written twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.push_results import PushStatus, TableResult
from lineage_bridge_dagster_tests.catalogs.writing.proxy import Answer, Broken, Fault
from lineage_bridge_dagster_tests.catalogs.writing.stores import Store

pytestmark = pytest.mark.xdist_group("rest")

Effect = Callable[[Store], Answer | Broken]

#: As a proxy or a login page answers in a catalog's place.
GARBAGE = Answer(200, b"<html><body>Sign in</body></html>", {"Content-Type": "text/html"})

THROTTLED: Effect = lambda store: store.throttled  # noqa: E731
DENIED: Effect = lambda store: store.denied  # noqa: E731

#: Answers that tell nothing about whether the request took effect.
DOUBTFUL: dict[str, Effect] = {
    "500": lambda store: store.error(500),
    "502": lambda _: Answer(502, b"Bad Gateway"),
    "503": lambda store: store.error(503),
    "504": lambda _: Answer(504),
    "timeout": lambda _: Broken.HELD,
    "cut": lambda _: Broken.CUT,
    "garbage": lambda _: GARBAGE,
}
READS: dict[str, Effect] = {"throttled": THROTTLED, "half": lambda _: Broken.HALF, **DOUBTFUL}
#: Faults of a write: its effect, and whether the catalog applied the write.
WRITES: dict[str, tuple[Effect, bool]] = {
    "throttled": (THROTTLED, False),
    "half_after_effect": (lambda _: Broken.HALF, True),
    **{f"{name}_before_effect": (effect, False) for name, effect in DOUBTFUL.items()},
    **{f"{name}_after_effect": (effect, True) for name, effect in DOUBTFUL.items()},
}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lineage_bridge_dagster.config.aws._READ_TIMEOUT_SECONDS", 3)
    monkeypatch.setattr("lineage_bridge_dagster.config.aws._ATTEMPTS", 2)
    monkeypatch.setattr("lineage_bridge_dagster.catalogs.iceberg.guarded._TIMEOUT", (5, 3))


def only(store: Store, name: str, **settings: object) -> TableResult:
    (result,) = store.push([name], **settings).results
    return result


def assert_whole(store: Store, name: str, foreign: object) -> None:
    """The table carries its lineage, nothing of others changed, and another push writes nothing."""
    assert store.carried(name) == store.wanted(name)
    assert store.foreign(name) == foreign
    store.proxy.faults.clear()
    store.proxy.steps.clear()
    assert only(store, name).status is PushStatus.UNCHANGED
    assert "write" not in store.proxy.steps


@pytest.mark.parametrize("effect", READS.values(), ids=READS)
def test_a_fault_of_a_read_passes(store: Store, effect: Effect) -> None:
    (name,) = store.add()
    foreign, versions = store.foreign(name), store.versions(name)
    store.proxy.faults = [Fault("read", effect(store), applied=True)]
    result = only(store, name)
    assert result.status is PushStatus.UPDATED, result.reason
    assert not store.proxy.faults[0].times
    assert store.versions(name) == versions + 1
    assert_whole(store, name, foreign)


@pytest.mark.parametrize(("effect", "applied"), WRITES.values(), ids=WRITES)
def test_a_fault_of_a_write_passes(store: Store, effect: Effect, applied: bool) -> None:
    (name,) = store.add()
    foreign, versions = store.foreign(name), store.versions(name)
    store.proxy.faults = [Fault("write", effect(store), applied=applied)]
    result = only(store, name)
    assert result.status is PushStatus.UPDATED, result.reason
    assert not store.proxy.faults[0].times
    assert store.versions(name) == versions + 1
    assert {key: value for key, value in result.after.items() if key in store.wanted(name)} == store.wanted(
        name
    )
    assert_whole(store, name, foreign)


STAYING: dict[str, Effect] = {
    "throttled": THROTTLED,
    "denied": DENIED,
    "500": DOUBTFUL["500"],
    "cut": DOUBTFUL["cut"],
    "garbage": DOUBTFUL["garbage"],
}


@pytest.mark.parametrize("effect", STAYING.values(), ids=STAYING)
@pytest.mark.parametrize("step", ["read", "write"])
def test_a_fault_that_stays_fails_the_table_and_the_next_push_makes_it_whole(
    store: Store, step: str, effect: Effect
) -> None:
    (name,) = store.add()
    foreign = store.foreign(name)
    store.proxy.faults = [Fault(step, effect(store), times=-1)]
    result = only(store, name, max_attempts=2)
    assert result.status is PushStatus.FAILED
    assert result.hint
    if step == "write":
        # No client in between multiplies the attempts.
        assert store.proxy.steps.count("write") == result.attempts
    assert store.lineage(name) == {}
    assert store.foreign(name) == foreign
    store.proxy.faults.clear()
    assert only(store, name).status is PushStatus.UPDATED
    assert_whole(store, name, foreign)


@pytest.mark.parametrize("effect", [DOUBTFUL["503"], DOUBTFUL["garbage"]], ids=["503", "garbage"])
def test_a_write_in_doubt_that_cannot_be_read_back_is_unknown(
    store: Store, monkeypatch: pytest.MonkeyPatch, effect: Effect
) -> None:
    # After a second attempt of botocore's own, every error leaves the first one in doubt.
    monkeypatch.setattr("lineage_bridge_dagster.config.aws._ATTEMPTS", 1)
    (name,) = store.add()
    foreign = store.foreign(name)
    store.proxy.faults = [
        Fault("write", effect(store), applied=True, times=-1),
        Fault("read", store.denied, skip=1, times=-1),
    ]
    result = only(store, name, max_attempts=2)
    assert result.status is PushStatus.UNKNOWN, result.reason
    assert "may have been applied" in result.reason
    assert_whole(store, name, foreign)


def test_a_write_in_doubt_on_the_last_attempt_is_looked_up(store: Store) -> None:
    (name,) = store.add()
    foreign = store.foreign(name)
    store.proxy.faults = [Fault("write", Broken.CUT, applied=True, times=-1)]
    assert only(store, name, max_attempts=1).status is PushStatus.UPDATED
    assert_whole(store, name, foreign)


def test_a_removal_in_doubt_is_looked_up(store: Store) -> None:
    (name,) = store.add()
    foreign = store.foreign(name)
    store.push([name])
    store.graph = Graph([store.nodes[name]])
    store.proxy.faults = [Fault("write", Broken.CUT, applied=True)]
    result = only(store, name)
    assert (result.status, "lineage removed" in result.reason) == (PushStatus.UPDATED, True)
    assert store.lineage(name) == {}
    assert store.foreign(name) == foreign
    assert only(store, name).status is PushStatus.UNCHANGED


def test_a_table_that_moves_ten_times_keeps_every_commit(store: Store) -> None:
    """Glue binds a write to a version, which moves under each attempt; a REST catalog rebases it."""
    (name,) = store.add()
    versions = store.versions(name)
    committed: list[object] = []

    def commit() -> None:
        store.commit(name)
        committed.append(store.foreign(name))

    store.proxy.faults = [Fault("write", times=10, first=commit)]
    result = only(store, name, max_attempts=10)
    assert store.foreign(name) == committed[-1]
    if store.rebases:
        assert (result.status, result.conflicts, len(committed)) == (PushStatus.UPDATED, 0, 1)
        assert store.versions(name) == versions + 2
    else:
        assert (result.status, result.conflicts, len(committed)) == (PushStatus.FAILED, 10, 10)
        assert "none of their commits was overwritten" in result.reason
        assert store.versions(name) == versions + 10
    store.proxy.faults.clear()
    only(store, name)
    assert_whole(store, name, committed[-1])


def test_a_table_that_was_created_again_between_read_and_write_keeps_its_new_content(store: Store) -> None:
    (name,) = store.add()

    def create_again() -> None:
        store.drop(name)
        # Only the creation time shows that this is another table, and Glue gives it in whole seconds.
        time.sleep(1)
        store.create(name)
        foreign.append(store.foreign(name))

    foreign: list[object] = []
    store.proxy.faults = [Fault("write", first=create_again)]
    result = only(store, name)
    assert result.status is PushStatus.UPDATED, result.reason
    assert "created again" in result.reason
    assert result.conflicts == 1
    assert_whole(store, name, foreign[0])


def test_a_table_that_was_dropped_between_read_and_write_fails_until_it_is_back(store: Store) -> None:
    (name,) = store.add()
    store.proxy.faults = [Fault("write", first=lambda: store.drop(name))]
    result = only(store, name)
    assert result.status is PushStatus.FAILED
    store.create(name)
    foreign = store.foreign(name)
    assert only(store, name).status is PushStatus.UPDATED
    assert_whole(store, name, foreign)


def test_a_fault_of_one_table_of_many_stops_no_other(store: Store) -> None:
    names = store.add(3)
    foreign = {name: store.foreign(name) for name in names}
    store.proxy.faults = [Fault("write", store.error(500), matching=names[1], times=-1)]
    report = store.push(names, max_attempts=2)
    assert [str(result.status) for result in report.results] == ["updated", "failed", "updated"]
    assert store.lineage(names[1]) == {}
    store.proxy.faults.clear()
    assert [str(result.status) for result in store.push(names).results] == [
        "unchanged",
        "updated",
        "unchanged",
    ]
    for name in names:
        assert_whole(store, name, foreign[name])
