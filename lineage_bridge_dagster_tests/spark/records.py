"""Kafka records without a broker: an in-memory topic, and payloads in Confluent's wire format."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa

from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.loading.model import RECORD_DDL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: `RECORD_DDL`.
_RECORDS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))),
    ]
)
_INLINED_BYTES = "spark.sql.execution.arrow.localRelationThreshold"

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

ORDER_V1 = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "item", "type": "string"}],
}
#: Adds a field with a default in the middle, and makes another nullable.
ORDER_V2 = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "cents", "type": ["null", "int"], "default": None},
        {"name": "item", "type": ["null", "string"], "default": None},
    ],
}


def payload(schema_id: int, schema: Mapping[str, Any], value: Any) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(dict(schema)), value)
    return struct.pack(">bI", 0, schema_id) + body.getvalue()


def subject(name: str, *versions: tuple[int, Mapping[str, Any]]) -> SubjectSchemas:
    return SubjectSchemas(
        name, tuple(RegisteredSchema(number, json.dumps(schema)) for number, schema in versions)
    )


ORDERS_V1 = subject("orders.v1-value", (7, ORDER_V1))
ORDERS = subject("orders.v1-value", (7, ORDER_V1), (9, ORDER_V2))


def order_v1(number: int) -> bytes:
    return payload(7, ORDER_V1, {"id": number, "item": f"item {number}"})


def order_v2(number: int, cents: int | None = 5) -> bytes:
    return payload(9, ORDER_V2, {"id": number, "cents": cents, "item": None})


@dataclass
class InMemoryTopic:
    """A topic with rows in memory, in the columns of Spark's Kafka source. It counts its reads."""

    name: str = "orders.v1"
    partitions: dict[int, list[dict[str, Any]]] = field(default_factory=lambda: {0: [], 1: []})
    first: dict[int, int] = field(default_factory=dict)
    reads: int = 0
    id: str = ""

    def add(
        self,
        partition: int,
        *values: bytes | None,
        key: bytes | None = None,
        headers: list[tuple[str, bytes]] | None = None,
        at: datetime = AT,
    ) -> None:
        for value in values:
            rows = self.partitions[partition]
            rows.append(
                {
                    "key": key,
                    "value": value,
                    "topic": self.name,
                    "partition": partition,
                    "offset": self.first.get(partition, 0) + len(rows),
                    "timestamp": at,
                    "timestampType": 0,
                    "headers": headers and [{"key": name, "value": body} for name, body in headers],
                }
            )

    def topic_id(self) -> str:
        return self.id

    def bounds(self) -> tuple[Offsets, Offsets]:
        first = {p: self.first.get(p, 0) for p in self.partitions}
        return first, {p: first[p] + len(rows) for p, rows in self.partitions.items()}

    def offsets_at(self, at_ms: int) -> Offsets:
        """As the brokers do: the first record at or after a time, whatever comes behind it."""
        ends = self.bounds()[1]
        return {
            p: next((row["offset"] for row in rows if row["timestamp"].timestamp() * 1000 >= at_ms), ends[p])
            for p, rows in self.partitions.items()
        }

    def expire(self, partition: int, count: int) -> None:
        """Have retention remove the first records of a partition."""
        del self.partitions[partition][:count]
        self.first[partition] = self.first.get(partition, 0) + count

    def read(
        self, spark: SparkSession, start: Offsets, end: Offsets, *, topic_id: str = "", tasks: int = 0
    ) -> DataFrame:
        self.reads += 1
        selected = [
            pa.Table.from_pylist([row for row in rows if start[p] <= row["offset"] < end[p]], _RECORDS)
            for p, rows in self.partitions.items()
        ]
        # Rows of Python would pass through Python workers, in every job. A table of Arrow is a task for each
        # partition, as a topic is; without the setting, the planner would compute with the rows.
        before = spark.conf.get(_INLINED_BYTES)
        spark.conf.set(_INLINED_BYTES, "0")
        try:
            return spark.createDataFrame(pa.concat_tables(selected), RECORD_DDL)
        finally:
            spark.conf.set(_INLINED_BYTES, before)
