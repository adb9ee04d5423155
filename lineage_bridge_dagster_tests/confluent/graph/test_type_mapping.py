from __future__ import annotations

import json

import pytest

from lineage_bridge_dagster.confluent.graph.schema_fields import avro_word
from lineage_bridge_dagster.confluent.graph.type_mapping import Match, compare, compare_columns, glue_types
from lineage_bridge_dagster.lineage.nodes import Field
from lineage_bridge_dagster.schemas.avro_tree import avro_tree

#: The appendix on Avro of Iceberg's specification, in the spelling of Iceberg's catalog for Glue; and what
#: Spark's writer has instead of a time, a `uuid` and a `fixed`.
DOCUMENTED = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "enum": "string",
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp",
    "local-timestamp-micros": "timestamp",
    "fixed": "binary fixed",
    "uuid": "string uuid binary",
    "time-millis": "string time int",
    "time-micros": "string time bigint",
    # Iceberg's own names.
    "timestamptz": "timestamp",
    "timestamp": "timestamp",
    "binary": "binary",
}


def test_types_are_those_of_the_documentation() -> None:
    assert {name: frozenset(types.split()) for name, types in DOCUMENTED.items()} == glue_types()


@pytest.mark.parametrize(
    ("schema", "glue"),
    [
        # Avro: "Language implementations must ignore unknown logical types", and those that are invalid.
        ({"type": "string", "logicalType": "date"}, "string"),
        ({"type": "long", "logicalType": "time-millis"}, "bigint"),
        ({"type": "string", "logicalType": "decimal", "precision": 4}, "string"),
        ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, "binary"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "decimal(4,2)"),
        ({"type": "bytes", "logicalType": "decimal", "scale": 2}, "binary"),
        ({"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 10}, "binary"),
    ],
)
def test_logical_type_counts_where_it_belongs(schema: dict[str, object], glue: str) -> None:
    assert compare(avro_word(avro_tree(json.dumps(schema))), glue) is Match.SAME


@pytest.mark.parametrize(
    ("avro", "glue"),
    [
        ("timestamp-millis", "timestamp with time zone"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("decimal(10, 2)", "decimal(10,2)"),
        # What an Iceberg column cannot hold: Connect's default of 64 digits, and a record without fields.
        ("decimal(64,4)", "decimal(38,4)"),
        ("record", "boolean"),
        ("array<long>", "array<bigint>"),
        ("map<string,int>", "map<string,int>"),
        # An array of entries, as Connect writes maps, is a list or a map.
        ("array<record<key:int,value:string>>", "map<int,string>"),
        ("array<record<key:int,value:string>>", "array<struct<key:int,value:string>>"),
        ("record<City:string,zip:int>", "struct<city:string,zip:int>"),
        ("record<zip:int,city:string>", "struct<city:string,zip:int>"),
        ("array<record<a.b:long,m:map<string,bytes>>>", "array<struct<a.b:bigint,m:map<string,binary>>>"),
    ],
)
def test_type_that_tableflow_writes_matches(avro: str, glue: str) -> None:
    assert compare(avro, glue) is Match.SAME


@pytest.mark.parametrize(
    ("avro", "glue"),
    [
        ("long", "int"),
        ("string", "binary"),
        ("decimal(10,2)", "decimal(12,2)"),
        ("decimal(10,2)", "bigint"),
        ("decimal(64,4)", "decimal(38,2)"),
        ("array<record<key:int,value:string>>", "map<string,string>"),
        ("array<record<id:int,value:string>>", "map<int,string>"),
        ("array<long>", "map<int,int>"),
        ("array<long>", "array<int>"),
        ("array<long>", "string"),
        ("record<a:int>", "struct<b:int>"),
        ("map<string,record<a:int>>", "map<string,struct<a:bigint>>"),
    ],
)
def test_another_type_is_different(avro: str, glue: str) -> None:
    assert compare(avro, glue) is Match.DIFFERENT


@pytest.mark.parametrize(
    ("avro", "glue"),
    [
        ("com.shop.Address", "struct<a:int>"),
        ("union<int,string>", "struct<i:int,s:string>"),
        ("duration", "binary"),
        ("decimal(?,0)", "decimal(10,0)"),
        ("record<a:com.shop.Id>", "struct<a:bigint>"),
        ("record", "struct<a:int>"),
        ("record<a:int", "struct<a:int>"),
        ("array<" * 5_000, "array<int>"),
        ("", "int"),
    ],
)
def test_unknown_type_is_never_a_mismatch(avro: str, glue: str) -> None:
    assert compare(avro, glue) is Match.UNKNOWN


def test_extra_columns_are_ignored_and_names_compare_in_lower_case() -> None:
    columns = [Field("key", "binary"), Field("amount", "double"), Field("$$offset")]
    (found,) = compare_columns([Field("Amount", "double")], columns)
    assert (found.name, found.match) == ("Amount", Match.SAME)


def test_types_that_no_schema_tells_are_unknown() -> None:
    fields = [Field("a", "Money"), Field("b", "int64"), Field("c", "int64")]
    columns = [Field("a", "bigint"), Field("c", "int")]
    found = compare_columns(fields, columns, {"b": "long", "c": "long"})
    assert [each.match for each in found] == [Match.UNKNOWN, Match.MISSING, Match.DIFFERENT]


ROW = "record<id:long,note:string>"


@pytest.mark.parametrize("after", [ROW, "shop.Value"])
def test_rows_of_envelopes_are_compared_with_the_fields_of_the_row(after: str) -> None:
    fields = [Field("before", ROW), Field("after", after), Field("op", "string")]
    found = compare_columns(fields, [Field("key", "binary"), Field("id", "int")])
    assert [(each.name, each.match) for each in found] == [("id", Match.DIFFERENT), ("note", Match.MISSING)]
    # A table of mode append has the envelope itself.
    whole = [Field("before", "struct<id:bigint,note:string>"), Field("op", "string")]
    found = compare_columns(fields, whole)
    assert [each.match for each in found] == [Match.SAME, Match.MISSING, Match.SAME]


def test_flag_of_flattened_records_is_no_column() -> None:
    fields = [Field("id", "long"), Field("__deleted", "string")]
    assert [each.name for each in compare_columns(fields, [Field("id", "bigint")])] == ["id"]


def test_nothing_is_compared_if_the_row_of_an_envelope_is_not_known() -> None:
    fields = [Field("after", "shop.Value"), Field("op", "string")]
    assert compare_columns(fields, [Field("id", "bigint")], {"op": "string"}) == []
