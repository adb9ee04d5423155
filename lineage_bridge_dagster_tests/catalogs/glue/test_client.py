"""The Glue client that settings make, and errors for settings that cannot."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.credentials import AssumeRoleCredentialFetcher

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.config.value_types import MAX_CONCURRENCY
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster_tests.catalogs.glue.light_glue import CREATED, LightGlue


def test_missing_region_names_the_variable(credentials: None) -> None:
    with pytest.raises(ConfigurationError) as raised:
        glue_client(AwsSettings())
    assert "LINEAGE_BRIDGE_AWS_REGION" in raised.value.hint


def test_region_may_come_from_the_profile(
    credentials: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("[profile work]\nregion = eu-central-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    assert glue_client(AwsSettings(profile="work")).meta.region_name == "eu-central-1"
    with pytest.raises(ConfigurationError) as raised:
        glue_client(AwsSettings(profile="missing"))
    assert "LINEAGE_BRIDGE_AWS_PROFILE" in raised.value.hint


def test_malformed_endpoint_is_a_configuration_error(credentials: None) -> None:
    with pytest.raises(ConfigurationError) as raised:
        glue_client(AwsSettings.model_construct(region="us-east-1", endpoint_url="glue"))
    assert "LINEAGE_BRIDGE_AWS_ENDPOINT_URL" in raised.value.hint


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_GLUE"])
def test_boto3s_own_endpoint_variables_work(
    credentials: None, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9999")
    assert glue_client(AwsSettings(region="us-east-1")).meta.endpoint_url == "http://127.0.0.1:9999"


def test_clients_of_several_regions_share_the_model_of_glue(credentials: None) -> None:
    clients: list[Any] = [glue_client(AwsSettings(region=region)) for region in ("us-east-1", "eu-west-1")]
    one, other = (client.meta.service_model._service_description for client in clients)
    assert one["metadata"] is other["metadata"]


@pytest.mark.parametrize("unknown_fields", [True, False])
def test_fields_that_botocore_does_not_know_are_reported_to_those_who_write(
    credentials: None, unknown_fields: bool
) -> None:
    client = glue_client(
        AwsSettings(region="us-east-1", endpoint_url="http://127.0.0.1:1"), unknown_fields=unknown_fields
    )
    glue = LightGlue()
    glue.add_table("sales", {"Name": "orders", "OfNextYear": "x"})
    glue.attach(client)
    (page,) = GlueReader(client).pages("sales")
    assert page[0].unknown_fields == (("OfNextYear",) if unknown_fields else ())


def test_times_are_in_utc_whatever_the_zone_of_the_host(
    credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        client = glue_client(AwsSettings(region="us-east-1", endpoint_url="http://127.0.0.1:1"))
        glue = LightGlue()
        glue.add_table("sales", {"Name": "orders"})
        glue.attach(client)
        (page,) = GlueReader(client).pages("sales")
        assert page[0].raw["CreateTime"] == datetime.fromtimestamp(CREATED, UTC)
        assert page[0].raw["CreateTime"].tzinfo is UTC
    finally:
        monkeypatch.undo()
        time.tzset()


def test_timeouts_and_attempts_are_bounded(credentials: None) -> None:
    config: Any = glue_client(AwsSettings(region="us-east-1")).meta.config
    assert config.retries["mode"] == "standard"
    assert config.retries["total_max_attempts"] <= 5
    assert config.connect_timeout <= 10
    assert config.read_timeout <= 60
    # Or a push with more threads would open a connection for each of its calls.
    assert config.max_pool_connections >= MAX_CONCURRENCY
    assert "lineage-bridge-dagster/" in config.user_agent_extra


def test_calls_go_to_the_catalog_of_another_account(aws: StrictAws) -> None:
    client = glue_client(
        AwsSettings(region="us-east-1", endpoint_url=aws.endpoint_url, catalog_id="210987654321")
    )
    bodies: list[Any] = []
    client.meta.events.register(
        "before-call.glue.GetDatabases", lambda params, **_: bodies.append(bytes(params["body"]))
    )
    client.get_databases()
    assert b'"CatalogId": "210987654321"' in bodies[0]


def test_role_is_assumed_at_the_first_call_and_renewed(
    aws: StrictAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles: list[Any] = []

    def assume(self: Any) -> dict[str, Any]:
        roles.append(self._assume_kwargs["RoleArn"])
        # So close to expiry that botocore renews them before the next call.
        soon = datetime.now(UTC) + timedelta(minutes=5)
        return {
            "AccessKeyId": f"ASSUMED{len(roles)}",
            "SecretAccessKey": "secret",
            "SessionToken": "token",
            "Expiration": soon.isoformat(),
            "access_key": f"ASSUMED{len(roles)}",
            "secret_key": "secret",
            "token": "token",
            "expiry_time": soon.isoformat(),
        }

    monkeypatch.setattr(AssumeRoleCredentialFetcher, "fetch_credentials", assume)
    role = "arn:aws:iam::210987654321:role/lineage"
    client = glue_client(AwsSettings(region="us-east-1", endpoint_url=aws.endpoint_url, role_arn=role))
    assert roles == []
    client.get_databases()
    first = len(roles)
    assert first >= 1
    client.get_databases()
    assert len(roles) > first
    assert set(roles) == {role}
