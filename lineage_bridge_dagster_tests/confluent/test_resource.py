"""The Confluent settings of an instance's YAML, where an asset reads a topic as a DataFrame."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest
from dagster import AssetIn, AssetSpec, asset, materialize

from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.yaml_fields import AwsConfig
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.resource import ConfluentConfig, ConfluentSettingsResource
from lineage_bridge_dagster.spark import session
from lineage_bridge_dagster.spark.kafka import SparkTopic
from lineage_bridge_dagster_tests.config.mocked_aws import mocked_aws

REGION = "eu-west-1"


def test_topic_is_read_with_the_address_and_the_secret_that_only_the_yaml_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections: list[Bootstrap] = []
    monkeypatch.setattr(session, "spark_session", lambda *_: object())
    monkeypatch.setattr(SparkTopic, "read", lambda topic, *_: connections.append(topic.bootstrap))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    component = LineageBridgeComponent(
        confluent=ConfluentConfig(api_url="https://confluent.internal", secrets="keys"),
        aws=AwsConfig(region=REGION),
    )
    # Definitions load although the secret does not exist yet, and contain nothing of it.
    resources: Any = component.build_defs_from_state(None, None).resources  # type: ignore[arg-type]
    topic = AssetSpec(
        ["kafka", "orders"],
        metadata={
            "lineage_bridge/node_type": "kafka_topic",
            "lineage_bridge/topic": "orders",
            "lineage_bridge/cluster_id": "lkc-1",
            "lineage_bridge/bootstrap": "SASL_SSL://confluent.internal:9092",
        },
    )

    @asset(ins={"orders": AssetIn(topic.key)})
    def reader(orders: Any) -> None:
        del orders

    with mocked_aws():
        variables = {"LINEAGE_BRIDGE_KAFKA_API_KEY": "K", "LINEAGE_BRIDGE_KAFKA_API_SECRET": "hidden"}
        secrets = boto3.client("secretsmanager", region_name=REGION)
        secrets.create_secret(Name="keys", SecretString=json.dumps(variables))
        manager = resources["lineage_io_manager"]
        assert materialize([topic, reader], resources={"io_manager": manager}).success
    (connection,) = connections
    assert connection.credential is not None
    assert (connection.credential.key, connection.credential.secret.get_secret_value()) == ("K", "hidden")
    assert "hidden" not in repr(manager)


def test_secrets_are_read_once_for_the_many_topics_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        "lineage_bridge_dagster.config.secrets.read_secrets", lambda *r: requests.append(r) or {}
    )
    resource = ConfluentSettingsResource(secrets=["keys"], region_name=REGION)
    for _ in range(3):
        resource.settings()
    assert requests == [(["keys"], REGION, None)]
