"""Tables follow their topics' schemas while records of several versions come."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool

from lineage_bridge_dagster.schemas.protobuf_files import descriptors
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, PROTOBUF, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import InMemoryTopic, payload
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]


def avro(kind: str, *more: dict[str, Any]) -> str:
    line = {"type": "record", "name": "Line", "fields": [{"name": "n", "type": kind}, *more]}
    fields = [{"name": "id", "type": kind}, {"name": "lines", "type": {"type": "array", "items": line}}]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def json_schema(kind: str, **more: Any) -> str:
    number = {"type": "integer", "connect.type": kind}
    line = {"type": "object", "properties": {"n": number, **more}}
    return json.dumps(
        {"type": "object", "properties": {"id": number, "lines": {"type": "array", "items": line}}}
    )


def proto(kind: str, more: str = "") -> str:
    return (
        f'syntax = "proto3"; message R {{ {kind} id = 1; repeated Line lines = 2; }} '
        f"message Line {{ {kind} n = 1; {more} }}"
    )


VERSIONS = {
    AVRO: [avro("int"), avro("long", {"name": "sku", "type": ["null", "string"], "default": None})],
    JSON: [json_schema("int32"), json_schema("int64", sku={"type": "string"})],
    PROTOBUF: [proto("int32"), proto("int64", "optional string sku = 2;")],
}


def written(schema: RegisteredSchema, value: dict[str, Any]) -> bytes:
    prefix = struct.pack(">bI", 0, schema.id)
    if schema.type == AVRO:
        return payload(schema.id, json.loads(schema.text), value)
    if schema.type == JSON:
        return prefix + json.dumps(value).encode()
    pool = DescriptorPool()
    for file in descriptors(schema).file:
        pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("R"))
    return prefix + b"\0" + kind(**value).SerializeToString()


@pytest.mark.parametrize("kind", VERSIONS)
def test_wider_and_nested_fields_follow_while_older_records_come(
    spark: SparkSession, database: str, kind: str
) -> None:
    first, last = (RegisteredSchema(n, text, kind, n) for n, text in enumerate(VERSIONS[kind], 1))
    config = load_into(database)
    topic, known = InMemoryTopic(), [first]

    def schemas() -> TopicSchemas:
        return TopicSchemas(value=SubjectSchemas("v", tuple(known)))

    table = TopicTable(spark, topic, config, schemas)
    table.ensure()
    old = {"id": 1, "lines": [{"n": 1}]}
    topic.add(0, written(first, old))
    table.advance()
    known.append(last)
    topic.add(0, written(last, {"id": 2**40, "lines": [{"n": 2**41, "sku": "x"}]}), written(first, old))
    table.advance()
    rows = spark.table(config.name.sql).orderBy("$$offset").select("id", "lines").collect()
    assert [(row.id, [tuple(line) for line in row.lines]) for row in rows] == [
        (1, [(1, None)]),
        (2**40, [(2**41, "x")]),
        (1, [(1, None)]),
    ]


@pytest.mark.parametrize(
    ("version", "names"),
    [(1, ["card", "note"]), (2, ["connect_union_field_0", "connect_union_field_1"])],
)
def test_alternatives_have_titles_as_names_in_tables_of_the_first_format_alone(
    spark: SparkSession, database: str, version: int, names: list[str]
) -> None:
    paid = {"oneOf": [{"title": "card", "type": "integer"}, {"title": "note", "type": "string"}]}
    texts = [
        json.dumps({"type": "object", "properties": {"id": {"type": "integer"}, **more}})
        for more in ({}, {"paid": paid})
    ]
    first, last = (RegisteredSchema(n, text, JSON, n) for n, text in enumerate(texts, 1))
    config, topic, known = load_into(database), InMemoryTopic(), [first]
    table = TopicTable(spark, topic, config, lambda: TopicSchemas(value=SubjectSchemas("v", tuple(known))))
    table.ensure()
    properties = f"'topic_to_iceberg.format' = '{version}'"
    spark.sql(f"ALTER TABLE {config.name.sql} SET TBLPROPERTIES ({properties})")
    known.append(last)
    topic.add(0, written(last, {"id": 1, "paid": "cash"}))
    table.advance()
    (row,) = spark.table(config.name.sql).collect()
    assert row.paid.asDict() == {names[0]: None, names[1]: "cash"}


def test_change_that_no_table_can_follow_stops_it_until_the_change_is_undone(
    spark: SparkSession, database: str
) -> None:
    texts = [
        json.dumps({"type": "record", "name": "R", "fields": [{"name": "total", "type": kind}]})
        for kind in ("int", "string", "long")
    ]
    versions = [RegisteredSchema(n, text, AVRO, n) for n, text in enumerate(texts, 1)]
    known = versions[:1]
    topic, config = InMemoryTopic(), load_into(database, failures="skip")
    table = TopicTable(spark, topic, config, lambda: TopicSchemas(value=SubjectSchemas("v", tuple(known))))
    table.ensure()
    topic.add(0, written(versions[0], {"total": 1}))
    table.advance()
    known.append(versions[1])
    topic.add(0, written(versions[1], {"total": "two"}))
    with pytest.raises(
        SuspendedError, match="Field total is string in the schema, and its column is int"
    ) as raised:
        table.advance()
    assert "register a version with the column's type" in raised.value.hint
    assert table.offsets() == {0: 1, 1: 0}
    known.append(versions[2])
    topic.add(0, written(versions[2], {"total": 2**40}))
    done = table.advance()
    assert (done.rows, done.skipped) == (1, 1)
    [rejected] = done.rejections.examples
    assert rejected.error.endswith(
        "its schema id 2 does not agree with the latest version: "
        "Field total is string in the schema, and its column is long."
    )
    assert sorted(row.total for row in spark.table(config.name.sql).collect()) == [1, 2**40]


def test_changed_types_go_on_in_new_columns(spark: SparkSession, database: str) -> None:
    """Records of all versions come meanwhile, and the type comes back in the end."""

    def version(number: int, total: Any, code: Any) -> RegisteredSchema:
        line = {"type": "record", "name": "Line", "fields": [{"name": "code", "type": code}]}
        fields = [
            {"name": "total", "type": total},
            {"name": "lines", "type": {"type": "array", "items": line}},
        ]
        text = json.dumps({"type": "record", "name": "R", "fields": fields})
        return RegisteredSchema(number, text, AVRO, number)

    versions = [
        version(1, "int", "bytes"),
        version(2, "double", "string"),
        version(3, ["null", "double", "string"], "string"),
    ]
    known = versions[:1]
    config = load_into(database, type_changes="new_column")
    topic = InMemoryTopic()
    table = TopicTable(spark, topic, config, lambda: TopicSchemas(value=SubjectSchemas("v", tuple(known))))
    table.ensure()
    topic.add(0, written(versions[0], {"total": 1, "lines": [{"code": b"\xff"}]}))
    table.advance()
    for number, total in ((1, 0.5), (2, "x")):
        known.append(versions[number])
        topic.add(0, written(versions[number], {"total": total, "lines": [{"code": "a"}]}))
        # A late one.
        topic.add(0, written(versions[0], {"total": 7, "lines": [{"code": b"b"}]}))
        table.advance()
    rows = spark.table(config.name.sql).orderBy("$$offset")
    found = rows.select("total", "total_double", "total_struct", "lines").collect()
    assert [each.asDict(recursive=True) for each in found] == [
        row(total=1, code=b"\xff"),
        row(total_double=0.5, code_string="a"),
        row(total_double=7.0, code_string="b"),
        row(total_struct={"double": None, "string": "x"}, code_string="a"),
        row(total_struct={"double": 7.0, "string": None}, code_string="b"),
    ]
    kinds = {field.name: field for field in rows.schema}
    assert kinds["total_double"].metadata["comment"] == "Values of total since its type changed."


def row(**given: Any) -> dict[str, Any]:
    """A row of the table above, of what it has."""
    line = {name: given.pop(name, None) for name in ("code", "code_string")}
    return {"total": None, "total_double": None, "total_struct": None, **given, "lines": [line]}


def test_changed_types_of_a_table_by_key_go_on_in_new_columns(spark: SparkSession, database: str) -> None:
    texts = [
        json.dumps({"type": "record", "name": "Value", "fields": [{"name": "doc", "type": kind}]})
        for kind in ("int", "string")
    ]
    versions = [RegisteredSchema(n, text, AVRO, n) for n, text in enumerate(texts, 1)]
    known = versions[:1]
    config = load_into(database, mode="upsert", type_changes="new_column")
    topic = InMemoryTopic()
    table = TopicTable(spark, topic, config, lambda: TopicSchemas(value=SubjectSchemas("v", tuple(known))))
    table.ensure()
    topic.add(0, written(versions[0], {"doc": 1}), key=b"1")
    topic.add(0, written(versions[0], {"doc": 2}), key=b"2")
    table.advance()
    known.append(versions[1])
    topic.add(0, written(versions[1], {"doc": "text"}), key=b"2")
    table.advance()
    topic.add(0, written(versions[1], {"doc": "__debezium_unavailable_value"}), key=b"2")
    assert table.advance().unavailable == 0
    rows = spark.table(config.name.sql).select("key", "doc", "doc_string").collect()
    assert sorted((bytes(each.key), each.doc, each.doc_string) for each in rows) == [
        (b"1", 1, None),
        (b"2", None, "text"),
    ]
