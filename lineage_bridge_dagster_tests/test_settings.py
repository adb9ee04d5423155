"""The settings in force: the YAML's fields, and for what they leave empty the environment, in every use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dagster import Definitions

from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import SettingsReader

ROLE = "arn:aws:iam::111122223333:role/lineage"
ENVIRONMENT = {
    "LINEAGE_BRIDGE_CLUSTERS": "lkc-1",
    "LINEAGE_BRIDGE_AWS_REGION": "eu-west-1",
    "LINEAGE_BRIDGE_AWS_PROFILE": "work",
    "LINEAGE_BRIDGE_AWS_ENDPOINT_URL": "https://glue.internal",
    "LINEAGE_BRIDGE_AWS_ROLE_ARN": ROLE,
    "LINEAGE_BRIDGE_AWS_CATALOG_ID": "111122223333",
    "LINEAGE_BRIDGE_PUSH_SQL": "hash",
    "LINEAGE_BRIDGE_CATALOG_WAREHOUSE": "s3://lake/warehouse",
    "LINEAGE_BRIDGE_CATALOG_NAME": "lake",
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def reader(**push: Any) -> SettingsReader:
    return SettingsReader({"confluent": {"clusters": "a, b"}, "aws": {"region": "eu-west-1"}, "push": push})


def test_yaml_takes_precedence_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", "us-east-1")
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_PROFILE", "work")
    monkeypatch.setenv("LINEAGE_BRIDGE_FLINK_API_KEY", "K")
    monkeypatch.setenv("LINEAGE_BRIDGE_FLINK_API_SECRET", "S")
    settings = reader(set_description="false")()
    assert settings.aws.region == "eu-west-1"
    assert settings.aws.profile == "work"
    assert settings.confluent.clusters == ["a", "b"]
    assert settings.push.set_description is False
    assert settings.push.set_parameters is True
    credential = settings.confluent.credential("flink")
    assert credential
    assert credential.key == "K"


def test_malformed_field_is_named_when_something_runs() -> None:
    with pytest.raises(ConfigurationError, match="max_concurrency"):
        reader(max_concurrency="many")()


def test_fields_left_empty_come_from_the_environment(environment: None) -> None:
    settings = SettingsReader({"confluent": {"clusters": ""}, "aws": {"region": None}, "push": {}})
    assert settings().confluent.clusters == ["lkc-1"]
    assert settings().aws == settings.aws()
    assert settings.aws().model_dump() == {
        "region": "eu-west-1",
        "profile": "work",
        "endpoint_url": "https://glue.internal",
        "role_arn": ROLE,
        "catalog_id": "111122223333",
    }
    assert settings.push().sql == settings().push.sql == "hash"
    catalog = settings.catalog()
    assert catalog == settings().catalog
    assert (catalog.name, catalog.warehouse) == ("lake", "s3://lake/warehouse")
    # The catalog of the tables is the Glue catalog, wherever that is configured.
    assert (catalog.region, catalog.profile, catalog.role_arn) == ("eu-west-1", "work", ROLE)
    assert (catalog.catalog_id, catalog.glue_endpoint) == ("111122223333", "https://glue.internal")


def test_catalog_follows_the_yamls_own_aws_fields(environment: None) -> None:
    given = {
        "aws": {"region": "us-east-1", "endpoint_url": "https://aws"},
        "catalog": {"region": "eu-north-1"},
    }
    catalog = SettingsReader(given).catalog()
    assert (catalog.region, catalog.glue_endpoint) == ("eu-north-1", "https://aws")


def test_resources_read_from_the_environment_what_the_yaml_leaves_empty(environment: None) -> None:
    """A push and the Spark session sign in as discovery does."""
    definitions: Definitions = LineageBridgeComponent(aws={"region": ""}).build_defs_from_state(None, None)  # type: ignore[arg-type]
    resources = definitions.resources or {}
    component = SettingsReader()
    assert resources["glue"].aws_settings() == component.aws()
    assert resources["spark"].catalog_config == component.catalog()


def test_how_sql_is_shown_is_read_without_a_call_to_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reader().sql_offline() == "redacted"
    assert reader(sql="none").sql_offline() == "none"
    monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS", "prod/lineage")
    assert reader(sql="none").sql_offline() == "none"
    # Only the secret could tell.
    assert reader().sql_offline() is None


def test_malformed_variable_matters_only_to_its_own_group(
    environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_CONFLUENT_MAX_CONCURRENCY", "many")
    monkeypatch.setenv("LINEAGE_BRIDGE_KAFKA_API_KEY", "without-its-secret")
    settings = SettingsReader()
    assert settings.push().sql == "hash"
    assert settings.aws().region == "eu-west-1"
    assert settings.catalog().name == "lake"
    with pytest.raises(ConfigurationError, match="LINEAGE_BRIDGE_"):
        settings()


def test_dotenv_file_serves_below_the_environment(
    environment: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(
        "LINEAGE_BRIDGE_PUSH_SQL=none\nLINEAGE_BRIDGE_PUSH_MAX_ATTEMPTS=3\nLINEAGE_BRIDGE_ENVIRONMENTS=\n"
    )
    (tmp_path / "pyproject.toml").touch()
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    push = SettingsReader().push()
    assert (push.sql, push.max_attempts) == ("hash", 3)
    assert SettingsReader({"push": {"max_attempts": 2}}).push().max_attempts == 2


def test_halves_of_a_key_may_come_from_different_sources(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("LINEAGE_BRIDGE_FLINK_API_SECRET=from-file\n")
    monkeypatch.setenv("LINEAGE_BRIDGE_FLINK_API_KEY", "K")
    credential = SettingsReader()().confluent.credential("flink")
    assert credential is not None
    assert (credential.key, credential.secret.get_secret_value()) == ("K", "from-file")
    assert credential.variable == "LINEAGE_BRIDGE_FLINK_API_KEY"
