"""A topic's throughput: what it grew by from one materialization to the next."""

from __future__ import annotations

import pytest
from dagster import AssetKey, AssetMaterialization, DagsterInstance

from lineage_bridge_dagster.assets.throughput import WRITTEN, Reading, last_readings, throughput

KEY = AssetKey(["kafka", "lkc-east1", "orders"])


def test_records_a_second_since_the_last_reading() -> None:
    found = throughput(Reading(70_000, 1_600), Reading(10_000, 1_000))
    assert found["lineage_bridge/records_per_second"].value == 10.0
    assert found["lineage_bridge/throughput"] == "600 records since 1970-01-01T00:00:10.000Z"
    assert found[WRITTEN] == 1_600


@pytest.mark.parametrize(
    "before",
    [None, Reading(10_000, 2_000), Reading(70_000, 1_000), Reading(80_000, 1_000)],
    ids=["the first reading", "a topic made anew", "the same moment", "a clock set back"],
)
def test_without_a_reading_to_go_by_no_throughput_is_told(before: Reading | None) -> None:
    assert throughput(Reading(70_000, 1_600), before) == {WRITTEN: 1_600}


def test_the_last_reading_is_what_the_last_materialization_said() -> None:
    with DagsterInstance.ephemeral() as instance:
        other, silent = AssetKey("never"), AssetKey("silent")
        for written in (5, 8):
            instance.report_runless_asset_event(AssetMaterialization(KEY, metadata={WRITTEN: written}))
        instance.report_runless_asset_event(AssetMaterialization(silent))
        found = last_readings(instance, [KEY, other, silent])
        assert {key: reading.written for key, reading in found.items()} == {KEY: 8}
        assert found[KEY].at_ms > 1_700_000_000_000
