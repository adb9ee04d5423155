"""The sample world: what is in it, and how it gets onto the brokers."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import fastavro
import pytest

from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.server import ConfluentEmulator
from lineage_bridge_dagster.embedded.kafka.broker import BrokerError, MemoryBroker, Message
from lineage_bridge_dagster.embedded.world import actions
from lineage_bridge_dagster.embedded.world.filling import fill, registry_client
from lineage_bridge_dagster.errors import ConfigurationError

US, EU = (cluster.id for cluster in world.CLUSTERS)


def test_it_has_what_trips_the_careless() -> None:
    names = {
        cluster.id: {t.name for t in world.TOPICS if t.cluster == cluster.id} for cluster in world.CLUSTERS
    }
    assert names[US] & names[EU] == {"orders.v1"}
    assert {"orders.v1", "orders-v1"} <= names[US]
    assert {"payments-v1", "payments_v1"} <= names[EU]
    assert any(n != n.lower() and "." in n and "-" in n for n in names[EU])
    assert len({cluster.region for cluster in world.CLUSTERS}) == 2
    assert [bool(cluster.glue_database) for cluster in world.CLUSTERS] == [False, True]


def test_there_is_enough_of_it() -> None:
    assert sum(t.records for t in world.TOPICS) >= 10_000
    assert sum(t.tableflow for t in world.TOPICS) >= 6
    assert any(not t.tableflow and t.schema for t in world.TOPICS)


def test_no_two_topics_of_a_cluster_collide_as_kafka_sees_it() -> None:
    for one, other in combinations(world.TOPICS, 2):
        if one.cluster == other.cluster:
            assert one.name.replace(".", "_") != other.name.replace(".", "_")


def test_everything_refers_to_something_that_is_there() -> None:
    topics = {(t.cluster, t.name) for t in world.TOPICS}
    for connector in world.CONNECTORS:
        named = connector.config.get("topics", connector.config.get("kafka.topic", "")).split(",")
        named.append(connector.config.get("errors.deadletterqueue.topic.name", ""))
        assert all((connector.cluster, name) in topics for name in named if name)
    pools = {pool.id for pool in world.POOLS}
    accounts = {account.id for account in world.SERVICE_ACCOUNTS}
    assert all(s.pool in pools and s.principal in accounts for s in world.STATEMENTS)
    assert all((group.cluster, group.topic) in topics for group in world.GROUPS)
    assert world.TRICKLE_TOPIC in topics
    for ksqldb in world.KSQLDB_CLUSTERS:
        assert ksqldb.principal in accounts
        assert all((ksqldb.kafka.id, source.topic) in topics for source in ksqldb.sources)
        names = {source.name for source in ksqldb.sources}
        assert all({*query.sources, query.sink} <= names for query in ksqldb.queries)


def test_a_record_is_the_same_every_time_and_keeps_its_schema() -> None:
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


def test_topics_of_one_name_share_a_subject_and_so_a_schema() -> None:
    by_subject: dict[str, str] = {}
    for topic in world.TOPICS:
        if topic.schema:
            assert by_subject.setdefault(topic.subject, topic.schema_text) == topic.schema_text


def test_the_variables_are_those_that_the_settings_read() -> None:
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
        wanted = world.api_key(plane, place)
        assert found is not None
        assert (found.key, found.secret.get_secret_value()) == (wanted.key, wanted.secret)


def test_values_are_in_the_wire_format_with_the_registered_schema() -> None:
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
    """A broker that goes away after some batches, having taken part of the last one."""

    left = 4

    def produce(self, topic: str, messages: Sequence[Message]) -> None:
        self.left -= 1
        if self.left == 0:
            super().produce(topic, messages[: len(messages) // 3])
            raise BrokerError("gone")
        super().produce(topic, messages)


def test_seeding_goes_on_where_it_was_interrupted() -> None:
    brokers: Mapping[str, MemoryBroker] = {US: Interrupted(), EU: MemoryBroker()}
    with ConfluentEmulator(brokers=brokers) as emulator:
        with pytest.raises(world.StackRequestError, match="gone"):
            emulator.seed()
        assert emulator.seed().records > 0
        assert emulator.seed() == world.SeedReport(0, 0)
        with ConfluentEmulator() as whole:
            whole.seed()
            for topic in world.TOPICS:
                other = whole.brokers[topic.cluster]
                assert isinstance(other, MemoryBroker)
                seeded = [(m.partition, m.key) for m in brokers[topic.cluster].records(topic.name)]
                assert seeded == [(m.partition, m.key) for m in other.records(topic.name)]


def test_groups_keep_what_they_have_read_since() -> None:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        broker = emulator.brokers[US]
        broker.commit("orders-dashboard", "orders.v1", {0: 1})
        emulator.seed()
        assert broker.group_offsets("orders-dashboard")[0].current == 1


def test_a_registry_that_does_not_answer_is_said() -> None:
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


def test_tableflow_is_enabled_and_disabled_from_the_command_line(home: Path) -> None:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        write_stack(home, emulator)
        said = world.enable_tableflow(home, "inventory-products")
        assert f"{US}.inventory-products" in said
        assert "already" in world.enable_tableflow(home, "inventory-products")
        assert "analytics_eu.payments_v1" in world.enable_tableflow(home, "payments_v1")
        with emulator.client() as client:
            topics = {(e["cluster"], e["topic"]) for e in client.get("/emulator/tableflow").json()}
        assert {(US, "inventory-products"), (EU, "payments_v1")} <= topics
        assert "is disabled" in world.disable_tableflow(home, "inventory-products")
        assert "was not enabled" in world.disable_tableflow(home, "inventory-products")


def test_an_emulator_that_refuses_is_quoted(home: Path) -> None:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        write_stack(home, emulator)
        with emulator.fault(api="tableflow", status=500), pytest.raises(world.StackRequestError, match="500"):
            world.enable_tableflow(home, "inventory-products")


def test_an_emulator_that_is_away_is_said(home: Path) -> None:
    (home / "stack.json").write_text(json.dumps({"ports": {"confluent": 9}, "brokers": {}}))
    with pytest.raises(world.StackRequestError) as error:
        world.enable_tableflow(home, "inventory-products")
    assert "local up" in error.value.hint


def test_no_stack_is_said(home: Path) -> None:
    with pytest.raises(ConfigurationError) as error:
        world.produce(home, "orders.v1", 1)
    assert "local up" in error.value.hint
    (home / "stack.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="is not valid"):
        world.produce(home, "orders.v1", 1)


TOPICS = {US: ["orders.v1", "Sessions.Enriched", "__consumer_offsets"], EU: ["orders.v1"]}


def test_a_topic_in_two_clusters_needs_one_named() -> None:
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
def test_an_unknown_topic_is_answered_with_the_near_names(topic: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        actions.resolve_topic(TOPICS, topic, None)
    assert error.value.hint == hint


def test_an_unknown_cluster_is_answered_with_the_clusters() -> None:
    with pytest.raises(ConfigurationError) as error:
        actions.resolve_topic(TOPICS, "orders.v1", "lkc-none")
    assert "orders-platform" in error.value.hint


@pytest.mark.parametrize(("topic", "count"), [("tableflow-errors", 5), ("orders-v1", 0)])
def test_records_that_cannot_be_made_are_refused(home: Path, topic: str, count: int) -> None:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        write_stack(home, emulator)
        with pytest.raises(ConfigurationError):
            world.produce(home, topic, count)
