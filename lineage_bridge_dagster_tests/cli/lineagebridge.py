"""Graphs in LineageBridge's format: no coverage, no cluster in ids, schema fields on the schema's node."""

from __future__ import annotations

from typing import Any

TOPIC = "confluent:kafka_topic:env-abc123:orders.v1"
RAW = "confluent:kafka_topic:env-abc123:shop.public.orders"
CONNECTOR = "confluent:connector:env-abc123:mysql-source"
DATASET = "external:external_dataset:env-abc123:mysql://shop/public.orders"
FLINK = "confluent:flink_job:env-abc123:enrich-orders"
TABLEFLOW = "confluent:tableflow_table:env-abc123:lkc-abc123.orders.v1"
GLUE = "aws:glue_table:env-abc123:glue://lkc-abc123/orders.v1"
SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
SQL = "INSERT INTO `orders.v1` SELECT order_id, note FROM `shop.public.orders`"
SEEN = {"first_seen": "2026-04-30T12:34:56.789012Z", "last_seen": "2026-04-30T12:34:56.789012Z"}

#: As its schema registry client writes them: the type of a union or a nested record is JSON text, and a
#: property of a JSON Schema without a type has none.
AVRO_FIELDS = [
    {"name": "order_id", "type": "long", "description": "The shop's number"},
    {"name": "note", "type": '["null", "string"]'},
]
JSON_FIELDS = [{"name": "order_id", "type": "integer"}, {"name": "note", "type": '["string", "null"]'}]


def node(
    node_id: str,
    node_type: str,
    name: str,
    display_name: str,
    catalog_type: str | None = None,
    **attributes: Any,
) -> dict[str, Any]:
    return {
        "node_id": node_id,
        "system": node_id.partition(":")[0],
        "node_type": node_type,
        "qualified_name": name,
        "display_name": display_name,
        "environment_id": "env-abc123",
        "environment_name": None,
        "cluster_id": "lkc-abc123",
        "cluster_name": None,
        "catalog_type": catalog_type,
        "attributes": attributes,
        "tags": [],
        "url": None,
        **SEEN,
    }


def edge(source: str, target: str, edge_type: str, **attributes: Any) -> dict[str, Any]:
    return {
        "src_id": source,
        "dst_id": target,
        "edge_type": edge_type,
        "confidence": 1.0,
        "attributes": attributes,
        **SEEN,
    }


def schema(subject: str, fields: list[dict[str, str]]) -> dict[str, Any]:
    return node(
        schema_id(subject),
        "schema",
        subject,
        subject,
        schema_type="AVRO",
        version=1,
        schema_id=100001,
        field_count=len(fields),
        fields=fields,
        schema_string="{}",
    )


def schema_id(subject: str) -> str:
    return f"confluent:schema:env-abc123:{subject}"


def short_graph() -> dict[str, Any]:
    """Connector -> topic -> Tableflow table -> Glue table."""
    return {
        "nodes": [
            node(CONNECTOR, "connector", "mysql-source", "mysql-source", connector_class="MySqlCdcSource"),
            node(TOPIC, "kafka_topic", "orders.v1", "orders.v1", partitions_count=6),
            *_table(),
        ],
        "edges": [edge(CONNECTOR, TOPIC, "produces"), *_table_edges()],
    }


def whole_graph() -> dict[str, Any]:
    """Dataset -> connector -> topic -> Flink -> topic -> Tableflow table -> Glue table, with schemas."""
    return {
        "nodes": [
            node(
                DATASET,
                "external_dataset",
                "mysql://shop/public.orders",
                "mysql://shop/public.orders",
                inferred_from="mysql-source",
                connector_class="MySqlCdcSource",
            ),
            node(CONNECTOR, "connector", "mysql-source", "mysql-source", connector_class="MySqlCdcSource"),
            node(RAW, "kafka_topic", "shop.public.orders", "shop.public.orders", partitions_count=6),
            node(FLINK, "flink_job", "enrich-orders", "enrich-orders", sql=SQL, phase="RUNNING"),
            node(TOPIC, "kafka_topic", "orders.v1", "orders.v1", partitions_count=6),
            # The registry lists subjects by name: that of the key comes first.
            schema("shop.public.orders-key", [{"name": "id", "type": "long"}]),
            schema("shop.public.orders-value", AVRO_FIELDS),
            schema("orders.v1-value", JSON_FIELDS),
            *_table(),
        ],
        "edges": [
            edge(DATASET, CONNECTOR, "produces"),
            edge(CONNECTOR, RAW, "produces"),
            edge(RAW, FLINK, "consumes"),
            edge(FLINK, TOPIC, "produces"),
            edge(RAW, schema_id("shop.public.orders-key"), "has_schema", role="key"),
            edge(RAW, schema_id("shop.public.orders-value"), "has_schema", role="value"),
            edge(TOPIC, schema_id("orders.v1-value"), "has_schema", role="value"),
            *_table_edges(),
        ],
    }


def _table() -> list[dict[str, Any]]:
    return [
        node(
            TABLEFLOW,
            "tableflow_table",
            "lkc-abc123.orders.v1",
            "orders.v1 (tableflow)",
            table_formats=["ICEBERG"],
            table_path="s3://bucket/orders.v1",
            phase="RUNNING",
            suspended=False,
        ),
        node(
            GLUE,
            "catalog_table",
            "glue://lkc-abc123/orders.v1",
            "lkc-abc123.orders.v1 (glue)",
            "AWS_GLUE",
            database="lkc-abc123",
            table_name="orders.v1",
            aws_region="us-east-1",
            serde_info=SERDE,
        ),
    ]


def _table_edges() -> list[dict[str, Any]]:
    return [edge(TOPIC, TABLEFLOW, "materializes"), edge(TABLEFLOW, GLUE, "materializes")]
