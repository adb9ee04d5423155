"""The sample platform: its contents, seeding, and the user actions on it."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import fastavro
import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.kafka.broker import KafkaMessage, LocalBrokerError
from lineage_bridge_dagster.embedded.world import actions
from lineage_bridge_dagster.embedded.world.connectors import routes, topic_field
from lineage_bridge_dagster.embedded.world.filling import fill, registry_client
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator
from lineage_bridge_dagster_tests.embedded.kafka.memory_broker import MemoryBroker

US, EU = (cluster.id for cluster in world.CLUSTERS)


def test_topic_names_provoke_collisions() -> None:
    names = {
        cluster.id: {t.name for t in world.TOPICS if t.cluster == cluster.id} for cluster in world.CLUSTERS
    }
    assert names[US] & names[EU] == {"orders.v1"}
    assert {"orders.v1", "orders-v1"} <= names[US]
    assert {"payments-v1", "payments_v1"} <= names[EU]
    assert any(n != n.lower() and "." in n and "-" in n for n in names[EU])
    assert len({cluster.region for cluster in world.CLUSTERS}) == 2
    assert [bool(cluster.glue_database) for cluster in world.CLUSTERS] == [False, True]


def test_topics_are_also_in_confluents_own_storage_and_in_a_table_bucket() -> None:
    managed = [topic for topic in world.TOPICS if topic.managed]
    assert {topic.cluster for topic in managed} == {US, EU}
    assert all(topic.tableflow for topic in managed)
    (sink,) = (c for c in world.CONNECTORS if c.config["connector.class"] == world.ICEBERG_SINK)
    assert [(route.topic, route.table) for route in routes(sink.config)] == [
        ("checkout-clicks", ("sales", "checkout_clicks")),
        ("orders.open", ("sales", "open_orders")),
    ]
    assert topic_field(sink.config) == "_topic"


def test_topic_names_of_a_cluster_do_not_collide_in_kafka() -> None:
    for first, second in combinations(world.TOPICS, 2):
        if first.cluster == second.cluster:
            assert first.name.replace(".", "_") != second.name.replace(".", "_")


def test_records_are_deterministic_and_match_their_schema() -> None:
    for topic in world.TOPICS:
        if topic.schema is None:
            with pytest.raises(ValueError, match="no sample records"):
                topic.record(0)
            continue
        schema = fastavro.parse_schema(dict(topic.schema))
        for index in (0, 1, 7, topic.records, 10 * topic.records):
            key, value = topic.record(index)
            assert (key, value) == topic.record(index)
            assert fastavro.validate(value, schema)


def test_topics_with_the_same_name_share_a_schema() -> None:
    by_subject: dict[str, str] = {}
    for topic in world.TOPICS:
        if topic.schema:
            assert by_subject.setdefault(topic.subject, topic.schema_text) == topic.schema_text


def test_settings_read_the_variables() -> None:
    settings = Settings.from_env(world.credentials_env("http://127.0.0.1:1234")).confluent
    assert settings.api_url == "http://127.0.0.1:1234"
    for plane, place in (
        ("confluent_cloud", ""),
        ("tableflow", ""),
        ("schema_registry", world.SCHEMA_REGISTRY_ID),
        ("kafka", US),
        ("kafka", EU),
        ("flink", "aws.us-east-1"),
        ("flink", "aws.eu-west-1"),
    ):
        found = settings.credential(plane, place)  # type: ignore[arg-type]
        expected = world.api_key(plane, place)
        assert found is not None
        assert (found.key, found.secret.get_secret_value()) == (expected.key, expected.secret)


def test_values_are_in_the_wire_format_of_the_registered_schema() -> None:
    with ConfluentEmulator() as emulator:
        report = emulator.seed()
        assert report == world.SeedReport(len(world.TOPICS), sum(t.records for t in world.TOPICS))
        with registry_client(emulator.url) as registry:
            for topic in world.TOPICS:
                broker = emulator.brokers[topic.cluster]
                assert isinstance(broker, MemoryBroker)
                if topic.schema is None:
                    assert broker.records(topic.name) == []
                    continue
                record = broker.records(topic.name)[0]
                magic, schema_id = struct.unpack(">bI", record.value[:5])
                assert magic == 0
                schema = json.loads(registry.get(f"/schemas/ids/{schema_id}").json()["schema"])
                value = fastavro.schemaless_reader(
                    io.BytesIO(record.value[5:]), fastavro.parse_schema(schema), None
                )
                assert record.key == topic.record(0)[0]
                assert set(value) == {f["name"] for f in topic.schema["fields"]}


class Interrupted(MemoryBroker):
    """A broker that fails at the fourth batch, after storing a third of it."""

    remaining = 4

    def produce(self, topic: str, messages: Sequence[KafkaMessage]) -> None:
        self.remaining -= 1
        if self.remaining == 0:
            super().produce(topic, messages[: len(messages) // 3])
            raise LocalBrokerError("connection lost")
        super().produce(topic, messages)


def test_seeding_resumes_after_an_interruption() -> None:
    brokers: Mapping[str, MemoryBroker] = {US: Interrupted(), EU: MemoryBroker()}
    with ConfluentEmulator(brokers=brokers) as emulator:
        with pytest.raises(world.StackRequestError, match="connection lost"):
            emulator.seed()
        assert emulator.seed().records > 0
        assert emulator.seed() == world.SeedReport(0, 0)
        with ConfluentEmulator() as uninterrupted:
            uninterrupted.seed()
            for topic in world.TOPICS:
                broker = uninterrupted.brokers[topic.cluster]
                assert isinstance(broker, MemoryBroker)
                seeded = [(m.partition, m.key) for m in brokers[topic.cluster].records(topic.name)]
                assert seeded == [(m.partition, m.key) for m in broker.records(topic.name)]


def test_seeding_keeps_committed_offsets() -> None:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        broker = emulator.brokers[US]
        broker.commit("orders-dashboard", "orders.v1", {0: 1})
        emulator.seed()
        assert broker.group_offsets("orders-dashboard")[0].current == 1


def test_unreachable_registry_is_reported() -> None:
    brokers = {cluster.id: MemoryBroker() for cluster in world.CLUSTERS}
    with registry_client("http://127.0.0.1:9") as registry, pytest.raises(world.StackRequestError) as error:
        fill(brokers, registry)
    assert "local status" in error.value.hint


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def write_stack(home: Path, emulator: ConfluentEmulator) -> None:
    port = int(emulator.url.rpartition(":")[2])
    stack = {"ports": {"confluent": port}, "brokers": {US: "127.0.0.1:9", EU: "127.0.0.1:9"}}
    (home / "stack.json").write_text(json.dumps(stack))


def test_tableflow_can_be_enabled_and_disabled(home: Path) -> None:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        write_stack(home, emulator)
        message = world.enable_tableflow(home, "checkout-clicks")
        assert f"{US}.checkout-clicks" in message
        assert "already" in world.enable_tableflow(home, "checkout-clicks")
        assert "analytics_eu.payments-v1" in world.enable_tableflow(home, "payments-v1")
        with emulator.client() as client:
            topics = {(e["cluster"], e["topic"]) for e in client.get("/emulator/tableflow").json()}
        assert {(US, "checkout-clicks"), (EU, "payments-v1")} <= topics
        assert "is disabled" in world.disable_tableflow(home, "checkout-clicks")
        assert "was not enabled" in world.disable_tableflow(home, "checkout-clicks")


def test_error_of_the_emulator_is_reported(home: Path) -> None:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        write_stack(home, emulator)
        with emulator.fault(api="tableflow", status=500), pytest.raises(world.StackRequestError, match="500"):
            world.enable_tableflow(home, "checkout-clicks")


def test_unreachable_emulator_is_reported(home: Path) -> None:
    (home / "stack.json").write_text(json.dumps({"ports": {"confluent": 9}, "brokers": {}}))
    with pytest.raises(world.StackRequestError) as error:
        world.enable_tableflow(home, "inventory-products")
    assert "local up" in error.value.hint


def test_missing_or_invalid_stack_file_is_reported(home: Path) -> None:
    with pytest.raises(ConfigurationError) as error:
        world.produce(home, "orders.v1", 1)
    assert "local up" in error.value.hint
    (home / "stack.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="is not valid"):
        world.produce(home, "orders.v1", 1)


TOPICS = {US: ["orders.v1", "Sessions.Enriched", "__consumer_offsets"], EU: ["orders.v1"]}


def test_topic_in_two_clusters_requires_the_cluster() -> None:
    with pytest.raises(ConfigurationError) as error:
        actions.resolve_topic(TOPICS, "orders.v1", None)
    assert f"--cluster {US}" in error.value.hint
    assert f"--cluster {EU}" in error.value.hint
    assert actions.resolve_topic(TOPICS, "orders.v1", "analytics-eu").cluster.id == EU


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("sessions.enrichd", "Did you mean Sessions.Enriched?"),
        ("zzzzz", "Topics: Sessions.Enriched, orders.v1."),
    ],
)
def test_error_for_an_unknown_topic_suggests_names(topic: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        actions.resolve_topic(TOPICS, topic, None)
    assert error.value.hint == hint


def test_error_for_an_unknown_cluster_lists_the_clusters() -> None:
    with pytest.raises(ConfigurationError) as error:
        actions.resolve_topic(TOPICS, "orders.v1", "lkc-none")
    assert "orders-platform" in error.value.hint


@pytest.mark.parametrize(("topic", "count"), [("tableflow-errors", 5), ("orders-v1", 0)])
def test_invalid_produce_requests_are_rejected(home: Path, topic: str, count: int) -> None:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        write_stack(home, emulator)
        with pytest.raises(ConfigurationError):
            world.produce(home, topic, count)
