"""Topics that the emulator lists become Glue tables, and leave again when they are disabled."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import TopicNotFoundError
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.embedded import materializer, world
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.confluent.app import create_app
from lineage_bridge_dagster.embedded.kafka.broker import MemoryBroker, Message
from lineage_bridge_dagster.embedded.materializer import (
    Emulator,
    Heartbeat,
    Materializer,
    alone,
    local_environment,
)
from lineage_bridge_dagster.embedded.world import filling
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.iceberg import quoted
from lineage_bridge_dagster_tests.spark.records import InMemoryTopic
from lineage_bridge_dagster_tests.spark_session import REGION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

with_spark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

CLUSTER = world.ORDERS_PLATFORM
KEY = (world.api_key("tableflow").key, world.api_key("tableflow").secret)
TOPIC = "orders-v1"


@dataclass
class Local:
    """The emulator over brokers in memory, and a materializer of it."""

    client: TestClient
    broker: MemoryBroker
    work: Materializer
    spark: SparkSession
    aws: StrictAws
    beats: list[dict[str, int]] = field(default_factory=list)

    def produce(self, name: str, count: int) -> None:
        topic = world.topic(CLUSTER.id, name)
        self.broker.create_topic(name, topic.partitions, topic.configs)
        with self.registry() as registry:
            encoder = filling.Encoder(topic.schema or {}, filling.register(registry, topic))
        filling.append(self.broker, topic, encoder, count)

    def registry(self) -> TestClient:
        key = world.api_key("schema_registry")
        path = f"/schema-registry/{world.SCHEMA_REGISTRY_ID}"
        client = TestClient(self.client.app, base_url=f"http://testserver{path}")
        client.auth = (key.key, key.secret)  # type: ignore[assignment]
        return client

    def status(self, name: str) -> tuple[str, str]:
        for raw in self.client.get("/emulator/tableflow").json():
            if (raw["cluster"], raw["topic"]) == (CLUSTER.id, name):
                return raw["phase"], raw["error_message"]
        return "gone", ""

    def enable(self, name: str) -> None:
        spec = {
            "display_name": name,
            "environment": {"id": world.ENVIRONMENT_ID},
            "kafka_cluster": {"id": CLUSTER.id},
        }
        body = {"spec": spec}
        self.client.post("/tableflow/v1/tableflow-topics", json=body, auth=KEY).raise_for_status()

    def disable(self, name: str) -> None:
        wanted = {"environment": world.ENVIRONMENT_ID, "spec.kafka_cluster": CLUSTER.id}
        path = f"/tableflow/v1/tableflow-topics/{name}"
        self.client.delete(path, params=wanted, auth=KEY).raise_for_status()

    def tables(self) -> list[str]:
        glue = self.aws.client("glue", REGION)
        try:
            return [t["Name"] for t in glue.get_tables(DatabaseName=CLUSTER.database)["TableList"]]
        except glue.exceptions.EntityNotFoundException:
            return []

    def rows(self, name: str) -> int:
        return self.spark.table(quoted("glue", CLUSTER.database, name.lower())).count()


class MemoryTopic(InMemoryTopic):
    """A topic of a broker in memory, in place of one that is read over the network."""

    def __init__(self, brokers: dict[str, MemoryBroker], name: str, bootstrap: Bootstrap) -> None:
        super().__init__(name, {})
        self._broker = brokers[bootstrap.servers]

    def bounds(self) -> Any:
        if self.name not in self._broker.topics():
            raise TopicNotFoundError(f"no topic {self.name}")
        self.partitions = {p: [] for p in self._broker.end_offsets(self.name)}
        for message in self._broker.records(self.name):
            self.add(message.partition, message.value, key=message.key)
        return super().bounds()


@pytest.fixture
def local(spark: SparkSession, spark_aws: StrictAws, monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    brokers = {cluster.id: MemoryBroker() for cluster in world.CLUSTERS}
    addresses = {cluster.id: f"127.0.0.1:{n}" for n, cluster in enumerate(world.CLUSTERS, 1)}
    with TestClient(create_app(brokers, bootstrap=addresses)) as client:
        by_address = {addresses[cluster]: broker for cluster, broker in brokers.items()}
        monkeypatch.setattr(materializer, "KafkaTopic", partial(MemoryTopic, by_address))
        emulator = Emulator(
            "http://testserver", TestClient(client.app, base_url="http://testserver/emulator/")
        )
        beats: list[dict[str, int]] = []
        env = {**world.credentials_env(), "LINEAGE_BRIDGE_CONFLUENT_API_URL": "http://testserver"}
        with ConfluentSession(Settings.from_env(env).confluent, client._transport) as confluent:
            work = Materializer(
                spark,
                emulator,
                "glue",
                confluent,
                spark_aws.client("s3", REGION),
                lambda **s: beats.append(s),
            )
            yield Local(client, brokers[CLUSTER.id], work, spark, spark_aws, beats)
    for name in [table.name for table in spark.catalog.listTables(f"glue.`{CLUSTER.database}`")]:
        spark.sql(f"DROP TABLE {quoted('glue', CLUSTER.database, name)}")


class TestTables:
    pytestmark = with_spark

    def test_a_topic_gets_its_table_and_leaves_the_catalog_when_disabled(self, local: Local) -> None:
        local.produce(TOPIC, 40)
        local.work.step()
        assert local.status(TOPIC) == ("RUNNING", "")
        assert local.tables() == [TOPIC]
        assert local.rows(TOPIC) == 40
        assert local.beats[-1] == {"tables": 8, "synced": 1}
        local.produce(TOPIC, 2)
        local.work.step()
        assert local.rows(TOPIC) == 42
        # Topics that are not there yet wait, as they do at Confluent.
        assert local.status("orders.v1") == ("PENDING", "")
        local.disable(TOPIC)
        local.work.step()
        assert local.tables() == []
        assert local.client.get("/emulator/tableflow/dropped").json() == []
        files = local.aws.client("s3", REGION).list_objects_v2(Bucket=CLUSTER.bucket)
        assert files["KeyCount"] > 0
        local.enable(TOPIC)
        local.work.step()
        assert local.rows(TOPIC) == 42

    def test_a_disabled_topic_does_not_take_its_successor_along(self, local: Local) -> None:
        local.produce(TOPIC, 3)
        local.work.step()
        local.disable(TOPIC)
        local.enable(TOPIC)
        local.work.step()
        assert local.rows(TOPIC) == 3
        assert local.status(TOPIC) == ("RUNNING", "")

    def test_of_two_topics_with_one_glue_name_the_first_gets_it(self, local: Local) -> None:
        local.produce(TOPIC, 3)
        local.broker.create_topic("ORDERS-V1", 1, {})
        local.enable("ORDERS-V1")
        local.work.step()
        assert local.status(TOPIC) == ("RUNNING", "")
        phase, message = local.status("ORDERS-V1")
        assert phase == "FAILED"
        assert TOPIC in message
        assert local.tables() == [TOPIC]

    def test_a_record_that_can_not_be_decoded_fails_its_table_alone(self, local: Local) -> None:
        local.produce(TOPIC, 3)
        local.produce("revenue.by-country", 3)
        local.broker.produce(TOPIC, [Message(0, None, b"not avro")])
        local.work.step()
        phase, message = local.status(TOPIC)
        assert phase == "FAILED"
        assert "partition 0 offset 1" in message
        assert local.status("revenue.by-country") == ("RUNNING", "")

    def test_a_stop_ends_between_two_tables(self, local: Local) -> None:
        local.produce(TOPIC, 3)
        stop = threading.Event()
        stop.set()
        local.work.step(stop)
        assert local.tables() == []


def test_only_one_materializer_works_on_a_home(tmp_path: Path) -> None:
    lock = tmp_path / "run" / "materializer.lock"
    with alone(lock), pytest.raises(ConfigurationError, match="Another materializer"), alone(lock):
        pass
    with alone(lock):
        pass


@pytest.mark.parametrize("url", ["", "https://glue.us-east-1.amazonaws.com"])
def test_it_writes_to_this_machine_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_CONFLUENT_API_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    with pytest.raises(ConfigurationError, match="AWS_ENDPOINT_URL"):
        local_environment(tmp_path)


def test_the_stacks_own_variables_win_over_the_shells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://real.example")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "real")
    (tmp_path / "stack.env").write_text(
        "AWS_ENDPOINT_URL=http://127.0.0.1:1\nAWS_ACCESS_KEY_ID=local\n"
        "LINEAGE_BRIDGE_CONFLUENT_API_URL=http://127.0.0.1:2\n"
    )
    env = local_environment(tmp_path)
    assert (env["AWS_ENDPOINT_URL"], env["AWS_ACCESS_KEY_ID"]) == ("http://127.0.0.1:1", "local")
    assert env["AWS_REGION"] == env["AWS_DEFAULT_REGION"] == "us-east-1"


def test_the_ready_file_is_whole_and_goes_with_the_process(tmp_path: Path) -> None:
    path = tmp_path / "run" / "materializer.ready"
    path.parent.mkdir()
    path.write_text("left over")
    beat = Heartbeat(path)
    assert not path.exists()
    beat(tables=2, synced=1)
    assert '"synced": 1' in path.read_text()
    assert time.time() - path.stat().st_mtime < 60
    beat.clear()
    assert not path.exists()
