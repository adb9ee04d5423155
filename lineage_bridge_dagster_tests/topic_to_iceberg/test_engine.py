"""The assets on Spark: topics in memory become tables in Glue, whose lineage a discovery then finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from dagster import AssetKey, DagsterInstance, Definitions, materialize

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.loaded_topics import STAMP
from lineage_bridge_dagster.topic_to_iceberg.engine import TableLoader
from lineage_bridge_dagster.topic_to_iceberg.loader import Loader
from lineage_bridge_dagster.topic_to_iceberg.loading.model import LoadStep, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.spark.records import AT, ORDER_V1, InMemoryTopic, order_v1, payload
from lineage_bridge_dagster_tests.spark_session import REGION
from lineage_bridge_dagster_tests.topic_to_iceberg.on_spark import (
    VALUES,
    Engine,
    execute,
    failed_checks,
    told,
)
from lineage_bridge_dagster_tests.topic_to_iceberg.yaml import loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def engine(spark: SparkSession, spark_catalog: CatalogSettings, monkeypatch: pytest.MonkeyPatch) -> Engine:
    found = Engine(spark, spark_catalog)
    found.use(monkeypatch)
    return found


def run(definitions: Definitions, instance: DagsterInstance) -> dict[str, dict[str, Any]]:
    """Load the topics; the metadata of the materializations by table."""
    result = execute(definitions, instance)
    assert result.success
    return told(result)


def test_topics_in_both_modes_become_tables_that_carry_their_origin(
    engine: Engine, database: str, instance: DagsterInstance, spark_aws: StrictAws
) -> None:
    orders, customers = InMemoryTopic("Orders"), InMemoryTopic("customers")
    engine.topics = {"Orders": orders, "customers": customers}
    orders.add(0, order_v1(1), order_v1(2))
    orders.add(1, order_v1(3))
    customers.add(0, order_v1(1), key=b"a")
    customers.add(0, order_v1(2), key=b"b")
    customers.add(0, order_v1(3), key=b"a")
    topics = [{"topic": "Orders"}, {"topic": "customers", "mode": "upsert"}]
    with loaded({"topics": topics, "defaults": {"database": database}}) as (_, definitions):
        first = run(definitions, instance)
        customers.add(0, None, key=b"b")
        customers.add(0, order_v1(4), key=b"a")
        second = run(definitions, instance)
        third = run(definitions, instance)
    found = {name: (each["rows_written"], each["lag_records"]) for name, each in first.items()}
    assert found == {"orders": (3, 0), "customers": (2, 0)}
    assert first["orders"]["dagster/row_count"] == 3
    columns = first["orders"]["dagster/column_schema"].columns
    assert [column.name for column in columns][:3] == ["key", "id", "item"]
    # The row of a was replaced, that of b deleted.
    assert (second["customers"]["rows_written"], second["customers"]["rows_removed"]) == (1, 2)
    assert [each["commits"] for each in third.values()] == [0, 0]
    rows = engine.spark.table(f"glue.`{database}`.customers").select("id").collect()
    assert [row.id for row in rows] == [4]
    table = spark_aws.client("glue", REGION).get_table(DatabaseName=database, Name="orders")["Table"]
    assert table["Parameters"][STAMP] == "env-1/lkc-abc123/Orders"
    properties = engine.spark.sql(f"SHOW TBLPROPERTIES glue.`{database}`.orders").collect()
    assert {row.key: row.value for row in properties}[STAMP] == "env-1/lkc-abc123/Orders"


def test_a_table_that_starts_at_the_end_keeps_that_start_while_no_record_comes(
    engine: Engine, database: str, instance: DagsterInstance
) -> None:
    """A second run must not take the end of its own time, and pass over what came between the two."""
    topic = engine.topics["orders"] = InMemoryTopic("orders")
    topic.add(0, order_v1(1), order_v1(2))
    attributes = {"topics": [{"topic": "orders", "start": "latest"}], "defaults": {"database": database}}
    with loaded(attributes) as (_, definitions):
        assert run(definitions, instance)["orders"]["lag_records"] == 0
        topic.add(0, order_v1(3))
        assert run(definitions, instance)["orders"]["rows_written"] == 1
    rows = engine.spark.table(f"glue.`{database}`.orders").select("id").collect()
    assert [row.id for row in rows] == [3]


def test_a_change_of_mode_fails_this_topic_and_says_what_to_do(
    engine: Engine, database: str, instance: DagsterInstance
) -> None:
    topic = engine.topics["orders"] = InMemoryTopic("orders")
    topic.add(0, order_v1(1), key=b"a")
    defaults = {"database": database}
    with loaded({"topics": [{"topic": "orders"}], "defaults": defaults}) as (_, definitions):
        run(definitions, instance)
    with loaded({"topics": [{"topic": "orders", "mode": "upsert"}], "defaults": defaults}) as (_, changed):
        result = execute(changed, instance)
    (check,) = (each for each in result.get_asset_check_evaluations() if each.check_name == "not_suspended")
    assert not check.passed
    assert "append" in (check.description or "")
    assert "upsert" in (check.description or "")


def test_a_run_that_finds_nothing_new_asks_for_the_table_a_few_times(
    engine: Engine, database: str, instance: DagsterInstance, spark_aws: StrictAws
) -> None:
    """A schedule may run over hundreds of topics."""
    topic = engine.topics["orders"] = InMemoryTopic("orders")
    topic.add(0, order_v1(1))
    fetched = []
    engine.schemas = lambda _topic: lambda: fetched.append(1) or VALUES  # type: ignore[func-returns-value]
    with loaded({"topics": [{"topic": "orders"}], "defaults": {"database": database}}) as (_, definitions):
        run(definitions, instance)
        fetched.clear()
        before = spark_aws.calls
        assert run(definitions, instance)["orders"]["commits"] == 0
    # Whether it is there, its stamp, its columns, its offsets, and what the run reports in the end.
    assert (spark_aws.calls - before)["GetTable"] == 5
    assert not fetched


@dataclass
class Clock:
    """A clock that is set."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def loader_of(
    spark: SparkSession,
    topic: InMemoryTopic,
    database: str,
    schemas: TopicSchemas,
    clock: Clock,
    start: str = "earliest",
) -> Loader:
    return TableLoader(
        spark,
        TopicLoad(topic=topic.name, catalog="glue", database=database, table="orders", start=start),
        topic,
        lambda: schemas,
        lambda _offsets, _ends: None,
        origin=None,
        clock=clock,
    )


def test_a_table_waits_for_a_record_or_a_schema_which_tell_its_columns(
    spark: SparkSession, database: str
) -> None:
    topic = InMemoryTopic("orders")
    loader = loader_of(spark, topic, database, TopicSchemas(), Clock())
    loader.ensure()
    assert loader.advance().caught_up
    assert not loader.status().columns
    topic.add(0, b"bytes")
    assert loader.advance().rows == 1
    assert loader.status().columns["value"] == "binary"


def test_a_table_that_waits_begins_where_its_topic_ended_when_the_wait_began(
    spark: SparkSession, database: str
) -> None:
    topic = InMemoryTopic("orders")
    loader = loader_of(spark, topic, database, TopicSchemas(), Clock(), start="latest")
    loader.ensure()
    topic.add(0, b"one", b"two")
    assert (loader.advance().rows, loader.advance().caught_up) == (2, True)


def test_a_table_that_has_all_records_is_looked_at_now_and_then(spark: SparkSession, database: str) -> None:
    topic, clock = InMemoryTopic("orders"), Clock()
    topic.add(0, order_v1(1))
    loader = loader_of(spark, topic, database, VALUES, clock)
    loader.ensure()
    assert loader.advance().rows == 1
    spark.sql(f"DROP TABLE glue.`{database}`.orders")
    # Nothing new: the catalog is not asked.
    assert loader.advance() == LoadStep({0: 1, 1: 0}, caught_up=True)
    clock.now = 31.0
    with pytest.raises(Exception, match="orders"):
        loader.advance()
    loader.ensure()
    assert loader.advance().rows == 1


def test_an_hour_before_the_start_of_a_table_is_loaded_by_its_own_asset(
    engine: Engine, database: str, instance: DagsterInstance
) -> None:
    topic = engine.topics["orders"] = InMemoryTopic("orders")
    topic.add(0, order_v1(1), order_v1(2))
    backfill = {"start": AT.date().isoformat(), "partition": "hour"}
    entry = {"topic": "orders", "start": "latest", "backfill": backfill}
    key = AssetKey(["topic_to_iceberg_backfill", database, "orders"])
    with loaded({"topics": [entry], "defaults": {"database": database}}) as (_, definitions):
        run(definitions, instance)
        topic.add(0, order_v1(3))
        assets = definitions.resolve_asset_graph().assets_def_for_key(key)
        for expected in (2, 0):
            result = materialize(
                [assets],
                partition_key=AT.strftime("%Y-%m-%d-%H:00"),
                instance=instance,
            )
            (event,) = result.get_asset_materialization_events()
            assert event.materialization.metadata["lineage_bridge/rows_inserted"].value == expected
        assert run(definitions, instance)["orders"]["rows_written"] == 1
    rows = engine.spark.table(f"glue.`{database}`.orders").select("id").collect()
    assert sorted(row.id for row in rows) == [1, 2, 3]


def test_bad_records_between_good_ones_stop_their_topic_or_are_left_out_one_by_one(
    engine: Engine, database: str, instance: DagsterInstance
) -> None:
    """The topic's name has all that a name of Kafka's may have and a table's seldom has."""
    name = "EU-West.Orders_v1"
    topic = engine.topics[name] = InMemoryTopic(name)
    topic.add(0, order_v1(1), key=b"a")
    topic.add(0, b"no Avro", key=b"b")
    topic.add(0, payload(8, ORDER_V1, {"id": 2, "item": ""}), key=b"b")
    topic.add(0, order_v1(3))
    topic.add(0, order_v1(4), order_v1(5), key=b"a")
    topics, defaults = [{"topic": name, "mode": "upsert"}], {"database": database}
    with loaded({"topics": topics, "defaults": defaults}) as (_, definitions):
        check = failed_checks(execute(definitions, instance))["eu-west.orders_v1"]["not_suspended"]
    assert f"{name} is suspended: Topic {name}: at partition 0 offset " in check
    assert "set failures: skip" in check
    with loaded({"topics": topics, "defaults": {**defaults, "failures": "skip"}}) as (_, definitions):
        result = execute(definitions, instance)
    assert result.success
    found = told(result)["eu-west.orders_v1"]
    assert (found["rows_written"], found["records_skipped"], found["lag_records"]) == (1, 3, 0)
    assert "3 records of" in failed_checks(result)["eu-west.orders_v1"]["no_rejected_records"]
    # With the last one of each kind.
    for reason in ("1 MISSING_KEY, 2 UNDECODABLE_VALUE", "its schema id 8 is not", "it has no key"):
        assert reason in found["rejected_records"]
    rows = engine.spark.table(f"glue.`{database}`.`eu-west.orders_v1`").select("id").collect()
    assert [row.id for row in rows] == [5]
