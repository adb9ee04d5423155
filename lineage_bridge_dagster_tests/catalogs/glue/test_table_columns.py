"""Columns and partition keys of Glue tables, as the collector and the discovery show them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.table_nodes import table_attributes
from lineage_bridge_dagster.collector.layout import COLUMNS, TABLES
from lineage_bridge_dagster.collector.rows import Source, table_format, table_rows

SCHEMA = "spark.sql.sources.schema"
PLACEHOLDER = [("col", "array<string>")]
ID_AND_DAY = [("id", "bigint", "the key"), ("day", "date", None)]


def field(name: str, kind: Any, **metadata: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


ID_AND_DAY_JSON = json.dumps(struct(field("id", "long", comment="the key"), field("day", "date")))


def parts(text: str, size: int = 40) -> dict[str, str]:
    """A schema as Spark splits one that is longer than a metastore's limit."""
    split = [text[at : at + size] for at in range(0, len(text), size)]
    return {
        f"{SCHEMA}.numParts": str(len(split)),
        **{f"{SCHEMA}.part.{n}": each for n, each in enumerate(split)},
    }


def partitioned(*names: str) -> dict[str, str]:
    return {
        f"{SCHEMA}.numPartCols": str(len(names)),
        **{f"{SCHEMA}.partCol.{n}": name for n, name in enumerate(names)},
    }


def table(
    columns: list[tuple[str, str]] | None = None,
    keys: list[tuple[str, str]] | None = None,
    parameters: dict[str, str] | None = None,
    **storage: str,
) -> GlueTable:
    def described(listed: list[tuple[str, str]]) -> list[dict[str, str]]:
        return [{"Name": name, "Type": kind} for name, kind in listed]

    raw: dict[str, Any] = {"Name": "orders", "Parameters": parameters or {}, "StorageDescriptor": storage}
    if columns is not None:
        raw["StorageDescriptor"]["Columns"] = described(columns)
    if keys is not None:
        raw["PartitionKeys"] = described(keys)
    return GlueTable.from_raw(raw, "sales")


def seen(found: GlueTable) -> tuple[list[tuple[Any, ...]], list[str]]:
    """The columns (name, type, comment) and the names of partition keys, which both readers agree on."""
    rows = [
        (kind, dict(zip([column.name for column in kind.columns], row, strict=True)))
        for kind, row in table_rows(Source("glue", "us-east-1", "1"), found)
    ]
    listed = [row for kind, row in rows if kind is COLUMNS]
    (record,) = (row for kind, row in rows if kind is TABLES)
    assert [each["position"] for each in listed] == list(range(1, len(listed) + 1))
    assert record["column_count"] == len(listed)
    keys = [each["column"] for each in listed if each["is_partition_key"]]
    assert json.loads(record["partition_keys"] or "[]") == keys
    attributes = table_attributes(found, "us-east-1")
    shown = [*attributes["columns"], *attributes["partition_keys"]]
    assert [tuple(each.values()) for each in shown] == [
        (each["column"], each["type"], each["comment"]) for each in listed
    ]
    return [tuple(each.values()) for each in shown], keys


@pytest.mark.parametrize("columns", [PLACEHOLDER, [], None], ids=["placeholder", "empty", "missing"])
@pytest.mark.parametrize(
    "stored", [{SCHEMA: ID_AND_DAY_JSON}, parts(ID_AND_DAY_JSON)], ids=["whole", "parts"]
)
@pytest.mark.parametrize("provider", ["delta", "parquet", "com.example.Source"])
def test_columns_that_spark_keeps_in_parameters(
    columns: list[tuple[str, str]] | None, stored: dict[str, str], provider: str
) -> None:
    parameters = {"spark.sql.sources.provider": provider, **stored}
    assert seen(table(columns, None, parameters)) == (ID_AND_DAY, [])
    assert seen(table(columns, None, {**parameters, **partitioned("day")})) == (ID_AND_DAY, ["day"])
    # The partition columns that Hive knows as well.
    assert seen(table(columns, [("day", "date")], parameters)) == (ID_AND_DAY, ["day"])
    assert seen(table(columns, None, {**parameters, **partitioned("ID")})) == (ID_AND_DAY[::-1], ["id"])


def test_types_are_spelled_as_glue_spells_them() -> None:
    nested = struct(field("n", "integer"), field("at", "timestamp_ntz"))
    kinds: dict[str, tuple[Any, str]] = {
        "short": ("short", "smallint"),
        "byte": ("byte", "tinyint"),
        "dec": ("decimal(10,2)", "decimal(10,2)"),
        "text": ("string", "string"),
        "s": (nested, "struct<n:int,at:timestamp>"),
        "l": (
            {"type": "array", "elementType": nested, "containsNull": True},
            "array<struct<n:int,at:timestamp>>",
        ),
        "m": (
            {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
            "map<string,bigint>",
        ),
        "u": (
            {"type": "udt", "class": "x.Point", "sqlType": struct(field("x", "double"))},
            "struct<x:double>",
        ),
        "nothing": ("null", "void"),
    }
    fields = [field(name, kind) for name, (kind, _) in kinds.items()]
    fields.append(field("code", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(10)"))
    columns, _ = seen(table(PLACEHOLDER, None, {SCHEMA: json.dumps(struct(*fields))}))
    assert {name: kind for name, kind, _ in columns} == {
        **{name: expected for name, (_, expected) in kinds.items()},
        "code": "varchar(10)",
    }


@pytest.mark.parametrize(
    "broken",
    [
        {SCHEMA: "{"},
        {SCHEMA: "[" * 100_000},
        {SCHEMA: '{"type": "struct"}'},
        {SCHEMA: json.dumps(struct(field("a", {"type": "new"})))},
        {f"{SCHEMA}.numParts": "2", f"{SCHEMA}.part.0": ID_AND_DAY_JSON},
        {f"{SCHEMA}.numParts": "999999999999", f"{SCHEMA}.part.0": "{}"},
        {f"{SCHEMA}.numParts": "many"},
        {SCHEMA: json.dumps(struct())},
        {},
    ],
)
def test_placeholder_is_no_column_where_only_spark_knows_them(broken: dict[str, str]) -> None:
    delta = {"spark.sql.sources.provider": "delta"}
    assert seen(table(PLACEHOLDER, [("day", "date")], {**delta, **broken})) == (
        [("day", "date", None)],
        ["day"],
    )
    # Without Spark it is a column like others.
    assert seen(table(PLACEHOLDER, None, broken)) == ([("col", "array<string>", None)], [])


def test_columns_that_glue_has_stay_as_they_are() -> None:
    own = [("id", "int"), ("added_by_athena", "string")]
    columns, _ = seen(table(own, None, {"spark.sql.sources.provider": "parquet", SCHEMA: ID_AND_DAY_JSON}))
    assert [each[:2] for each in columns] == own


@pytest.mark.parametrize("twice", ["dt", "DT"])
def test_partition_key_that_is_also_a_column_comes_once(twice: str) -> None:
    found = table([("id", "bigint"), (twice, "string"), ("id", "int")], [("dt", "string")])
    found.raw["StorageDescriptor"]["Columns"][1]["Comment"] = "the day"
    assert seen(found) == ([("id", "bigint", None), ("dt", "string", "the day")], ["dt"])


def test_a_column_that_is_listed_twice_stays_at_its_first_place() -> None:
    found = table([("id", "bigint"), ("day", "date"), ("ID", "int")])
    assert [each[:2] for each in seen(found)[0]] == [("id", "bigint"), ("day", "date")]


@pytest.mark.parametrize(
    ("parameters", "inputs", "expected"),
    [
        ({"spark.sql.sources.provider": "hudi", "classification": "parquet"}, "", "hudi"),
        ({"classification": "parquet"}, "org.apache.hudi.hadoop.HoodieParquetInputFormat", "hudi"),
        ({"spark.sql.sources.provider": "DELTA", "classification": "parquet"}, "", "delta"),
        ({"table_type": "ICEBERG", "classification": "parquet"}, "", "iceberg"),
        ({"spark.sql.sources.provider": "csv", "classification": "json"}, "", "json"),
        ({"spark.sql.sources.provider": "orc"}, "", "orc"),
        ({}, "", None),
    ],
)
def test_format_is_that_of_the_table_before_that_of_its_files(
    parameters: dict[str, str], inputs: str, expected: str | None
) -> None:
    assert table_format(table([], None, parameters, InputFormat=inputs)) == expected
