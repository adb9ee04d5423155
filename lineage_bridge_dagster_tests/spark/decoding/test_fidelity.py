"""Rows hold what was serialized: random schemas of each format with random values, by reference encoders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from hypothesis import HealthCheck, Phase, given, settings

from lineage_bridge_dagster.schemas.protobuf_files import descriptors
from lineage_bridge_dagster.schemas.schemas import JSON, PROTOBUF, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.decoder import decoder_for
from lineage_bridge_dagster.spark.decoding.framing import prefix_of
from lineage_bridge_dagster_tests.spark.decoding import random_avro, random_json, random_protobuf
from lineage_bridge_dagster_tests.spark.decoding.random_values import Batch, Row, batches, shown
from lineage_bridge_dagster_tests.spark.records import payload, subject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

#: One query decodes all types and rows of a batch. Smaller ones would be found by many queries.
few = settings(
    max_examples=3,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def check(
    spark: SparkSession, schemas: SubjectSchemas, payloads: list[bytes], rows: list[Row], expected: list[Row]
) -> None:
    """Check that each payload's row is the expected one."""
    records = spark.createDataFrame(list(enumerate(payloads)), "n int, value binary")
    # Sorted by Spark, they would be decoded twice.
    decoded = decoder_for(schemas).decode(records, "value").toArrow().sort_by("n").to_pylist()
    wrong = []
    for found, given_, row in zip(decoded, rows, expected, strict=True):
        if found["_value_error"]:
            wrong.append(f"{found['_value_error']}: {given_}")
            continue
        wrong += [
            f"{name}, {given_.get(name)!r}, became {shown(value)}, not {shown(row[name])}"
            for name, value in found["_value"].items()
            if shown(value) != shown(row[name])
        ]
    text = "; ".join(schema.text for schema in schemas.versions)
    assert not wrong, "\n".join([f"{len(wrong)} differ:", *wrong[:10], text])


@few
@given(batch=batches(random_avro.KINDS, fields=20, rows=10))
def test_avro(spark: SparkSession, batch: Batch) -> None:
    fields = [{"name": name, "type": kind.schema} for name, kind in batch.kinds.items()]
    schema = {"type": "record", "name": "Row", "fields": fields}
    check(
        spark,
        subject("s", (1, schema)),
        [payload(1, schema, row) for row in batch.rows],
        batch.rows,
        batch.expected,
    )


@few
@given(batch=batches(random_json.KINDS, fields=20, rows=10))
def test_json(spark: SparkSession, batch: Batch) -> None:
    properties = {name: kind.schema for name, kind in batch.kinds.items()}
    schema = RegisteredSchema(1, json.dumps({"type": "object", "properties": properties}), JSON)
    texts = [random_json.written(row, ascii_only=bool(n % 2)) for n, row in enumerate(batch.rows)]
    payloads = [prefix_of(1) + text.encode() for text in texts]
    check(spark, SubjectSchemas("s", (schema,)), payloads, batch.rows, batch.expected)


@few
@given(batch=random_protobuf.messages(fields=30, rows=10))
def test_protobuf(spark: SparkSession, batch: random_protobuf.Messages) -> None:
    schema = RegisteredSchema(1, batch.text, PROTOBUF)
    pool, files = DescriptorPool(), descriptors(schema)
    for file in files.file:
        pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("Row"))
    payloads = [prefix_of(1) + b"\0" + kind(**row).SerializeToString() for row in batch.rows]
    check(spark, SubjectSchemas("s", (schema,)), payloads, batch.rows, batch.expected)
