"""A broker that restarts, and what only a real one shows: topic ids, and records of 10 MB."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.topic_records import oldest_after
from lineage_bridge_dagster.lineage.loaded_topics import LoadedTopic
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.kafka import Offsets, SparkTopic
from lineage_bridge_dagster.topic_to_iceberg.engine import TableLoader
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.staging import writer_session
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadReport
from lineage_bridge_dagster.topic_to_iceberg.rotation import Rotation
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.dagster_ui import eventually
from lineage_bridge_dagster_tests.kafka_broker import RestartableBroker, restartable_broker
from lineage_bridge_dagster_tests.topic_to_iceberg.dead_letters.cluster import Cluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TEN_MEGABYTES = 10 * 1024 * 1024
#: Seconds to wait for a broker that runs, and for one that does not.
PATIENT, IMPATIENT = 60.0, 1.0


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableBroker]:
    with restartable_broker(tmp_path_factory.mktemp("broker")) as process:
        yield process


@dataclass
class Topic:
    """The topic of a cluster, with something that happens when it is about to be read."""

    kafka: SparkTopic
    before_reading: list[Callable[[], None]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.kafka.name

    def topic_id(self) -> str:
        return self.kafka.topic_id()

    def bounds(self) -> tuple[Offsets, Offsets]:
        return self.kafka.bounds()

    def offsets_at(self, at_ms: int) -> Offsets:
        return self.kafka.offsets_at(at_ms)

    def read(
        self, spark: SparkSession, start: Offsets, end: Offsets, *, topic_id: str = "", tasks: int = 0
    ) -> DataFrame:
        while self.before_reading:
            self.before_reading.pop()()
        return self.kafka.read(spark, start, end, topic_id=topic_id, tasks=tasks)


class Run:
    """A continuous run over one topic without a schema, a turn at a time."""

    def __init__(self, spark: SparkSession, cluster: Cluster, database: str) -> None:
        self.spark, self.name = spark, TableName("glue", database, "orders")
        self.topic = Topic(SparkTopic(cluster.topic, cluster.bootstrap, timeout_seconds=PATIENT))
        load = TopicLoad(topic=cluster.topic, catalog="glue", database=database, table="orders")
        self._now = 0.0
        self._cluster = cluster
        self._rotation = Rotation(
            [load], self._open, commit_seconds=1.0, report_seconds=10.0, clock=lambda: self._now
        )

    def _open(self, load: TopicLoad) -> TableLoader:
        def oldest_unread(offsets: Offsets, ends: Offsets) -> int | None:
            servers = self._cluster.bootstrap
            return oldest_after(servers, load.topic, offsets, ends, timeout_seconds=PATIENT)

        origin = LoadedTopic("env-1", "lkc-test", load.topic)
        return TableLoader(self.spark, load, self.topic, TopicSchemas, oldest_unread, origin=origin)

    def turn(self) -> LoadReport:
        """Take one turn, however long the topic was to wait, and return its report."""
        self._now += 1000.0
        (report,) = self._rotation.turn(lambda: False)
        return report

    def values(self) -> list[bytes]:
        rows = self.spark.table(self.name.sql).orderBy("$$partition", "$$offset").select("value").collect()
        return [bytes(row.value) for row in rows]


@pytest.fixture
def cluster(process: RestartableBroker, database: str) -> Cluster:
    found = Cluster(Bootstrap.parse(process.broker.address), database)
    found.create(found.topic, max_message_bytes=str(2 * TEN_MEGABYTES))
    return found


def test_restart_between_two_steps_fails_the_topic_for_now(
    process: RestartableBroker, cluster: Cluster, spark: SparkSession, database: str
) -> None:
    run = Run(spark, cluster, database)
    cluster.produce(b"1")
    assert run.turn().error is None
    process.stop()
    patient = run.topic.kafka
    run.topic.kafka = replace(patient, timeout_seconds=IMPATIENT)
    report = run.turn()
    run.topic.kafka = patient
    process.start()
    assert report.error is not None
    assert f"The brokers at {cluster.bootstrap.servers} could not return" in report.error.message
    assert "Check that they are reachable from here" in report.error.hint
    assert not report.error.suspended
    cluster.produce(b"2")
    assert run.turn().error is None
    assert run.values() == [b"1", b"2"]


def test_restart_within_a_step_is_waited_for(
    process: RestartableBroker, cluster: Cluster, spark: SparkSession, database: str
) -> None:
    run = Run(spark, cluster, database)
    cluster.produce(b"1")
    run.turn()
    cluster.produce(b"2", b"3")
    starting = threading.Thread(target=process.start)

    def restart() -> None:
        process.stop()
        starting.start()

    run.topic.before_reading.append(restart)
    report = run.turn()
    starting.join()
    # The brokers may still be away when they are asked whether the topic is the same.
    if report.error is not None:
        assert not report.error.suspended
        report = run.turn()
    assert report.error is None
    assert run.values() == [b"1", b"2", b"3"]


def test_topic_that_is_deleted_and_created_again_suspends_its_table(
    cluster: Cluster, spark: SparkSession, database: str
) -> None:
    run = Run(spark, cluster, database)
    cluster.produce(b"1")
    assert run.turn().error is None
    before = run.topic.topic_id()
    assert before
    cluster.admin.delete_topics([cluster.topic])[cluster.topic].result()
    eventually(lambda: cluster.topic not in cluster.admin.list_topics(timeout=10).topics, 60, "deletion", 0.1)
    report = run.turn()
    assert report.error is not None
    assert f"has no topic {cluster.topic}" in report.error.message
    cluster.create(cluster.topic)
    # As many records as before: the offsets alone show nothing.
    cluster.produce(b"other")
    now = eventually(lambda: run.topic.topic_id(), 60, "id of the new topic", 0.1)
    report = run.turn()
    assert report.error is not None
    assert f"its id was {before} and is {now}" in report.error.message
    assert report.error.suspended
    assert run.values() == [b"1"]


def test_record_of_ten_megabytes_is_a_row(cluster: Cluster, spark: SparkSession, database: str) -> None:
    large = bytes(range(256)) * (TEN_MEGABYTES // 256)
    cluster.produce(b"before", large, b"after")
    run = Run(spark, cluster, database)
    report = run.turn()
    assert report.error is None
    assert (report.totals.rows, report.status and report.status.lag_records) == (3, 0)
    assert run.values() == [b"before", large, b"after"]
    # The age of a record of this size can be found, too.
    offset = cluster.produce(large)
    assert oldest_after(cluster.bootstrap, cluster.topic, {0: offset}, {0: offset + 1}) is not None


def test_a_small_batch_of_many_partitions_is_one_file(
    cluster: Cluster, spark: SparkSession, database: str
) -> None:
    cluster.spread(6)
    values = [b"%d" % number for number in range(12)]
    for number, value in enumerate(values):
        cluster.produce(value, partition=number % 6)
    run = Run(spark, cluster, database)
    report = run.turn()
    assert report.error is None
    assert sorted(run.values()) == sorted(values)
    assert spark.table(f"{run.name.sql}.files").count() == 1


def test_a_long_partition_is_read_by_several_tasks_and_short_ones_by_one(
    cluster: Cluster, spark: SparkSession
) -> None:
    cluster.spread(4)
    cluster.produce(*[b"long"] * 9, partition=0)
    for number in range(1, 4):
        cluster.produce(b"short", partition=number)
    topic = SparkTopic(cluster.topic, cluster.bootstrap)
    first, ends = topic.bounds()

    def tasks(count: int) -> list[int]:
        """The records of each task."""
        records = topic.read(writer_session(spark), first, ends, tasks=count)
        found = records.groupBy(F.spark_partition_id().alias("task"), "partition", "offset").count().collect()
        assert sorted((row.partition, row.offset) for row in found) == sorted(
            (partition, at) for partition, end in ends.items() for at in range(end)
        )
        return sorted(Counter(row.task for row in found).values())

    assert tasks(1) == [12]
    assert tasks(4) == [1, 1, 1, 3, 3, 3]
    assert sum(tasks(2)) == 12
    assert len(tasks(2)) == 2
