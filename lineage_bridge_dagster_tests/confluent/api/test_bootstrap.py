"""How a bootstrap endpoint is connected to today: by discovery's broker client, and by Spark's Kafka source.

Each row is an endpoint, whether a key is configured, the protocol and key of the broker client (or its
error), and the protocol and key of Spark and its admin client. `!` marks rows where the two disagree.
"""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.config.settings import ConfluentSettings
from lineage_bridge_dagster.confluent.api import brokers
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.kafka import client_options, spark_options
from lineage_bridge_dagster_tests.confluent.fake import keys, settings

VENDOR, FOREIGN, LOOPBACK = "lkc-1.confluent.cloud:9092", "kafka.corp:9092", "127.0.0.1:9092"


def broker_client(configured: ConfluentSettings, endpoint: str) -> tuple[str, bool] | str:
    seen: list[tuple[str, bool]] = []

    class Reader:
        def __init__(self, bootstrap: str, credential: object, **_: object) -> None:
            seen.append((brokers.Bootstrap.parse(bootstrap).protocol, credential is not None))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(brokers, "TopicReader", Reader)
        try:
            brokers.reader_for(configured, endpoint, "env-1", "lkc-1")
        except LineageBridgeError as error:
            return type(error).__name__
    return seen[0]


def spark_source(configured: ConfluentSettings, endpoint: str) -> tuple[str, bool]:
    credential = configured.credential("kafka", "lkc-1")
    options, client = spark_options(endpoint, credential), client_options(endpoint, credential)
    protocol = options.get("kafka.security.protocol", "PLAINTEXT")
    assert client.get("security.protocol", "PLAINTEXT") == protocol
    return protocol, "sasl.password" in client


@pytest.mark.parametrize(
    ("endpoint", "has_key", "broker", "spark"),
    [
        (f"SASL_SSL://{VENDOR}", True, ("SASL_SSL", True), ("SASL_SSL", True)),
        (VENDOR, True, ("SASL_SSL", True), ("SASL_SSL", True)),
        (LOOPBACK, True, ("PLAINTEXT", False), ("PLAINTEXT", False)),
        (LOOPBACK, False, ("PLAINTEXT", False), ("PLAINTEXT", False)),
        (f"PLAINTEXT://{FOREIGN}", True, ("PLAINTEXT", False), ("PLAINTEXT", False)),
        # ! Spark sends the key to any host.
        (f"SASL_SSL://{FOREIGN}", True, "UntrustedAddress", ("SASL_SSL", True)),
        (FOREIGN, True, "UntrustedAddress", ("SASL_SSL", True)),
        (f"SASL_SSL://{LOOPBACK}", True, "UntrustedAddress", ("SASL_SSL", True)),
        # ! Without a key, Spark drops the TLS that the endpoint requires.
        (f"SASL_SSL://{VENDOR}", False, "MissingCredential", ("PLAINTEXT", False)),
        (VENDOR, False, "MissingCredential", ("PLAINTEXT", False)),
        # ! Spark takes any protocol but PLAINTEXT for SASL_SSL.
        (f"SSL://{VENDOR}", True, ("SSL", False), ("SASL_SSL", True)),
        (f"SASL_PLAINTEXT://{VENDOR}", True, "BrokerError", ("SASL_SSL", True)),
    ],
)
def test_protocol_and_key_of_both_ways(
    endpoint: str, has_key: bool, broker: tuple[str, bool] | str, spark: tuple[str, bool]
) -> None:
    configured = settings(credentials=keys("kafka") if has_key else {})
    assert broker_client(configured, endpoint) == broker
    assert spark_source(configured, endpoint) == spark


def test_a_key_named_for_the_environment() -> None:
    # ! Spark looks for the cluster's key and the general one only.
    configured = settings(credentials={"kafka/ENV_1": keys("kafka")["kafka"]})
    assert broker_client(configured, VENDOR) == ("SASL_SSL", True)
    assert spark_source(configured, VENDOR) == ("PLAINTEXT", False)
