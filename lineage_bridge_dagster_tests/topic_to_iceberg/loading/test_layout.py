"""Partitions and sort orders as they are configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.classic import load_table
from lineage_bridge_dagster.spark.iceberg_tables import table_names
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1, InMemoryTopic, order_v1
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    with pytest.raises(ConfigurationError, match=r"sort_by of .* names region, which is not a column"):
        opened("bucket(4, id)", sort_by=("region desc",))
    for text in ("", "weeks(id)", "bucket(id)", "bucket(0, id)", "days(2, $$timestamp)", "id, item"):
        with pytest.raises(ConfigurationError):
            opened(text)
        with pytest.raises(ConfigurationError):
            opened(sort_by=(text,))
    assert table_names(spark, "glue", database) is None

    sort_by = ("item desc", "id", "days( $$timestamp ) DESC nulls first", "truncate(4,item) asc nulls last")
    table = opened("bucket(4, id)", "hour($$timestamp)", sort_by=sort_by)
    assert table.advance().rows == 2
    stored = load_table(spark, table.config.name.sql)
    assert [str(each.transform()) for each in stored.spec().fields()] == ["bucket[4]", "hour"]
    fields = stored.sortOrder().fields()
    assert [f"{each.transform()} {each.direction()} {each.nullOrder()}" for each in fields] == [
        "identity DESC NULLS LAST",
        "identity ASC NULLS FIRST",
        "day DESC NULLS FIRST",
        "truncate[4] ASC NULLS LAST",
    ]
