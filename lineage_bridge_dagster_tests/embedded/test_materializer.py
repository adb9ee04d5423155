"""Enabled topics become Glue tables; disabled topics' tables are dropped."""

from __future__ import annotations

import os
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx
import pytest
from starlette.testclient import TestClient

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import TopicNotFoundError
from lineage_bridge_dagster.confluent.api.schema_registry import SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.cluster_connection import ClusterConnection
from lineage_bridge_dagster.confluent.cluster_settings import KafkaConfig
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.confluent.app import create_app
from lineage_bridge_dagster.embedded.kafka.broker import KafkaMessage
from lineage_bridge_dagster.embedded.materializer import (
    SPARK_CONF,
    Heartbeat,
    class_conf,
    exclusive_lock,
    local_environment,
)
from lineage_bridge_dagster.embedded.tableflow_service import TableflowService
from lineage_bridge_dagster.embedded.tableflow_topics import Emulator
from lineage_bridge_dagster.embedded.world import filling
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.loaded_topics import STAMP
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.topic_to_iceberg import engine
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetter
from lineage_bridge_dagster_tests.embedded.kafka.memory_broker import MemoryBroker
from lineage_bridge_dagster_tests.spark.records import InMemoryTopic
from lineage_bridge_dagster_tests.spark_session import REGION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

requires_spark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

CLUSTER = world.ORDERS_PLATFORM
KEY = (world.api_key("tableflow").key, world.api_key("tableflow").secret)
TOPIC = "orders-v1"


@dataclass
class Local:
    """The emulator on in-memory brokers, with Tableflow."""

    client: TestClient
    broker: MemoryBroker
    tableflow: TableflowService
    spark: SparkSession
    aws: StrictAws
    progress: list[dict[str, int]] = field(default_factory=list)

    def produce(self, name: str, count: int) -> None:
        topic = world.topic(CLUSTER.id, name)
        self.broker.create_topic(name, topic.partitions, topic.configs)
        with self.registry() as registry:
            encoder = filling.Encoder(topic.schema or {}, filling.register(registry, topic))
        filling.produce_next(self.broker, topic, encoder, count)

    def registry(self) -> TestClient:
        key = world.api_key("schema_registry")
        path = f"/schema-registry/{world.SCHEMA_REGISTRY_ID}"
        client = TestClient(self.client.app, base_url=f"http://localhost{path}")
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
        path = "/tableflow/v1/tableflow-topics"
        self.client.post(path, json={"spec": spec}, auth=KEY).raise_for_status()

    def disable(self, name: str) -> None:
        params = {"environment": world.ENVIRONMENT_ID, "spec.kafka_cluster": CLUSTER.id}
        path = f"/tableflow/v1/tableflow-topics/{name}"
        self.client.delete(path, params=params, auth=KEY).raise_for_status()

    def tables(self) -> list[str]:
        glue = self.aws.client("glue", REGION)
        try:
            return [t["Name"] for t in glue.get_tables(DatabaseName=CLUSTER.database)["TableList"]]
        except glue.exceptions.EntityNotFoundException:
            return []

    def rows(self, name: str) -> int:
        return self.spark.table(quoted("glue", CLUSTER.database, name.lower())).count()


class MemoryTopic(InMemoryTopic):
    """A topic of an in-memory broker, in place of one that is read over the network."""

    def __init__(
        self, brokers: dict[str, MemoryBroker], name: str, bootstrap: Bootstrap, **_connection: object
    ) -> None:
        super().__init__(name, {})
        self._broker = brokers[bootstrap.servers]

    def bounds(self) -> Any:
        if self.name not in self._broker.topics():
            raise TopicNotFoundError(f"no topic {self.name}")
        self.partitions = {p: [] for p in self._broker.end_offsets(self.name)}
        for message in self._broker.records(self.name):
            self.add(message.partition, message.value, key=message.key)
        return super().bounds()


class MemoryDeadLetters:
    """A dead letter topic of an in-memory broker, with the records' own keys and values."""

    def __init__(
        self, brokers: dict[str, MemoryBroker], name: str, _source: str, bootstrap: Bootstrap, _origin: object
    ) -> None:
        self._name, self._broker = name, brokers[bootstrap.servers]

    def prepare(self) -> None:
        """The topic exists."""

    def write(self, letters: list[DeadLetter]) -> None:
        self._broker.produce(self._name, [KafkaMessage(0, each.key, each.value) for each in letters])


def through(client: TestClient) -> httpx.MockTransport:
    """A transport to the application of a test's client, whichever library that client is built on."""

    def answer(request: httpx.Request) -> httpx.Response:
        url, headers = str(request.url), dict(request.headers)
        answered = client.request(request.method, url, content=request.content, headers=headers)
        kept = {name: value for name, value in answered.headers.items() if name != "content-encoding"}
        return httpx.Response(answered.status_code, headers=kept, content=answered.content)

    return httpx.MockTransport(answer)


@dataclass(frozen=True)
class Connection(ClusterConnection):
    """A cluster whose Schema Registry is the emulator's in this process."""

    client: TestClient = field(kw_only=True)

    @classmethod
    def of(cls, kafka: KafkaConfig, servers: str, confluent: ConfluentSession, client: TestClient) -> Self:
        registry = f"http://localhost/schema-registry/{world.SCHEMA_REGISTRY_ID}"
        bootstrap = Bootstrap.parse(servers)
        return cls(
            kafka.environment, kafka.cluster, bootstrap, registry, "", confluent.settings, client=client
        )

    @contextmanager
    def registry(self) -> Iterator[SchemaRegistryClient]:
        with ConfluentSession(self.registry_settings, through(self.client)) as session:
            yield SchemaRegistryClient(session, self.environment_id)


@pytest.fixture
def local(
    spark: SparkSession,
    spark_aws: StrictAws,
    spark_catalog: CatalogSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Local]:
    spark_aws.client("s3", REGION).create_bucket(Bucket=CLUSTER.bucket)
    brokers = {cluster.id: MemoryBroker() for cluster in world.CLUSTERS}
    addresses = {cluster.id: f"127.0.0.1:{n}" for n, cluster in enumerate(world.CLUSTERS, 1)}
    with TestClient(create_app(brokers, bootstrap=addresses)) as client:
        by_address = {addresses[cluster]: broker for cluster, broker in brokers.items()}
        monkeypatch.setattr(engine, "SparkTopic", partial(MemoryTopic, by_address))
        monkeypatch.setattr(engine, "oldest_after", lambda *_: None)
        monkeypatch.setattr(engine, "DeadLetterTopic", partial(MemoryDeadLetters, by_address))
        emulator = Emulator("http://localhost", TestClient(client.app, base_url="http://localhost/emulator/"))
        progress: list[dict[str, int]] = []
        env = {**world.credentials_env(), "LINEAGE_BRIDGE_CONFLUENT_API_URL": "http://localhost"}
        with ConfluentSession(Settings.from_env(env).confluent, through(client)) as confluent:

            def connect(kafka: KafkaConfig) -> ClusterConnection:
                return Connection.of(kafka, addresses[kafka.cluster], confluent, client)

            tableflow = TableflowService(
                spark,
                emulator,
                Catalogs.of(spark_catalog),
                confluent,
                lambda **counts: progress.append(counts),
                # Each step looks at every table again.
                interval=0.0,
                connect=connect,
            )
            yield Local(client, brokers[CLUSTER.id], tableflow, spark, spark_aws, progress)
    for table in spark.sql(f"SHOW TABLES IN {quoted('glue', CLUSTER.database)}").collect():
        spark.sql(f"DROP TABLE {quoted('glue', CLUSTER.database, table.tableName)}")


def _is_tableflows(local: Local) -> None:
    """It looks as Tableflow's, and carries no stamp of a loader, with which two would claim it."""
    glue = local.aws.client("glue", REGION)
    table = glue.get_table(DatabaseName=CLUSTER.database, Name=TOPIC)["Table"]
    name = quoted("glue", CLUSTER.database, TOPIC)
    properties = {row.key for row in local.spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    assert STAMP not in {*table["Parameters"], *properties}
    (entry,) = (raw for raw in local.client.get("/emulator/tableflow").json() if raw["topic"] == TOPIC)
    assert table["StorageDescriptor"]["Location"] == entry["table_path"]
    columns = [column["Name"] for column in table["StorageDescriptor"]["Columns"]]
    assert {"$$topic", "$$partition", "$$offset"} <= set(columns)


class TestTables:
    pytestmark = requires_spark

    def test_enabling_creates_a_table_and_disabling_drops_it_from_the_catalog(self, local: Local) -> None:
        local.produce(TOPIC, 40)
        local.tableflow.step()
        assert local.status(TOPIC) == ("RUNNING", "")
        assert local.tables() == [TOPIC]
        _is_tableflows(local)
        assert local.rows(TOPIC) == 40
        assert local.progress[-1] == {"tables": 10, "synced": 1}
        local.produce(TOPIC, 2)
        local.tableflow.step()
        assert local.rows(TOPIC) == 42
        # As at Confluent, a topic that does not exist yet is pending.
        assert local.status("orders.v1") == ("PENDING", "")
        local.disable(TOPIC)
        local.tableflow.step()
        assert local.tables() == []
        assert local.client.get("/emulator/tableflow/dropped").json() == []
        files = local.aws.client("s3", REGION).list_objects_v2(Bucket=CLUSTER.bucket)
        assert files["KeyCount"] > 0
        local.enable(TOPIC)
        local.tableflow.step()
        assert local.rows(TOPIC) == 42

    def test_a_pending_drop_spares_the_table_of_a_topic_that_was_enabled_again(self, local: Local) -> None:
        local.produce(TOPIC, 3)
        local.tableflow.step()
        local.disable(TOPIC)
        local.enable(TOPIC)
        local.tableflow.step()
        assert local.rows(TOPIC) == 3
        assert local.status(TOPIC) == ("RUNNING", "")

    def test_a_glue_name_shared_by_two_topics_belongs_to_the_first(self, local: Local) -> None:
        local.produce(TOPIC, 3)
        local.broker.create_topic("ORDERS-V1", 1, {})
        local.enable("ORDERS-V1")
        local.tableflow.step()
        assert local.status(TOPIC) == ("RUNNING", "")
        phase, message = local.status("ORDERS-V1")
        assert phase == "FAILED"
        assert TOPIC in message
        assert local.tables() == [TOPIC]

    def test_an_undecodable_record_fails_only_its_own_table(self, local: Local) -> None:
        local.produce(TOPIC, 3)
        local.produce("revenue.by-country", 3)
        local.broker.produce(TOPIC, [KafkaMessage(0, None, b"not avro")])
        local.tableflow.step()
        phase, message = local.status(TOPIC)
        assert phase == "FAILED"
        assert "partition 0 offset 1" in message
        assert local.status("revenue.by-country") == ("RUNNING", "")

    def test_a_record_that_is_logged_is_in_the_dead_letter_topic(self, local: Local) -> None:
        local.broker.create_topic("tableflow-errors", 1, {})
        local.produce("clickstream", 12)
        local.broker.produce("clickstream", [KafkaMessage(4, b"k", b"not avro")])
        local.tableflow.step()
        assert local.status("clickstream") == ("RUNNING", "")
        assert local.rows("clickstream") == 12
        (message,) = local.broker.records("tableflow-errors")
        assert (message.key, message.value) == (b"k", b"not avro")
        local.tableflow.step()
        assert len(local.broker.records("tableflow-errors")) == 1

    def test_a_topic_without_a_record_and_a_schema_is_pending_until_it_has_either(self, local: Local) -> None:
        local.broker.create_topic("new", 1, {})
        local.enable("new")
        local.tableflow.step()
        assert local.status("new") == ("PENDING", "")
        local.broker.produce("new", [KafkaMessage(0, b"k", b"bytes")])
        local.tableflow.step()
        assert local.status("new") == ("RUNNING", "")
        assert local.rows("new") == 1

    def test_stop_takes_effect_between_tables(self, local: Local) -> None:
        local.produce(TOPIC, 3)
        stop = threading.Event()
        stop.set()
        local.tableflow.step(stop)
        assert local.tables() == []


@pytest.mark.spark
def test_classes_come_from_the_same_archives_as_without_a_class_path_of_our_own() -> None:
    """Of the classes that PySpark's archives and ours have both, Spark takes PySpark's."""
    conf = class_conf(SPARK_CONF)
    entries = [Path(entry) for entry in conf["spark.driver.extraClassPath"].split(os.pathsep)]
    everything = next(entry for entry in entries if entry.name == "*")
    first = entries[: entries.index(everything)]
    ours = set(jars.ensure("spark"))
    assert ours <= set(entries)

    def classes(archive: Path) -> set[str]:
        names = zipfile.ZipFile(archive).namelist()
        return {name for name in names if name.endswith(".class") and not name.startswith("META-INF")}

    early = set[str]().union(*(classes(path) for path in first if path in ours))
    late = [path for path in everything.parent.glob("*.jar") if path not in first and early & classes(path)]
    # These have annotations for compilers alone.
    assert {path.name.partition("-")[0] for path in late} <= {"checker", "error_prone_annotations"}
    assert first.index(min(ours & set(first), key=first.index)) == len(set(first) - ours)


def test_only_one_materializer_runs_per_home(tmp_path: Path) -> None:
    lock = tmp_path / "run" / "materializer.lock"
    with (
        exclusive_lock(lock),
        pytest.raises(ConfigurationError, match="Another materializer"),
        exclusive_lock(lock),
    ):
        pass
    with exclusive_lock(lock):
        pass


@pytest.mark.parametrize("url", ["", "https://glue.us-east-1.amazonaws.com"])
def test_only_local_endpoints_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_CONFLUENT_API_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    with pytest.raises(ConfigurationError, match="AWS_ENDPOINT_URL"):
        local_environment(tmp_path)


def test_the_stacks_variables_override_the_shells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://real.example")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "real")
    (tmp_path / "stack.env").write_text(
        "AWS_ENDPOINT_URL=http://127.0.0.1:1\nAWS_ACCESS_KEY_ID=local\n"
        "LINEAGE_BRIDGE_CONFLUENT_API_URL=http://127.0.0.1:2\nICEBERG_REST_URI=http://127.0.0.1:3\n"
    )
    env = local_environment(tmp_path)
    assert (env["AWS_ENDPOINT_URL"], env["AWS_ACCESS_KEY_ID"]) == ("http://127.0.0.1:1", "local")
    assert env["AWS_REGION"] == env["AWS_DEFAULT_REGION"] == "us-east-1"


def test_the_ready_file_is_rewritten_after_each_table_and_removed_at_exit(tmp_path: Path) -> None:
    path = tmp_path / "run" / "materializer.ready"
    path.parent.mkdir()
    path.write_text("stale")
    heartbeat = Heartbeat(path)
    assert not path.exists()
    heartbeat(tables=2, synced=1)
    assert '"synced": 1' in path.read_text()
    assert time.time() - path.stat().st_mtime < 60
    heartbeat.clear()
    assert not path.exists()
