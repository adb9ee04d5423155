"""A real broker's records: what offsets and times of an input mean, and what is new since the last run."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from lineage_bridge_dagster.embedded.broker import KafkaBroker
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.commits import Target, Write
from lineage_bridge_dagster.spark.io.increments import Downstream
from lineage_bridge_dagster.spark.io.options import ReadOptions, WriteOptions
from lineage_bridge_dagster.spark.io.read import load
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.spark.io.write import store

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

#: The first record's time, in epoch milliseconds; the others follow by the second.
FIRST = 1_770_000_000_000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    folder = tmp_path_factory.mktemp("broker")
    made = KafkaBroker("lkc-test", free_port(), free_port(), folder / "data", folder / "run")
    made.prepare()
    with Path(folder / "log").open("w") as log:
        process = subprocess.Popen(made.command(), stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                made.check()
                break
            except LineageBridgeError:
                assert process.poll() is None, (folder / "log").read_text()[-2000:]
                assert time.monotonic() < deadline, (folder / "log").read_text()[-2000:]
                time.sleep(0.3)
        yield made
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def topic(broker: KafkaBroker, request: pytest.FixtureRequest) -> AssetSource:
    """Records 0 to 5, the even ones in partition 0."""
    name = f"{request.node.name}.v1"
    client = AdminClient({"bootstrap.servers": broker.address})
    client.create_topics([NewTopic(name, 2)])[name].result()
    source = AssetSource("topic", topic=name, bootstrap=f"PLAINTEXT://{broker.address}")
    produce(source, *range(6))
    return source


def produce(source: AssetSource, *values: int) -> None:
    producer = Producer({"bootstrap.servers": source.bootstrap.removeprefix("PLAINTEXT://")})
    for value in values:
        when = FIRST + 1000 * value
        producer.produce(source.topic, str(value).encode(), partition=value % 2, timestamp=when)
    producer.flush()


def test_offsets_and_times_bound_what_is_read(spark: SparkSession, topic: AssetSource) -> None:
    def values(**options: Any) -> list[int]:
        rows = load(spark, topic, options=ReadOptions(**options))
        return sorted(int(row.value) for row in rows.collect())

    assert values() == [0, 1, 2, 3, 4, 5]
    assert values(starting_offsets={0: 1}) == [1, 2, 3, 4, 5]
    assert values(starting_offsets={0: 1}, ending_offsets={0: 2, 1: 0}) == [2]
    assert values(starting_offsets="latest") == []
    assert values(starting_timestamp=FIRST + 3000) == [3, 4, 5]
    assert values(starting_timestamp=FIRST + 1000, ending_timestamp=FIRST + 3000) == [1, 2]
    assert values(starting_timestamp=FIRST + 3000, ending_offsets={0: 3, 1: 2}) == [3, 4]
    # Nothing that new is no error.
    assert values(starting_timestamp=FIRST + 999_000) == []


def test_each_record_is_taken_once(spark: SparkSession, topic: AssetSource, database: str) -> None:
    target = Target("glue", database, "records")
    options = ReadOptions(incremental=True, columns=("partition", "offset"))

    def take() -> tuple[int, Any]:
        downstream = Downstream(target)
        frame = load(spark, topic, options=options, downstream=downstream, shown="kafka/t")
        # A record that comes while the run computes is of the next one.
        produce(topic, 6)
        write = Write("run", downstream.consumed)
        return store(frame, target, WriteOptions(write_mode="append"), write).rows, write.consumed["kafka/t"]

    assert take() == (6, {"offsets": {"0": 3, "1": 3}})
    assert take() == (1, {"offsets": {"0": 4, "1": 3}})
    assert spark.table(target.name).distinct().count() == 7


def test_records_of_a_transaction_are_there_once_it_is_committed_and_never_when_it_is_aborted(
    spark: SparkSession, broker: KafkaBroker, topic: AssetSource
) -> None:
    def begun(name: str, key: bytes) -> Producer:
        producer = Producer({"bootstrap.servers": broker.address, "transactional.id": name})
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce(topic.topic, key, key, partition=0)
        producer.flush()
        return producer

    def seen(**options: Any) -> set[bytes]:
        rows = load(spark, topic, options=ReadOptions(filter="key IS NOT NULL", **options)).collect()
        return {bytes(row.key) for row in rows}

    begun("one", b"aborted").abort_transaction()
    still = begun("two", b"open")
    assert seen() == seen(ending_offsets="latest") == set()
    still.commit_transaction()
    assert seen() == seen(ending_offsets="latest") == {b"open"}
