"""Every record of a topic becomes one row, exactly once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog import load_catalog

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.spark.iceberg_tables import ancestors, location
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import UNDECODABLE_VALUE, DeadLetter
from lineage_bridge_dagster.topic_to_iceberg.loading import topic_table as module
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.spark.records import (
    AT,
    ORDER_V1,
    ORDERS,
    ORDERS_V1,
    InMemoryTopic,
    order_v1,
    order_v2,
    payload,
    subject,
)
from lineage_bridge_dagster_tests.spark_session import BUCKET, REGION, duckdb_reader, pyiceberg_properties
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import changed, load_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

with_spark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]


def table_config(database: str, **options: Any) -> TopicLoad:
    options = {"location": f"s3://{BUCKET}/10/01/{database}/v1/t", **options}
    return load_into(database, "orders.v1", **options)


def topic_table(
    spark: SparkSession, topic: InMemoryTopic, config: TopicLoad, schemas: TopicSchemas, **options: Any
) -> TopicTable:
    table = TopicTable(spark, topic, config, lambda: schemas, **options)
    table.ensure()
    return table


def ids(spark: SparkSession, config: TopicLoad) -> list[Any]:
    rows = spark.table(config.name.sql).select("id").collect()
    return sorted((row.id for row in rows), key=lambda number: number or 0)


@dataclass
class Queue:
    """A dead letter queue in memory."""

    letters: list[DeadLetter] = field(default_factory=list)
    error: Exception | None = None
    is_prepared: bool = False

    def prepare(self) -> None:
        self.is_prepared = True

    def write(self, letters: list[DeadLetter]) -> None:
        if self.error:
            raise self.error
        self.letters += letters


def failing_commit(*_: Any) -> None:
    raise LineageBridgeError("the catalog is down")


VALUES = TopicSchemas(value=ORDERS_V1)


class TestTables:
    pytestmark = with_spark

    def test_restart_neither_loses_nor_repeats_a_record(self, spark: SparkSession, database: str) -> None:
        topic, config = InMemoryTopic(), table_config(database)
        topic.add(0, order_v1(1), order_v1(2))
        topic.add(1, order_v1(3))
        table = topic_table(spark, topic, config, VALUES)
        assert table.advance().rows == 3
        topic.add(1, order_v1(4))
        # Another process knows only the table.
        again = topic_table(spark, topic, config, VALUES)
        assert again.offsets() == {0: 2, 1: 1}
        assert (again.advance().rows, again.advance().rows) == (1, 0)
        # The snapshot of a compaction has no offsets.
        spark.table(config.name.sql).writeTo(config.name.sql).overwritePartitions()
        assert topic_table(spark, topic, config, VALUES).offsets() == {0: 2, 1: 2}
        assert topic_table(spark, topic, config, VALUES).advance().rows == 0
        assert ids(spark, config) == [1, 2, 3, 4]
        assert topic.reads == 2

    def test_step_reads_its_share_until_it_has_caught_up(self, spark: SparkSession, database: str) -> None:
        topic, config = InMemoryTopic(), table_config(database)
        topic.add(0, *map(order_v1, range(5)))
        topic.add(1, order_v1(9))
        table = topic_table(spark, topic, changed(config, batch_records=4), VALUES)
        steps = [table.advance() for _ in range(3)]
        # The short partition leaves the rest of its share to the long one.
        assert [(step.rows, step.caught_up) for step in steps] == [(4, False), (2, True), (0, True)]
        assert ids(spark, config) == [0, 1, 2, 3, 4, 9]

    def test_columns_are_those_of_the_key_the_value_and_tableflow(
        self, spark: SparkSession, database: str, spark_catalog: CatalogSettings
    ) -> None:
        topic, config = InMemoryTopic(), table_config(database)
        key_schema = {"type": "record", "name": "K", "fields": [{"name": "customer", "type": "string"}]}
        schemas = TopicSchemas(subject("orders.v1-key", (3, key_schema)), ORDERS_V1)
        key = payload(3, key_schema, {"customer": "c1"})
        headers = [("trace", b"a"), ("trace", b"b")]
        topic.add(0, order_v1(1), key=key, headers=headers)
        topic_table(spark, topic, config, schemas).advance()
        assert spark.table(config.name.sql).columns == [
            "customer",
            "id",
            "item",
            *(
                f"$${name}"
                for name in (
                    "topic",
                    "partition",
                    "headers",
                    "leader-epoch",
                    "offset",
                    "timestamp",
                    "timestamp-type",
                    "raw-key",
                    "raw-value",
                )
            ),
        ]
        catalog = load_catalog("glue", **pyiceberg_properties(spark_catalog))
        stored = catalog.load_table((database, "orders.v1"))
        (row,) = stored.scan().to_arrow().to_pylist()
        assert (row["customer"], row["id"], row["$$topic"], row["$$offset"]) == ("c1", 1, "orders.v1", 0)
        assert dict(row["$$headers"]) == {"trace": b"b"}
        assert (row["$$raw-key"], row["$$timestamp-type"]) == (key, "CREATE_TIME")
        with duckdb_reader(spark_catalog) as duck:
            scanned = duck.sql(
                'SELECT id, item, "$$partition" FROM iceberg_scan(?)', params=[stored.metadata_location]
            ).fetchall()
        assert scanned == [(1, "item 1", 0)]

    def test_portable_names_have_no_dollar_and_no_hyphen(self, spark: SparkSession, database: str) -> None:
        config = table_config(database, metadata_names="portable")
        topic_table(spark, InMemoryTopic(), config, VALUES)
        own = [name for name in spark.table(config.name.sql).columns if name.startswith("cflt_metadata_")]
        assert len(own) == 9
        assert "cflt_metadata_leader_epoch" in own

    def test_raw_columns_are_left_out_and_stay_null_where_they_were(
        self, spark: SparkSession, database: str
    ) -> None:
        topic, config = InMemoryTopic(), table_config(database)
        topic.add(0, order_v1(1))
        topic_table(spark, topic, config, VALUES).advance()
        topic.add(0, order_v1(2))
        topic_table(spark, topic, changed(config, raw_columns=False), VALUES).advance()
        rows = spark.table(config.name.sql).orderBy("id").collect()
        assert [row["$$raw-value"] is None for row in rows] == [False, True]
        other = load_into(database, "lean", raw_columns=False)
        topic_table(spark, topic, other, VALUES).advance()
        lean = spark.table(other.name.sql)
        assert lean.count() == 2
        assert not [name for name in lean.columns if "raw" in name]

    def test_topic_without_schemas_has_bytes_as_keys_and_values(
        self, spark: SparkSession, database: str
    ) -> None:
        topic, config = InMemoryTopic(), table_config(database)
        topic.add(0, b"plain", key=b"k")
        topic_table(spark, topic, config, TopicSchemas(SubjectSchemas("k"), SubjectSchemas("v"))).advance()
        row = spark.table(config.name.sql).select("key", "value").collect()[0]
        assert (bytes(row.key), bytes(row.value)) == (b"k", b"plain")

    def test_undecodable_record_suspends_the_table_or_is_left_out(
        self, spark: SparkSession, database: str
    ) -> None:
        topic = InMemoryTopic()
        topic.add(0, order_v1(1), payload(99, ORDER_V1, {"id": 2, "item": ""}), order_v1(3), None)
        config = table_config(database)
        table = topic_table(spark, topic, config, VALUES)
        with pytest.raises(
            SuspendedError, match="at partition 0 offset 1: its value cannot be decoded: its schema id 99"
        ) as raised:
            table.advance()
        assert "SKIP or LOG" in raised.value.hint
        assert table.offsets() == {}
        # Bytes that are not of their schema.
        topic.add(0, order_v1(1)[:5] + b"\x02\xff\xff")
        skipping = topic_table(spark, topic, table_config(database, failures="skip"), VALUES)
        done = skipping.advance()
        assert (done.rows, done.skipped) == (3, 2)
        assert done.rejections.counts == {UNDECODABLE_VALUE: 2}
        [last] = done.rejections.examples
        assert (last.partition, last.offset, last.value_schema_id) == (0, 4, 7)
        assert last.error.endswith("its bytes do not match the Avro schema of id 7")
        # The tombstone is a row too.
        assert [row.id for row in spark.table(config.name.sql).orderBy("$$offset").collect()] == [1, 3, None]

    def test_logged_failures_are_in_the_dead_letter_queue_before_the_commit(
        self, spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        topic, queue = InMemoryTopic(), Queue()
        headers = [("trace", b"a"), ("trace", b"b"), ("empty", None)]
        corrupt = order_v1(1)[:5] + b"\x02\xff\xff"
        topic.add(0, order_v1(1))
        topic.add(0, b"not avro", key=b"k", headers=headers)
        topic.add(1, corrupt, order_v1(3), None)
        config = table_config(database, failures="log")
        table = topic_table(spark, topic, config, VALUES, dead_letter_queue=queue)
        assert queue.is_prepared

        # While the queue cannot be written, nothing is committed; then the commit fails, too.
        queue.error = LineageBridgeError("the broker is down")
        with pytest.raises(LineageBridgeError, match="the broker is down"):
            table.advance()
        assert table.offsets() == {}
        queue.error = None
        with monkeypatch.context() as broken:
            broken.setattr(module, "append", failing_commit)
            with pytest.raises(LineageBridgeError, match="the catalog is down"):
                table.advance()
        assert len(queue.letters) == 2
        done = table.advance()
        assert (done.rows, done.dead_letters, ids(spark, config)) == (3, 2, [None, 1, 3])
        # Also those whose letters were stored before the commit failed.
        assert done.rejections.counts == {UNDECODABLE_VALUE: 2}
        assert done.rejections.examples == tuple(letter.rejection for letter in queue.letters)
        topic.add(0, b"not avro")
        assert table.advance().dead_letters == 1

        first, second, third = sorted(queue.letters, key=lambda letter: (letter.partition, letter.offset))
        assert (first.topic, first.partition, first.offset, first.timestamp) == ("orders.v1", 0, 1, AT)
        assert (first.key, first.value, first.timestamp_type) == (b"k", b"not avro", "CREATE_TIME")
        assert first.headers == tuple(headers)
        assert first.error.startswith("its value cannot be decoded: it begins with 0x6E6F")
        assert (second.partition, second.offset, second.value) == (0, 2, b"not avro")
        assert (third.partition, third.offset, third.value) == (1, 0, corrupt)
        assert third.error.endswith("its bytes do not match the Avro schema of id 7")
        assert [(each.kind, each.key_schema_id, each.value_schema_id) for each in (first, third)] == [
            ("UNDECODABLE_VALUE", None, None),
            ("UNDECODABLE_VALUE", None, 7),
        ]

    def test_letters_of_a_commit_that_failed_are_written_again_by_another_process(
        self, spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        topic, queue = InMemoryTopic(), Queue()
        topic.add(0, b"not avro", order_v1(1))
        config = table_config(database, failures="log")
        with monkeypatch.context() as broken:
            broken.setattr(module, "append", failing_commit)
            with pytest.raises(LineageBridgeError, match="the catalog is down"):
                topic_table(spark, topic, config, VALUES, dead_letter_queue=queue).advance()
        assert topic_table(spark, topic, config, VALUES, dead_letter_queue=queue).advance().rows == 1
        assert [letter.offset for letter in queue.letters] == [0, 0]

    def test_table_left_at_another_location_is_replaced(self, spark: SparkSession, database: str) -> None:
        topic, old = InMemoryTopic(), table_config(database)
        topic.add(0, order_v1(1))
        topic_table(spark, topic, old, VALUES).advance()
        new = changed(old, location=f"s3://{BUCKET}/other/{database}", replace_moved=True)
        table = topic_table(spark, topic, new, VALUES)
        assert location(spark, new.name) == new.location
        assert table.advance().rows == 1

    def test_commits_keep_lineage_and_descriptions_in_glue(
        self, spark: SparkSession, database: str, spark_aws: StrictAws
    ) -> None:
        topic, config = InMemoryTopic(), table_config(database)
        topic.add(0, order_v1(1))
        table = topic_table(spark, topic, config, VALUES)
        glue = spark_aws.client("glue", REGION)
        before = glue.get_table(DatabaseName=database, Name="orders.v1")["Table"]
        writable = ("Name", "Owner", "Retention", "TableType", "StorageDescriptor", "Parameters")
        wanted = {name: before[name] for name in writable if name in before}
        wanted["Parameters"] = {**before["Parameters"], "lineage_bridge.digest": "d", "team": "shop"}
        wanted["Description"] = "Orders of the shop.\nManaged by LineageBridge"
        glue.update_table(
            DatabaseName=database, TableInput=wanted, VersionId=before["VersionId"], SkipArchive=True
        )
        table.advance()
        topic.add(0, order_v2(2))
        # A schema change commits the table's metadata besides its rows.
        topic_table(spark, topic, config, TopicSchemas(value=ORDERS)).advance()
        after = glue.get_table(DatabaseName=database, Name="orders.v1")["Table"]
        assert after["Parameters"]["metadata_location"] != before["Parameters"]["metadata_location"]
        assert after["Parameters"]["lineage_bridge.digest"] == "d"
        assert after["Parameters"]["team"] == "shop"
        assert after["Description"] == wanted["Description"]
        assert len(list(ancestors(spark, config.name))) == 2


def test_logged_failures_need_a_dead_letter_queue() -> None:
    with pytest.raises(ValueError, match="needs a dead letter queue"):
        TopicTable(None, InMemoryTopic(), table_config("db", failures="log"), TopicSchemas)  # type: ignore[arg-type]
