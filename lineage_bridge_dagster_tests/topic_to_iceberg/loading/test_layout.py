"""Partitions and sort orders as they are configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.classic import load_table
from lineage_bridge_dagster.spark.iceberg_tables import table_names
from lineage_bridge_dagster.topic_to_iceberg.loading.layout import Order, Term
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1, InMemoryTopic, order_v1
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("country", Term("country")),
        (" `order.id` ", Term("order.id")),
        ("days(ts)", Term("ts", "day")),
        ("hour( ts )", Term("ts", "hour")),
        ("bucket(16, id)", Term("id", "bucket", 16)),
        ("truncate(4,code)", Term("code", "truncate", 4)),
        ("days($$timestamp)", Term("$$timestamp", "day")),
    ],
)
def test_partition_terms(text: str, expected: Term) -> None:
    assert Term.parse(text) == expected


@pytest.mark.parametrize("text", ["", "weeks(ts)", "bucket(id)", "bucket(0, id)", "days(2, ts)", "a, b"])
def test_what_is_no_term_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is neither a column nor a transform"):
        Term.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id", Order(Term("id"))),
        ("ts DESC", Order(Term("ts"), ascending=False, nulls_first=False)),
        ("days(ts) desc nulls first", Order(Term("ts", "day"), ascending=False)),
        ("id asc nulls last", Order(Term("id"), nulls_first=False)),
    ],
)
def test_sort_orders(text: str, expected: Order) -> None:
    assert Order.parse(text) == expected


@pytest.mark.spark
@pytest.mark.xdist_group("topics")
def test_layout_is_checked_before_anything_is_created(spark: SparkSession, database: str) -> None:
    topic = InMemoryTopic()
    topic.add(0, order_v1(1), order_v1(2))

    def opened(*partition_by: str, sort_by: tuple[str, ...] = ()) -> TopicTable:
        config = load_into(database, partition_by=list(partition_by), sort_by=list(sort_by))
        table = TopicTable(spark, topic, config, lambda: TopicSchemas(value=ORDERS_V1))
        table.ensure()
        return table

    with pytest.raises(ConfigurationError, match=r"'days\(item\)'"):
        opened("days(item)")
    with pytest.raises(ConfigurationError, match="names column region, which the table would not have"):
        opened("bucket(4, id)", sort_by=("region desc",))
    assert table_names(spark, "glue", database) is None

    table = opened("bucket(4, id)", "days($$timestamp)", sort_by=("item desc", "id"))
    assert table.advance().rows == 2
    stored = load_table(spark, table.config.name.sql)
    assert str(stored.spec().fields().size()) == "2"
    assert stored.sortOrder().fields().size() == 2
