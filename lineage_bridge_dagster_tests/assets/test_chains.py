"""Materializing chains: one computation per run."""

from __future__ import annotations

from collections.abc import Callable

from dagster import DagsterInstance

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster_tests.assets.location import Location
from lineage_bridge_dagster_tests.assets.world import many

Build = Callable[..., Location]


def test_a_failed_computation_of_chains_is_not_repeated_in_the_run(
    location: Build, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    built = location(many(300))
    built.spark.error = LineageBridgeError("No warehouse.", hint="Set LINEAGE_BRIDGE_CATALOG_WAREHOUSE.")
    result = built.materialize(instance, job="materialize_lineage")
    assert len(built.spark.writes) == 1
    failures = [e.event_specific_data for e in result.all_events if e.is_step_failure]
    assert "LINEAGE_BRIDGE_CATALOG_WAREHOUSE" in failures[0].user_failure_data.description
