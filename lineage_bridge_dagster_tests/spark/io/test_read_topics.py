"""Records of a real broker: offsets and times of an input, and what is new since the last run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from lineage_bridge_dagster.embedded.broker import BrokerProcess
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.increments import Downstream, run_marker
from lineage_bridge_dagster.spark.io.options import ReadOptions, WriteOptions
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.spark.io.write import write_frame
from lineage_bridge_dagster_tests.kafka_broker import running_broker
from lineage_bridge_dagster_tests.spark.io.reading import read_asset

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

#: Time of the first record in epoch milliseconds; the others follow at intervals of a second.
FIRST = 1_770_000_000_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.fixture
def topic(broker: BrokerProcess, request: pytest.FixtureRequest) -> AssetSource:
    """A topic with records 0 to 5, the even ones in partition 0."""
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


def test_offsets_and_times_bound_the_records(spark: SparkSession, topic: AssetSource) -> None:
    def values(**options: Any) -> list[int]:
        rows = read_asset(spark, topic, options=ReadOptions(**options))
        return sorted(int(row.value) for row in rows.collect())

    assert values() == [0, 1, 2, 3, 4, 5]
    assert values(starting_offsets={0: 1}) == [1, 2, 3, 4, 5]
    assert values(starting_offsets={0: 1}, ending_offsets={0: 2, 1: 0}) == [2]
    assert values(starting_offsets="latest") == []
    assert values(starting_timestamp=FIRST + 3000) == [3, 4, 5]
    assert values(starting_timestamp=FIRST + 1000, ending_timestamp=FIRST + 3000) == [1, 2]
    assert values(starting_timestamp=FIRST + 3000, ending_offsets={0: 3, 1: 2}) == [3, 4]
    # A time after the last record is not an error.
    assert values(starting_timestamp=FIRST + 999_000) == []


def test_each_record_is_read_once(spark: SparkSession, topic: AssetSource, database: str) -> None:
    table = TableName("glue", database, "records")
    options = ReadOptions(incremental=True, columns=("partition", "offset"))

    def run() -> tuple[int, Any]:
        downstream = Downstream(table)
        frame = read_asset(spark, topic, options=options, downstream=downstream, label="kafka/t")
        # A record that arrives during the run is read by the next one.
        produce(topic, 6)
        marker = run_marker("run", downstream.consumed)
        result = write_frame(frame, table, WriteOptions(write_mode="append"), marker)
        return result.rows, downstream.consumed["kafka/t"]

    assert run() == (6, {"offsets": {"0": 3, "1": 3}})
    assert run() == (1, {"offsets": {"0": 4, "1": 3}})
    assert spark.table(table.sql).distinct().count() == 7


def test_only_committed_transactions_are_read(
    spark: SparkSession, broker: BrokerProcess, topic: AssetSource
) -> None:
    def begin(name: str, key: bytes) -> Producer:
        producer = Producer({"bootstrap.servers": broker.address, "transactional.id": name})
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce(topic.topic, key, key, partition=0)
        producer.flush()
        return producer

    def keys(**options: Any) -> set[bytes]:
        rows = read_asset(spark, topic, options=ReadOptions(filter="key IS NOT NULL", **options)).collect()
        return {bytes(row.key) for row in rows}

    begin("one", b"aborted").abort_transaction()
    open_one = begin("two", b"open")
    assert keys() == keys(ending_offsets="latest") == set()
    open_one.commit_transaction()
    assert keys() == keys(ending_offsets="latest") == {b"open"}
