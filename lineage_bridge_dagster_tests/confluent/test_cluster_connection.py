"""The cluster that topics are loaded from: found by name or id, or as the settings say."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.confluent import cluster_connection
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import MissingCredential
from lineage_bridge_dagster.confluent.api.org import ClusterSpec, Environment, KafkaCluster
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, RegistrySpec
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.cluster_connection import connect
from lineage_bridge_dagster.confluent.cluster_settings import KafkaConfig
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import Settings

KEYS = {
    "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY": "cloud",
    "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET": "s",
    "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_2": "of-two",
    "LINEAGE_BRIDGE_KAFKA_API_SECRET_LKC_2": "s",
    "LINEAGE_BRIDGE_KAFKA_API_KEY": "any",
    "LINEAGE_BRIDGE_KAFKA_API_SECRET": "s",
}


def settings(**keys: str) -> ConfluentSettings:
    return Settings.from_env(env={**KEYS, **keys}, groups=["confluent"]).confluent


@pytest.fixture
def _cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two environments, each with a cluster of the name `orders`."""

    def cluster(number: int, name: str) -> KafkaCluster:
        spec = ClusterSpec(display_name=name, kafka_bootstrap_endpoint=f"pkc-{number}.confluent.cloud:9092")
        return KafkaCluster(id=f"lkc-{number}", spec=spec)

    clusters = {"env-1": [cluster(1, "orders")], "env-2": [cluster(2, "orders"), cluster(3, "sales")]}
    environments = [Environment(id="env-1", display_name="dev"), Environment(id="env-2", display_name="prod")]
    registry = Registry(id="lsrc-1", spec=RegistrySpec(http_endpoint="https://psrc-1.confluent.cloud"))
    lists = {Environment: {"": environments}, KafkaCluster: clusters}

    def listed(_session: ConfluentSession, record: Any, environment: str = "") -> Any:
        return [registry] if record is Registry else lists[record][environment]

    monkeypatch.setattr(cluster_connection, "list_control", listed)


@pytest.mark.usefixtures("_cloud")
@pytest.mark.parametrize(
    ("environment", "cluster", "found", "key"),
    [
        ("", "lkc-2", ("env-2", "lkc-2"), "of-two"),
        ("prod", "orders", ("env-2", "lkc-2"), "of-two"),
        ("env-1", "orders", ("env-1", "lkc-1"), "any"),
        ("", "sales", ("env-2", "lkc-3"), "any"),
    ],
)
def test_a_cluster_is_found_by_its_name_or_id(
    environment: str, cluster: str, found: tuple[str, str], key: str
) -> None:
    connection = connect(settings(), KafkaConfig(environment=environment, cluster=cluster))
    assert (connection.environment_id, connection.cluster_id) == found
    assert connection.registry_url == "https://psrc-1.confluent.cloud"
    assert connection.bootstrap.credential is not None
    assert connection.bootstrap.credential.key == key


@pytest.mark.usefixtures("_cloud")
@pytest.mark.parametrize(
    ("environment", "cluster", "message"),
    [
        ("", "orders", "2 Kafka clusters have the name 'orders': lkc-1 in env-1, lkc-2 in env-2"),
        ("", "order", "There is no Kafka cluster 'order'"),
        ("test", "orders", "There is no environment 'test'"),
    ],
)
def test_a_name_that_fits_none_or_several_is_an_error(environment: str, cluster: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message.replace("(", r"\(")):
        connect(settings(), KafkaConfig(environment=environment, cluster=cluster))


class TestSelfManaged:
    def config(self, protocol: str) -> KafkaConfig:
        return KafkaConfig(
            cluster="onprem",
            bootstrap_servers=f"{protocol}://broker.example.com:9092",
            schema_registry_url="https://registry.example.com",
        )

    def test_it_needs_no_control_plane_and_its_own_hosts_get_its_keys(self) -> None:
        keys = {
            "LINEAGE_BRIDGE_KAFKA_API_KEY_ONPREM": "user",
            "LINEAGE_BRIDGE_KAFKA_API_SECRET_ONPREM": "password",
        }
        connection = connect(settings(**keys), self.config("SASL_SSL"))
        assert (connection.environment_id, connection.cluster_id) == ("", "onprem")
        assert connection.bootstrap.credential is not None
        assert connection.bootstrap.credential.key == "user"
        # The registry is asked at the address that the settings name, and may receive its key.
        assert connection.registry_settings.api_url == "https://registry.example.com"

    def test_brokers_with_authentication_need_a_key(self) -> None:
        nothing = Settings.from_env(env={}, groups=["confluent"]).confluent
        with pytest.raises(MissingCredential) as raised:
            connect(nothing, self.config("SASL_SSL"))
        assert "LINEAGE_BRIDGE_KAFKA_API_KEY_ONPREM" in raised.value.hint

    def test_a_registry_without_authentication_needs_no_key(self) -> None:
        nothing = Settings.from_env(env={}, groups=["confluent"]).confluent
        connection = connect(nothing, self.config("PLAINTEXT"))
        found = connection.registry_settings.credential("schema_registry")
        assert found is not None
        assert found.secret.get_secret_value() == ""


@pytest.mark.usefixtures("_cloud")
@pytest.mark.parametrize(
    ("kafka", "self_managed"),
    [
        (KafkaConfig(cluster="lkc-2"), False),
        (
            KafkaConfig(
                cluster="shop",
                bootstrap_servers="PLAINTEXT://127.0.0.1:9092",
                schema_registry_url="http://127.0.0.1:8081",
            ),
            True,
        ),
    ],
)
def test_a_registry_is_asked_as_what_it_is(
    kafka: KafkaConfig, self_managed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Access] = []
    monkeypatch.setattr(ConfluentSession, "get", lambda _self, _url, access, *_: asked.append(access) or [])
    registry_key = {
        "LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY_LSRC_1": "of-the-registry",
        "LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_SECRET_LSRC_1": "s",
    }
    connection = connect(settings(**registry_key), kafka)

    with connection.registry() as registry:
        registry.versions(connection.registry_url, "orders-value")

    assert [access.self_managed for access in asked] == [self_managed]
