"""What a push writes: the push, its check and the sensor's comparison use the same settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient
from dagster import AssetCheckEvaluation, AssetCheckKey, AssetKey, DagsterInstance

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.automation.data_versions import pushed_versions
from lineage_bridge_dagster.automation.loaded import loaded_tables
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config import secrets as secrets_module
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster_tests.assets.location import Location, create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, many

Build = Callable[..., Location]
TABLE = AssetKey(["glue", EAST, "topic.00000"])
NO_DESCRIPTION = {"LINEAGE_BRIDGE_PUSH_SET_DESCRIPTION": "false"}


def in_sync(location: Location, instance: DagsterInstance) -> AssetCheckEvaluation:
    """Run only this check, as its button does."""
    job = location.definitions.resolve_implicit_global_asset_job_def().get_subset(
        asset_selection=set(), asset_check_selection={AssetCheckKey(TABLE, "lineage_in_sync")}
    )
    (found,) = job.execute_in_process(instance=instance).get_asset_check_evaluations()
    return found


@pytest.mark.parametrize("source", ["yaml", "environment", "secret"])
def test_a_push_its_check_and_the_sensor_use_the_same_settings(
    source: str, location: Build, glue: BaseClient, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = many(1)
    create_tables(glue, w)
    given: dict[str, Any] = {"aws": {"region": REGION}}
    if source == "yaml":
        given["push"] = {"set_description": False}
    elif source == "environment":
        for name, value in NO_DESCRIPTION.items():
            monkeypatch.setenv(name, value)
    else:
        given["confluent"] = {"secrets": "keys"}
        monkeypatch.setattr(secrets_module, "read_secrets", lambda *_: NO_DESCRIPTION)
    component = LineageBridgeComponent(**given)
    built = location(w, component)

    assert built.materialize(instance, TABLE.to_user_string()).success
    described = glue.get_table(DatabaseName=EAST, Name="topic.00000")["Table"]["Description"]
    assert described == "Kept by the data team."
    assert in_sync(built, instance).passed

    by_job = built.definitions.resolve_job_def("push").execute_in_process(instance=instance)
    assert by_job.output_for_node("push") == {"unchanged": 1}
    inventory = build_inventory(w.discovery(), component.get_asset_spec)
    tables = loaded_tables("v1", inventory, component._settings().push)
    assert pushed_versions(instance, [TABLE]) == {TABLE: tables.tables[0].version()}


def unreadable_secret(monkeypatch: pytest.MonkeyPatch) -> str:
    def read(*_: Any) -> Any:
        raise ConfigurationError(
            "The secret 'keys' could not be read from AWS Secrets Manager.", hint="Add it."
        )

    monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS", "keys")
    monkeypatch.setattr(secrets_module, "read_secrets", read)
    return "The secret 'keys' could not be read"


def malformed_setting(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LINEAGE_BRIDGE_PUSH_MAX_ATTEMPTS", "many")
    return "The variable LINEAGE_BRIDGE_PUSH_MAX_ATTEMPTS is wrong"


def unknown_profile(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_PROFILE", "nobody")
    return "The AWS profile 'nobody' is not configured"


@pytest.mark.parametrize("fault", [unreadable_secret, malformed_setting, unknown_profile])
def test_wrong_settings_are_not_reported_as_a_failure_of_glue(
    fault: Callable[[pytest.MonkeyPatch], str],
    location: Build,
    glue: BaseClient,
    instance: DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create_tables(glue, many(1))
    reason = fault(monkeypatch)
    outcome = in_sync(location(many(1)), instance)
    assert not outcome.passed
    assert reason in str(outcome.description)
    assert "Glue could not be read" not in str(outcome.description)
