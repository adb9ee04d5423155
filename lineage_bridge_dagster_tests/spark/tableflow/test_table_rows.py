"""How the rows of a batch are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.tableflow.columns import Decoders
from lineage_bridge_dagster.spark.tableflow.config import TopicSchemas, TopicTableConfig
from lineage_bridge_dagster.spark.tableflow.table_rows import Observed, judged, table_rows
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1, InMemoryTopic, order_v1, subject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

KEYS = subject(
    "orders.v1-key", (3, {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]})
)


@pytest.mark.parametrize("mode", ["append", "upsert"])
@pytest.mark.parametrize("failures", ["SUSPEND", "SKIP"])
def test_records_are_decoded_once(spark: SparkSession, mode: Any, failures: Any) -> None:
    from pyspark.sql import Observation

    topic = InMemoryTopic()
    topic.add(0, order_v1(1))
    records = topic.read(spark, *topic.bounds())
    decoders = Decoders.of(TopicSchemas(KEYS, ORDERS_V1))
    config = TopicTableConfig(TableName("glue", "d", "t"), mode=mode, failures=failures)
    observed = Observed(Observation(), Observation())
    rows = table_rows(judged(records, topic.name, decoders, config), decoders, config, observed)
    plan: Any = rows.frame._jdf
    # The key and the value.
    assert plan.queryExecution().optimizedPlan().toString().count("from_avro(") == 2
