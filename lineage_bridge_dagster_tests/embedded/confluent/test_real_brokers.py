"""The emulator and the sample data on real Kafka brokers."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator

import fastavro
import pytest
from confluent_kafka import Consumer, TopicPartition

from lineage_bridge_dagster.embedded import processes, world
from lineage_bridge_dagster.embedded.kafka.broker import LocalBrokerError
from lineage_bridge_dagster.embedded.kafka.client import KafkaBroker
from lineage_bridge_dagster.embedded.stack import Stack
from lineage_bridge_dagster.embedded.world.filling import StackFile, registry_client
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller
from lineage_bridge_dagster_tests.embedded.confluent.openapi import check_response

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("local_stack"), pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    running = Stack(tmp_path_factory.mktemp("world") / "home", materializer=False)
    try:
        running.up()
        yield running
    finally:
        running.reset()


@pytest.fixture
def call(stack: Stack) -> Iterator[Caller]:
    caller = Caller(StackFile.read(stack.home).confluent_url)
    with caller.http:
        yield caller


def counts(stack: Stack) -> dict[tuple[str, str], int]:
    """Number of records per topic, without the topic that keeps growing."""
    brokers = StackFile.read(stack.home).open_brokers()
    return {
        (t.cluster, t.name): sum(brokers[t.cluster].end_offsets(t.name).values())
        for t in world.TOPICS
        if (t.cluster, t.name) != world.TRICKLE_TOPIC
    }


def test_all_sample_records_exist(stack: Stack) -> None:
    expected = {(t.cluster, t.name): t.records for t in world.TOPICS}
    del expected[world.TRICKLE_TOPIC]
    assert counts(stack) == expected


@pytest.mark.parametrize("path", [p for p in paths.UNPAGED if p.startswith("/kafka")])
def test_kafka_rest_responses_are_as_documented(call: Caller, path: str) -> None:
    response = call(path)
    assert response.status_code == 200, response.text
    check_response(response)


def test_topics_and_configs_come_from_the_broker(stack: Stack, call: Caller) -> None:
    broker = KafkaBroker(StackFile.read(stack.home).brokers[paths.US])
    broker.create_topic("Manually.created-topic", 2, {"retention.ms": "1234567"})
    listed = {t["topic_name"]: t for t in call(f"{paths.KAFKA_US}/topics").json()["data"]}
    assert listed["Manually.created-topic"]["partitions_count"] == 2
    rows = call(f"{paths.KAFKA_US}/topics/-/configs").json()["data"]
    found = next(
        r for r in rows if (r["topic_name"], r["name"]) == ("Manually.created-topic", "retention.ms")
    )
    assert (found["value"], found["source"]) == ("1234567", "DYNAMIC_TOPIC_CONFIG")
    assert {r["topic_name"] for r in rows} >= set(listed)


def test_lag_follows_from_the_committed_offsets(call: Caller) -> None:
    groups = {g["consumer_group_id"]: g for g in call(f"{paths.KAFKA_US}/consumer-groups").json()["data"]}
    assert groups["orders-dashboard"]["state"] == "EMPTY"
    lags = call(f"{paths.KAFKA_US}/consumer-groups/orders-dashboard/lags").json()["data"]
    records = world.topic(paths.US, "orders.v1").records
    assert sum(lag["log_end_offset"] for lag in lags) == records
    assert sum(lag["lag"] for lag in lags) == pytest.approx(records * 0.2, abs=3)
    assert call(f"{paths.KAFKA_EU}/consumer-groups/connect-lcc-4s6sf0/lags").status_code == 404


def test_consumer_reads_the_produced_records(stack: Stack) -> None:
    topic = world.topic(paths.EU, "Customer.Profiles-EU")
    stack_file = StackFile.read(stack.home)
    consumer = Consumer({"bootstrap.servers": stack_file.brokers[topic.cluster], "group.id": "reader"})
    consumer.assign([TopicPartition(topic.name, p, 0) for p in range(topic.partitions)])
    messages = consumer.consume(topic.records, timeout=30)
    consumer.close()
    assert len(messages) == topic.records
    with registry_client(stack_file.confluent_url) as registry:
        _, schema_id = struct.unpack(">bI", messages[0].value()[:5])
        schema = fastavro.parse_schema(json.loads(registry.get(f"/schemas/ids/{schema_id}").json()["schema"]))
    read = {
        m.key(): fastavro.schemaless_reader(io.BytesIO(m.value()[5:]), schema, None)["name"] for m in messages
    }
    assert read == {topic.record(i)[0]: topic.record(i)[1]["name"] for i in range(topic.records)}


def test_records_are_produced_on_request(stack: Stack) -> None:
    before = counts(stack)[(paths.US, "inventory-products")]
    assert str(before + 7) in world.produce(stack.home, "inventory-products", 7)
    assert counts(stack)[(paths.US, "inventory-products")] == before + 7


def test_killed_emulator_restarts_with_its_state_and_without_duplicate_records(
    stack: Stack, call: Caller
) -> None:
    world.enable_tableflow(stack.home, "orders.status")
    schemas = call(f"{paths.REGISTRY}/schemas").json()
    before = counts(stack)
    processes.find(stack.paths)["confluent"].process.kill()
    stack.up()
    assert call(f"{paths.REGISTRY}/schemas").json() == schemas
    enabled = [t["spec"]["display_name"] for t in call(paths.TOPICS_US).json()["data"]]
    assert "orders.status" in enabled
    assert counts(stack) == before


def test_colliding_topic_names_are_rejected(stack: Stack) -> None:
    broker = KafkaBroker(StackFile.read(stack.home).brokers[paths.US])
    with pytest.raises(LocalBrokerError, match="collides"):
        broker.create_topic("orders_v1", 1, {})


def test_unavailable_broker_gives_503_for_its_cluster_only(stack: Stack, call: Caller) -> None:
    processes.find(stack.paths)[f"broker-{paths.EU}"].process.kill()
    response = call(f"{paths.KAFKA_EU}/topics")
    assert response.status_code == 503
    assert "error_code" in response.json()
    assert call(f"{paths.KAFKA_US}/topics").status_code == 200
    stack.up()
    assert call(f"{paths.KAFKA_EU}/topics").status_code == 200
