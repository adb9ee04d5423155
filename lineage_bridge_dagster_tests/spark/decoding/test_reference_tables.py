"""Cases of the reference material, `tables.jsonl`: columns of schemas, and rows of their records."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.schema_fields import column_types, fields_of
from lineage_bridge_dagster.confluent.graph.type_mapping import compare_columns
from lineage_bridge_dagster.lineage.nodes import Field
from lineage_bridge_dagster.schemas.columns import columns_of, table_schema
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.protobuf_files import descriptors
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.schemas.types import spelled
from lineage_bridge_dagster.spark.decoding.decoder import decoder_for
from lineage_bridge_dagster.spark.decoding.framing import prefix_of
from lineage_bridge_dagster_tests.conftest import shared
from lineage_bridge_dagster_tests.spark.records import payload
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.test_debezium import MARK, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Case = dict[str, Any]

pytestmark = pytest.mark.shared


def cases(area: str) -> list[tuple[Any, Any]]:
    """Inputs with what is expected of them."""
    lines = shared("cases", "tables.jsonl").read_text("utf-8").splitlines()
    found = [(case["input"], case["expected"]) for case in map(json.loads, lines) if case["area"] == area]
    assert found, area
    return found


def versions_of(given: Case) -> SubjectSchemas:
    texts = given.get("versions") or [given["schema"]]
    return subject("o-value", texts, given.get("format", JSON))


def subject(name: str, texts: list[Any], kind: str) -> SubjectSchemas:
    written = (text if isinstance(text, str) else json.dumps(text) for text in texts)
    return SubjectSchemas(name, tuple(RegisteredSchema(n, text, kind) for n, text in enumerate(written, 1)))


def of_registry(schema: Any) -> Schema:
    return Schema(subject="o-value", version=1, id=1, schema_type=JSON, text=json.dumps(schema))


def columns(given: Case) -> dict[str, str] | str:
    keys = [given["key_schema"]] if "key_schema" in given else []
    values = versions_of(given)
    try:
        table_schema(subject("o-key", keys, JSON), values, given.get("mode", "append"))
    except SchemaError:
        return "a SchemaError"
    return {each.name: spelled(each.field_type) for each in columns_of(values, "value").fields}


def test_columns() -> None:
    wrong = []
    for given, expected in cases("topic_to_iceberg/json_schema"):
        found = columns(given)
        name = expected.get("must_have_column")
        if not (name in found if name else found == expected["columns"]):
            wrong.append((given["schema"], found, expected))
    for given, expected in cases("topic_to_iceberg/names"):
        if "schema" in given and not expected.startswith(str(found := columns(given))):
            wrong.append((given["schema"], found, expected))
    assert not wrong


def test_fields_of_discovery() -> None:
    for given, expected in cases("discovery/schema_fields"):
        for schema in given.values():
            names = ", ".join(each["name"] for each in fields_of(of_registry(schema)))
            assert f"fields {names}" == expected, schema
    for given, expected in cases("discovery/schema_matches"):
        schema = of_registry(given["schema"])
        fields = [Field(each["name"], each["type"]) for each in fields_of(schema)]
        glue = [Field(*each) for each in given["glue_columns"]]
        found = compare_columns(fields, glue, column_types(schema))
        assert [f"{each.name} is the {each.match}" for each in found] == [expected]


def encoded(schema: RegisteredSchema, record: Case) -> bytes:
    """A record as a producer writes it; text that ends with `(bytes)` is bytes."""
    if schema.type == JSON:
        return prefix_of(schema.id) + json.dumps(record.get("value", record)).encode()
    if schema.type == AVRO:
        read = {
            name: each.removesuffix(" (bytes)").encode() if str(each).endswith(" (bytes)") else each
            for name, each in record.items()
        }
        return payload(schema.id, json.loads(schema.text), read)
    pool, files = DescriptorPool(), descriptors(schema).file
    for file in files:
        pool.Add(file)
    name = f"{files[-1].package}.{files[-1].message_type[0].name}"
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    return prefix_of(schema.id) + b"\0" + json_format.ParseDict(record, kind()).SerializeToString()


@pytest.mark.spark
@pytest.mark.xdist_group("topics")
def test_rows(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    wanted: list[list[Case]] = []
    frames = []
    given_cases = [*cases("topic_to_iceberg/json_schema"), *cases("topic_to_iceberg/evolution")]
    for given, expected in given_cases:
        if first := given.get("record_of_version_1"):
            given, expected = {**given, "records": [first]}, {"rows": [expected]}
        if not (records := given.get("records")):
            continue
        schemas = versions_of(given)
        rows = [(n, encoded(schemas.versions[0], record)) for n, record in enumerate(records)]
        text = F.to_json("_value", {"ignoreNullFields": "false"})
        frame = decoder_for(schemas).decode(spark.createDataFrame(rows, "n int, value binary"), "value")
        frames.append(frame.select(F.lit(len(wanted)).alias("case"), "n", text.alias("row"), "_value_error"))
        # Without rows, that the record has one is all that is expected.
        wanted.append(expected.get("rows") or expected.get("rows_have") or [{} for _ in records])
    found = functools.reduce(lambda some, more: some.union(more), frames).collect()
    assert len(found) == sum(map(len, wanted)) > 0
    wrong = []
    for each in found:
        expected, row = wanted[each["case"]][each["n"]], json.loads(each["row"] or "{}")
        if each["_value_error"] or {name: row.get(name, "nothing") for name in expected} != expected:
            wrong.append((row, each["_value_error"], expected))
    assert not wrong


# The session of writers, which later tests share, is a copy of this one with its settings.
@pytest.mark.usefixtures("compiled")
@pytest.mark.spark
@pytest.mark.xdist_group("topics")
def test_rows_of_debezium(spark: SparkSession, database: str) -> None:
    for given, expected in cases("topic_to_iceberg/debezium"):
        names = [name for name in given["events"][0]["after"] if name != "id"]
        fields = [{"name": name, "type": ["null", "string"]} for name in names]
        schema = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "int"}, *fields, MARK]}
        source = Source(spark, database, schema, mode=given["mode"])
        for event in given["events"]:
            source.add(event["op"], event["after"]["id"], event["after"])
        source.advance()
        assert [{"id": number, **row} for number, row in source.rows(*names).items()] == expected["rows"]
