"""Materializing tables: lineage is pushed into a strict local Glue, and shown on the assets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.client import BaseClient
from dagster import DagsterInstance

from lineage_bridge_dagster.assets import bundles
from lineage_bridge_dagster.assets.tables import parameter_diff
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster_tests.assets.location import Location, create_tables, failure_of, latest
from lineage_bridge_dagster_tests.assets.world import EAST, many, world

Build = Callable[..., Location]


def test_a_push_is_shown_on_the_table(location: Build, glue: BaseClient, instance: DagsterInstance) -> None:
    w = world()
    create_tables(glue, w)
    built = location(w)
    assert built.materialize(instance, "upstream_chain/lkc-east1/o.v1", "glue/lkc-east1/o.v1").success
    table = glue.get_table(DatabaseName=EAST, Name="o.v1")["Table"]
    assert table["Parameters"]["owner_note"] == "hands off"
    assert "debezium-pg" in table["Parameters"]["lineage_bridge.source_connectors"]
    assert table["Description"].startswith("Kept by the data team.")
    metadata = latest(instance, "glue/lkc-east1/o.v1").metadata
    assert metadata["lineage_bridge/outcome"].value == "updated"
    diff = metadata["lineage_bridge/diff"].value
    assert diff.splitlines()[0].endswith("0 changed, 0 removed, 3 untouched")
    assert "| + | lineage_bridge.upstream_chain |" in diff
    assert "external_dataset: postgres://pg1.example" in metadata["lineage_bridge/description_tree"].value
    assert table["Description"] in metadata["lineage_bridge/glue_description"].value
    assert "| owner_note | hands off |" in metadata["lineage_bridge/parameters"].value
    assert metadata["lineage_bridge/hops"].value == 7
    assert len(metadata["lineage_bridge/hop_table"].records) == 7
    chain = latest(instance, "upstream_chain/lkc-east1/o.v1").metadata
    assert chain["lineage_bridge/drawing"].value.startswith("![Upstream of o.v1](data:image/svg+xml;base64,")
    before, after = (metadata[f"lineage_bridge/table_version_{w}"].value for w in ("before", "after"))
    assert int(after) == int(before) + 1


def test_a_second_push_writes_nothing_and_keeps_the_data_version(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = world()
    create_tables(glue, w)
    built = location(w)
    versions = []
    for _ in range(2):
        assert built.materialize(instance, "glue/lkc-east1/o.v1").success
        versions.append(latest(instance, "glue/lkc-east1/o.v1").tags["dagster/data_version"])
    assert versions[0] == versions[1]
    metadata = latest(instance, "glue/lkc-east1/o.v1").metadata
    assert metadata["lineage_bridge/outcome"].value == "unchanged"
    assert metadata["lineage_bridge/diff"].value.startswith("No parameter changed")


def test_a_failure_names_failed_tables_and_the_others_are_materialized(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = world()
    create_tables(glue, w, skip=["customers"])
    built = location(w)
    keys = [f"glue/{EAST}/{name}" for name in ("o.v1", "o-v1", "o_v1", "customers", "orders")]
    result = built.materialize(instance, *keys)
    assert not result.success
    failure = failure_of(result)
    assert "lkc-east1.customers (failed)" in failure
    assert "lkc-east1.orders (refused)" in failure
    for name in ("o.v1", "o-v1", "o_v1"):
        assert latest(instance, f"glue/{EAST}/{name}"), name
    assert latest(instance, f"glue/{EAST}/customers") is None


def test_tables_of_several_groups_in_one_run_are_computed_and_listed_once_and_each_step_logs_its_counts(
    location: Build,
    glue: BaseClient,
    strict_aws: StrictAws,
    instance: DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundles, "SIZE", 40)
    w = many(110)
    create_tables(glue, w)
    built = location(w)
    result = built.materialize(instance, job="materialize_lineage")
    assert result.success
    assert len(built.spark.writes) == 1
    assert len(built.spark.writes[0]) == 110
    assert all(latest(instance, f"glue/{EAST}/topic.{number:05d}") for number in (0, 55, 109))
    # Two pages to push by, two for the last commits, and two that the checks read when all is pushed.
    assert strict_aws.calls.get("GetTables", 0) == 6
    assert strict_aws.calls.get("UpdateTable", 0) == 110
    entries = instance.all_logs(result.run_id)
    logged = [entry.user_message for entry in entries if entry.dagster_event is None]
    for start in ("This step read ", "Comparing tables with their catalogs: 110 of 110 done in "):
        assert any(line.startswith(start) for line in logged), (start, logged)
    for what in (" chains: ", " tables: "):
        assert any(line.startswith("This step's") and what in line for line in logged), (what, logged)
    assert len(logged) < 60


def test_a_missing_region_fails_with_the_variable_to_set(location: Build, instance: DagsterInstance) -> None:
    built = location(world(), LineageBridgeComponent(aws={}))
    result = built.materialize(instance, f"glue/{EAST}/o.v1")
    assert "LINEAGE_BRIDGE_AWS_REGION" in failure_of(result)


def test_the_diff_escapes_markdown() -> None:
    diff = parameter_diff({"a|b": "x", "gone": "1"}, {"a|b": "y\n<b>", "new": "2"})
    assert diff.splitlines()[0] == "1 parameters added, 1 changed, 1 removed, 0 untouched"
    assert "| ~ | a\\|b | x | y &lt;b> |" in diff
