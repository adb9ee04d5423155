"""A table is late when a record waits too long for it; what cannot be determined never passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.assets.check_outcomes import CheckOutcome
from lineage_bridge_dagster.assets.freshness import judge_tables
from lineage_bridge_dagster.assets.offset_growth import OFFSETS, OffsetGrowth
from lineage_bridge_dagster.assets.settings import Limits
from lineage_bridge_dagster.assets.topic_facts import Backlog
from lineage_bridge_dagster.catalogs.iceberg.snapshots import Cadence, SnapshotError, SnapshotState
from lineage_bridge_dagster.confluent.api.brokers import PartitionOffsets
from lineage_bridge_dagster.confluent.api.errors import BrokerError
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster_tests.assets.world import EAST, World

MINUTE = 60_000
NOW = 1_800_000_000_000
LIMITS = Limits(30, 60)


def committed(minutes_ago: float, **fields: Any) -> SnapshotState:
    at = NOW - int(minutes_ago * MINUTE)
    return (
        SnapshotState(7, at, at, "append", 10, 10, at) if not fields else SnapshotState(7, at, at, **fields)
    )


def backlog(last: float | None, first: float | None = None, records: int = 10, untimed: str = "") -> Backlog:
    """Return a backlog; times are minutes before now."""
    ago = [None if minutes is None else NOW - int(minutes * MINUTE) for minutes in (last, first)]
    return Backlog(records, ago[0], ago[1], untimed)


def judge(
    answer: Backlog | Exception | None,
    commit: SnapshotState | LineageBridgeError | None,
    limits: Limits = LIMITS,
    world: World | None = None,
    before: OffsetGrowth | None = None,
) -> CheckOutcome:
    w = world or World()
    if world is None:
        w.topic(EAST, "t")
        w.glue(EAST, "t")
    view = GraphView.of(w.discovery())
    tables = list(w.graph.of_type("catalog_table"))
    requested: list[tuple[Node, int | None]] = []

    def read(topics: Iterable[tuple[Node, int | None]]) -> Iterator[tuple[Node, Backlog | Exception]]:
        requested.extend(topics)
        if isinstance(answer, ConfigurationError):
            raise answer
        yield from ((topic, answer) for topic, _ in requested if answer is not None)

    commits = {} if commit is None else {table.node_id: commit for table in tables}
    previous = {} if before is None else {table.node_id: before for table in tables}
    found = judge_tables(tables, view, commits, read, limits, previous, lambda: NOW)
    assert set(found) == {table.node_id for table in tables}
    return next(iter(found.values()))


def test_a_table_with_all_records_of_its_topic_is_fresh_however_old_both_are() -> None:
    week = 7 * 24 * 60
    found = judge(backlog(week + 1), committed(week))
    assert found.passed
    assert found.metadata["lineage_bridge/lag_seconds"] == 0


@pytest.mark.parametrize(
    ("waited", "passed", "error"),
    [(0, True, False), (29.9, True, False), (30, False, False), (59.9, False, False), (60, False, True)],
)
def test_how_long_a_record_may_wait(waited: float, passed: bool, error: bool) -> None:
    found = judge(backlog(0, waited), committed(waited + 5))
    assert (found.passed, found.error) == (passed, error)
    assert found.metadata["lineage_bridge/waited_seconds"] == waited * 60
    assert bool(found.next_step) is not passed


def test_a_late_table_reports_the_delay_and_the_next_step() -> None:
    found = judge(backlog(10, 125), committed(130))
    assert "topic t" in found.summary
    assert "2 hours 5 minutes" in found.summary
    for word in ("tableflow_healthy", "dead letter", f"describe t --cluster {EAST}", "FAIL_MINUTES"):
        assert word in found.next_step
    assert found.metadata["lineage_bridge/lag_seconds"] == 120 * 60
    assert found.metadata["lineage_bridge/snapshot_id"] == "7"
    assert found.metadata["dagster/row_count"] == 10


def test_many_new_records_are_not_late_while_the_first_is_recent() -> None:
    assert judge(backlog(0, 1), committed(10_000)).passed


def test_either_limit_may_be_omitted() -> None:
    assert judge(backlog(0, 90), committed(100), Limits(None, 120)).passed
    found = judge(backlog(0, 90), committed(100), Limits(30, None))
    assert (found.passed, found.error) == (False, False)
    assert not Limits(None, None)


def test_an_empty_topic_has_no_waiting_records() -> None:
    assert judge(backlog(None, records=0), committed(10_000)).passed
    assert judge(backlog(None, records=0), SnapshotState(updated_ms=NOW)).passed


def test_a_new_table_is_not_late_for_records_older_than_itself() -> None:
    created = NOW - 10 * MINUTE
    assert judge(backlog(0, 5_000), SnapshotState(updated_ms=created)).passed
    found = judge(backlog(0, 5_000), SnapshotState(updated_ms=NOW - 90 * MINUTE))
    assert found.error
    assert "nothing was committed" in found.summary
    assert "1 hour 30 minutes" in found.summary


def test_future_record_times_make_the_outcome_unknown_unless_a_record_is_late() -> None:
    found = judge(backlog(-60 * 24, -60 * 24), committed(5))
    assert (found.passed, found.error) == (False, False)
    assert "LogAppendTime" in found.next_step
    assert "lineage_bridge/lag_seconds" not in found.metadata
    assert judge(backlog(-60 * 24, 90), committed(100)).error


def test_a_time_beyond_the_calendar_is_reported() -> None:
    found = judge(Backlog(10, NOW * 1_000_000, NOW * 1_000_000), committed(5))
    assert not found.passed
    assert "ms since 1970" in found.summary


def test_a_clock_slightly_ahead_is_tolerated() -> None:
    assert judge(backlog(-2, -2), committed(5)).passed


def test_records_without_times_make_the_outcome_unknown() -> None:
    found = judge(backlog(None), committed(5))
    assert (found.passed, found.error) == (False, False)
    assert "has a time" in found.summary


def test_without_the_last_records_time_the_first_new_one_decides() -> None:
    assert judge(backlog(None, None, untimed="too old"), committed(5)).passed
    found = judge(backlog(None, 90, untimed="too old"), committed(100))
    assert found.error
    assert "too old" in found.metadata["lineage_bridge/last_record"]


def test_records_of_an_open_transaction_do_not_wait() -> None:
    found = judge(backlog(90), committed(100))
    assert found.passed
    assert "not committed" in found.summary


@pytest.mark.parametrize(
    ("answer", "commit"),
    [
        (BrokerError("no answer", hint="Check the key."), committed(5)),
        (ConfigurationError("no secret", hint="Check the key."), committed(5)),
        (None, committed(5)),
        (backlog(5), SnapshotError("denied", hint="Check the key.")),
        (backlog(5), None),
    ],
)
def test_what_could_not_be_read_is_a_warning(
    answer: Backlog | Exception | None, commit: SnapshotState | LineageBridgeError | None
) -> None:
    found = judge(answer, commit)
    assert (found.passed, found.error) == (False, False)
    assert found.summary.startswith("Unknown: ")
    assert found.next_step in ("Check the key.", "Run this check again.")


def test_a_table_with_two_topics_is_not_fresh() -> None:
    w = World()
    w.topic(EAST, "t")
    w.topic(EAST, "T")
    w.glue(EAST, "t")
    w.glue(EAST, "T")
    found = judge(backlog(5), committed(1), world=w)
    assert not found.passed
    assert "2 topics" in found.summary


def test_two_tables_of_one_topic_are_judged_by_their_own_commits() -> None:
    w = World()
    w.topic(EAST, "t")
    late, fresh = w.glue(EAST, "t", "late"), w.glue(EAST, "t", "fresh")
    commits = {late: committed(120), fresh: committed(5)}
    records = [NOW - minutes * MINUTE for minutes in (110, 6)]

    def read(topics: Iterable[tuple[Node, int | None]]) -> Iterator[tuple[Node, Backlog | Exception]]:
        for topic, since in topics:
            first = next((at for at in records if at > (since or 0)), None)
            yield topic, Backlog(10, records[-1], first)

    view = GraphView.of(w.discovery())
    for order in (1, -1):
        tables = list(w.graph.of_type("catalog_table"))[::order]
        found = judge_tables(tables, view, commits, read, LIMITS, {}, lambda: NOW)
        assert {node_id: outcome.passed for node_id, outcome in found.items()} == {late: False, fresh: True}


def test_metadata_names_the_clock_of_the_record_times() -> None:
    w = World()
    topic = w.topic(EAST, "t")
    w.glue(EAST, "t")
    producers = judge(backlog(5), committed(1), world=w).metadata["lineage_bridge/record_times"]
    w.graph.nodes[topic] = w.graph.nodes[topic].with_attributes(
        configs={"message.timestamp.type": "LogAppendTime"}
    )
    brokers = judge(backlog(5), committed(1), world=w).metadata["lineage_bridge/record_times"]
    assert "producers" in producers
    assert "brokers" in brokers


def observed(written: int, after: float | None, by: float, requested: float) -> OffsetGrowth:
    """Return an earlier observation; times are minutes before now."""
    since = None if after is None else NOW - int(after * MINUTE)
    return OffsetGrowth(written, since, NOW - int(by * MINUTE), NOW - int(requested * MINUTE))


def observation(outcome: CheckOutcome) -> dict[str, int | None]:
    data: dict[str, int | None] = outcome.metadata[OFFSETS].data
    return data


def test_records_with_old_times_are_late_by_their_offsets() -> None:
    """A backfill: by their times all records are older than the table."""
    topic = replace(backlog(500), written=10)
    first = judge(topic, committed(200), before=observed(7, None, 300, 100))
    assert first.passed
    assert observation(first) == {
        "written": 10,
        "after_ms": NOW - 100 * MINUTE,
        "by_ms": NOW,
        "asked_ms": NOW,
    }
    an_hour_later = judge(topic, committed(260), before=observed(10, 160, 60, 60))
    assert an_hour_later.error
    assert "1 hour" in an_hour_later.summary
    assert observation(an_hour_later)["by_ms"] == NOW - 60 * MINUTE


def test_growth_before_the_last_commit_does_not_count() -> None:
    topic = replace(backlog(500), written=10)
    assert judge(topic, committed(80), before=observed(10, 100, 61, 61)).passed
    assert judge(replace(backlog(500), written=10), committed(5), before=observed(7, None, 300, 100)).passed


@pytest.mark.parametrize("answer", [backlog(-60 * 24, -60 * 24), backlog(None), backlog(-4, -4)])
def test_unusable_times_do_not_matter_once_offsets_stopped_growing(answer: Backlog) -> None:
    assert judge(replace(answer, written=10), committed(5), before=observed(10, None, 30, 20)).passed


def test_a_recreated_topic_has_new_records() -> None:
    found = judge(replace(backlog(500), written=2), committed(200), before=observed(900, None, 300, 100))
    assert observation(found)["after_ms"] == NOW - 100 * MINUTE


def test_an_unreachable_topic_keeps_its_last_observation() -> None:
    before = observed(10, 160, 60, 60)
    found = judge(BrokerError("no answer", hint="Check the key."), committed(5), before=before)
    assert not found.passed
    assert observation(found) == asdict(before)


@given(
    cadence=st.integers(1, 20_000),
    waited=st.integers(0, 200_000),
    floors=st.tuples(st.integers(1, 500), st.integers(1, 500)),
    multiples=st.tuples(st.integers(5, 9), st.integers(5, 9)),
)
def test_limits_are_multiples_of_the_tables_cadence_above_the_minutes(
    cadence: int, waited: int, floors: tuple[int, int], multiples: tuple[int, int]
) -> None:
    commit = replace(committed(waited + 5), cadence=Cadence(cadence * MINUTE, 20))
    found = judge(backlog(0, waited), commit, Limits(*floors, *multiples))
    warn, fail = (max(floor, many * cadence) for floor, many in zip(floors, multiples, strict=True))
    assert found.error == (waited >= fail)
    assert found.passed == (waited < min(warn, fail))


def test_a_table_that_commits_every_six_hours_is_not_late_after_one() -> None:
    commit = replace(committed(95), cadence=Cadence(6 * 60 * MINUTE, 28))
    found = judge(backlog(0, 90), commit)
    assert found.passed
    assert "are up to 6 hours apart, by the last 28 intervals" in found.summary
    assert "warns after 12 hours and fails after 1 day" in found.summary
    assert found.metadata["lineage_bridge/cadence_seconds"] == 6 * 3600
    assert found.metadata["lineage_bridge/limits"] == "warns after 12 hours and fails after 1 day"
    assert judge(backlog(0, 13 * 60), replace(commit, changed_ms=NOW - 14 * 60 * MINUTE)).passed is False


def test_a_cadence_within_the_minutes_is_not_mentioned() -> None:
    commit = replace(committed(95), cadence=Cadence(15 * MINUTE, 28))
    found = judge(backlog(0, 90), commit)
    assert found.error
    assert "apart" not in found.summary
    assert found.metadata["lineage_bridge/limits"] == "warns after 30 minutes and fails after 1 hour"


def partitions(*bounds: tuple[int, int]) -> list[PartitionOffsets]:
    return [PartitionOffsets(number, low, high) for number, (low, high) in enumerate(bounds)]


@pytest.mark.parametrize(
    ("offsets", "behind"),
    [
        ({0: 10, 1: 20}, 0),
        ({0: 7, 1: 15}, 8),
        # A new partition is read from its first record.
        ({0: 10}, 15),
        # Retention removed records that were never read.
        ({0: 10, 1: 2}, 15),
        # It was created again, and is read from its first record.
        ({0: 10, 1: 900}, 15),
        ({}, 25),
    ],
)
def test_records_that_the_table_lacks_are_counted_over_the_partitions(
    offsets: dict[int, int], behind: int
) -> None:
    answer = replace(backlog(0, 90), partitions=partitions((0, 10), (5, 20)))
    found = judge(answer, replace(committed(95), offsets=offsets))
    assert found.metadata["lineage_bridge/lag_records"] == behind
    assert found.passed == (behind == 0)
    assert (f"the table is {behind} records behind" in found.summary) == (behind > 0)


def test_without_offsets_the_lag_in_records_is_unknown() -> None:
    answer = replace(backlog(0, 90), partitions=partitions((0, 10)))
    assert "lineage_bridge/lag_records" not in judge(answer, committed(95)).metadata


def test_a_table_with_all_offsets_is_fresh_whatever_the_times_say() -> None:
    answer = replace(backlog(-60 * 24, -60 * 24), partitions=partitions((0, 10)))
    assert judge(answer, replace(committed(95), offsets={0: 10})).passed


def test_records_left_out_by_the_last_commit_wait_since_they_were_seen() -> None:
    """A commit of only some records must not make the others look committed."""
    seen = OffsetGrowth(10, None, NOW - 200 * MINUTE, NOW - 100 * MINUTE)
    answer = replace(backlog(10_000), written=10, partitions=partitions((0, 10)))
    assert judge(answer, committed(90), before=seen).passed
    found = judge(answer, replace(committed(90), offsets={0: 4}), before=seen)
    assert found.error
    assert "3 hours 20 minutes" in found.summary
