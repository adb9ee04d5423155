"""API keys in variables: which key is used where, and that no secret is shown."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import Settings

CLOUD = {
    "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY": "CLOUDKEY",
    "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET": "cloud-secret-value",
}


def test_key_of_a_cluster_precedes_the_key_of_all() -> None:
    settings = Settings.from_env(
        {
            "LINEAGE_BRIDGE_KAFKA_API_KEY": "ALL",
            "LINEAGE_BRIDGE_KAFKA_API_SECRET": "s",
            "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123": "ONE",
            "LINEAGE_BRIDGE_KAFKA_API_SECRET_LKC_ABC123": "s",
        }
    ).confluent
    cluster, every = settings.credential("kafka", "lkc-abc123"), settings.credential("kafka", "lkc-zzz999")
    assert cluster is not None
    assert every is not None
    assert (cluster.key, every.key) == ("ONE", "ALL")
    assert cluster.variable == "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123"


def test_cloud_key_is_never_sent_to_a_kafka_cluster() -> None:
    settings = Settings.from_env(CLOUD).confluent
    assert settings.credential("kafka", "lkc-abc123") is None
    assert settings.credential("schema_registry") is None
    tableflow = settings.credential("tableflow", "lkc-abc123")
    assert tableflow is not None
    assert tableflow.key == "CLOUDKEY"


@pytest.mark.parametrize("half", ["KEY", "SECRET"])
def test_half_a_credential_names_the_missing_half(half: str) -> None:
    missing = "SECRET" if half == "KEY" else "KEY"
    with pytest.raises(ConfigurationError, match=f"LINEAGE_BRIDGE_FLINK_API_{missing}_AWS_EU"):
        Settings.from_env({f"LINEAGE_BRIDGE_FLINK_API_{half}_AWS_EU": "x"})


def test_secret_appears_in_no_repr() -> None:
    settings = Settings.from_env(CLOUD)
    assert "cloud-secret-value" not in repr(settings)
    assert "cloud-secret-value" not in repr(settings.confluent.credentials)
    assert "cloud-secret-value" not in settings.model_dump_json()


def test_keys_of_clusters_in_one_variable_are_read_as_lineagebridge_documents_them() -> None:
    value = (
        '{"lkc-abc123": {"api_key": "ONE", "api_secret": "s1"}, '
        '"lkc-def456": {"api_key": "TWO", "api_secret": "s2"}}'
    )
    settings = Settings.from_env({"LINEAGE_BRIDGE_CLUSTER_CREDENTIALS": value}).confluent
    for cluster, key, secret in (("lkc-abc123", "ONE", "s1"), ("lkc-def456", "TWO", "s2")):
        found = settings.credential("kafka", cluster)
        assert found is not None
        assert (found.key, found.secret.get_secret_value()) == (key, secret)
        assert found.variable == "LINEAGE_BRIDGE_CLUSTER_CREDENTIALS"
    assert settings.credential("kafka", "lkc-zzz999") is None


def test_variable_of_one_cluster_precedes_the_variable_of_many() -> None:
    settings = Settings.from_env(
        {
            "LINEAGE_BRIDGE_CLUSTER_CREDENTIALS": '{"lkc-abc123": {"api_key": "MANY", "api_secret": "s"}}',
            "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123": "ONE",
            "LINEAGE_BRIDGE_KAFKA_API_SECRET_LKC_ABC123": "s",
        }
    ).confluent
    found = settings.credential("kafka", "lkc-abc123")
    assert found is not None
    assert found.key == "ONE"


@pytest.mark.parametrize(
    "value",
    [
        "lkc-abc123:top-secret",
        '["top-secret"]',
        '["top-secret",' + "[" * 9999,
        '{"lkc-abc123": "top-secret"}',
        '{"lkc-abc123": {"api_key": "K"}}',
        '{"lkc-abc123": {"api_key": "K", "api_secret": ""}}',
        '{"lkc-abc123": {"api_key": 1, "api_secret": "top-secret"}}',
    ],
)
def test_malformed_keys_of_clusters_are_reported_without_their_value(value: str) -> None:
    variables = {"LINEAGE_BRIDGE_CLUSTER_CREDENTIALS": value}
    with pytest.raises(ConfigurationError, match="LINEAGE_BRIDGE_CLUSTER_CREDENTIALS is not") as caught:
        Settings.from_env(variables)
    assert "top-secret" not in str(caught.value)
    assert "api_secret" in caught.value.hint
    # A push needs no Kafka key.
    Settings.from_env(variables, groups=["aws", "push"])
