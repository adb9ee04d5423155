"""Ticks of the sensor."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest
from dagster import AssetKey

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.automation import missing_pushes
from lineage_bridge_dagster.automation.cursor import Cursor
from lineage_bridge_dagster.automation.loaded import loaded_tables
from lineage_bridge_dagster.automation.state import UnreachableStateError
from lineage_bridge_dagster.automation.watched_lists import GLUE, TABLEFLOW, ListScope
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.formats import NewerFormatError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, many
from lineage_bridge_dagster_tests.automation.ticks import Harness, Lists, unpushed, up_to_date

EAST_TOPICS = ListScope(TABLEFLOW, ENV, EAST)
EAST_TABLES = ListScope(GLUE, "", EAST)


def test_without_a_state_it_requests_a_refresh() -> None:
    harness = Harness(None)
    result = harness.tick()
    assert result.refresh
    assert result.refresh.reason == "no discovery is stored yet"


def test_a_failed_first_refresh_is_retried_with_growing_waits() -> None:
    harness = Harness(None)
    requests = [harness.now for _ in range(60) if harness.tick(5.0).refresh]
    waits = [later - earlier for earlier, later in itertools.pairwise(requests)]
    assert len(waits) >= 3
    assert waits == sorted(waits)
    assert waits[0] >= 15


def test_a_refresh_in_progress_is_not_requested_again() -> None:
    harness = Harness(None)
    harness.dagster.is_refreshing = True
    assert harness.tick().refresh is None


def test_a_newer_state_is_reloaded_and_the_next_tick_requests_its_new_table() -> None:
    harness = up_to_date(2)
    w = many(3)
    harness.lists = Lists(w)
    harness.dagster.latest = "v2"
    result = harness.tick()
    assert harness.dagster.reloads == 1
    assert not result.pushes
    harness.load(w, "v2")
    result = harness.tick()
    assert [key.to_user_string() for key in result.pushes[0].keys] == [
        f"upstream_chain/{EAST}/topic.00002",
        f"glue/{EAST}/topic.00002",
    ]


def test_after_a_failed_reload_the_loaded_tables_are_still_served() -> None:
    harness = unpushed()
    harness.dagster.latest = "v2"
    harness.dagster.reload_error = RuntimeError("no server")
    result = harness.tick()
    assert any("no server" in note for note in result.notes)
    assert result.pushes


def test_a_new_tableflow_topic_leads_to_a_refresh_that_names_it() -> None:
    harness = up_to_date()
    harness.lists.entries[EAST_TOPICS].add("returns.v1\tPENDING")
    result = harness.tick()
    assert result.refresh
    assert "new: returns.v1" in result.refresh.reason


def test_a_new_table_is_added_without_a_refresh_and_the_next_tick_requests_its_lineage() -> None:
    harness, w = up_to_date(2), many(3)
    asked: list[list[ListScope]] = []
    harness.lists = Lists(w)

    def update(_last: Discovery, scopes: Sequence[ListScope]) -> Discovery:
        asked.append(list(scopes))
        return w.discovery()

    harness.update = update
    result = harness.tick()
    assert asked == [[EAST_TABLES, EAST_TOPICS]]
    assert (result.refresh, result.pushes, harness.dagster.reloads) == (None, [], 1)
    assert result.skip_reason.startswith("Added to the last discovery")
    assert "new: topic.00002" in result.skip_reason
    harness.load(w, "stored-1")
    assert [push.tables for push in harness.tick().pushes] == [1]
    harness.push_everything()
    results = [harness.tick() for _ in range(5)]
    assert [(result.refresh, result.pushes) for result in results] == [(None, [])] * 5
    assert len(asked) == 1


def test_a_change_that_takes_a_whole_discovery_leads_to_a_refresh() -> None:
    harness = up_to_date()
    harness.lists.entries[EAST_TOPICS].add("returns.v1\tPENDING")
    assert harness.tick().refresh
    assert not harness.dagster.stored


@pytest.mark.parametrize("error", [LineageBridgeError("HTTP 403", hint="grant it"), KeyError("HTTP 403")])
def test_a_lookup_that_fails_leads_to_a_refresh_and_says_why(error: Exception) -> None:
    harness = up_to_date()
    harness.lists.entries[EAST_TOPICS].add("returns.v1\tPENDING")

    def update(_last: Discovery, _scopes: Sequence[ListScope]) -> Discovery:
        raise error

    harness.update = update
    result = harness.tick()
    assert result.refresh
    assert "HTTP 403" in result.skip_reason
    assert not harness.dagster.stored


@pytest.mark.parametrize("meanwhile", ["a refresh runs", "a newer state is stored"])
def test_nothing_is_added_to_a_discovery_that_is_being_replaced(meanwhile: str) -> None:
    harness, w = up_to_date(), many(3)
    harness.lists = Lists(w)
    harness.dagster.is_refreshing = meanwhile == "a refresh runs"

    def update(_last: Discovery, _scopes: Sequence[ListScope]) -> Discovery:
        harness.dagster.latest = "v2"
        return w.discovery()

    harness.update = update
    harness.tick()
    assert not harness.dagster.stored


def test_a_refresh_that_found_the_table_is_not_requested_again() -> None:
    harness = up_to_date(2)
    w = many(3)
    harness.lists = Lists(w)
    assert harness.tick().refresh
    harness.load(w, "v2")
    harness.push_everything()
    assert [harness.tick().refresh for _ in range(5)] == [None] * 5


def test_a_failed_refresh_is_requested_again() -> None:
    harness = up_to_date()
    harness.lists.entries[EAST_TOPICS].add("returns.v1\tPENDING")
    assert harness.tick().refresh
    # It failed: no newer state was stored.
    assert [bool(harness.tick(5.0).refresh) for _ in range(4)].count(True) == 1


def test_a_refresh_that_found_nothing_new_is_not_requested_again_though_it_stored_no_state() -> None:
    harness = up_to_date()
    harness.lists.entries[EAST_TOPICS].add("hidden\tPENDING")
    assert harness.tick().refresh
    harness.dagster.refreshed_at = harness.now + 1
    assert [harness.tick(60.0).refresh for _ in range(30)] == [None] * 30
    # A later entry leads to another refresh.
    harness.lists.entries[EAST_TOPICS].add("returns.v1\tPENDING")
    assert harness.tick().refresh


def test_a_table_that_appears_in_glue_later_leads_to_another_refresh() -> None:
    w = many(1)
    w.topic(EAST, "late")
    w.tableflow(EAST, "late")
    harness = Harness(w)
    harness.push_everything()
    assert harness.tick().refresh is None
    harness.lists.entries[EAST_TABLES].add("late")
    result = harness.tick()
    assert result.refresh
    assert "new: late" in result.refresh.reason


def test_a_list_that_fails_removes_nothing_and_does_not_keep_others_from_being_read() -> None:
    harness = up_to_date()
    harness.lists.failing = {EAST_TOPICS}
    harness.lists.read.clear()
    result = harness.tick()
    assert result.refresh is None
    assert any("none of them are removed" in note for note in result.notes)
    assert EAST_TABLES in harness.lists.read
    harness.lists.failing = set()
    assert harness.tick().refresh is None


def test_a_table_that_is_gone_stays_until_a_refresh_stores_a_state_without_it() -> None:
    harness = up_to_date()
    harness.lists.entries[EAST_TOPICS] = {"topic.00000\tRUNNING"}
    result = harness.tick()
    assert result.refresh
    assert "gone: topic.00001" in result.refresh.reason
    assert len(harness.loaded.tables) == 2


def test_a_failed_push_is_retried_with_growing_waits() -> None:
    harness = unpushed()
    requests = [harness.now for _ in range(100) if harness.tick(10.0).pushes]
    waits = [later - earlier for earlier, later in itertools.pairwise(requests)]
    assert len(waits) >= 4
    assert waits == sorted(waits)
    assert waits[-1] >= 8 * waits[0]


def test_requests_have_distinct_run_keys_and_a_repeated_tick_has_the_same() -> None:
    harness = unpushed()
    before = harness.cursor.model_copy(deep=True)
    first = harness.tick().pushes[0].run_key
    # The daemon died before it stored the cursor: the tick is evaluated again.
    harness.cursor = before
    assert harness.tick(1.0).pushes[0].run_key == first
    assert harness.tick(3600.0).pushes[0].run_key != first


def test_a_table_in_a_run_is_not_requested() -> None:
    harness = unpushed()
    harness.dagster.assets_in_flight = frozenset(table.key for table in harness.loaded.tables)
    assert not harness.tick().pushes
    harness.dagster.assets_in_flight = frozenset()
    assert harness.tick().pushes


def test_the_cursor_drops_a_pushed_table() -> None:
    harness = unpushed()
    harness.tick()
    assert harness.cursor.attempts
    harness.push_everything()
    assert not harness.tick().pushes
    assert not harness.cursor.attempts


def test_a_chain_that_changed_upstream_is_pushed_again_and_others_are_not() -> None:
    harness = up_to_date(2)
    w = many(2)
    w.edge(w.connector(EAST, "new-source", "X"), w.topic(EAST, "topic.00001"), EdgeType.PRODUCES)
    harness.load(w, "v2")
    result = harness.tick()
    assert [push.tables for push in result.pushes] == [1]
    assert result.pushes[0].keys[1] == AssetKey(["glue", EAST, "topic.00001"])


def test_a_conflicting_table_is_never_requested() -> None:
    w = many(1)
    w.topic(EAST, "Twice")
    w.glue(EAST, "Twice", conflict="two topics")
    harness = Harness(w)
    result = harness.tick()
    assert [push.tables for push in result.pushes] == [1]


def test_after_running_out_of_time_the_next_tick_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing_pushes, "_LOOKUP", 10)
    harness = Harness(many(100))
    harness.push_everything()
    harness.budget = 4.0
    positions, read = [], []
    for _ in range(60):
        harness.lists.read.clear()
        harness.tick()
        positions.append(harness.cursor.compared)
        read += harness.lists.read
    assert positions[0] < 100
    assert positions == sorted(positions)
    assert positions[-1] >= 100
    assert harness.dagster.lookups == 100
    # Every list gets its turn, although a tick has time for one or two.
    assert set(read) >= {EAST_TOPICS, EAST_TABLES}


def test_many_tables_are_requested_in_runs_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing_pushes, "MAX_TABLES_A_RUN", 40)
    result = Harness(many(100)).tick()
    assert [push.tables for push in result.pushes] == [40, 40, 20]
    assert len({push.run_key for push in result.pushes}) == 3


def test_open_tables_count_once_against_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing_pushes, "MAX_OPEN", 30)
    monkeypatch.setattr(missing_pushes, "_LOOKUP", 10)
    harness = unpushed(100)
    assert [push.tables for push in harness.tick().pushes] == [30]
    # Ten of them are pushed, so that twenty are open: there is room for ten others.
    harness.dagster.pushed = {table.key: table.version() for table in harness.loaded.tables[:10]}
    harness.tick()
    assert len(harness.cursor.attempts) == 30
    assert harness.cursor.compared == 40
    # As many as the limit are open: no other table is looked up.
    harness.tick()
    assert harness.cursor.compared == 40


def test_a_lost_cursor_requests_nothing_that_is_pushed() -> None:
    harness = up_to_date()
    harness.cursor = Cursor()
    result = harness.tick()
    assert not result.pushes
    assert result.refresh is None


class TickLog:
    """The lines that a tick logs, as the UI shows them."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        caplog.set_level(logging.INFO, "tick")

    def tick(self, harness: Harness, seconds: float = 10.0) -> tuple[list[str], str]:
        """The lines of a tick, and its skip reason."""
        self._caplog.clear()
        result = harness.tick(seconds)
        return [record.getMessage() for record in self._caplog.records], result.skip_reason


@pytest.fixture
def tick_log(caplog: pytest.LogCaptureFixture) -> TickLog:
    return TickLog(caplog)


def test_a_tick_with_nothing_to_do_reports_what_it_compared(tick_log: TickLog) -> None:
    lines, reason = tick_log.tick(up_to_date(1200))
    assert lines == [
        "1,200 of 1,200 tables were last pushed with their current lineage.",
        "3 of 3 lists in Confluent and Glue have 2,400 entries, none of them new.",
    ]
    assert reason == (
        "Nothing new: 1,200 of 1,200 tables were last pushed with their current lineage, and 3 of 3 "
        "lists in Confluent and Glue have 2,400 entries, none of them new."
    )


def test_a_tick_names_the_tables_it_requests_and_reports_when_others_are_due(tick_log: TickLog) -> None:
    harness = unpushed(7)
    lines, _ = tick_log.tick(harness)
    assert lines[:2] == [
        "0 of 7 tables were last pushed with their current lineage.",
        f"Requesting the lineage of 7 tables in 1 run: {', '.join(f'{EAST}.topic.0000{n}' for n in range(5))}"
        " and 2 more.",
    ]
    harness.dagster.assets_in_flight = frozenset(table.key for table in harness.loaded.tables[:3])
    _, reason = tick_log.tick(harness)
    assert reason == (
        "3 tables in queued or running runs; 4 tables not updated by the last run, next try at 13:47:20 UTC."
    )
    harness.dagster.assets_in_flight = frozenset()
    lines, _ = tick_log.tick(harness, 60.0)
    assert lines[1].endswith("7 of them again: the last run did not update them.")


def test_a_tick_names_clusters_and_the_reason_for_a_refresh(tick_log: TickLog) -> None:
    harness = up_to_date()
    harness.lists.entries[EAST_TOPICS] |= {f"returns.v{number}\tPENDING" for number in range(7)}
    lines, _ = tick_log.tick(harness)
    assert lines[-1] == (
        "Requesting a refresh: Tableflow topics of cluster east1 (lkc-east1): new: returns.v0, returns.v1, "
        "returns.v2, returns.v3, returns.v4 and 2 more."
    )
    _, reason = tick_log.tick(harness, 5.0)
    assert "next try at 13:47:15 UTC (Tableflow topics of cluster east1" in reason


def test_a_tick_names_the_list_that_could_not_be_read_and_removes_nothing(tick_log: TickLog) -> None:
    harness = up_to_date()
    harness.lists.failing = {EAST_TABLES}
    _, reason = tick_log.tick(harness)
    assert reason == (
        "The Glue tables of database lkc-east1 could not be listed, so none of them are removed: "
        "HTTP 500\n  -> wait."
    )


def test_a_tick_that_reloads_logs_one_sentence(tick_log: TickLog) -> None:
    harness = up_to_date()
    harness.dagster.latest = "v2"
    lines, reason = tick_log.tick(harness)
    assert lines == [reason]
    assert reason.startswith("Loaded a newer discovery (")


def test_settings_that_change_are_used_by_the_next_tick(caplog: pytest.LogCaptureFixture) -> None:
    h = Harness(many(2))
    inventory = build_inventory(many(2).discovery(), LineageTranslator().get_asset_spec)
    settings = [PushSettings()]
    h.loaded = loaded_tables("v1", inventory, lambda: settings[0])
    h.push_everything()
    assert not h.tick().pushes
    settings[0] = PushSettings(set_description=False)
    assert [push.tables for push in h.tick().pushes] == [2]
    h.push_everything()
    assert not h.tick().pushes


def test_settings_that_cannot_be_read_stop_neither_the_lists_nor_the_tick() -> None:
    h = Harness(many(2))

    def unreadable() -> PushSettings:
        raise LineageBridgeError("The secret 'keys' could not be read.", hint="Grant it.")

    inventory = build_inventory(many(2).discovery(), LineageTranslator().get_asset_spec)
    h.loaded = loaded_tables("v1", inventory, unreadable)
    result = h.tick()
    assert not result.pushes
    assert "The secret 'keys' could not be read" in result.skip_reason
    assert h.lists.read


def test_two_code_servers_that_take_turns_are_reported() -> None:
    """One that is replaced, as at each reload by a restart, never comes back."""
    harness = up_to_date()
    for server, reported in (
        ("b", False),
        ("b", False),
        ("c", False),
        ("b", True),
        ("c", True),
        ("c", False),
    ):
        harness.server = f"host/{server}"
        assert ("two code servers" in " ".join(harness.tick().notes)) is reported


def test_a_state_that_cannot_be_loaded_is_waited_for_or_replaced() -> None:
    """A server may have none, because it started so, or an older one."""
    for harness in (Harness(None), up_to_date()):
        harness.dagster.latest = "v9"
        harness.loaded = replace(harness.loaded, version=harness.loaded.version or "v9")
        harness.dagster.reload_error = LineageBridgeError("cannot be loaded")
        for error in (UnreachableStateError("the bucket is away"), NewerFormatError("of a newer version")):
            harness.dagster.state_error = error
            result = harness.tick()
            assert result.refresh is None
            assert str(error) in " ".join(result.notes)
        harness.dagster.state_error = LineageBridgeError("cut short")
        refresh = harness.tick().refresh
        assert refresh is not None
        assert "cut short" in refresh.reason
    started_without = Harness(None)
    started_without.loaded = replace(started_without.loaded, version="v1")
    started_without.dagster.latest = "v1"
    assert started_without.tick().refresh is None
    assert started_without.dagster.reloads == 1
