"""Settings from variables, and errors that name the variable."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import Settings


def test_malformed_number_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"push\.max_removal_share"):
        Settings.from_env({"LINEAGE_BRIDGE_PUSH_MAX_REMOVAL_SHARE": "lots"})


@pytest.mark.parametrize(
    ("variable", "value", "example"),
    [
        ("LINEAGE_BRIDGE_PUSH_SQL", "everything", "LINEAGE_BRIDGE_PUSH_SQL=redacted"),
        ("LINEAGE_BRIDGE_PUSH_MAX_CONCURRENCY", "many", "LINEAGE_BRIDGE_PUSH_MAX_CONCURRENCY=8"),
        ("LINEAGE_BRIDGE_CONFLUENT_TIMEOUT_SECONDS", "-1", "LINEAGE_BRIDGE_CONFLUENT_TIMEOUT_SECONDS=30"),
        ("LINEAGE_BRIDGE_CONFLUENT_API_URL", "me:hunter2@host", "API_URL=https://api.confluent.cloud"),
        ("LINEAGE_BRIDGE_AWS_REGION", "us-east1", "LINEAGE_BRIDGE_AWS_REGION=us-east-1"),
        ("AWS_DEFAULT_REGION", "us-east1", "AWS_DEFAULT_REGION=us-east-1"),
    ],
)
def test_malformed_variable_is_named_with_an_example_and_without_its_value(
    variable: str, value: str, example: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Settings.from_env({variable: value})
    assert variable in raised.value.message
    assert example in raised.value.hint
    assert value not in str(raised.value)


def test_lists_and_the_region_are_parsed() -> None:
    settings = Settings.from_env({"LINEAGE_BRIDGE_ENVIRONMENTS": "env-1, prod ,", "AWS_REGION": "eu-west-1"})
    assert settings.confluent.environments == ["env-1", "prod"]
    assert settings.aws.region == "eu-west-1"
    assert ConfluentSettings().api_url == "https://api.confluent.cloud"


@pytest.mark.parametrize("value", [" {} ", "{}\r", "\t{}\n"])
def test_blanks_around_a_value_do_not_count(value: str) -> None:
    settings = Settings.from_env(
        {
            "LINEAGE_BRIDGE_AWS_REGION": value.format("eu-west-1"),
            "LINEAGE_BRIDGE_AWS_PROFILE": value.format("data"),
            "LINEAGE_BRIDGE_PUSH_SQL": value.format("hash"),
            "LINEAGE_BRIDGE_PUSH_OWNER": value.format(""),
            "LINEAGE_BRIDGE_FLINK_API_KEY": value.format("KEY"),
            "LINEAGE_BRIDGE_FLINK_API_SECRET": value.format("SECRET"),
        }
    )
    key = settings.confluent.credential("flink")
    assert (settings.aws.region, settings.aws.profile) == ("eu-west-1", "data")
    assert (settings.push.sql, settings.push.owner) == ("hash", "")
    assert key
    assert (key.key, key.secret.get_secret_value()) == ("KEY", "SECRET")
