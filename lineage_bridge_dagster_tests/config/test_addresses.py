"""Keys, tokens and passwords are sent to no address from which others on the way can read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from lineage_bridge_dagster.collector.landing import AzureLanding
from lineage_bridge_dagster.collector.settings import LandingSettings
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.cluster_connection import connect
from lineage_bridge_dagster.confluent.cluster_settings import KafkaConfig
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import Settings

CLEAR = (
    "http://evil.example.com",
    "http://192.0.2.1:8080",
    "http://127.0.0.1.evil.example.com",
    "http://[2001:db8::1]",
)
SAFE = ("https://api.example.com", "http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:8080")

CREDENTIAL = {"LINEAGE_BRIDGE_CATALOG_LAKE_CREDENTIAL": "id:hunter2"}
TOKEN = {"LINEAGE_BRIDGE_CATALOG_LAKE_TOKEN": "hunter2"}
KEY = {
    "LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY": "key",
    "LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_SECRET": "hunter2",
    "LINEAGE_BRIDGE_TABLEFLOW_API_KEY": "key",
    "LINEAGE_BRIDGE_TABLEFLOW_API_SECRET": "hunter2",
}


def control_plane(url: str) -> None:
    Settings.from_env({"LINEAGE_BRIDGE_CONFLUENT_API_URL": url})


def control_plane_of_yaml(url: str) -> None:
    Settings.from_env({}, given={"confluent": {"api_url": url}})


def tableflow(url: str) -> None:
    Settings.from_env({**KEY, "LINEAGE_BRIDGE_TABLEFLOW_CATALOG": url})


def rest(variables: Mapping[str, str], **fields: str) -> None:
    lake = {"type": "rest", **fields}
    catalogs = Settings.from_env(
        dict(variables), given={"catalogs": {"named": {"lake": lake}}}
    ).all_catalogs()
    for conf in (catalogs.pyiceberg_properties, catalogs.spark_conf_of):
        conf("lake")


def registry(url: str) -> None:
    kafka = KafkaConfig(cluster="onprem", bootstrap_servers="PLAINTEXT://b:9092", schema_registry_url=url)
    connect(Settings.from_env(dict(KEY)).confluent, kafka)


def azure(url: str) -> None:
    AzureLanding(LandingSettings(url=f"{url}/container/prefix"))


ADDRESSES: dict[str, Callable[[str], None]] = {
    "control plane": control_plane,
    "control plane in YAML": control_plane_of_yaml,
    "Tableflow's catalog": tableflow,
    "REST catalog with a credential": lambda url: rest(CREDENTIAL, uri=url),
    "REST catalog with a token": lambda url: rest(TOKEN, uri=url),
    "OAuth server of a REST catalog": lambda url: rest(
        CREDENTIAL, uri="https://lake.example.com", oauth2_server_uri=url
    ),
    "self-managed registry": registry,
    "Azure": azure,
}


@pytest.mark.parametrize("url", CLEAR)
@pytest.mark.parametrize("place", ADDRESSES)
def test_an_address_in_clear_is_refused(place: str, url: str) -> None:
    if place == "Azure":
        pytest.importorskip("azure.storage.blob")
    with pytest.raises(ConfigurationError) as raised:
        ADDRESSES[place](url)
    assert "http" in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("url", SAFE)
@pytest.mark.parametrize("place", [each for each in ADDRESSES if each != "Azure"])
def test_an_encrypted_address_and_one_of_this_machine_are_taken(place: str, url: str) -> None:
    ADDRESSES[place](url)


def test_what_needs_no_key_may_be_in_clear() -> None:
    rest({}, uri=CLEAR[0])
    kafka = KafkaConfig(cluster="c", bootstrap_servers="PLAINTEXT://b:9092", schema_registry_url=CLEAR[0])
    assert connect(Settings.from_env({}).confluent, kafka).registry_url == CLEAR[0]


def test_brokers_without_encryption_get_no_key() -> None:
    kafka = KafkaConfig(cluster="onprem", bootstrap_servers="PLAINTEXT://broker.example.com:9092")
    keys = {"LINEAGE_BRIDGE_KAFKA_API_KEY": "key", "LINEAGE_BRIDGE_KAFKA_API_SECRET": "hunter2"}
    assert connect(Settings.from_env(keys).confluent, kafka).bootstrap.credential is None
    with pytest.raises(Exception, match="SASL_PLAINTEXT"):
        Bootstrap.parse("SASL_PLAINTEXT://broker.example.com:9092")
