"""The period in which a topic's offsets last grew."""

from __future__ import annotations

from lineage_bridge_dagster.assets.offset_growth import OffsetGrowth


def test_a_first_observation_has_no_start() -> None:
    assert OffsetGrowth.observe(5, None, 100, 110) == OffsetGrowth(5, None, 110, 100)


def test_equal_offsets_keep_the_period() -> None:
    previous = OffsetGrowth(5, 10, 20, 30)
    assert OffsetGrowth.observe(5, previous, 100, 110) == OffsetGrowth(5, 10, 20, 100)


def test_more_or_fewer_records_start_a_new_period() -> None:
    previous = OffsetGrowth(5, 10, 20, 30)
    for written in (6, 2):
        assert OffsetGrowth.observe(written, previous, 100, 110) == OffsetGrowth(written, 30, 110, 100)
