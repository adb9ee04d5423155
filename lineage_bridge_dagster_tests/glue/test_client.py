"""The Glue client: what settings come to, and clear words when they can't."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.config.settings import AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.glue import glue_client

if TYPE_CHECKING:
    from lineage_bridge_dagster.embedded.aws import StrictAws


def test_no_region_names_the_variable(credentials: None) -> None:
    with pytest.raises(ConfigurationError) as raised:
        glue_client(AwsSettings())
    assert "LINEAGE_BRIDGE_AWS_REGION" in raised.value.hint


def test_the_region_may_be_a_profiles(
    credentials: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("[profile work]\nregion = eu-central-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    assert glue_client(AwsSettings(profile="work")).meta.region_name == "eu-central-1"
    with pytest.raises(ConfigurationError) as raised:
        glue_client(AwsSettings(profile="missing"))
    assert "LINEAGE_BRIDGE_AWS_PROFILE" in raised.value.hint


def test_a_malformed_endpoint_is_a_configuration_error(credentials: None) -> None:
    with pytest.raises(ConfigurationError) as raised:
        glue_client(AwsSettings.model_construct(region="us-east-1", endpoint_url="glue"))
    assert "LINEAGE_BRIDGE_AWS_ENDPOINT_URL" in raised.value.hint


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_GLUE"])
def test_boto3s_own_endpoint_variables_work(
    credentials: None, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9999")
    assert glue_client(AwsSettings(region="us-east-1")).meta.endpoint_url == "http://127.0.0.1:9999"


def test_calls_are_bounded_in_time_and_tries(credentials: None) -> None:
    config: Any = glue_client(AwsSettings(region="us-east-1"), max_concurrency=40).meta.config
    assert config.retries["mode"] == "standard"
    assert config.retries["total_max_attempts"] <= 5
    assert config.connect_timeout <= 10
    assert config.read_timeout <= 60
    assert config.max_pool_connections == 40
    assert "lineage-bridge-dagster/" in config.user_agent_extra


def test_another_accounts_catalog_is_asked(aws: StrictAws) -> None:
    client = glue_client(
        AwsSettings(region="us-east-1", endpoint_url=aws.endpoint_url, catalog_id="210987654321")
    )
    seen: list[Any] = []
    client.meta.events.register(
        "before-call.glue.GetDatabases", lambda params, **_: seen.append(bytes(params["body"]))
    )
    client.get_databases()
    assert b'"CatalogId": "210987654321"' in seen[0]


def test_a_role_is_assumed_at_the_first_call_and_renewed(
    aws: StrictAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.credentials import AssumeRoleCredentialFetcher

    roles: list[Any] = []

    def assume(self: Any) -> dict[str, Any]:
        roles.append(self._assume_kwargs["RoleArn"])
        # Already within the time in which botocore insists on new ones.
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
