"""Column lineage of connectors in the graph, and the whole path from a database to Glue."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import Column, ColumnIndex, flows_of, further_columns_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    avro,
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

A = ("env-1", "lkc-a")
TABLE = ids.external_dataset_id("postgres://pg1.example:5432/shop.public.users")
USERS, ENRICHED = ids.topic_id(*A, "shop.public.users"), ids.topic_id(*A, "enriched")
FILES = ids.external_dataset_id("s3://lake/topics/enriched")
SCHEMAS = "psrc-1.us-east-1.aws.confluent.cloud/schemas"
CDC = {
    "connector.class": "PostgresCdcSourceV2",
    "database.hostname": "pg1.example",
    "database.port": "5432",
    "database.dbname": "shop",
    "topic.prefix": "shop",
    "table.include.list": "public.users",
}
SINK = {
    "connector.class": "S3_SINK",
    "topics": "enriched",
    "s3.bucket.name": "lake",
    "input.data.format": "AVRO",
    "output.data.format": "PARQUET",
    "transforms": "mask",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "mail",
}


def envelope(subject: str, *columns: str) -> dict[str, Any]:
    row = {
        "type": "record",
        "name": "Value",
        "fields": [{"name": name, "type": "string"} for name in columns],
    }
    fields = [
        {"name": "before", "type": ["null", row], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "op", "type": "string"},
    ]
    record = {"type": "record", "name": "Envelope", "namespace": "shop.public.users", "fields": fields}
    return {"subject": subject, "version": 1, "id": 100050, "schema": json.dumps(record)}


@pytest.fixture
def found(world: FakeConfluent, parser: FlinkSqlParser) -> Discovery:
    """Postgres -> Debezium -> Flink -> a topic -> S3."""
    world.routes[kafka_path("lkc-a", "/topics")] = listing(topic("shop.public.users"), topic("enriched"))
    world.routes[connect_path("lkc-a")] = connector("cdc", "source", CDC) | connector("s3", "sink", SINK)
    world.routes[SCHEMAS] = [
        envelope("shop.public.users-value", "id", "email"),
        avro("enriched-value", "id", "mail"),
    ]
    sql = "INSERT INTO enriched SELECT id, LOWER(email) AS mail FROM `shop.public.users`"
    world.routes[flink_path("us-east-1")] = listing(statement("enrich", sql))
    return discover(settings(), transport=world.transport, parser=parser)


def columns(found: Discovery, name: str) -> dict[tuple[str, str], set[tuple[str, str, str]]]:
    node = found.graph.nodes[ids.connector_id(*A, name)]
    return {
        tuple(flow.column): {(source.node_id, source.name, how) for source, how in flow.sources}
        for flow in flows_of(node)
    }


def test_source_writes_the_columns_of_its_table_into_the_row_of_the_event(found: Discovery) -> None:
    flows = columns(found, "cdc")
    assert flows[USERS, "email"] == {(TABLE, "email", "identity")}
    assert flows[USERS, "after"] == {(TABLE, "id", "identity"), (TABLE, "email", "identity")}
    assert flows[USERS, "op"] == set()


def test_sink_writes_the_fields_of_its_topic_computed_if_a_transform_changes_values(found: Discovery) -> None:
    assert columns(found, "s3") == {
        (FILES, "id"): {(ENRICHED, "id", "expression")},
        (FILES, "mail"): {(ENRICHED, "mail", "expression")},
    }


def test_column_in_glue_and_in_a_file_comes_from_the_database(found: Discovery) -> None:
    graph = found.graph
    place = GluePlace("lkc-a", "enriched")
    table = Node(
        ids.glue_table_id("env-1", place),
        "aws",
        NodeType.CATALOG_TABLE,
        place.qualified_name,
        catalog_type="AWS_GLUE",
        attributes={"columns": [{"name": "id", "type": "string"}, {"name": "mail", "type": "string"}]},
    )
    index = ColumnIndex(graph, UpstreamIndex.of(graph).direct)
    for flow in (index.table(table, [graph.nodes[ENRICHED]])[1], index.topic(FILES)["mail"]):
        assert index.origins(flow) == [Column(TABLE, "email")]


def test_unknown_transform_leaves_columns_with_the_reason(
    world: FakeConfluent, parser: FlinkSqlParser
) -> None:
    config = {**SINK, "topics": "orders", "transforms.mask.type": "com.acme.Own$Value"}
    world.routes[connect_path("lkc-a")] = connector("s3", "sink", config)
    result = discover(settings(), transport=world.transport, parser=parser)
    node = result.graph.nodes[ids.connector_id(*A, "s3")]
    assert {(flow.column.name, flow.complete) for flow in flows_of(node)} == {
        ("id", False),
        ("customer", False),
    }
    assert all("com.acme.Own" in flow.reason for flow in flows_of(node))
    assert all("com.acme.Own" in reason for reason in further_columns_of(node).values())
