"""A batch has a few tasks and files for each core, however many partitions its topic has."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.spark.division import LEAST, MOST, matching_tasks, most_of_partition, tasks


@pytest.mark.parametrize(
    ("size", "cores", "expected"),
    [
        (0, 2, 1),
        (LEAST, 2, 1),
        (LEAST + 1, 2, 2),
        (500e6, 2, 4),
        (500e6, 32, 60),
        (10 * MOST, 2, 10),
    ],
    ids=["nothing", "small", "a bit more", "500 MB", "500 MB on many cores", "large"],
)
def test_tasks_grow_with_the_bytes_and_the_cores(size: float, cores: int, expected: int) -> None:
    assert tasks(size, cores) == expected


@pytest.mark.parametrize(
    ("records", "count", "expected"),
    [([8], 4, 2), ([9], 4, 3), ([4, 1, 1, 2], 4, 2), ([1, 1], 4, 1), ([], 4, 1)],
)
def test_a_long_partition_is_read_by_several_tasks(records: list[int], count: int, expected: int) -> None:
    assert most_of_partition(records, count) == expected


@pytest.mark.parametrize(("rows", "expected"), [(0, 4), (2_000_000, 4), (2_000_001, 5), (10**9, 2000)])
def test_keys_are_found_in_a_large_table_by_more_tasks(rows: int, expected: int) -> None:
    assert matching_tasks(4, rows) == expected
