"""Columns have the documentation of their fields as comments, also in Glue, and keep those of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog import load_catalog

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import InMemoryTopic, payload, subject
from lineage_bridge_dagster_tests.spark_session import REGION, pyiceberg_properties
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

LONG_TEXT = "It goes on, " * 40
KEY = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "int", "doc": "Key of the row."}]}


def orders(**docs: str) -> dict[str, Any]:
    """A record of a column, a nested one, and one that is added; documented by name."""
    nested = {"type": "record", "name": "Home", "fields": [{"name": "zip", "type": "string"}]}
    fields: list[dict[str, Any]] = [
        {"name": "total", "type": "int"},
        {"name": "home", "type": nested},
        {"name": "note", "type": "string"},
    ]
    if "added" in docs:
        fields.append({"name": "added", "type": ["null", "Home"], "default": None})
    for each in (*fields, *nested["fields"]):  # type: ignore[misc]
        if each["name"] in docs:
            each["doc"] = docs[each["name"]]
    return {"type": "record", "name": "O", "fields": fields}


def row(schema_id: int, schema: dict[str, Any], total: int) -> bytes:
    value = {"total": total, "home": {"zip": "1"}, "note": "", "added": {"zip": "2"}}
    return payload(schema_id, schema, {each["name"]: value[each["name"]] for each in schema["fields"]})


def test_comments_follow_the_schema_and_those_of_people_stay(
    spark: SparkSession, database: str, spark_catalog: CatalogSettings, spark_aws: StrictAws
) -> None:
    config = load_into(database, mode="upsert")
    topic, keys = InMemoryTopic(), subject("k", (1, KEY))
    first = orders(total="In cents.", zip="ZIP code.", note=LONG_TEXT)
    last = orders(total="In euros.", zip="Postal code.", note=LONG_TEXT, added="Later.")
    table = TopicTable(spark, topic, config, lambda: TopicSchemas(keys, subject("v", (2, first))))
    table.ensure()
    topic.add(0, row(2, first, 1), key=payload(1, KEY, {"id": 1}))
    table.advance()

    catalog = load_catalog("glue", **pyiceberg_properties(spark_catalog))

    def docs() -> dict[str, str | None]:
        schema = catalog.load_table((database, "orders")).schema()
        names = ("id", "total", "home", "home.zip", "note", "added", "added.zip")
        return {name: schema.find_field(name).doc for name in names if name in schema.column_names}

    cut = comment_of_glue(LONG_TEXT)
    assert docs() == {
        "id": "Key of the row.",
        "total": "In cents.",
        "home": None,
        "home.zip": "ZIP code.",
        "note": cut,
    }
    with catalog.load_table((database, "orders")).update_schema() as update:
        update.update_column("total", doc="Gross, says Ann.")
    topic.add(0, row(4, last, 2), key=payload(1, KEY, {"id": 2}))
    versions = TopicSchemas(keys, subject("v", (2, first), (4, last)))
    again = TopicTable(spark, topic, config, lambda: versions)
    assert again.advance().rows == 1
    assert docs() == {
        "id": "Key of the row.",
        "total": "Gross, says Ann.",
        "home": None,
        "home.zip": "Postal code.",
        "note": cut,
        "added": "Later.",
        "added.zip": "Postal code.",
    }
    glue = spark_aws.client("glue", REGION)
    stored = glue.get_table(DatabaseName=database, Name="orders")["Table"]["StorageDescriptor"]["Columns"]
    assert {each["Name"]: each.get("Comment") for each in stored if each["Name"] in ("total", "added")} == {
        "total": "Gross, says Ann.",
        "added": "Later.",
    }
    # The comments are in the types of the table's columns, which the next rows have to suit.
    topic.add(0, row(4, last, 3), key=payload(1, KEY, {"id": 2}))
    again.advance()
    rows = spark.table(config.name.sql).select("id", "total", "home.zip", "added.zip").collect()
    assert sorted(map(tuple, rows)) == [(1, 1, "1", None), (2, 3, "1", "2")]
    # Nothing more is to be changed.
    schemas = len(catalog.load_table((database, "orders")).schemas())
    topic.add(0, row(2, first, 4), key=payload(1, KEY, {"id": 4}))
    again.advance()
    assert len(catalog.load_table((database, "orders")).schemas()) == schemas


def comment_of_glue(text: str) -> str:
    """A long text as far as Glue takes it."""
    return text.encode()[:252].decode().rstrip() + "..."
