"""How far apart commits of rows usually are, whatever else is committed between them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.catalogs.iceberg.snapshots import BURST_MS, Cadence, SnapshotState

MINUTE = 60_000
HOUR = 60 * MINUTE
START = 1_800_000_000_000

#: Milliseconds between commits, none of them a burst.
gaps = st.lists(st.integers(BURST_MS, 30 * 24 * HOUR), min_size=3, max_size=90)


def times(between: list[int]) -> list[int]:
    return [START + sum(between[:count]) for count in range(len(between) + 1)]


def state(*commits: tuple[int, dict[str, str]]) -> SnapshotState:
    """The state of a table with these commits, oldest first."""
    snapshots = [
        {
            "snapshot-id": number,
            "parent-snapshot-id": number - 1 if number > 1 else None,
            "timestamp-ms": at,
            "summary": summary,
        }
        for number, (at, summary) in enumerate(commits, start=1)
    ]
    document: dict[str, Any] = {
        "format-version": 2,
        "last-updated-ms": commits[-1][0],
        "current-snapshot-id": len(commits),
        "snapshots": snapshots,
    }
    return SnapshotState.parse(document)


def append(count: int = 5, **more: str) -> dict[str, str]:
    return {"operation": "append", "added-records": str(count), "total-records": "99", **more}


@given(gaps)
def test_at_least_nine_of_ten_intervals_are_no_longer_than_the_cadence(between: list[int]) -> None:
    found = Cadence.of(times(between))
    assert found is not None
    assert found.intervals == len(between)
    assert found.interval_ms in between
    assert sum(gap <= found.interval_ms for gap in between) >= 0.9 * len(between)
    # No shorter interval would do.
    assert sum(gap < found.interval_ms for gap in between) < 0.9 * len(between)


@given(gaps, st.randoms(use_true_random=False))
def test_cadence_depends_neither_on_order_nor_on_the_start(between: list[int], random: Any) -> None:
    commits = times(between)
    shuffled = [at + HOUR for at in commits]
    random.shuffle(shuffled)
    assert Cadence.of(shuffled) == Cadence.of(commits)


@given(st.integers(BURST_MS, 24 * HOUR), st.integers(10, 80), st.integers(0, 365 * 24 * HOUR))
def test_one_outage_does_not_change_the_cadence(gap: int, count: int, outage: int) -> None:
    between = [gap] * count
    between[count // 2] = max(outage, gap)
    found = Cadence.of(times(between))
    assert found is not None
    assert found.interval_ms == gap


@given(st.integers(2 * HOUR, 24 * HOUR), st.integers(1, 9), st.integers(3, 9))
def test_burst_of_commits_counts_as_one(gap: int, size: int, count: int) -> None:
    bursts = [at + 7_000 * number for at in times([gap] * count) for number in range(size)]
    found = Cadence.of(bursts)
    assert found is not None
    assert gap - 7_000 * size <= found.interval_ms <= gap
    assert found.intervals == count


@pytest.mark.parametrize(
    "commits", [[], [START], times([HOUR, HOUR]), [START + 1_000 * number for number in range(50)]]
)
def test_too_few_intervals_show_no_cadence(commits: list[int]) -> None:
    assert Cadence.of(commits) is None


@given(
    st.lists(
        st.sampled_from(
            [
                {"operation": "replace", "added-records": "5", "deleted-records": "5"},
                {"operation": "delete", "deleted-records": "5", "total-records": "9"},
                {"operation": "append", "added-records": "0", "total-records": "9"},
                {"operation": "append", "total-records": "9"},
                {"operation": "overwrite"},
            ]
        ),
        min_size=40,
        max_size=40,
    )
)
def test_commits_that_add_no_rows_do_not_count(maintenance: list[dict[str, str]]) -> None:
    commits = [(START + HOUR * number, append()) for number in range(8)]
    others = [(START + 11 * MINUTE * number, summary) for number, summary in enumerate(maintenance)]
    found = state(*sorted([*commits, *others], key=lambda commit: commit[0]))
    assert found.cadence == Cadence(HOUR, 7)


def test_rows_of_an_upsert_and_of_a_writer_without_counts_count() -> None:
    upsert = {"operation": "overwrite", "added-records": "1", "deleted-records": "1", "total-records": "3"}
    assert state(*((START + HOUR * n, upsert) for n in range(5))).cadence == Cadence(HOUR, 4)
    assert state(*((START + HOUR * n, {"operation": "append"}) for n in range(5))).cadence == Cadence(HOUR, 4)


def test_expired_history_is_not_needed() -> None:
    snapshots = [(START + HOUR * number, append()) for number in range(6)]
    found = state(*snapshots)
    assert found.cadence == Cadence(HOUR, 5)
    assert state(*snapshots[:3]).cadence is None


def test_offsets_come_from_the_newest_snapshot_that_has_them() -> None:
    compaction = {"operation": "replace", "total-records": "9"}
    older, newer = (append(**{"tableflow.offsets": text}) for text in ('{"0": 3}', '{"0": 7, "1": 2}'))
    assert state((1, older), (2, newer), (3, compaction)).offsets == {0: 7, 1: 2}


@pytest.mark.parametrize(
    "summary",
    [
        append(),
        append(**{"tableflow.offsets": "[1]"}),
        append(**{"tableflow.offsets": '{"all": 7}'}),
        # Those of the sink's control topic, not of the topic.
        append(**{"kafka.connect.offsets.control-iceberg.cg-control": '{"0": 4}'}),
    ],
)
def test_table_without_readable_offsets_of_the_topic_has_none(summary: dict[str, str]) -> None:
    assert state((1, summary)).offsets is None
