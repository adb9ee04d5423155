from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from lineage_bridge_dagster.confluent.errors import MissingCredential, UntrustedAddress
from lineage_bridge_dagster.confluent.kafka_admin import (
    Bootstrap,
    BrokerError,
    PartitionOffsets,
    TopicOffsets,
    TopicReader,
    reader_for,
)
from lineage_bridge_dagster_tests.confluent.fake import keys, settings


class FakeAdmin:
    """confluent-kafka's admin client over topics of `{name: {partition: (begin, end)}}`."""

    def __init__(self, topics: Mapping[str, Mapping[int, tuple[int, int]]]) -> None:
        self.topics = topics
        self.calls = 0
        self.failing: set[str] = set()
        self.down = False

    def list_topics(self, *, timeout: float) -> Any:
        if self.down:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return SimpleNamespace(
            topics={
                name: SimpleNamespace(error=None, partitions=dict.fromkeys(parts))
                for name, parts in self.topics.items()
            }
        )

    def list_offsets(self, offsets: Mapping[Any, Any], *, request_timeout: float) -> Mapping[Any, Any]:
        self.calls += 1
        answers: dict[Any, Future[Any]] = {}
        for one, spec in offsets.items():
            future: Future[Any] = Future()
            if one.topic in self.failing:
                future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
            else:
                pair = self.topics[one.topic][one.partition]
                future.set_result(SimpleNamespace(offset=pair[0 if "Earliest" in type(spec).__name__ else 1]))
            answers[one] = future
        return answers


def reader(admin: FakeAdmin) -> TopicReader:
    return TopicReader("127.0.0.1:9092", admin=admin)


def test_many_topics_take_two_offset_calls() -> None:
    admin = FakeAdmin({f"t{n}": {0: (n, n + 10), 1: (0, 0)} for n in range(40)})
    found = reader(admin).read(f"t{n}" for n in range(40))
    assert found["t7"] == TopicOffsets("t7", (PartitionOffsets(0, 7, 17), PartitionOffsets(1, 0, 0)))
    assert admin.calls == 2


def test_one_topic_that_fails_leaves_the_others() -> None:
    admin = FakeAdmin({"a": {0: (0, 1)}, "b": {0: (0, 1)}})
    admin.failing = {"a"}
    found = reader(admin).read(["a", "b", "gone"])
    assert isinstance(found["a"], BrokerError)
    assert isinstance(found["b"], TopicOffsets)
    assert isinstance(found["gone"], BrokerError)
    assert "gone" in found["gone"].message
    assert list(found) == ["a", "b", "gone"]


def test_a_cluster_that_is_down_is_one_clear_error() -> None:
    admin = FakeAdmin({})
    admin.down = True
    with pytest.raises(BrokerError, match=r"127\.0\.0\.1:9092") as raised:
        reader(admin).read(["a"])
    assert "Kafka key" in raised.value.hint


def test_nothing_asked_asks_nothing() -> None:
    admin = FakeAdmin({})
    admin.down = True
    assert reader(admin).read([]) == {}


@pytest.mark.parametrize(
    ("endpoint", "servers", "protocol"),
    [
        ("SASL_SSL://lkc-1.confluent.cloud:9092", "lkc-1.confluent.cloud:9092", "SASL_SSL"),
        ("lkc-1.confluent.cloud:9092", "lkc-1.confluent.cloud:9092", "SASL_SSL"),
        ("kafka.corp:9092", "kafka.corp:9092", "SASL_SSL"),
        ("127.0.0.1:40123", "127.0.0.1:40123", "PLAINTEXT"),
        ("localhost:1,[::1]:2", "localhost:1,[::1]:2", "PLAINTEXT"),
        ("127.0.0.1:1,kafka.corp:2", "127.0.0.1:1,kafka.corp:2", "SASL_SSL"),
        ("PLAINTEXT://kafka.corp:9092", "kafka.corp:9092", "PLAINTEXT"),
    ],
)
def test_how_a_cluster_is_spoken_to(endpoint: str, servers: str, protocol: str) -> None:
    assert Bootstrap.parse(endpoint) == Bootstrap(servers, protocol)


@pytest.mark.parametrize("endpoint", ["", "SASL_PLAINTEXT://kafka.corp:9092", "https://x"])
def test_an_endpoint_that_is_not_spoken_to_is_refused(endpoint: str) -> None:
    with pytest.raises(BrokerError):
        Bootstrap.parse(endpoint)


def test_no_key_goes_to_a_foreign_broker() -> None:
    with pytest.raises(UntrustedAddress, match=r"evil\.example"):
        reader_for(settings(), "lkc-1.evil.example:9092", "env-1", "lkc-1")


def test_a_missing_key_names_its_variable() -> None:
    with pytest.raises(MissingCredential) as raised:
        reader_for(
            settings(credentials=keys("confluent_cloud")), "lkc-1.confluent.cloud:9092", "env-1", "lkc-1"
        )
    assert "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_1" in raised.value.hint


def test_loopback_needs_no_key() -> None:
    with reader_for(settings(credentials={}), "127.0.0.1:9", "env-1", "lkc-1"):
        pass
