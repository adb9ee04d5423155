"""API keys in variables: which key is used where, and that no secret is shown."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.errors import ConfigurationError

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
