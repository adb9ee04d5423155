"""How the rows of a batch are computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.topic_to_iceberg.loading.columns import Decoders
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.table_rows import (
    all_become_rows,
    counted,
    judged,
    matching,
    table_rows,
)
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1, InMemoryTopic, order_v1, subject
from lineage_bridge_dagster_tests.spark_session import SMALL_SPARK
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

KEYS = subject(
    "orders.v1-key", (3, {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]})
)


def planned(spark: SparkSession, mode: Any, failures: Any) -> str:
    """Spark's plan for a batch of two records."""
    from pyspark.sql import Observation

    topic = InMemoryTopic()
    topic.add(0, order_v1(1), order_v1(2))
    records = topic.read(spark, *topic.bounds())
    config = load_into("d", mode=mode, failures=failures)
    decoders = Decoders.of_table(TopicSchemas(KEYS, ORDERS_V1), config)
    observation = Observation()
    decided = judged(records, topic.name, decoders, config)
    execution: Any = observed(decided, decoders, config, observation)._jdf
    execution.queryExecution().assertAnalyzed()
    return str(execution.queryExecution().toString())


def observed(
    decided: DataFrame, decoders: Decoders, config: TopicLoad, observation: Observation
) -> DataFrame:
    """The rows of judged records, counted where a load counts them."""
    if all_become_rows(config, decoders):
        return counted(table_rows(decided, decoders, config).frame, config, observation)
    return table_rows(decided, decoders, config, observation).frame


def optimized(plan: str) -> str:
    return plan.partition("== Optimized Logical Plan ==")[2].partition("== Physical Plan ==")[0]


@pytest.mark.parametrize("mode", ["append", "upsert"])
@pytest.mark.parametrize("failures", ["suspend", "skip"])
def test_records_are_decoded_once(spark: SparkSession, mode: Any, failures: Any) -> None:
    # The key and the value.
    assert optimized(planned(spark, mode, failures)).count("from_avro(") == 2


@pytest.mark.parametrize("number", ["long", ["null", "int"], {"type": "bytes"}])
def test_records_of_a_key_are_brought_together_once(spark: SparkSession, number: Any) -> None:
    from pyspark.sql import functions as F

    fields = [{"name": "shop", "type": "string"}, {"name": "number", "type": number}]
    keys = subject("orders.v1-key", (3, {"type": "record", "name": "Key", "fields": fields}))
    topic, config = InMemoryTopic(), load_into("d", mode="upsert")
    topic.add(0, order_v1(1))
    decoders = Decoders.of_table(TopicSchemas(keys, ORDERS_V1), config)
    records = topic.read(spark, *topic.bounds())
    rows = table_rows(judged(records, topic.name, decoders, config), decoders, config)
    table = spark.createDataFrame(spark.sparkContext.emptyRDD(), rows.columns).hint("merge").alias("t")
    condition = F.expr(matching(rows, {each.name: each.dataType for each in rows.columns}))
    joined: Any = table.join(rows.frame.alias("s"), condition, "right_outer")._jdf
    physical = str(joined.queryExecution().executedPlan().toString())
    # One for the records, one for the table.
    assert "SortMergeJoin" in physical
    assert physical.count("Exchange hashpartitioning") == 2


@pytest.fixture
def compiling(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark as users have it, which compiles the steps of a query into one."""
    setting = "spark.sql.codegen.factoryMode"
    spark.conf.set(setting, "FALLBACK")
    yield spark
    spark.conf.set(setting, SMALL_SPARK[setting])


def test_records_to_append_are_copied_once(compiling: SparkSession) -> None:
    physical = planned(compiling, "append", "suspend").partition("== Physical Plan ==")[2]
    compiled = {line.partition("*(")[2].partition(")")[0] for line in physical.splitlines() if "*(" in line}
    steps = [line.strip(" +-:") for line in physical.strip().splitlines()]
    assert compiled == {"1"}
    # All but the count, which copies nothing.
    assert [step.split(" ")[0] for step in steps if not step.startswith("*(")] == ["CollectMetrics"]


def test_the_two_ways_of_counting_agree(spark: SparkSession) -> None:
    from pyspark.sql import Observation

    topic = InMemoryTopic()
    topic.add(0, order_v1(1), order_v1(22), key=b"k")
    topic.add(1, None, key=b"key")
    found = []
    for failures in ("suspend", "skip"):
        config = load_into("d", failures=failures)
        decoders = Decoders.of_table(TopicSchemas(value=ORDERS_V1), config)
        observation = Observation()
        decided = judged(topic.read(spark, *topic.bounds()), topic.name, decoders, config)
        observed(decided, decoders, config, observation).collect()
        found.append(observation.get)
    size = sum(len(part) for part in (order_v1(1), order_v1(22), b"k", b"k", b"key"))
    assert found == [{"n": 3, "good": 3, "bytes": size}] * 2
