from __future__ import annotations

from lineage_bridge_dagster.confluent.api.org import KafkaCluster
from lineage_bridge_dagster_tests.confluent.fake import cluster


def test_private_access_points_replace_the_deprecated_endpoints() -> None:
    raw = cluster("lkc-a", "orders")
    del raw["spec"]["http_endpoint"], raw["spec"]["kafka_bootstrap_endpoint"]
    raw["spec"]["endpoints"] = {
        "ap1": {
            "http_endpoint": "https://lkc-a.private.confluent.cloud",
            "kafka_bootstrap_endpoint": "lkc-a.private.confluent.cloud:9092",
            "connection_type": "PRIVATE_LINK",
        }
    }
    read = KafkaCluster.model_validate(raw)
    assert read.http_endpoint == "https://lkc-a.private.confluent.cloud"
    assert read.bootstrap_endpoint == "lkc-a.private.confluent.cloud:9092"
