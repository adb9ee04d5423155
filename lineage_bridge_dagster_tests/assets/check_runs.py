"""Runs that evaluate checks, and a table to check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dagster import (
    AssetCheckEvaluation,
    AssetCheckKey,
    AssetKey,
    DagsterInstance,
    JobDefinition,
)

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster_tests.assets.location import Location
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, World

Build = Callable[..., Location]
TABLE = f"glue/{EAST}/o.v1"
DISCOVERY = "lineage_bridge/discovery"
NAMES = {"lineage_in_sync", "schema_matches", "tableflow_healthy", "table_fresh"}


def run_checks(location: Location, instance: DagsterInstance, *checks: tuple[str, str]) -> Any:
    """Run only these checks, as the button of a check does."""
    return subset(location, set(), set(checks)).execute_in_process(instance=instance, raise_on_error=False)


def subset(location: Location, keys: set[str], checks: set[tuple[str, str]]) -> JobDefinition:
    """Return the job of these assets and checks, as the launchpad builds it."""
    return location.definitions.resolve_implicit_global_asset_job_def().get_subset(
        asset_selection={AssetKey.from_user_string(key) for key in keys},
        asset_check_selection={AssetCheckKey(AssetKey.from_user_string(key), name) for key, name in checks},
    )


def outcomes(result: Any) -> dict[tuple[str, str], AssetCheckEvaluation]:
    return {
        (each.asset_key.to_user_string(), each.check_name): each
        for each in result.get_asset_check_evaluations()
    }


def only(result: Any) -> AssetCheckEvaluation:
    (found,) = outcomes(result).values()
    return found


def small(**tableflow: Any) -> World:
    """One table `t` of a topic with a schema, and attributes for its Tableflow topic."""
    w = World()
    topic = w.topic(EAST, "t")
    w.glue(EAST, "t")
    nodes = w.graph.nodes
    nodes[topic] = nodes[topic].with_attributes(
        schema_type="AVRO",
        schema_subject="t-value",
        schema_version=2,
        schema_fields=[{"name": "id", "type": "long"}, {"name": "Amount", "type": "double"}],
    )
    table = ids.tableflow_table_id(ENV, EAST, "t")
    nodes[table] = nodes[table].with_attributes(
        **{"phase": "RUNNING", "catalog_sync": [{"type": "AWS_GLUE", "status": "SYNCED"}], **tableflow}
    )
    return w


def missing(kind: str = "sync_failed", status: str = "missing", **state: Any) -> World:
    """A world of a topic whose table Glue does not have."""
    w = small(**state)
    table = ids.glue_table_id(ENV, GluePlace(EAST, "t"))
    w.graph.nodes[table] = w.graph.nodes[table].with_attributes(
        glue_status=status,
        glue_absence=kind,
        glue_reason="its sync to Glue failed: no rights",
        glue_next_step="Grant them.",
        columns=[],
    )
    return w
