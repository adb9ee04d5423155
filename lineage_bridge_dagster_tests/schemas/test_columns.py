"""A table has the columns of its topic's keys and values, of all versions of their schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.schemas.columns import metadata_columns, row_columns, table_schema, value_type
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.schemas.types import spelled


def record(**fields: Any) -> str:
    listed = [{"name": name, "type": kind} for name, kind in fields.items()]
    return json.dumps({"type": "record", "name": "R", "fields": listed})


def subject(*texts: str, name: str = "o-value") -> SubjectSchemas:
    return SubjectSchemas(name, tuple(RegisteredSchema(n, text) for n, text in enumerate(texts, 1)))


NONE = SubjectSchemas("none")


def columns(key: SubjectSchemas, value: SubjectSchemas) -> str:
    found = row_columns(key, value)
    assert not any(each.required for each in found.fields)
    return spelled(found).removeprefix("struct<").removesuffix(">")


def test_columns_are_those_of_the_key_and_the_value() -> None:
    value = subject(record(id="long", item=["null", "string"]))
    assert columns(NONE, value) == "key: binary, id: long, item: string"
    assert columns(subject('"string"'), value) == "key: string, id: long, item: string"
    assert columns(subject(record(customer="string")), value) == "customer: string, id: long, item: string"
    assert columns(NONE, NONE) == "key: binary, value: binary"
    assert columns(NONE, subject('{"type": "array", "items": "long"}')) == "key: binary, value: list<long>"


def test_name_that_key_and_value_share_is_one_column() -> None:
    key = subject(record(id="int", region="string"))
    assert columns(key, subject(record(item="string", id="long"))) == (
        "id: long, region: string, item: string"
    )
    with pytest.raises(SchemaError, match="Field ID has the name of field id, but for its case"):
        columns(key, subject(record(ID="long")))


ENVELOPE = json.dumps(
    {
        "type": "record",
        "name": "Envelope",
        "fields": [
            {"name": "before", "type": ["null", json.loads(record(id="int", item="string"))]},
            {"name": "after", "type": ["null", "R"]},
            {"name": "op", "type": "string"},
        ],
    }
)


def test_table_by_key_has_the_types_of_the_key_and_requires_its_columns() -> None:
    key = subject(record(id="int", shop="string"), name="o-key")
    schema = table_schema(key, subject(record(id="long", item="string")), "upsert", portable=True, raw=False)
    assert [(each.name, str(each.field_type), each.required) for each in schema.fields][:3] == [
        ("id", "int", True),
        ("shop", "string", True),
        ("item", "string", False),
    ]
    assert [each.name for each in schema.fields if each.required] == ["id", "shop", "cflt_metadata_partition"]
    optional = subject(record(id=["null", "int"]), name="o-key")
    assert not any(each.required for each in table_schema(optional, NONE, "upsert").fields)


def test_table_of_envelopes_has_the_key_and_the_row() -> None:
    key = subject(record(number="long"), name="o-key")
    schema = table_schema(key, subject(ENVELOPE), "debezium")
    assert [each.name for each in schema.fields][:4] == ["number", "id", "item", "$$topic"]
    flattened = subject(record(id="int", __deleted=["null", "string"], __op="string"))
    assert spelled(row_columns(NONE, flattened, "debezium")) == ("struct<key: binary, id: int, __op: string>")
    with pytest.raises(SchemaError, match="topic o are not Debezium envelopes") as raised:
        table_schema(key, subject(record(id="int")), "debezium")
    assert "mode: upsert" in raised.value.hint


def test_field_with_the_name_of_a_metadata_column_is_refused() -> None:
    value = subject(record(cflt_metadata_offset="long"))
    with pytest.raises(SchemaError, match="cflt_metadata_offset has the name of a metadata column") as raised:
        table_schema(NONE, value, portable=True)
    assert "metadata_names: tableflow" in raised.value.hint
    assert table_schema(NONE, value).find_field("cflt_metadata_offset")


def test_fields_that_only_older_versions_have_follow_those_of_the_latest() -> None:
    value = subject(record(a="int", gone="string"), record(a="long", b="int"), record(b="long", a="int"))
    assert columns(NONE, value) == "key: binary, b: long, a: long, gone: string"


def test_version_that_disagrees_with_the_latest_costs_its_records_alone() -> None:
    versions = (record(a="int"), record(a="string"), record(a="long"))
    found = value_type(subject(*versions))
    assert found is not None
    assert spelled(found.type) == "struct<a: long>"
    assert sorted(found.versions) == [1, 3]
    assert found.errors == {2: "Field a is string in the schema, and its column is long."}


def test_version_of_another_type_costs_its_records_alone() -> None:
    found = value_type(
        SubjectSchemas("o", (RegisteredSchema(1, "{}", "JSON"), RegisteredSchema(2, record(a="int"))))
    )
    assert found is not None
    assert found.errors == {1: "It is a schema of JSON, and the latest is one of AVRO."}


def test_error_of_the_latest_version_names_its_subject() -> None:
    with pytest.raises(SchemaError, match=r"Field next has.* schema id 1, the latest of subject o-v"):
        value_type(subject(record(next=["null", "R"])))


def test_every_field_has_an_id_of_its_own() -> None:
    inner = {
        "type": "record",
        "name": "I",
        "fields": [{"name": "a", "type": {"type": "map", "values": "int"}}],
    }
    schema = table_schema(NONE, subject(record(s=inner, b="int")))
    assert len(schema._lazy_id_to_field) == 6 + len(metadata_columns(portable=False, raw=True)) + 2


def json_subject(*versions: Any) -> SubjectSchemas:
    registered = (RegisteredSchema(n, json.dumps(each), "JSON") for n, each in enumerate(versions, 1))
    return SubjectSchemas("o-value", tuple(registered))


STRING, ROW = {"type": "string"}, {"type": "object", "properties": {"B": {"type": "string"}}}
LIST, MAP = {"type": "array", "items": ROW}, {"type": "object", "additionalProperties": ROW}


@pytest.mark.parametrize(
    ("properties", "names"),
    [
        ({"A.B": STRING, "A": ROW}, ("`A.B`", "A.B")),
        ({"A": ROW, "A.B": STRING}, ("`A.B`", "A.B")),
        ({"A": ROW, "a.b": STRING}, ("`a.b`", "A.B")),
        ({"tags": {"type": "array", "items": STRING}, "tags.element": STRING},
         ("`tags.element`", "tags.element")),
        ({"l": LIST, "l.element.B": STRING}, ("`l.element.B`", "l.element.B")),
        ({"m": MAP, "m.key": STRING}, ("`m.key`", "m.key")),
        ({"m": MAP, "m.value": STRING}, ("`m.value`", "m.value")),
        ({"m": MAP, "m.value.B": STRING}, ("`m.value.B`", "m.value.B")),
        ({"s": {"type": "object", "properties": {"A.B": STRING, "A": ROW}}}, ("s.`A.B`", "s.A.B")),
        ({"l": {"type": "array", "items": {"properties": {"A.B": STRING, "A": ROW}}}},
         ("l.element.`A.B`", "l.element.A.B")),
        ({"$$headers.key": STRING}, ("`$$headers.key`", "$$headers.key")),
    ],
)  # fmt: skip
def test_fields_of_the_same_dotted_name_are_an_error_that_names_both(
    properties: Any, names: tuple[str, str]
) -> None:
    with pytest.raises(SchemaError) as raised:
        table_schema(NONE, json_subject({"properties": properties}))
    assert all(f" {each} " in str(raised.value) for each in names)
    assert raised.value.hint


def test_dotted_names_that_meet_nothing_are_columns() -> None:
    found = table_schema(NONE, json_subject({"properties": {"A.B": STRING, "A.C": ROW}}))
    assert [each.name for each in found.fields][:3] == ["key", "A.B", "A.C"]


def test_key_and_value_may_meet_by_dotted_names() -> None:
    key = SubjectSchemas("o-key", (RegisteredSchema(9, json.dumps({"properties": {"A.B": STRING}}), "JSON"),))
    with pytest.raises(SchemaError, match=r"`A\.B`"):
        table_schema(key, json_subject({"properties": {"A": ROW}}))


def test_older_version_whose_fields_meet_the_latest_costs_its_records() -> None:
    found = value_type(json_subject({"properties": {"A.B": STRING}}, {"properties": {"A": ROW}}))
    assert found is not None
    assert spelled(found.type) == "struct<A: struct<B: string>>"
    assert "`A.B`" in found.errors[1]
