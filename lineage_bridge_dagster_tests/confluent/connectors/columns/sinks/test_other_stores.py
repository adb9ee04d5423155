"""Keys and values, time series, files, applications, and the statements of Lenses."""

from __future__ import annotations

from itertools import product

import pytest

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    ConnectRecord,
    anything,
    leaf,
    struct,
    unknown,
)
from lineage_bridge_dagster.confluent.connectors.columns.sinks import READERS, SinkDataset, sink_columns
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import SINKS

from .written import OPEN, PRIMITIVE, written

_REDIS = {"connector.class": "com.redis.kafka.connect.RedisSinkConnector"}
_AIVEN = {"connector.class": "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector"}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("STRING", PRIMITIVE, {"_key": "key", "_value": "value"}),
        ("HASH", "a.b c", {"_key": "key", "a": "value.a.b", "c": "value.c"}),
        ("JSON", "a.b", {"_key": "key", "a.b": "value.a.b"}),
        ("JSON", OPEN, {"_key": "key", "_value": "value"}),
        ("", "a", {"t.a": "value.a"}),
        ("LIST", PRIMITIVE, {"member": "key"}),
        ("ZSET", PRIMITIVE, {"member": "key", "score": "value"}),
        ("TIMESERIES", PRIMITIVE, {"timestamp": "key", "value": "value"}),
    ],
)
def test_redis_writes_by_its_type(kind: str, value: str, expected: dict[str, str]) -> None:
    assert written({**_REDIS, "redis.type": kind}, PRIMITIVE, value) == expected


def test_redis_sets_a_text_by_its_command() -> None:
    assert written({**_REDIS, "redis.command": "SET"}, PRIMITIVE, "a") == {"_key": "key", "_value": "value.a"}


@pytest.mark.parametrize(
    ("settings", "value", "expected"),
    [
        ({}, "a", {"value": "value.a"}),
        ({"format.output.type": "jsonl"}, "a.b", {"value.a.b": "value.a.b"}),
        ({"format.output.type": "avro", "format.output.envelope": "false"}, "a.b", {"a.b": "value.a.b"}),
        (
            {"format.output.type": "parquet", "format.output.fields": "key,value,offset,headers"},
            "a",
            {"key.k": "key.k", "value.a": "value.a", "offset": "", "headers": "value.h"},
        ),
        ({"format.output.type": "json"}, OPEN, {"value": "value"}),
    ],
)
def test_aiven_writes_the_parts_of_a_record(
    settings: dict[str, str], value: str, expected: dict[str, str]
) -> None:
    assert written({**_AIVEN, **settings}, "k", value, headers={"h": "value.h"}) == expected


@pytest.mark.parametrize(
    ("config", "value", "expected"),
    [
        ({"connector.class": "S3_SINK", "output.data.format": "PARQUET"}, "a.b", {"a.b": "value.a.b"}),
        ({"connector.class": "S3_SINK", "input.data.format": "BYTES"}, PRIMITIVE, {"*": "?"}),
        (
            {
                "connector.class": "SalesforceSObjectSink",
                "salesforce.object2.topics": "t",
                "salesforce.object2.ignore.fields": "b",
                "salesforce.object2.ignore.reference.fields": "true",
            },
            "Id a b OwnerId _EventType",
            {"Id": "value.Id", "a": "value.a", "OwnerId": "?"},
        ),
        ({"connector.class": "ServiceNowSink"}, "a", {"a": "value.a"}),
        ({"connector.class": "HttpSink", "request.body.format": "json"}, "a.b", {"a.b": "value.a.b"}),
        (
            {"connector.class": "HttpSink", "request.body.format": "json", "regex.patterns": "x"},
            "a",
            {"*": "?"},
        ),
        ({"connector.class": "LambdaSink"}, "a", {"*": "?"}),
        (
            {
                "connector.class": "InfluxDB2Sink",
                "influxdb.token": "x",
                "measurement.name.format": "m_${topic}",
                "event.time.fieldname": "at",
            },
            "measurement tags.host at cpu",
            {"m_t.host": "value.tags.host", "m_t.time": "value.at", "m_t.cpu": "value.cpu"},
        ),
        ({"connector.class": "InfluxDB2Sink", "influxdb.token": "x"}, "measurement cpu", {"*": "?"}),
        (
            {"connector.class": "io.questdb.kafka.QuestDBSinkConnector", "timestamp.field.name": "at"},
            "a.b at",
            {"key": "key", "a_b": "value.a.b", "timestamp": "value.at"},
        ),
    ],
)
def test_files_applications_and_time_series(
    config: dict[str, str], value: str, expected: dict[str, str]
) -> None:
    assert written(config, PRIMITIVE, value) == expected


@pytest.mark.parametrize(
    ("mapping", "query", "expected"),
    [
        (
            'a=key.id, "B"=value.x.y, c = header.h, d=header.no, e=now(), __ttl=value.x.z',
            "",
            {"a": "key.id", "B": "value.x.y", "c": "value.h", "d": "", "e": ""},
        ),
        ("a=value.no", "", {"a": "?"}),
        ("a==b", "", {"*": "?"}),
        ("v=key.id", "INSERT INTO ks.t (a, b) VALUES (:v, now())", {"a": "key.id", "b": ""}),
    ],
)
def test_cassandra_writes_what_is_mapped(mapping: str, query: str, expected: dict[str, str]) -> None:
    config = {
        "connector.class": "com.datastax.oss.kafka.sink.CassandraSinkConnector",
        "topic.t.ks.tab.mapping": mapping,
        "topic.t.ks.tab.query": query,
    }

    found = written(config, "id", "x.y x.z", dataset="cassandra://h:9042/ks.tab", headers={"h": "value.h"})

    assert found == expected


@pytest.mark.parametrize(
    ("name", "statements", "dataset", "expected"),
    [
        (
            "cassandra.CassandraSinkConnector",
            "INSERT INTO ks.a SELECT _key.k AS x, a.b, _header.h FROM t; INSERT INTO ks.c SELECT no FROM t",
            "cassandra://h:9042/ks.a",
            {"x": "key.k", "b": "value.a.b", "h": ""},
        ),
        (
            "elastic7.ElasticSinkConnector",
            "INSERT INTO i SELECT * FROM t IGNORE d, a.no PK c, _key.k",
            "elasticsearch://h:9200/i",
            {"_id": "key.k value.c", "a.b": "value.a.b", "c": "value.c"},
        ),
        (
            "mongodb.sink.MongoSinkConnector",
            "INSERT INTO m SELECT * FROM t IGNORE a.b, c",
            "mongodb://h:27017/db.m",
            {"_id": "", "d": "value.d"},
        ),
        (
            "elastic7.ElasticSinkConnector",
            "INSERT INTO i SELECT a.b, c AS x FROM t WITHSTRUCTURE",
            "elasticsearch://h:9200/i",
            {"_id": "", "a.b": "value.a.b", "x": "value.c"},
        ),
        (
            "mongodb.sink.MongoSinkConnector",
            "UPSERT INTO m SELECT c FROM t PK c, d",
            "mongodb://h:27017/db.m",
            {"_id.c": "value.c", "_id.d": "value.d", "c": "value.c"},
        ),
        (
            "redis.sink.RedisSinkConnector",
            "INSERT INTO x- SELECT c, d FROM t PK c",
            "redis://h:6379/0",
            {"_key": "value.c", "_value": "value.c value.d"},
        ),
        (
            "redis.sink.RedisSinkConnector",
            "INSERT INTO z SELECT c FROM t STOREAS SortedSet(score=d)",
            "redis://h:6379/0",
            {"member": "value.c", "score": "value.d"},
        ),
        (
            "redis.sink.RedisSinkConnector",
            "INSERT INTO x SELECT c FROM t PK c; INSERT INTO y SELECT d FROM t PK d",
            "redis://h:6379/0",
            {"_key": "value.c value.d", "_value": "value.c value.d"},
        ),
        (
            "influx.InfluxSinkConnector",
            "INSERT INTO m SELECT c AS v FROM t WITHTIMESTAMP d WITHTAG(a.b, dc=eu)",
            "influxdb://h:8086/db",
            {"m.v": "value.c", "m.b": "value.a.b", "m.dc": "", "m.time": "value.d"},
        ),
        (
            "aws.s3.sink.S3SinkConnector",
            "INSERT INTO b:p SELECT * FROM t "
            "PROPERTIES('store.envelope'=true, 'store.envelope.fields.metadata'=false)",
            "s3://b/p",
            {"key.k": "key.k", "value.a.b": "value.a.b", "value.c": "value.c", "value.d": "value.d"},
        ),
        (
            "azure.cosmosdb.sink.CosmosDbSinkConnector",
            "INSERT INTO c SELECT c FROM t",
            "azurecosmos://h/dbs/d/colls/c",
            {"id": "key.k", "c": "value.c"},
        ),
    ],
)
def test_lenses_writes_what_a_statement_selects(
    name: str, statements: str, dataset: str, expected: dict[str, str]
) -> None:
    stores = ("cassandra", "elastic", "mongo", "redis", "influx", "s3", "cosmosdb")
    keys = {f"connect.{store}.kcql": statements for store in stores}
    config = {"connector.class": f"io.lenses.streamreactor.connect.{name}", **keys}

    assert written(config, "k", "a.b c d", dataset=dataset) == expected


def test_every_kind_of_sink_says_what_it_writes_or_why_that_is_not_known() -> None:
    without = {family.name for family in SINKS} - READERS.keys()

    assert all(name.startswith("camel-") for name in without)


@pytest.mark.parametrize("family", sorted(READERS))
def test_no_record_stops_a_reader(family: str) -> None:
    config = Config(
        {"connector.class": "com.acme.Sink", "neo4j.cypher.topic.t": "(", "pk.mode": "record_key"}
    )
    parts = [None, leaf("v"), anything("v"), unknown("why"), struct({}), struct({"op": leaf("o")})]

    for key, value in product(parts, parts):
        for item in sink_columns(family, SinkDataset(config, "t", "x", ConnectRecord(key, value))):
            assert not (item.unknown and item.sources)
