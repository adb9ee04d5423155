"""Records of JSON over Spark Connect: the server reads them by a class that the session sends."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from lineage_bridge_dagster.schemas.schemas import JSON, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.framing import prefix_of
from lineage_bridge_dagster_tests.spark.decoding.results import decode

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("connect")]


def test_record_is_read_or_has_an_error(connect_spark: SparkSession) -> None:
    schema = RegisteredSchema(1, '{"properties": {"id": {"type": "integer"}}}', JSON)
    payloads = [prefix_of(1) + text for text in (b'{"id": 1.0}', b'{"id": "x"}')]
    assert decode(connect_spark, SubjectSchemas("o-value", (schema,)), *payloads) == [
        ({"id": 1}, None),
        (None, "its field id is string where the JSON Schema of id 1 has an integer"),
    ]
