from __future__ import annotations

import pytest

from lineage_bridge_dagster.config.settings import ConfluentSettings, Settings
from lineage_bridge_dagster.errors import ConfigurationError

CLOUD = {
    "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY": "CLOUDKEY",
    "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET": "cloud-secret-value",
}


def test_a_key_of_one_cluster_goes_before_the_key_of_all() -> None:
    settings = Settings.from_env(
        {
            "LINEAGE_BRIDGE_KAFKA_API_KEY": "ALL",
            "LINEAGE_BRIDGE_KAFKA_API_SECRET": "s",
            "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123": "ONE",
            "LINEAGE_BRIDGE_KAFKA_API_SECRET_LKC_ABC123": "s",
        }
    ).confluent
    one, other = settings.credential("kafka", "lkc-abc123"), settings.credential("kafka", "lkc-zzz999")
    assert one is not None
    assert other is not None
    assert (one.key, other.key) == ("ONE", "ALL")
    assert one.variable == "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123"


def test_a_cloud_key_is_never_sent_to_a_kafka_cluster() -> None:
    settings = Settings.from_env(CLOUD).confluent
    assert settings.credential("kafka", "lkc-abc123") is None
    assert settings.credential("schema_registry") is None
    tableflow = settings.credential("tableflow", "lkc-abc123")
    assert tableflow is not None
    assert tableflow.key == "CLOUDKEY"


@pytest.mark.parametrize("half", ["KEY", "SECRET"])
def test_half_a_credential_names_the_other_half(half: str) -> None:
    missing = "SECRET" if half == "KEY" else "KEY"
    with pytest.raises(ConfigurationError, match=f"LINEAGE_BRIDGE_FLINK_API_{missing}_AWS_EU"):
        Settings.from_env({f"LINEAGE_BRIDGE_FLINK_API_{half}_AWS_EU": "x"})


def test_a_secret_is_in_no_repr() -> None:
    settings = Settings.from_env(CLOUD)
    assert "cloud-secret-value" not in repr(settings)
    assert "cloud-secret-value" not in repr(settings.confluent.credentials)
    assert "cloud-secret-value" not in settings.model_dump_json()


def test_a_malformed_number_is_named_before_anything_is_asked() -> None:
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
def test_a_variable_that_is_badly_set_is_named_with_a_good_value_and_not_shown(
    variable: str, value: str, example: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Settings.from_env({variable: value})
    assert variable in raised.value.message
    assert example in raised.value.hint
    assert value not in str(raised.value)


def test_lists_and_the_region_are_read() -> None:
    settings = Settings.from_env(
        {"LINEAGE_BRIDGE_ENVIRONMENTS": "env-1, prod ,", "AWS_REGION": "eu-west-1"} | CLOUD
    )
    assert settings.confluent.environments == ["env-1", "prod"]
    assert settings.aws.region == "eu-west-1"
    assert ConfluentSettings().api_url == "https://api.confluent.cloud"
