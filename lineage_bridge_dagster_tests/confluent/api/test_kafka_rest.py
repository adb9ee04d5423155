from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.api.errors import UntrustedAddress
from lineage_bridge_dagster.confluent.api.kafka_rest import ConsumerLag, KafkaTopic, list_kafka
from lineage_bridge_dagster.confluent.api.org import KafkaCluster
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, cluster, listing, topic

LKC = KafkaCluster.model_validate(cluster("lkc-a", "orders"))


def test_no_paging_parameters_are_sent(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes["/kafka/v3/clusters/lkc-a/topics"] = listing(topic("orders"))
    list_kafka(session, KafkaTopic, "env-1", LKC)
    assert fake.requests[0].url.query == b""


def test_consumer_group_is_percent_encoded(fake: FakeConfluent, session: ConfluentSession) -> None:
    path = "/kafka/v3/clusters/lkc-a/consumer-groups/a%2Fb%20c/lags"
    fake.routes[path] = listing({"topic_name": "orders", "lag": 0})
    lags = list_kafka(session, ConsumerLag, "env-1", LKC, group="a/b c")
    assert [lag.topic_name for lag in lags] == ["orders"]


def test_cluster_on_an_untrusted_host_gets_no_key(fake: FakeConfluent, session: ConfluentSession) -> None:
    raw = cluster("lkc-a", "orders")
    raw["spec"]["http_endpoint"] = "https://evil.example"
    with pytest.raises(UntrustedAddress):
        list_kafka(session, KafkaTopic, "env-1", KafkaCluster.model_validate(raw))
    assert fake.requests == []
