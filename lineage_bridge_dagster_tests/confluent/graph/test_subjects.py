"""The subjects of topics, as connectors, tables and topics name them.

Sources: Confluent's pages "Subject name strategy", "Schema contexts" and on managed connectors
(`schema.context.name`), the names of Debezium's records, and public questions on both.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.lineage.nodes import TopicNode
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    config,
    connect_path,
    connector,
    flink_path,
    kafka_path,
    listing,
    settings,
    statement,
    topic,
)

pytestmark = pytest.mark.xdist_group("flink")

Json = dict[str, Any]

TOPIC = "p.public.orders"
STRATEGY = "io.confluent.kafka.serializers.subject."
BOTH = 'syntax = "proto3"; package com.acme; message Order { string id = 1; Line line = 2; } '
BOTH += "message Refund { string rid = 1; message Part { string sku = 1; } }"


def avro(subject: str, record: str, *fields: str) -> Json:
    document = {"type": "record", "name": record, "fields": [{"name": f, "type": "string"} for f in fields]}
    return {"subject": subject, "version": 1, "id": 1, "schema": json.dumps(document)}


def proto(subject: str, text: str = BOTH) -> Json:
    return {"subject": subject, "version": 1, "id": 2, "schemaType": "PROTOBUF", "schema": text}


def debezium(**more: str) -> Json:
    return {
        "connector.class": "PostgresCdcSourceV2",
        "database.hostname": "pg1.example",
        "database.dbname": "shop",
        "topic.prefix": "p",
        "table.include.list": "public.orders",
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def strategies(value: str = "", key: str = "") -> dict[str, str]:
    """A connector's strategies, by their simple names."""
    given = {"value": value, "key": key}
    return {
        f"{role}.converter.{role}.subject.name.strategy": STRATEGY + name
        for role, name in given.items()
        if name
    }


OWN, OTHER = avro(":.team-a:p.public.orders-value", "V", "a"), avro("p.public.orders-value", "V", "b")
ENVELOPE = avro("p.public.orders.Envelope", "p.public.orders.Envelope", "before", "after")

#: What it shows, connectors, topic's settings, schemas, the subjects of values and keys, the fields shown.
CASES: list[tuple[str, list[Json], dict[str, str], list[Json], list[str], list[str], list[str]]] = [
    ("the default", [], {}, [OTHER], ["p.public.orders-value"], [], ["b"]),
    (
        "a writer's context",
        [debezium(schema__context__name="team-a")],
        {},
        [OTHER, OWN],
        [OWN["subject"]],
        [],
        ["a"],
    ),
    (
        "written with its dot",
        [debezium(schema__context__name=".team-a")],
        {},
        [OTHER, OWN],
        [OWN["subject"]],
        [],
        ["a"],
    ),
    (
        "the default context by its name",
        [debezium(schema__context__name="default")],
        {},
        [OTHER, OWN],
        [OTHER["subject"]],
        [],
        ["b"],
    ),
    (
        "a context in a converter's URL",
        [debezium(value__converter__schema__registry__url="https://sr.example/contexts/:.team-a:")],
        {},
        [OTHER, OWN],
        [OWN["subject"]],
        [],
        ["a"],
    ),
    (
        "a context with keys",
        [debezium(schema__context__name="team-a")],
        {},
        [OWN, avro(":.team-a:p.public.orders-key", "K", "id"), avro("p.public.orders-key", "K", "x")],
        [OWN["subject"]],
        [":.team-a:p.public.orders-key"],
        ["a"],
    ),
    (
        "a reader's context",
        [
            {
                "connector.class": "S3_SINK",
                "topics": TOPIC,
                "s3.bucket.name": "b",
                "schema.context.name": "team-a",
            }
        ],
        {},
        [OTHER, OWN],
        [OWN["subject"]],
        [],
        ["a"],
    ),
    (
        "a context without the subject leaves the default one",
        [debezium(schema__context__name="gone")],
        {},
        [OTHER],
        [OTHER["subject"]],
        [],
        ["b"],
    ),
    ("one other context", [], {}, [OWN], [OWN["subject"]], [], []),
    ("several other contexts", [], {}, [OWN, avro(":.b:p.public.orders-value", "V", "b")], [], [], []),
    (
        "records of the topic",
        [],
        {},
        [avro(f"{TOPIC}-com.acme.Order", "com.acme.Order", "id")],
        [f"{TOPIC}-com.acme.Order"],
        [],
        ["id"],
    ),
    (
        "records of the topic in one context",
        [],
        {},
        [avro(f":.t:{TOPIC}-com.acme.Order", "com.acme.Order", "id")],
        [f":.t:{TOPIC}-com.acme.Order"],
        [],
        ["id"],
    ),
    (
        "records of the topic in a writer's context",
        [debezium(schema__context__name="t", **strategies("TopicRecordNameStrategy"))],
        {},
        [
            avro(f":.t:{TOPIC}-{TOPIC}.Envelope", f"{TOPIC}.Envelope", "after"),
            avro(f":.u:{TOPIC}-{TOPIC}.Envelope", f"{TOPIC}.Envelope", "x"),
        ],
        [f":.t:{TOPIC}-{TOPIC}.Envelope"],
        [],
        ["after"],
    ),
    (
        "records of the topic in several contexts",
        [],
        {},
        [avro(f":.t:{TOPIC}-A", "A", "id"), avro(f":.u:{TOPIC}-A", "A", "id")],
        [],
        [],
        [],
    ),
    (
        "messages of one file",
        [],
        {},
        [proto(f"{TOPIC}-com.acme.Order"), proto(f"{TOPIC}-com.acme.Refund")],
        [f"{TOPIC}-com.acme.Order", f"{TOPIC}-com.acme.Refund"],
        [],
        [],
    ),
    (
        "a message that is not the first",
        [],
        {},
        [proto(f"{TOPIC}-com.acme.Refund")],
        [f"{TOPIC}-com.acme.Refund"],
        [],
        ["rid"],
    ),
    (
        "a message within a message",
        [],
        {},
        [proto(f"{TOPIC}-com.acme.Refund.Part")],
        [f"{TOPIC}-com.acme.Refund.Part"],
        [],
        ["sku"],
    ),
    (
        "a record that a converter's strategy names",
        [debezium(**strategies("RecordNameStrategy"))],
        {},
        [ENVELOPE, avro("other.Envelope", "other.Envelope", "x")],
        [ENVELOPE["subject"]],
        [],
        ["before", "after"],
    ),
    (
        "records of key and value, of rows that were unwrapped",
        [debezium(**strategies("RecordNameStrategy", "RecordNameStrategy"))],
        {},
        [avro(f"{TOPIC}.Value", f"{TOPIC}.Value", "id"), avro(f"{TOPIC}.Key", f"{TOPIC}.Key", "id")],
        [f"{TOPIC}.Value"],
        [f"{TOPIC}.Key"],
        ["id"],
    ),
    (
        "a record that a transform names",
        [
            debezium(
                transforms="s",
                transforms__s__type="org.apache.kafka.connect.transforms.SetSchemaMetadata$Value",
                transforms__s__schema__name="com.acme.Order",
                **strategies("RecordNameStrategy"),
            )
        ],
        {},
        [avro("com.acme.Order", "com.acme.Order", "id")],
        ["com.acme.Order"],
        [],
        ["id"],
    ),
    (
        "a record in a context",
        [debezium(schema__context__name="t", **strategies("RecordNameStrategy"))],
        {},
        [avro(f":.t:{TOPIC}.Envelope", f"{TOPIC}.Envelope", "after"), ENVELOPE],
        [f":.t:{TOPIC}.Envelope"],
        [],
        ["after"],
    ),
    (
        "a record of no connector",
        [],
        {"confluent.value.subject.name.strategy": STRATEGY + "RecordNameStrategy"},
        [ENVELOPE, OTHER],
        [],
        [],
        [],
    ),
    (
        "the topic's own strategy is above a connector's",
        [debezium(**strategies("RecordNameStrategy"))],
        {"confluent.value.subject.name.strategy": STRATEGY + "TopicNameStrategy"},
        [ENVELOPE, OTHER],
        [OTHER["subject"]],
        [],
        ["b"],
    ),
    (
        "keys are no values: Debezium's",
        [],
        {},
        [
            avro(f"{TOPIC}-{TOPIC}.Envelope", f"{TOPIC}.Envelope", "after"),
            avro(f"{TOPIC}-{TOPIC}.Key", f"{TOPIC}.Key", "id"),
        ],
        [f"{TOPIC}-{TOPIC}.Envelope"],
        [f"{TOPIC}-{TOPIC}.Key"],
        ["after"],
    ),
    (
        "keys are no values: beside the record of their name",
        [],
        {},
        [avro(f"{TOPIC}-a.Sale", "a.Sale", "id"), avro(f"{TOPIC}-a.SaleKey", "a.SaleKey", "k")],
        [f"{TOPIC}-a.Sale"],
        [f"{TOPIC}-a.SaleKey"],
        ["id"],
    ),
    (
        "keys are no values: of the topic's name",
        [],
        {},
        [avro(f"{TOPIC}-a.OrderKey", "a.OrderKey", "k")],
        [],
        [f"{TOPIC}-a.OrderKey"],
        [],
    ),
    (
        "a value whose name ends so",
        [],
        {},
        [avro(f"{TOPIC}-a.ApiKey", "a.ApiKey", "k")],
        [f"{TOPIC}-a.ApiKey"],
        [],
        ["k"],
    ),
]


@pytest.mark.parametrize(
    ("connectors", "configs", "schemas", "values", "keys", "fields"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_subjects_of_a_topic(
    world: FakeConfluent,
    parser: FlinkSqlParser,
    connectors: list[Json],
    configs: dict[str, str],
    schemas: list[Json],
    values: list[str],
    keys: list[str],
    fields: list[str],
) -> None:
    routes = world.routes
    routes[kafka_path("lkc-a", "/topics")] = listing(topic(TOPIC))
    routes[kafka_path("lkc-a", "/topics/-/configs")] = listing(
        *(config(TOPIC, *each) for each in configs.items())
    )
    routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = schemas
    routes[connect_path("lkc-a")] = {
        name: entry
        for number, given in enumerate(connectors)
        for name, entry in connector(f"c{number}", "sink" if "topics" in given else "source", given).items()
    }
    routes[flink_path("us-east-1")] = routes[flink_path("eu-west-1")] = listing()
    found = discover(settings(), transport=world.transport, parser=parser)
    node = ids.topic_id("env-1", "lkc-a", TOPIC)
    subjects: dict[str, list[str]] = {"value": [], "key": []}
    for (src, _, kind), edge in found.graph.edges.items():
        if src == node and kind == EdgeType.HAS_SCHEMA:
            subjects[edge.attributes["role"]].append(found.graph.nodes[edge.dst_id].qualified_name)
    assert subjects == {"value": values, "key": keys}
    assert [each.name for each in TopicNode.of(found.graph.nodes[node]).schema_fields] == fields


@pytest.mark.parametrize("strategy", ["", "TopicNameStrategy"])
def test_a_flink_table_tells_its_context_whoever_reads_it(
    world: FakeConfluent, parser: FlinkSqlParser, strategy: str
) -> None:
    sink = {"connector.class": "S3_SINK", "topics": "orders", **strategies(strategy)}
    world.routes[connect_path("lkc-a")] = connector("archive", "sink", sink)
    world.routes[flink_path("us-east-1")] = listing(
        statement(
            "ddl",
            "CREATE TABLE orders (id STRING) WITH ('value.avro-registry.schema-context' = '.dev')",
            "COMPLETED",
        )
    )
    world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [
        avro("orders-value", "V", "other"),
        avro(":.dev:orders-value", "V", "id"),
    ]
    found = discover(settings(), transport=world.transport, parser=parser)
    orders = TopicNode.of(found.graph.nodes[ids.topic_id("env-1", "lkc-a", "orders")])
    assert orders.schema_subject == ":.dev:orders-value"
