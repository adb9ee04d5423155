"""Which records a table reads next, and what stops it."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.catalogs.iceberg.topic_progress import TopicProgress
from lineage_bridge_dagster.topic_to_iceberg.loading.offsets import (
    OffsetsLostError,
    TopicBounds,
    TopicRecreatedError,
    next_batch,
)

BOTH: Any = frozenset({"lost_records", "recreated_topic"})


def done(offsets: dict[int, int], topic_id: str = "") -> TopicProgress | None:
    return TopicProgress(1, offsets, topic_id=topic_id) if offsets else None


@pytest.mark.parametrize(
    ("read", "first", "last", "start", "end"),
    [
        ({}, {0: 0}, {0: 3}, {0: 0}, {0: 3}),
        ({0: 2}, {0: 0}, {0: 3}, {0: 2}, {0: 3}),
        # A partition was added, and is read from its start; the table does not have those without records.
        ({0: 3}, {0: 0, 1: 0}, {0: 3, 1: 2}, {0: 3, 1: 0}, {0: 3, 1: 2}),
        # Compaction and control records leave holes, which are read like records.
        ({0: 7}, {0: 0}, {0: 8}, {0: 7}, {0: 8}),
        # An empty topic whose records have all expired.
        ({}, {0: 9}, {0: 9}, {0: 9}, {0: 9}),
    ],
)
def test_reading_goes_on_where_the_table_ends(read: Any, first: Any, last: Any, start: Any, end: Any) -> None:
    batch = next_batch(done(read), TopicBounds("t", first, last), 20)
    assert (batch.start, batch.end, batch.caught_up, batch.accepted) == (start, end, True, ())


def test_short_partitions_leave_their_share_to_long_ones() -> None:
    first = dict.fromkeys(range(64), 0)
    last = {**dict.fromkeys(range(64), 2), 7: 100_000}
    batch = next_batch(None, TopicBounds("t", first, last), 10_000)
    assert sum(batch.end.values()) == 10_000
    assert batch.end[7] == 10_000 - 63 * 2
    assert not batch.caught_up


def test_lost_records_are_an_error_that_counts_them() -> None:
    topic = TopicBounds("t", {0: 5, 1: 0, 2: 30}, {0: 9, 1: 4, 2: 40})
    read = done({0: 2, 1: 1, 2: 10})
    with pytest.raises(OffsetsLostError) as raised:
        next_batch(read, topic, 100)
    assert (raised.value.count, raised.value.lost) == (23, {0: (2, 5), 2: (10, 30)})
    assert "no longer has 23 offsets" in raised.value.message
    assert "partition 0 was read up to offset 2, and begins at 5" in raised.value.message
    assert "accept lost_records" in raised.value.hint
    batch = next_batch(read, topic, 100, accept=frozenset({"lost_records"}))
    assert batch.start == {0: 5, 1: 1, 2: 30}
    assert batch.accepted == ("lost_records: partition 0 2-5", "lost_records: partition 2 10-30")


@pytest.mark.parametrize(
    ("read", "last", "reason", "start"),
    [
        (done({0: 2, 1: 2}, "a"), {0: 5, 1: 5}, "its id was a and is b", {0: 0, 1: 0}),
        (
            done({0: 50, 1: 2}),
            {0: 4, 1: 5},
            "partition 0 was read up to offset 50, and ends at 4",
            {0: 0, 1: 2},
        ),
        (done({0: 1, 1: 2, 2: 0}), {0: 4, 1: 5}, "it had a partition 2", {0: 1, 1: 2}),
    ],
)
def test_topic_created_again_is_noticed(read: Any, last: Any, reason: str, start: Any) -> None:
    topic = TopicBounds("t", dict.fromkeys(last, 0), last, "b")
    with pytest.raises(TopicRecreatedError, match=reason):
        next_batch(read, topic, 100, accept=frozenset({"lost_records"}))
    batch = next_batch(read, topic, 100, accept=BOTH)
    assert (batch.start, batch.accepted) == (start, (f"recreated_topic: {reason}",))


def test_broker_that_does_not_tell_the_topic_id_is_trusted() -> None:
    assert next_batch(done({0: 2}, "a"), TopicBounds("t", {0: 0}, {0: 5}), 100).start == {0: 2}


def test_new_table_begins_where_it_is_told() -> None:
    topic = TopicBounds("t", {0: 5, 1: 0}, {0: 9, 1: 4})
    assert next_batch(None, topic, 100, origin={0: 2, 1: 3}).start == {0: 5, 1: 3}
    assert next_batch(None, topic, 100, origin={0: 99}).start == {0: 9, 1: 0}
    # A partition added after the first batch begins at its start.
    assert next_batch(done({0: 9}), topic, 100, origin={0: 2, 1: 3}).start == {0: 9, 1: 0}


def test_reading_stops_where_it_is_told() -> None:
    batch = next_batch(done({0: 2}), TopicBounds("t", {0: 0}, {0: 50}), 100, until={0: 7})
    assert (batch.end, batch.caught_up) == ({0: 7}, True)
    assert next_batch(done({0: 9}), TopicBounds("t", {0: 0}, {0: 50}), 100, until={0: 7}).is_empty
