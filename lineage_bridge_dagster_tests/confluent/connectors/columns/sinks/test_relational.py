"""Columns of relational databases and warehouses."""

from __future__ import annotations

import pytest

from .written import OPEN, PRIMITIVE, written

_JDBC = "io.confluent.connect.jdbc.JdbcSinkConnector"
_DEBEZIUM = "io.debezium.connector.jdbc.JdbcSinkConnector"
_PLACED = {"id": "value.id", "name": "value.name"}


@pytest.mark.parametrize(
    ("settings", "key", "expected"),
    [
        ({}, "id", _PLACED),
        ({"fields.whitelist": "name"}, "id", {"name": "value.name"}),
        (
            {"pk.mode": "record_key"},
            "id tenant",
            {"id": "key.id", "tenant": "key.tenant", "name": "value.name"},
        ),
        ({"pk.mode": "record_key", "pk.fields": "id"}, "id tenant", {"id": "key.id", "name": "value.name"}),
        ({"pk.mode": "record_key", "pk.fields": "k"}, PRIMITIVE, {"k": "key", **_PLACED}),
        ({"pk.mode": "record_key", "pk.fields": "k"}, OPEN, {"k": "key", **_PLACED}),
        (
            {"pk.mode": "record_key", "pk.fields": "k", "key.converter": "x.AvroConverter"},
            OPEN,
            {"k": "?", **_PLACED},
        ),
        ({"pk.mode": "record_key", "pk.fields": "a,b"}, PRIMITIVE, {"*": "?", **_PLACED}),
        ({"pk.mode": "record_key", "pk.fields": "no"}, "id", {"no": "?", **_PLACED}),
        ({"pk.mode": "record_value", "pk.fields": "id", "fields.whitelist": "name"}, "", _PLACED),
        (
            {"pk.mode": "kafka"},
            "id",
            {"__connect_topic": "", "__connect_partition": "", "__connect_offset": "", **_PLACED},
        ),
        ({"pk.mode": "kafka", "pk.fields": "a,b,c"}, "id", {"a": "", "b": "", "c": "", **_PLACED}),
    ],
)
def test_jdbc_takes_the_primary_key_from_where_its_mode_says(
    settings: dict[str, str], key: str, expected: dict[str, str]
) -> None:
    assert written({"connector.class": _JDBC, **settings}, key, "id name") == expected


def test_jdbc_finds_columns_in_any_case_and_adds_none_unless_it_may() -> None:
    config = {"connector.class": _JDBC, "auto.create": "true"}

    assert written(config, "", "id Name new", columns="ID name") == {
        "ID": "value.id",
        "name": "value.Name",
        "new": "?",
    }
    assert written({**config, "auto.evolve": "true"}, "", "new", columns="id") == {"new": "value.new"}


@pytest.mark.parametrize(
    ("dataset", "quoted", "column"),
    [
        ("postgres://h:5432/d.s.t", "always", "Id"),
        ("postgres://h:5432/d.s.t", "never", "id"),
        ("oracle://h:1521/d.s.t", "never", "ID"),
        ("mysql://h:3306/d.t", "never", "Id"),
    ],
)
def test_jdbc_leaves_names_without_quotes_to_the_database(dataset: str, quoted: str, column: str) -> None:
    config = {"connector.class": _JDBC, "quote.sql.identifiers": quoted}

    assert written(config, "", "Id", dataset=dataset) == {column: "value.Id"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(PRIMITIVE, {"record_value": "value"}), (OPEN, {"*": "?"}), ("a.b c", {"a": "?", "c": "value.c"})],
)
def test_jdbc_says_what_it_cannot_write(value: str, expected: dict[str, str]) -> None:
    assert written({"connector.class": _JDBC}, "", value) == expected


@pytest.mark.parametrize(
    ("settings", "value", "expected"),
    [
        (
            {},
            "before.id after.id after.name op source.ts_ms",
            {"id": "value.after.id", "name": "value.after.name"},
        ),
        ({}, "Id Op", {"id": "value.Id", "op": "value.Op"}),
        ({"quote.identifiers": "true"}, "Id", {"Id": "value.Id"}),
        (
            {"primary.key.mode": "record_key"},
            "id name",
            {"k": "key.k", "id": "value.id", "name": "value.name"},
        ),
        ({"primary.key.mode": "record_header"}, "id", {"h": "value.h", "id": "value.id"}),
        ({"field.exclude.list": "t:name,other:id"}, "id name", {"id": "value.id"}),
        ({"field.include.list": "name"}, "id name", {"name": "value.name"}),
        ({"column.naming.strategy": "com.acme.Mine"}, "id", {"*": "?"}),
    ],
)
def test_debezium_jdbc_writes_the_row_of_a_change(
    settings: dict[str, str], value: str, expected: dict[str, str]
) -> None:
    config = {"connector.class": _DEBEZIUM, **settings}

    found = written(config, "k", value, dataset="postgres://h:5432/d.s.t", headers={"h": "value.h"})

    assert found == expected


_SNOWFLAKE = {"connector.class": "com.snowflake.kafka.connector.SnowflakeSinkConnector"}
_STREAMING = {**_SNOWFLAKE, "snowflake.ingestion.method": "SNOWPIPE_STREAMING"}
_SCHEMATIZED = {**_STREAMING, "snowflake.enable.schematization": "true"}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (_SNOWFLAKE, {"RECORD_CONTENT": "value.a.b value.id", "RECORD_METADATA": "key.k value.h"}),
        ({**_SNOWFLAKE, "snowflake.metadata.all": "false"}, {"RECORD_CONTENT": "value.a.b value.id"}),
        (_SCHEMATIZED, {"ID": "value.id", "A": "value.a.b", "RECORD_METADATA": "key.k value.h"}),
        (
            {**_SCHEMATIZED, "snowflake.streaming.iceberg.enabled": "true"},
            {"ID": "value.id", "A.b": "value.a.b", "RECORD_METADATA": "key.k value.h"},
        ),
        (
            {"connector.class": "com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector"},
            {"id": "value.id", "a": "value.a.b", "RECORD_METADATA": "key.k value.h"},
        ),
    ],
)
def test_snowflake_writes_one_column_or_one_for_each_field(
    config: dict[str, str], expected: dict[str, str]
) -> None:
    assert written(config, "k", "id a.b", headers={"h": "value.h"}) == expected


@pytest.mark.parametrize(
    ("config", "key", "value", "columns", "expected"),
    [
        (
            {"connector.class": "BigQuerySink", "sanitize.field.names": "true"},
            "k",
            "a-b.1c items[].sku",
            "",
            {"a_b._1c": "value.a-b.1c", "items.sku": "value.items.sku"},
        ),
        (
            {
                "connector.class": "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector",
                "kafkaKeyFieldName": "k",
                "kafkaDataFieldName": "m",
            },
            "id",
            "id",
            "",
            {
                "id": "value.id",
                "k.id": "key.id",
                **dict.fromkeys(("m.topic", "m.partition", "m.offset", "m.insertTime"), ""),
            },
        ),
        (
            {"connector.class": "BigQuerySink"},
            "",
            "ID a.b added",
            "id A",
            {"id": "value.ID", "A.b": "value.a.b", "added": "?"},
        ),
        (
            {"connector.class": "BigQueryStorageSink", "auto.update.schemas": "ADD NEW FIELDS"},
            "",
            "added",
            "id",
            {"added": "value.added"},
        ),
        (
            {"connector.class": "DatabricksDeltaLakeSink"},
            "",
            "id a.b",
            "ID",
            {"ID": "value.id", "a.b": "value.a.b", "partition": ""},
        ),
        (
            {"connector.class": "ClickHouseSink"},
            "",
            "id a.b n.x n.y gone",
            "id a n.x",
            {"id": "value.id", "a": "value.a.b", "n.x": "value.n.x"},
        ),
        (
            {
                "connector.class": "com.clickhouse.kafka.connect.ClickHouseSinkConnector",
                "debeziumCDCEnabled": "true",
            },
            "",
            "before.id after.id op source.lsn",
            "",
            {
                "id": "value.after.id value.before.id",
                "_version": "value.source.lsn",
                "is_deleted": "value.op",
            },
        ),
        (
            {"connector.class": "com.altinity.clickhouse.sink.connector.ClickHouseSinkConnector"},
            "",
            "before.id after.id op",
            "",
            {"id": "value.after.id value.before.id"},
        ),
        (
            {
                "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
                "iceberg.tables.schema-case-insensitive": "true",
            },
            "",
            "ID a.B gone",
            "id A",
            {"id": "value.ID", "A.B": "value.a.B"},
        ),
        (
            {
                "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
                "iceberg.tables.evolve-schema-enabled": "true",
            },
            "",
            "id added",
            "id",
            {"id": "value.id", "added": "value.added"},
        ),
        (
            {"connector.class": "com.singlestore.kafka.SingleStoreSinkConnector", "fields.whitelist": "a"},
            "",
            "a b",
            "",
            {"a": "value.a"},
        ),
        (
            {
                "connector.class": "com.singlestore.kafka.SingleStoreSinkConnector",
                "singlestore.columnToField.t.x": "a.b",
            },
            "",
            "a.b",
            "",
            {"x": "value.a.b"},
        ),
        ({"connector.class": "SpannerSink", "pk.mode": "record_value"}, "", "id", "", {"id": "value.id"}),
    ],
)
def test_warehouses_take_the_fields_of_the_value(
    config: dict[str, str], key: str, value: str, columns: str, expected: dict[str, str]
) -> None:
    assert written(config, key, value, columns=columns) == expected
