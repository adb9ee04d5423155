"""What the check of the discovery says of lineage that refreshes carry over from day to day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from dagster import AssetCheckEvaluation, AssetCheckKey, AssetCheckSeverity, AssetKey, DagsterInstance

from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster_tests.assets.location import Location
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, REGION, World

Build = Callable[..., Location]
KEY = AssetKey(["lineage_bridge", "discovery"])
CHECK = AssetCheckKey(KEY, "discovery_complete")
CONNECT = f"connect:{ENV}:{EAST}"
START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def instance(local_instance: DagsterInstance) -> DagsterInstance:
    return local_instance


def day(number: int) -> str:
    return iso(START + timedelta(days=number))


def connector(read: bool, at: str) -> Discovery:
    """A connector that writes a topic; a page of the list of connectors may be missing."""
    w = World()
    topic = w.topic(EAST, "t")
    if read:
        w.edge(w.connector(EAST, "pg", "PostgresCdcSourceV2"), topic, EdgeType.PRODUCES, scope=CONNECT)
    else:
        reason = "Page 3 timed out: raise LINEAGE_BRIDGE_CONFLUENT_TIMEOUT_SECONDS"
        w.reports.append(ScopeReport(Scope("connect", ENV, EAST), Status.PARTIAL, reason))
    return w.discovery(at)


@pytest.fixture
def refresh(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., AssetCheckEvaluation]:
    """Refreshes on one day, with or without a complete list, and returns the outcome of the check."""

    def refreshed(number: int, *, read: bool, **freshness: Any) -> AssetCheckEvaluation:
        def discover(_self: Any, last: Discovery | None, _progress: Callable[[str], None]) -> Discovery:
            return carry_forward(connector(read, day(number)), last)

        monkeypatch.setattr(LineageBridgeComponent, "_discover", discover)
        component = LineageBridgeComponent(aws={"region": REGION}, freshness=freshness)
        job = location(World(), component).definitions.resolve_job_def("refresh")
        assert job.execute_in_process(instance=instance).success
        (record,) = instance.event_log_storage.get_asset_check_execution_history(CHECK, limit=1)
        assert record.event
        assert record.event.dagster_event
        return record.event.dagster_event.asset_check_evaluation_data

    return refreshed


def test_carried_lineage_becomes_an_error_after_a_week(refresh: Callable[..., AssetCheckEvaluation]) -> None:
    assert refresh(0, read=True).passed
    # Nothing changes for weeks, so the stored state stays that of day 0; the age counts from day 30.
    assert refresh(30, read=True).passed
    first = refresh(31, read=False)
    assert first.severity is AssetCheckSeverity.WARN
    assert f"{CONNECT} | carried | 1 node and 1 edge last seen {day(30)}" in str(
        first.metadata["details"].value
    )
    assert refresh(37, read=False).severity is AssetCheckSeverity.WARN
    late = refresh(38, read=False)
    assert not late.passed
    assert late.severity is AssetCheckSeverity.ERROR
    assert f"longer than 7 days is carried over: {CONNECT} since {day(30)} (8 days)" in str(late.description)
    assert "LINEAGE_BRIDGE_CONFLUENT_TIMEOUT_SECONDS; then run the `refresh` job" in str(late.description)
    assert refresh(39, read=True).passed
    assert refresh(40, read=False).severity is AssetCheckSeverity.WARN


def test_the_limit_can_be_set_and_removed(refresh: Callable[..., AssetCheckEvaluation]) -> None:
    refresh(0, read=True)
    assert refresh(1, read=False, carried_days=0.5).severity is AssetCheckSeverity.ERROR
    assert refresh(400, read=False, carried_days="").severity is AssetCheckSeverity.WARN
