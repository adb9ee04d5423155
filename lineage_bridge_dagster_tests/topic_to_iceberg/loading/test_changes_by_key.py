"""Tables with a row for each key: upserts, and Debezium's changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.schema import Schema

from lineage_bridge_dagster.schemas.columns import table_schema
from lineage_bridge_dagster.schemas.evolution import plan_evolution
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.schemas.types import spelled
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.classic import load_table
from lineage_bridge_dagster.spark.decoding.framing import prefix_of
from lineage_bridge_dagster.spark.iceberg_tables import current_snapshot
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.spark.records import (
    ORDERS_V1,
    InMemoryTopic,
    order_v1,
    payload,
    subject,
)
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

KEY = {
    "type": "record",
    "name": "K",
    "fields": [{"name": "shop", "type": "string"}, {"name": "number", "type": "int"}],
}
ROW = {
    "type": "record",
    "name": "Row",
    "fields": [{"name": "id", "type": "long"}, {"name": "item", "type": "string"}],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", ROW], "default": None},
        {"name": "after", "type": ["null", "Row"], "default": None},
        {"name": "op", "type": "string"},
    ],
}
FLAT = {**ROW, "fields": [*ROW["fields"], {"name": "__deleted", "type": ["null", "string"], "default": None}]}


def opened(spark: SparkSession, topic: InMemoryTopic, table: TopicLoad, schemas: TopicSchemas) -> TopicTable:
    found = TopicTable(spark, topic, table, lambda: schemas)
    found.ensure()
    return found


def items(spark: SparkSession, table: TopicLoad, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(table.name.sql).select(*columns).collect())


def key_of(shop: str, number: int) -> bytes:
    return payload(3, KEY, {"shop": shop, "number": number})


UPSERTS = TopicSchemas(subject("orders.v1-key", (3, KEY)), ORDERS_V1)
RAW_KEYS = TopicSchemas(value=ORDERS_V1)


def test_last_record_of_a_key_is_its_row_within_and_across_batches(
    spark: SparkSession, database: str
) -> None:
    topic, table = InMemoryTopic(), load_into(database, mode="upsert")
    topic.add(0, order_v1(1), order_v1(2), key=key_of("a", 1))
    topic.add(0, order_v1(3), key=key_of("a", 2))
    # A partition has keys of its own, though they are spelled the same.
    topic.add(1, order_v1(4), key=key_of("a", 1))
    writer = opened(spark, topic, table, UPSERTS)
    writer.advance()
    columns = ("shop", "number", "$$partition", "id")
    assert items(spark, table, *columns) == [("a", 1, 0, 2), ("a", 1, 1, 4), ("a", 2, 0, 3)]

    topic.add(0, order_v1(5), None, key=key_of("a", 2))
    topic.add(0, None, order_v1(6), key=key_of("b", 1))
    topic.add(1, order_v1(7), key=key_of("a", 1))
    topic.add(0, None, key=key_of("never", 0))
    step = writer.advance()
    # The row of a:1 in partition 1 is replaced, and that of a:2 deleted.
    assert (step.records, step.removed, step.caught_up) == (6, 2, True)
    assert items(spark, table, *columns) == [("a", 1, 0, 2), ("a", 1, 1, 7), ("b", 1, 0, 6)]
    snapshot = current_snapshot(spark, table.name)
    assert snapshot is not None
    assert snapshot.count("total-records") - snapshot.count("total-position-deletes") == 3


def test_record_without_a_key_cannot_be_upserted(spark: SparkSession, database: str) -> None:
    topic = InMemoryTopic()
    topic.add(0, order_v1(1), key=b"k")
    topic.add(0, order_v1(2))
    with pytest.raises(SuspendedError, match="partition 0 offset 1: it has no key, which mode upsert needs"):
        opened(spark, topic, load_into(database, mode="upsert"), RAW_KEYS).advance()
    skipping = load_into(database, mode="upsert", failures="skip")
    done = opened(spark, topic, skipping, RAW_KEYS).advance()
    assert (done.rows, done.skipped, items(spark, skipping, "id")) == (1, 1, [(1,)])


def test_key_that_lacks_what_its_schema_requires_is_the_error_of_its_record(
    spark: SparkSession, database: str
) -> None:
    """The columns that identify a row hold no null, by which a single record would fail each batch."""
    text = json.dumps(
        {
            "type": "object",
            "properties": {"shop": {"type": "string"}, "number": {"type": "integer"}},
            "required": ["shop", "number"],
        }
    )
    keys = SubjectSchemas("k", (RegisteredSchema(3, text, "JSON"),))
    topic, table = InMemoryTopic(), load_into(database, mode="upsert", failures="skip")
    for key in ('{"shop": "a", "number": 1}', '{"shop": "a"}', '{"shop": null, "number": 1}'):
        topic.add(0, order_v1(1), key=prefix_of(3) + key.encode())
    done = opened(spark, topic, table, TopicSchemas(keys, ORDERS_V1)).advance()
    assert (done.rows, done.skipped, done.rejections.counts) == (1, 2, {"UNDECODABLE_KEY": 2})
    assert done.rejections.examples[-1].error == (
        "its key cannot be decoded: "
        "its field shop is missing or null, and the JSON Schema of id 3 requires it"
    )
    assert items(spark, table, "shop", "number") == [("a", 1)]


def test_key_that_is_a_null_in_its_schema_is_the_error_of_its_record(
    spark: SparkSession, database: str
) -> None:
    keys = SubjectSchemas("k", (RegisteredSchema(3, '["null", "string"]'),))
    topic, table = InMemoryTopic(), load_into(database, mode="upsert", failures="skip")
    topic.add(0, order_v1(1), key=prefix_of(3) + b"\x02\x02a")
    topic.add(0, order_v1(2), key=prefix_of(3) + b"\x00")
    done = opened(spark, topic, table, TopicSchemas(keys, ORDERS_V1)).advance()
    assert (done.rows, done.skipped, items(spark, table, "key", "id")) == (1, 1, [("a", 1)])


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_fields_that_cannot_be_columns_beside_others_suspend_the_topic(
    spark: SparkSession, database: str, mode: Any
) -> None:
    key = {"type": "record", "name": "K", "fields": [{"name": "ID", "type": "int"}]}
    schemas = TopicSchemas(subject("k", (3, key)), ORDERS_V1)
    with pytest.raises(SuspendedError, match="Field id has the name of field ID, but for its case"):
        opened(spark, InMemoryTopic(), load_into(database, mode=mode), schemas)


def test_key_identifies_the_rows_of_the_table(spark: SparkSession, database: str) -> None:
    table = load_into(database, mode="upsert")
    opened(spark, InMemoryTopic(), table, UPSERTS)
    schema = load_table(spark, table.name.sql).schema()
    assert set(schema.identifierFieldNames()) == {"$$partition", "shop", "number"}


def envelope(op: str, number: int | None) -> bytes:
    row = None if number is None else {"id": number, "item": "x"}
    return payload(5, ENVELOPE, {"before": None, "after": row, "op": op})


def test_debezium_envelopes_become_their_after_state(spark: SparkSession, database: str) -> None:
    schemas = TopicSchemas(UPSERTS.key, subject("orders.v1-value", (5, ENVELOPE)))
    topic, table = InMemoryTopic(), load_into(database, mode="debezium", failures="skip")
    for number in (1, 2, 3):
        topic.add(0, envelope("r", number), key=key_of("a", number))
    topic.add(0, envelope("u", 20), key=key_of("a", 2))
    topic.add(0, envelope("d", None), None, key=key_of("a", 3))
    # A truncation changes no single row; neither has it a key.
    topic.add(0, envelope("t", None), key=key_of("a", 1))
    topic.add(0, envelope("c", None), key=key_of("a", 1))
    writer = opened(spark, topic, table, schemas)
    assert writer.advance().skipped == 2
    assert items(spark, table, "number", "id", "item") == [(1, 1, "x"), (2, 20, "x")]
    topic.add(0, envelope("d", None), key=key_of("a", 2))
    writer.advance()
    assert items(spark, table, "number", "id") == [(1, 1)]


def test_flattened_debezium_records_delete_by_their_flag(spark: SparkSession, database: str) -> None:
    schemas = TopicSchemas(UPSERTS.key, subject("orders.v1-value", (5, FLAT)))
    topic, table = InMemoryTopic(), load_into(database, mode="debezium")
    for number, flag in ((1, "false"), (2, None), (2, "true")):
        value = payload(5, FLAT, {"id": number, "item": "x", "__deleted": flag})
        topic.add(0, value, key=key_of("a", number))
    opened(spark, topic, table, schemas).advance()
    assert items(spark, table, "id") == [(1,)]
    assert "__deleted" not in spark.table(table.name.sql).columns


@pytest.mark.parametrize(
    ("mode", "key"),
    [
        ("append", UPSERTS.key),
        ("upsert", SubjectSchemas("k")),
        ("upsert", UPSERTS.key),
        ("debezium", UPSERTS.key),
    ],
)
def test_new_table_has_the_columns_that_were_planned(
    spark: SparkSession, database: str, mode: Any, key: SubjectSchemas
) -> None:
    schemas = TopicSchemas(key, subject("orders.v1-value", (5, ENVELOPE)))
    names = "portable" if mode == "upsert" else "tableflow"
    table = load_into(database, mode=mode, raw_columns=mode != "upsert", metadata_names=names)
    opened(spark, InMemoryTopic(), table, schemas)
    parser = classic.java_class(spark, "org.apache.iceberg.SchemaParser")
    created = Schema.model_validate_json(parser.toJson(classic.load_table(spark, table.name.sql).schema()))
    planned = table_schema(key, schemas.value, mode, portable=table.portable_names, raw=table.raw_columns)
    assert plan_evolution(created.as_struct(), planned.as_struct()) == ()
    assert [(each.name, each.required) for each in created.fields] == [
        (each.name, each.required) for each in planned.fields
    ]
    assert spelled(created.as_struct()) == spelled(planned.as_struct())


def test_debezium_topic_without_envelopes_is_refused(spark: SparkSession, database: str) -> None:
    with pytest.raises(SuspendedError, match="are not Debezium envelopes"):
        opened(spark, InMemoryTopic(), load_into(database, mode="debezium"), UPSERTS)


def test_key_that_becomes_nullable_no_longer_identifies_rows_to_iceberg(
    spark: SparkSession, database: str
) -> None:
    """Iceberg's specification wants identifier fields that are required; the rows' keys stay the same."""
    after = {**KEY, "fields": [KEY["fields"][0], {"name": "number", "type": ["null", "int"]}]}
    table, topic = load_into(database, mode="upsert"), InMemoryTopic()
    topic.add(0, order_v1(1), key=payload(1, KEY, {"shop": "a", "number": 1}))
    opened(spark, topic, table, TopicSchemas(subject("k", (1, KEY)), ORDERS_V1)).advance()
    both = TopicSchemas(subject("k", (1, KEY), (2, after)), ORDERS_V1)
    topic.add(0, order_v1(2), order_v1(3), key=payload(2, after, {"shop": "a", "number": None}))
    topic.add(0, order_v1(4), key=payload(2, after, {"shop": "a", "number": 1}))
    opened(spark, topic, table, both).advance()
    rows = spark.table(table.name.sql).select("shop", "number", "id").collect()
    assert {tuple(row) for row in rows} == {("a", 1, 4), ("a", None, 3)}
    schema = load_table(spark, table.name.sql).schema()
    assert set(schema.identifierFieldNames()) == set()
    assert schema.findField("number").isOptional()
