"""The offsets that are read for slices of time: all of their records, and none that waits for the loader."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lineage_bridge_dagster.catalogs.iceberg.topic_progress import TopicProgress
from lineage_bridge_dagster.topic_to_iceberg.loading.offsets import TopicBounds
from lineage_bridge_dagster.topic_to_iceberg.loading.slices import (
    SliceRange,
    SliceRefusedError,
    TimeSlice,
    check_contiguous,
    end_times,
    slice_range,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOURS = [
    TimeSlice(f"{each}", NOON + timedelta(hours=each), NOON + timedelta(hours=each + 1)) for each in range(3)
]
TOPIC = TopicBounds("orders", first={0: 10, 1: 0}, last={0: 100, 1: 50}, topic_id="a")
DONE = TopicProgress(1, {0: 80, 1: 40}, topic_id="a")


def test_without_a_known_lateness_all_that_the_table_has_is_read_from_the_start_on() -> None:
    found = slice_range(DONE, {}, TOPIC, {0: 30, 1: 20}, [None, None])
    assert found == SliceRange({0: 30, 1: 20}, ({0: 80, 1: 40}, {0: 80, 1: 40}))


def test_a_known_lateness_ends_each_slice_but_never_past_the_table() -> None:
    found = slice_range(DONE, {}, TOPIC, {0: 30, 1: 20}, [{0: 50, 1: 45}, {0: 100, 1: 50}])
    assert found.ends == ({0: 50, 1: 40}, {0: 80, 1: 40})
    assert found.stop == {0: 80, 1: 40}


def test_records_that_retention_removed_are_not_asked_for() -> None:
    assert slice_range(DONE, {}, TOPIC, {0: 0, 1: 0}, [None]).start == {0: 10, 1: 0}


def test_a_slice_after_what_the_table_has_is_empty() -> None:
    found = slice_range(DONE, {}, TOPIC, {0: 90, 1: 50}, [None])
    assert found.start == found.stop == {0: 80, 1: 40}
    assert found.is_past(0, found.start)


def test_a_table_without_rows_is_read_up_to_where_it_begins() -> None:
    assert slice_range(None, {0: 60}, TOPIC, {0: 30, 1: 0}, [None]).stop == {0: 60, 1: 0}


def test_a_partition_that_the_table_has_nothing_of_is_left_to_the_loader() -> None:
    topic = TopicBounds("orders", {0: 10, 1: 0, 2: 0}, {0: 100, 1: 50, 2: 9}, "a")
    found = slice_range(DONE, {}, topic, {0: 30, 1: 20, 2: 0}, [None])
    assert (found.start[2], found.stop[2]) == (0, 0)


def test_another_topic_of_the_name_is_refused() -> None:
    with pytest.raises(SliceRefusedError, match="its id was a and is b"):
        slice_range(DONE, {}, TopicBounds("orders", {0: 0}, {0: 100}, "b"), {0: 0}, [None])


def test_batches_share_the_records_out_and_reach_each_slices_end() -> None:
    found = slice_range(DONE, {}, TOPIC, {0: 30, 1: 20}, [{0: 40, 1: 20}, None])
    at, past = dict(found.start), []
    while at != found.stop:
        at = dict(found.batch_end(at, 30))
        past.append((found.is_past(0, at), found.is_past(1, at)))
    assert past == [(True, False), (True, False), (True, True)]


def test_ends_are_as_late_as_records_are() -> None:
    at = int(HOURS[0].end.timestamp() * 1000)
    assert list(end_times(HOURS[:1], timedelta(minutes=5))) == [at + 300_000]
    assert list(end_times(HOURS, None)) == [None, None, None]


def test_slices_with_a_gap_are_a_mistake() -> None:
    check_contiguous(HOURS)
    for wrong in ([], [HOURS[0], HOURS[2]]):
        with pytest.raises(ValueError, match="do not follow one another"):
            check_contiguous(wrong)
