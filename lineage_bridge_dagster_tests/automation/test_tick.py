"""What a tick of the sensor sees and does."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from dagster import AssetKey
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.automation import tick as tick_module
from lineage_bridge_dagster.automation.cursor import VERSION, Cursor, backoff
from lineage_bridge_dagster.automation.sensor import loaded_tables
from lineage_bridge_dagster.automation.tick import Dagster, Loaded, Outcome, Tick
from lineage_bridge_dagster.automation.watched_lists import GLUE, TABLEFLOW, ListScope
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, World, many

LOG = logging.getLogger("tick")


class Instance(Dagster):
    """A Dagster whose answers a test sets."""

    def __init__(self) -> None:
        self.latest: str | None = None
        self.is_refreshing = False
        self.flying: frozenset[AssetKey] = frozenset()
        self.pushed: dict[AssetKey, str] = {}
        self.reloads = 0
        self.reload_error: Exception | None = None
        self.lookups = 0
        self.refreshed_at = 0.0

    def latest_version(self) -> str | None:
        return self.latest

    def refreshing(self) -> bool:
        return self.is_refreshing

    def refreshed_since(self, since: float) -> bool:
        return self.refreshed_at > since

    def in_flight(self) -> frozenset[AssetKey]:
        return self.flying

    def pushed_versions(self, keys: Sequence[AssetKey]) -> Mapping[AssetKey, str | None]:
        self.lookups += len(keys)
        return {key: self.pushed.get(key) for key in keys}

    def reload(self) -> str:
        if self.reload_error:
            raise self.reload_error
        self.reloads += 1
        return "in a test"


class Outside:
    """The cheap lists as they stand outside; a scope may be made to fail."""

    def __init__(self, w: World) -> None:
        self.lists: dict[ListScope, set[str]] = {}
        self.failing: set[ListScope] = set()
        self.asked: list[ListScope] = []
        for node in w.graph.of_type("tableflow_table"):
            scope = ListScope(TABLEFLOW, ENV, node.cluster_id or "")
            self.lists.setdefault(scope, set()).add(f"{node.attributes['topic']}\tRUNNING")
        for node in w.graph.of_type("catalog_table"):
            self.lists.setdefault(ListScope(GLUE, "", node.attributes["database"]), set()).add(
                node.attributes["table_name"]
            )

    def __call__(self, scope: ListScope) -> Iterable[str]:
        self.asked.append(scope)
        if scope in self.failing:
            raise LineageBridgeError("HTTP 500", hint="wait")
        return sorted(self.lists.get(scope, ()))


class Harness:
    """One sensor over time: its clock, its cursor and what it was loaded with."""

    def __init__(self, w: World | None, version: str = "v1") -> None:
        self.instance = Instance()
        self.now = 1_000_000.0
        self.cursor = Cursor()
        self.outside = Outside(w or World())
        self.budget = 20.0
        self.spent = 0.0
        self.load(w, version)

    def load(self, w: World | None, version: str) -> None:
        inventory = build_inventory(w.discovery(), LineageTranslator().get_asset_spec) if w else None
        self.loaded: Loaded = loaded_tables(version if w else "", inventory, PushSettings)
        self.instance.latest = version if w else None

    def push_everything(self) -> None:
        self.instance.pushed = {table.key: table.version() for table in self.loaded.tables}

    def tick(self, seconds: float = 10.0) -> Outcome:
        self.now += seconds
        made = Tick(
            self.loaded,
            self.instance,
            self.outside,
            LOG,
            budget_seconds=self.budget,
            clock=lambda: self.now,
            timer=self._timer,
        )
        # What a tick leaves goes through the text that Dagster stores.
        read, word = Cursor.read(self.cursor.write())
        assert not word
        outcome = made.run(read)
        self.cursor = outcome.cursor
        return outcome

    def _timer(self) -> float:
        self.spent += 1.0
        return self.spent


def settled(tables: int = 2) -> Harness:
    """A sensor to which nothing is new: everything is pushed and every list was seen."""
    harness = Harness(many(tables))
    harness.push_everything()
    outcome = harness.tick()
    assert not outcome.pushes
    assert outcome.refresh is None
    return harness


def unpushed(tables: int = 1) -> Harness:
    """A sensor of a state of which no table is pushed yet."""
    return Harness(many(tables))


EAST_TOPICS = ListScope(TABLEFLOW, ENV, EAST)
EAST_TABLES = ListScope(GLUE, "", EAST)


def test_without_a_state_it_asks_for_a_refresh_by_itself() -> None:
    harness = Harness(None)
    outcome = harness.tick()
    assert outcome.refresh
    assert outcome.refresh.reason == "there is no state yet"


def test_a_first_refresh_that_failed_is_asked_for_again_with_growing_waits() -> None:
    harness = Harness(None)
    asked = [harness.now for _ in range(60) if harness.tick(5.0).refresh]
    waits = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert len(waits) >= 3
    assert waits == sorted(waits)
    assert waits[0] >= 15


def test_a_refresh_on_its_way_is_not_asked_for_twice() -> None:
    harness = Harness(None)
    harness.instance.is_refreshing = True
    assert harness.tick().refresh is None


def test_a_newer_state_is_reloaded_and_the_next_tick_asks_for_its_new_table() -> None:
    harness = settled(2)
    w = many(3)
    harness.outside = Outside(w)
    harness.instance.latest = "v2"
    outcome = harness.tick()
    assert harness.instance.reloads == 1
    assert not outcome.pushes
    harness.load(w, "v2")
    outcome = harness.tick()
    assert [key.to_user_string() for key in outcome.pushes[0].keys] == [
        f"upstream_chain/{EAST}/topic.00002",
        f"glue/{EAST}/topic.00002",
    ]


def test_a_reload_that_fails_is_said_and_the_loaded_tables_are_served_on() -> None:
    harness = unpushed()
    harness.instance.latest = "v2"
    harness.instance.reload_error = RuntimeError("no server")
    outcome = harness.tick()
    assert any("no server" in note for note in outcome.notes)
    assert outcome.pushes


def test_a_new_tableflow_topic_leads_to_a_refresh_that_names_it() -> None:
    harness = settled()
    harness.outside.lists[EAST_TOPICS].add("returns.v1\tPENDING")
    outcome = harness.tick()
    assert outcome.refresh
    assert "new: returns.v1" in outcome.refresh.reason


def test_a_refresh_that_brought_the_table_is_not_asked_for_again() -> None:
    harness = settled(2)
    w = many(3)
    harness.outside = Outside(w)
    assert harness.tick().refresh
    harness.load(w, "v2")
    harness.push_everything()
    assert [harness.tick().refresh for _ in range(5)] == [None] * 5


def test_a_refresh_that_failed_does_not_lose_what_it_was_asked_for() -> None:
    harness = settled()
    harness.outside.lists[EAST_TOPICS].add("returns.v1\tPENDING")
    assert harness.tick().refresh
    # It failed: the state is as old as it was.
    assert [bool(harness.tick(5.0).refresh) for _ in range(4)].count(True) == 1


def test_a_refresh_that_found_nothing_new_is_not_asked_for_again_though_it_stored_no_state() -> None:
    harness = settled()
    harness.outside.lists[EAST_TOPICS].add("hidden\tPENDING")
    assert harness.tick().refresh
    harness.instance.refreshed_at = harness.now + 1
    assert [harness.tick(60.0).refresh for _ in range(30)] == [None] * 30
    # What comes after it is news again.
    harness.outside.lists[EAST_TOPICS].add("returns.v1\tPENDING")
    assert harness.tick().refresh


def test_a_table_that_appears_in_glue_later_leads_to_another_refresh() -> None:
    w = many(1)
    w.topic(EAST, "late")
    w.tableflow(EAST, "late")
    harness = Harness(w)
    harness.push_everything()
    assert harness.tick().refresh is None
    harness.outside.lists[EAST_TABLES].add("late")
    outcome = harness.tick()
    assert outcome.refresh
    assert "new: late" in outcome.refresh.reason


def test_a_list_that_answers_500_loses_nothing_and_keeps_no_other_from_being_asked() -> None:
    harness = settled()
    harness.outside.failing = {EAST_TOPICS}
    harness.outside.asked.clear()
    outcome = harness.tick()
    assert outcome.refresh is None
    assert any("nothing of them is taken away" in note for note in outcome.notes)
    assert EAST_TABLES in harness.outside.asked
    harness.outside.failing = set()
    assert harness.tick().refresh is None


def test_a_table_gone_is_left_to_a_refresh_and_stays_until_a_state_lacks_it() -> None:
    harness = settled()
    harness.outside.lists[EAST_TOPICS] = {"topic.00000\tRUNNING"}
    outcome = harness.tick()
    assert outcome.refresh
    assert "gone: topic.00001" in outcome.refresh.reason
    assert len(harness.loaded.tables) == 2


def test_a_table_whose_push_failed_is_asked_for_again_with_growing_waits() -> None:
    harness = unpushed()
    asked = [harness.now for _ in range(100) if harness.tick(10.0).pushes]
    waits = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert len(waits) >= 4
    assert waits == sorted(waits)
    assert waits[-1] >= 8 * waits[0]


def test_each_request_has_a_run_key_of_its_own_and_a_repeated_tick_the_same() -> None:
    harness = unpushed()
    before = harness.cursor.model_copy(deep=True)
    first = harness.tick().pushes[0].run_key
    # The daemon died before it stored the cursor: the tick is evaluated again.
    harness.cursor = before
    assert harness.tick(1.0).pushes[0].run_key == first
    assert harness.tick(3600.0).pushes[0].run_key != first


def test_a_table_on_its_way_is_not_asked_for() -> None:
    harness = unpushed()
    harness.instance.flying = frozenset(table.key for table in harness.loaded.tables)
    assert not harness.tick().pushes
    harness.instance.flying = frozenset()
    assert harness.tick().pushes


def test_a_pushed_table_is_forgotten_by_the_cursor() -> None:
    harness = unpushed()
    harness.tick()
    assert harness.cursor.attempts
    harness.push_everything()
    assert not harness.tick().pushes
    assert not harness.cursor.attempts


def test_a_chain_that_changed_upstream_is_pushed_again_and_others_are_not() -> None:
    harness = settled(2)
    w = many(2)
    w.edge(w.connector(EAST, "new-source", "X"), w.topic(EAST, "topic.00001"), tick_edge())
    harness.load(w, "v2")
    outcome = harness.tick()
    assert [push.tables for push in outcome.pushes] == [1]
    assert outcome.pushes[0].keys[1] == AssetKey(["glue", EAST, "topic.00001"])


def tick_edge() -> Any:
    from lineage_bridge_dagster.lineage.model import EdgeType

    return EdgeType.PRODUCES


def test_a_conflicting_table_is_never_asked_for() -> None:
    w = many(1)
    w.topic(EAST, "Twice")
    w.glue(EAST, "Twice", conflict="two topics")
    harness = Harness(w)
    outcome = harness.tick()
    assert [push.tables for push in outcome.pushes] == [1]


def test_a_tick_out_of_time_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tick_module, "_LOOKUP", 10)
    harness = Harness(many(100))
    harness.push_everything()
    harness.budget = 4.0
    positions, asked = [], []
    for _ in range(60):
        harness.outside.asked.clear()
        harness.tick()
        positions.append(harness.cursor.compared)
        asked += harness.outside.asked
    assert positions[0] < 100
    assert positions == sorted(positions)
    assert positions[-1] >= 100
    assert harness.instance.lookups == 100
    # Every list gets its turn though each tick has time for one or two.
    assert set(asked) >= {EAST_TOPICS, EAST_TABLES}


def test_many_tables_are_asked_for_in_runs_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tick_module, "MAX_TABLES_A_RUN", 40)
    outcome = Harness(many(100)).tick()
    assert [push.tables for push in outcome.pushes] == [40, 40, 20]
    assert len({push.run_key for push in outcome.pushes}) == 3


def test_a_lost_cursor_asks_for_nothing_that_is_pushed() -> None:
    harness = settled()
    harness.cursor = Cursor()
    outcome = harness.tick()
    assert not outcome.pushes
    assert outcome.refresh is None


@given(st.text())
def test_a_corrupt_cursor_starts_anew_and_says_so(text: str) -> None:
    cursor, word = Cursor.read(text)
    assert cursor == Cursor()
    assert bool(word) == bool(text)


@pytest.mark.parametrize("text", ['{"version": 0}', '{"version": 99, "new": 1}', '{"attempts": 3}', "null"])
def test_a_cursor_of_another_version_starts_anew_and_says_so(text: str) -> None:
    cursor, word = Cursor.read(text)
    assert cursor == Cursor()
    assert word


def test_a_cursor_comes_back_as_it_was_written() -> None:
    cursor = unpushed().tick().cursor
    assert Cursor.read(cursor.write()) == (cursor, "")
    assert cursor.version == VERSION


def test_backoff_doubles_up_to_its_bound() -> None:
    assert [backoff(count) for count in (1, 2, 3)] == [30, 60, 120]
    assert backoff(10_000) == 3600


class Heard:
    """A tick's own lines, as the UI shows them."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        caplog.set_level(logging.INFO, "tick")

    def tick(self, harness: Harness, seconds: float = 10.0) -> tuple[list[str], str]:
        """Its lines, and its reason for asking for nothing."""
        self._caplog.clear()
        outcome = harness.tick(seconds)
        return [record.getMessage() for record in self._caplog.records], outcome.skip_reason


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Heard:
    return Heard(caplog)


def test_a_tick_with_nothing_to_do_says_what_it_looked_at(heard: Heard) -> None:
    lines, reason = heard.tick(settled(1200))
    assert lines == [
        "1,200 of 1,200 tables were last pushed with the lineage they have now.",
        "3 of 3 lists in Confluent and Glue told 2,400 entries, all known already.",
    ]
    assert reason == (
        "Nothing is new: 1,200 of 1,200 tables were last pushed with the lineage they have now, and 3 of 3 "
        "lists in Confluent and Glue told 2,400 entries, all known already."
    )


def test_a_tick_says_which_tables_it_asks_for_and_what_waits_until_when(heard: Heard) -> None:
    harness = unpushed(7)
    lines, _ = heard.tick(harness)
    assert lines[:2] == [
        "0 of 7 tables were last pushed with the lineage they have now.",
        f"Asking for the lineage of 7 tables in 1 run: {', '.join(f'{EAST}.topic.0000{n}' for n in range(5))}"
        " and 2 more.",
    ]
    harness.instance.flying = frozenset(table.key for table in harness.loaded.tables[:3])
    _, reason = heard.tick(harness)
    assert reason == (
        "3 tables on the way in queued or running runs; 4 tables not as wanted after the last run, "
        "asked for again from 13:47:20 UTC on."
    )
    harness.instance.flying = frozenset()
    lines, _ = heard.tick(harness, 60.0)
    assert lines[1].endswith("7 of them again, for the last run left them as they were.")


def test_a_tick_names_clusters_and_says_why_it_asks_for_a_refresh(heard: Heard) -> None:
    harness = settled()
    harness.outside.lists[EAST_TOPICS] |= {f"returns.v{number}\tPENDING" for number in range(7)}
    lines, _ = heard.tick(harness)
    assert lines[-1] == (
        "Asking for a refresh: Tableflow topics of cluster east1 (lkc-east1): new: returns.v0, returns.v1, "
        "returns.v2, returns.v3, returns.v4 and 2 more."
    )
    _, reason = heard.tick(harness, 5.0)
    assert "asked for again from 13:47:15 UTC on (Tableflow topics of cluster east1" in reason


def test_a_tick_says_which_list_could_not_be_asked_and_that_nothing_is_lost(heard: Heard) -> None:
    harness = settled()
    harness.outside.failing = {EAST_TABLES}
    _, reason = heard.tick(harness)
    assert reason == (
        "The Glue tables of database lkc-east1 could not be asked, so nothing of them is taken away: "
        "HTTP 500\n  -> wait."
    )


def test_a_tick_that_reloads_says_so_in_one_sentence(heard: Heard) -> None:
    harness = settled()
    harness.instance.latest = "v2"
    lines, reason = heard.tick(harness)
    assert lines == [reason]
    assert reason.startswith("A newer discovery was stored and the definitions reloaded")
