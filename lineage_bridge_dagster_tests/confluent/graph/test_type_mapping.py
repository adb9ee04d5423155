from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.graph.type_mapping import (
    GLUE_TYPES,
    Match,
    compare,
    compare_columns,
)


@pytest.mark.parametrize(
    ("avro", "glue"),
    [
        *((avro, glue) for avro, several in GLUE_TYPES.items() for glue in sorted(several)),
        ("timestamp-millis", "timestamp with time zone"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("decimal(10, 2)", "decimal(10,2)"),
        ("array<long>", "array<bigint>"),
        ("map<string,int>", "map<string,int>"),
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
    columns = [{"name": "key", "type": "binary"}, {"name": "amount", "type": "double"}, {"name": "$$offset"}]
    (found,) = compare_columns([{"name": "Amount", "type": "double"}], columns)
    assert (found.name, found.match) == ("Amount", Match.SAME)


def test_protobuf_and_json_compare_only_names() -> None:
    fields = [{"name": "a", "type": "int64"}, {"name": "b", "type": "int64"}]
    found = compare_columns(fields, [{"name": "a", "type": "bigint"}], "PROTOBUF")
    assert [one.match for one in found] == [Match.UNKNOWN, Match.MISSING]
