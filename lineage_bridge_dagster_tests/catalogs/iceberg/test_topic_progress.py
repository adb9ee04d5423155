"""How far a topic was read is found in a table's snapshots, whatever commits follow."""

from __future__ import annotations

from typing import Any

from lineage_bridge_dagster.catalogs.iceberg.snapshots import SnapshotState
from lineage_bridge_dagster.catalogs.iceberg.topic_progress import (
    COMMITTED_TAG,
    OFFSETS,
    START,
    TOPIC_ID,
    WRITER,
    RawSnapshot,
    TopicProgress,
    progress,
)


def raw(number: int, parent: int | None, **summary: str) -> dict[str, Any]:
    return {
        "snapshot-id": number,
        "sequence-number": number,
        "timestamp-ms": number,
        "summary": {"operation": "append", **summary},
        **({} if parent is None else {"parent-snapshot-id": parent}),
    }


def found(head: int | None, tagged: int | None, *snapshots: dict[str, Any]) -> TopicProgress | None:
    kept = {each["snapshot-id"]: RawSnapshot(each) for each in snapshots}
    return progress(head, tagged, kept.get)


BATCH = {OFFSETS: '{"0": 5, "1": 7}'}


def test_newest_snapshot_with_offsets_counts() -> None:
    full = {**BATCH, START: '{"0": 1}', TOPIC_ID: "id", WRITER: "w"}
    old, new, upkeep = raw(1, None, **{OFFSETS: '{"0": 1}'}), raw(2, 1, **full), raw(3, 2)
    expected = TopicProgress(2, {0: 5, 1: 7}, {0: 1}, "id", "w")
    assert found(3, 2, old, new, upkeep) == found(2, None, old, new) == expected
    assert found(None, None) is None


def test_tag_finds_offsets_whose_descendants_have_expired() -> None:
    # Snapshots 3 to 8 were those of compactions.
    batch, upkeep = raw(2, 1, **BATCH), raw(9, 8)
    assert found(9, 2, batch, upkeep) == TopicProgress(2, {0: 5, 1: 7})
    assert found(9, None, batch, upkeep) is None


def test_tag_does_not_count_after_a_rollback_behind_it() -> None:
    batch, before = raw(5, 4, **BATCH), raw(3, 2)
    assert found(3, 5, batch, before) is None


def test_snapshots_with_offsets_that_nobody_can_read_are_passed_over() -> None:
    assert found(2, None, raw(1, None, **BATCH), raw(2, 1, **{OFFSETS: "none"})) == TopicProgress(
        1, {0: 5, 1: 7}
    )


def test_batch_continues_the_one_that_ended_where_it_starts() -> None:
    before = TopicProgress(1, {0: 5, 1: 7})
    assert TopicProgress(2, {0: 9, 1: 7, 2: 3}, start={0: 5, 1: 7, 2: 0}).continues(before)
    assert not TopicProgress(2, {0: 5, 1: 7}, start={0: 0, 1: 7}).continues(before)
    assert not TopicProgress(2, {0: 9, 1: 7}).continues(before)
    assert TopicProgress(2, {0: 9}, start={0: 3}).continues(None)


def test_state_of_a_table_has_the_tagged_offsets() -> None:
    document = {
        "format-version": 2,
        "last-updated-ms": 9,
        "current-snapshot-id": 9,
        "snapshots": [raw(2, 1, **BATCH), raw(9, 8)],
        "refs": {COMMITTED_TAG: {"snapshot-id": 2, "type": "tag"}},
    }
    assert SnapshotState.parse(document).offsets == {0: 5, 1: 7}
