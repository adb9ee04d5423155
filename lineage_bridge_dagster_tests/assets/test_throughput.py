"""Records per second of a topic, by the growth of its offsets between materializations."""

from __future__ import annotations

import pytest
from dagster import AssetKey, AssetMaterialization, DagsterInstance

from lineage_bridge_dagster.assets.throughput import WRITTEN, Reading, last_readings, throughput

KEY = AssetKey(["kafka", "lkc-east1", "orders"])


def test_records_per_second_since_the_last_reading() -> None:
    found = throughput(Reading(70_000, 1_600), Reading(10_000, 1_000))
    assert found["lineage_bridge/records_per_second"] == 10.0
    assert found["lineage_bridge/throughput"] == "600 records since 1970-01-01T00:00:10.000Z"
    assert found[WRITTEN] == 1_600


@pytest.mark.parametrize(
    "previous",
    [None, Reading(10_000, 2_000), Reading(70_000, 1_000), Reading(80_000, 1_000)],
    ids=["first reading", "recreated topic", "same time", "clock set back"],
)
def test_no_throughput_without_a_comparable_reading(previous: Reading | None) -> None:
    assert dict(throughput(Reading(70_000, 1_600), previous)) == {WRITTEN: 1_600}


def test_last_reading_comes_from_the_last_materialization() -> None:
    with DagsterInstance.ephemeral() as instance:
        never, without_reading = AssetKey("never"), AssetKey("without_reading")
        for written in (5, 8):
            instance.report_runless_asset_event(AssetMaterialization(KEY, metadata={WRITTEN: written}))
        instance.report_runless_asset_event(AssetMaterialization(without_reading))
        found = last_readings(instance, [KEY, never, without_reading])
        assert {key: reading.written for key, reading in found.items()} == {KEY: 8}
        assert found[KEY].at_ms > 1_700_000_000_000
