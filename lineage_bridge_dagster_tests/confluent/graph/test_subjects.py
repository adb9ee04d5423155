"""The subjects of topics, as connectors, tables and topics name them.

Sources: Confluent's pages "Subject name strategy", "Schema contexts" and on managed connectors
(`schema.context.name`), the names of Debezium's records, and public questions on both.
"""

from __future__ import annotations

import json
from pathlib import Path
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
        **more,
    }


def strategies(value: str = "", key: str = "") -> dict[str, str]:
    """A connector's strategies, by their simple names."""
    given = {"value": value, "key": key}
    return {
        f"{role}.converter.{role}.subject.name.strategy": STRATEGY + name
        for role, name in given.items()
        if name
    }


#: What it shows; connectors, as far as they differ from `debezium`; the topic's settings; schemas, each as
#: the arguments of `avro`, or a subject of `BOTH`; the subjects of values and of keys; the fields shown.
CASES = [
    json.loads(line) for line in Path(__file__).with_name("subjects.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_subjects_of_a_topic(world: FakeConfluent, parser: FlinkSqlParser, case: dict[str, Any]) -> None:
    connectors = [
        given if "connector.class" in given else debezium(**given) for given in case.get("connectors", ())
    ]
    routes = world.routes
    routes[kafka_path("lkc-a", "/topics")] = listing(topic(TOPIC))
    routes[kafka_path("lkc-a", "/topics/-/configs")] = listing(
        *(config(TOPIC, *each) for each in case.get("topic_settings", {}).items())
    )
    routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [
        avro(*given) if len(given) > 1 else proto(*given) for given in case["schemas"]
    ]
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
    assert subjects == {"value": case.get("values", []), "key": case.get("keys", [])}
    assert [each.name for each in TopicNode.of(found.graph.nodes[node]).schema_fields] == case.get(
        "fields", []
    )


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
