"""The managed connectors of both clusters, as the Connect API returns them.

Classes and config keys are Confluent's own. Secrets are masked, as in the API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.embedded.world.model import Connector
from lineage_bridge_dagster.embedded.world.places import (
    ANALYTICS_EU,
    ENVIRONMENT_ID,
    GLUE_ICEBERG_URL,
    GLUE_REGION,
    ORDERS_PLATFORM,
    TABLE_BUCKET_CATALOG,
)
from lineage_bridge_dagster.embedded.world.topics import EU, US

MASKED = "****************"
#: Apache Iceberg's sink, which Confluent Cloud runs as a custom connector.
ICEBERG_SINK = "org.apache.iceberg.connect.IcebergSinkConnector"

_CLUSTERS = {US: ORDERS_PLATFORM, EU: ANALYTICS_EU}


#: Time of the last change that a source has read, in milliseconds.
_READ_UP_TO = 1767600000000


def _connector(
    cluster: str,
    id_: str,
    name: str,
    class_: str,
    kind: str,
    config: dict[str, str],
    *offsets: tuple[dict[str, Any], dict[str, Any]],
    state: str = "RUNNING",
) -> Connector:
    common = {
        "cloud.environment": ENVIRONMENT_ID,
        "cloud.provider": "aws",
        "connector.class": class_,
        "name": name,
        "kafka.endpoint": f"SASL_SSL://{cluster}.example:9092",
        "kafka.region": _CLUSTERS[cluster].region,
        "kafka.auth.mode": "KAFKA_API_KEY",
        "kafka.api.key": MASKED,
        "kafka.api.secret": MASKED,
        "tasks.max": "1",
    }
    return Connector(cluster, id_, name, kind, {**common, **config}, state, offsets)


CONNECTORS = (
    _connector(
        US,
        "lcc-3d7pg1",
        "postgres-shop-cdc",
        "PostgresCdcSourceV2",
        "source",
        {
            "database.hostname": "pg-shop.example",
            "database.port": "5432",
            "database.user": "replicator",
            "database.password": MASKED,
            "database.dbname": "shop",
            "topic.prefix": "shop",
            "table.include.list": "public.customers,public.orders,public.order_items",
            "slot.name": "lineage_shop",
            "snapshot.mode": "initial",
            "time.precision.mode": "connect",
            "output.data.format": "AVRO",
            "transforms": "unwrap",
            "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
            "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
        },
        (
            {"server": "shop"},
            {"lsn": 27001528, "lsn_proc": 27001528, "txId": 571, "ts_usec": _READ_UP_TO * 1000},
        ),
    ),
    _connector(
        US,
        "lcc-5j9jd2",
        "inventory-jdbc",
        "PostgresSource",
        "source",
        {
            "connection.host": "pg-inventory.example",
            "connection.port": "5432",
            "connection.user": "reader",
            "connection.password": MASKED,
            "db.name": "inventory",
            "topic.prefix": "inventory-",
            "table.include.list": r"public\.product.*",
            "mode": "timestamp",
            "timestamp.column.name": "updated_at",
            "output.data.format": "AVRO",
        },
        (
            {"protocol": "1", "table": "inventory.public.products"},
            {"timestamp": _READ_UP_TO, "timestamp_nanos": 0},
        ),
    ),
    _connector(
        US,
        "lcc-6k2dg4",
        "clickstream-datagen",
        "DatagenSource",
        "source",
        {
            "kafka.topic": "clickstream",
            "quickstart": "CLICKSTREAM",
            "max.interval": "500",
            "output.data.format": "AVRO",
        },
        ({"task.id": 0}, {"task.generation": 0, "current.iteration": 2000}),
    ),
    _connector(
        US,
        "lcc-8v2s3k",
        "orders-archive-s3",
        "S3_SINK",
        "sink",
        {
            "topics": "orders.v1,clickstream",
            "s3.bucket.name": "retail-archive",
            "s3.region": "us-east-1",
            "topics.dir": "raw",
            "path.format": "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH",
            "time.interval": "HOURLY",
            "flush.size": "1000",
            "aws.access.key.id": MASKED,
            "aws.secret.access.key": MASKED,
            "input.data.format": "AVRO",
            "output.data.format": "PARQUET",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": "dlq-lcc-8v2s3k",
        },
    ),
    _connector(
        US,
        "clcc-7t5ib3",
        "lakehouse-iceberg",
        ICEBERG_SINK,
        "sink",
        {
            "confluent.connector.type": "CUSTOM",
            "confluent.custom.plugin.id": "ccp-9xk2v1",
            "topics": "checkout-clicks,orders.open",
            "iceberg.tables": "sales.checkout_clicks,sales.open_orders",
            "iceberg.tables.route-field": "_topic",
            "iceberg.table.sales.checkout_clicks.route-regex": "checkout-clicks",
            "iceberg.table.sales.open_orders.route-regex": r"orders\.open",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.tables.evolve-schema-enabled": "true",
            "iceberg.catalog.type": "rest",
            "iceberg.catalog.uri": GLUE_ICEBERG_URL,
            "iceberg.catalog.warehouse": TABLE_BUCKET_CATALOG,
            "iceberg.catalog.rest.sigv4-enabled": "true",
            "iceberg.catalog.rest.signing-name": "glue",
            "iceberg.catalog.rest.signing-region": GLUE_REGION,
            "iceberg.catalog.client.region": GLUE_REGION,
            "iceberg.catalog.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "transforms": "topic",
            "transforms.topic.type": "org.apache.kafka.connect.transforms.InsertField$Value",
            "transforms.topic.topic.field": "_topic",
            "value.converter": "io.confluent.connect.avro.AvroConverter",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": "dlq-clcc-7t5ib3",
        },
    ),
    _connector(
        EU,
        "lcc-2m4my8",
        "eu-orders-cdc",
        "MySqlCdcSourceV2",
        "source",
        {
            "database.hostname": "mysql-shop-eu.example",
            "database.port": "3306",
            "database.user": "replicator",
            "database.password": MASKED,
            "topic.prefix": "eu",
            "database.include.list": "shop",
            "table.include.list": "shop.orders",
            "after.state.only": "true",
            "output.data.format": "AVRO",
            "transforms": "unwrap,route",
            "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
            "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.route.regex": r"eu\.shop\.(.*)",
            "transforms.route.replacement": "$1.v1",
        },
        (
            {"server": "eu"},
            {"file": "mysql-bin.000003", "pos": 15794, "ts_sec": _READ_UP_TO // 1000},
        ),
    ),
    _connector(
        EU,
        "lcc-9p1dg7",
        "payments-datagen",
        "DatagenSource",
        "source",
        {
            "kafka.topic": "payments-v1",
            "quickstart": "CREDIT_CARDS",
            "max.interval": "1000",
            "output.data.format": "AVRO",
        },
        ({"task.id": 0}, {"task.generation": 0, "current.iteration": 900}),
    ),
    _connector(
        EU,
        "lcc-4s6sf0",
        "revenue-to-snowflake",
        "SnowflakeSink",
        "sink",
        {
            "topics": "Revenue.Global",
            "snowflake.url.name": "retail-eu.snowflakecomputing.com:443",
            "snowflake.user.name": "KAFKA_LOADER",
            "snowflake.private.key": MASKED,
            "snowflake.database.name": "ANALYTICS",
            "snowflake.schema.name": "KAFKA",
            "snowflake.topic2table.map": "Revenue.Global:REVENUE_GLOBAL",
            "input.data.format": "AVRO",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": "dlq-lcc-4s6sf0",
        },
        state="DEGRADED",
    ),
)


@dataclass(frozen=True, slots=True)
class SinkRoute:
    """A topic whose records a connector writes to a table: namespace and name."""

    topic: str
    table: tuple[str, str]


def routes(config: Mapping[str, str]) -> list[SinkRoute]:
    """The routes of a connector: by `route-regex` of each table, else each topic to every table.

    The field that the sample connectors route by has the topic's name.
    """
    found = []
    for topic in _items(config, "topics"):
        for name in _items(config, "iceberg.tables"):
            pattern = config.get(f"iceberg.table.{name}.route-regex")
            if pattern is None or re.fullmatch(pattern, topic):
                namespace, _, table = name.rpartition(".")
                found.append(SinkRoute(topic, (namespace, table)))
    return found


def topic_field(config: Mapping[str, str]) -> str:
    """The field that a transform adds with the topic's name; empty if none does."""
    for label in _items(config, "transforms"):
        if name := config.get(f"transforms.{label}.topic.field"):
            return name
    return ""


def _items(config: Mapping[str, str], name: str) -> list[str]:
    return [item.strip() for item in config.get(name, "").split(",") if item.strip()]
