"""Materializing chains: one computation per run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dagster import DagsterInstance

from lineage_bridge_dagster.assets import bundles
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster_tests.assets.location import Location, failure_of
from lineage_bridge_dagster_tests.assets.world import many

Build = Callable[..., Location]


def test_a_failed_computation_of_chains_is_not_repeated_in_the_run(
    location: Build, strict_aws: StrictAws, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "SIZE", 10)
    built = location(many(30))
    built.spark.error = LineageBridgeError("No warehouse.", hint="Set LINEAGE_BRIDGE_CATALOG_WAREHOUSE.")
    result = built.materialize(instance, job="materialize_lineage")
    assert len(built.spark.writes) == 1
    assert "LINEAGE_BRIDGE_CATALOG_WAREHOUSE" in failure_of(result)


def test_lineage_tables_in_a_read_only_catalog_fail_before_spark_starts(
    location: Build, strict_aws: StrictAws, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = location(many(1))
    read_only = Catalogs.of(CatalogSettings(read_only=True))
    monkeypatch.setattr(type(built.spark), "all_catalogs", read_only)
    monkeypatch.setattr(type(built.spark), "spark_session", property(lambda _: pytest.fail("Spark started")))
    result = built.materialize(instance, job="materialize_lineage")
    assert not built.spark.writes
    assert "spark.lineage_catalog" in failure_of(result)
