"""What a connector's offsets add to the lineage of its configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.confluent.connectors import (
    ConnectorLineage,
    ConnectorOffset,
    ConnectorRecord,
    resolve,
)
from lineage_bridge_dagster.confluent.connectors.evidence import is_in_doubt, names_read, with_evidence
from lineage_bridge_dagster.confluent.connectors.families import SINKS, SOURCES
from lineage_bridge_dagster.confluent.connectors.offsets import reader_of

Partition = Mapping[str, Any]

INVENTORY = {
    "connector.class": "PostgresSource",
    "connection.host": "pg.example",
    "connection.port": "5432",
    "db.name": "inventory",
    "topic.prefix": "inv-",
    "mode": "timestamp",
}
SHOP = {
    "connector.class": "SqlServerCdcSourceV2",
    "database.hostname": "sql.example",
    "database.port": "1433",
    "database.names": "shop,crm",
    "topic.prefix": "cdc",
    "table.include.list": "dbo[.].*",
}
MONGO = {
    "connector.class": "MongoDbAtlasSource",
    "connection.host": "c0.mongodb.example",
    "database": "shop",
    "topic.prefix": "m",
}
BACKUP = {"connector.class": "S3Source", "s3.bucket.name": "lake", "mode": "RESTORE_BACKUP"}
ARCHIVE = {"connector.class": "S3_SINK", "topics.regex": "orders[.].*", "s3.bucket.name": "archive"}


def connector(
    config: Mapping[str, str], kind: str = "source", identifier: str | None = "lcc-1"
) -> ConnectorRecord:
    return ConnectorRecord("c1", kind, identifier, config)


def read(
    config: Mapping[str, str],
    *partitions: Partition,
    topics: tuple[str, ...] = (),
    kind: str = "source",
    offset: Mapping[str, Any] | None = None,
    **facts: bool,
) -> ConnectorLineage:
    """The lineage of a connector with offsets in these partitions."""
    record = connector(config, kind)
    declared = resolve(record, topics)
    names = names_read(declared, [ConnectorOffset(partition, offset or {}) for partition in partitions])
    return with_evidence(record, declared, names, topics, **facts)


def table(name: str) -> Partition:
    return {"protocol": "1", "table": name}


def snapshot(*ids: str) -> Mapping[str, Any]:
    key = "incremental_snapshot_collections"
    return {key: json.dumps([{f"{key}_id": name, f"{key}_surrogate_key": None} for name in ids])}


@pytest.mark.parametrize(
    ("config", "kind", "in_doubt"),
    [
        pytest.param(INVENTORY, "source", True, id="tables-by-prefix"),
        pytest.param({**INVENTORY, "table.include.list": "public[.]p.*"}, "source", True, id="expression"),
        pytest.param({**INVENTORY, "table.whitelist": "public.a,b"}, "source", False, id="plain-names"),
        pytest.param({**INVENTORY, "query": "SELECT 1"}, "source", False, id="query-names-no-table"),
        pytest.param({**INVENTORY, "mode": "bulk"}, "source", False, id="bulk-has-no-offsets"),
        pytest.param(SHOP, "source", True, id="debezium-expression"),
        pytest.param({**SHOP, "table.include.list": "dbo.orders"}, "source", False, id="debezium-names"),
        pytest.param(MONGO, "source", True, id="whole-database"),
        pytest.param({**MONGO, "collection": "orders"}, "source", False, id="one-collection"),
        pytest.param(BACKUP, "source", True, id="backup"),
        pytest.param({**BACKUP, "topic.regex.list": "a:.*"}, "source", False, id="objects-by-topic"),
        pytest.param({"connector.class": "DatagenSource"}, "source", False, id="reads-nothing"),
        pytest.param({"connector.class": "com.acme.Source"}, "source", False, id="unknown-source"),
        pytest.param(ARCHIVE, "sink", True, id="topics-by-expression"),
        pytest.param({**ARCHIVE, "topics": "orders.a"}, "sink", False, id="topics-by-name"),
        pytest.param({"connector.class": "com.acme.Sink"}, "sink", True, id="unknown-sink-without-topics"),
        pytest.param(
            {"connector.class": "HttpSinkV2", "api1.topics": "orders"}, "sink", False, id="numbered-topics"
        ),
    ],
)
def test_only_what_a_configuration_leaves_open_is_asked(
    config: Mapping[str, str], kind: str, in_doubt: bool
) -> None:
    assert is_in_doubt(connector(config, kind)) is in_doubt


@pytest.mark.parametrize("identifier", [None, "", "clcc-1"])
def test_only_managed_connectors_are_asked(identifier: str | None) -> None:
    assert not is_in_doubt(connector(INVENTORY, identifier=identifier))


def test_families_whose_offsets_tell_something() -> None:
    telling = {family.name for family in SOURCES if reader_of(family.name) is not None}
    assert telling == {
        *("jdbc", "jdbc-postgres", "jdbc-mysql", "jdbc-sqlserver", "jdbc-oracle", "jdbc-db2", "snowflake"),
        *("debezium-postgres", "debezium-mysql", "debezium-sqlserver", "debezium-mongodb", "oracle-xstream"),
        *("mongodb", "s3", "gcs", "azure-blob"),
    }
    # The layout of a backup is read from the sink of the same store.
    assert {"s3", "gcs", "azure-blob"} <= {family.name for family in SINKS}


def test_tables_in_the_offsets_replace_those_guessed_from_topic_names() -> None:
    found = read(INVENTORY, table("inventory.warehouse.stock"), topics=("inv-stock", "inv-report"))
    stock = "postgres://pg.example:5432/inventory.warehouse.stock"
    assert found.datasets_read == found.observed == (stock,)
    assert found.topics_written == ("inv-stock",)
    assert found.pairs == ((stock, "inv-stock"),)
    (warning,) = found.warnings
    assert "inv-report" in warning


def test_topic_of_a_table_that_was_read_is_expected_even_if_it_does_not_exist() -> None:
    found = read(INVENTORY, table("inventory.public.stock"), topics=("other",))
    assert found.topics_written == ("inv-stock",)


def test_transforms_apply_to_the_topics_of_observed_tables() -> None:
    routed = {
        **INVENTORY,
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": "inv-(.*)",
        "transforms.route.replacement": "warehouse.$1",
    }
    found = read(routed, table("inventory.public.stock"), topics=("warehouse.stock",))
    assert found.pairs == (("postgres://pg.example:5432/inventory.public.stock", "warehouse.stock"),)


def test_plain_names_of_a_table_list_stay_without_an_offset() -> None:
    listed = {**INVENTORY, "table.include.list": "public.orders,public[.]s.*"}
    found = read(listed, table("inventory.public.stock"), topics=("inv-stock", "inv-seen", "inv-orders"))
    assert set(found.topics_written) == {"inv-orders", "inv-stock"}
    assert found.observed == ("postgres://pg.example:5432/inventory.public.stock",)


@pytest.mark.parametrize(
    ("lists", "covered"),
    [
        ({"table.include.list": "public[.]s.*"}, True),
        ({"table.include.list": "inventory[.]public[.].*"}, True),
        ({"table.include.list": "stock,x.*"}, True),
        ({"table.include.list": "STOCK,x.*"}, True),
        ({"table.include.list": "other[.].*"}, False),
        ({"table.exclude.list": "public[.]stock"}, False),
    ],
)
def test_offset_of_a_table_outside_the_configuration_is_left_over_and_not_used(
    lists: Mapping[str, str], covered: bool
) -> None:
    found = read({**INVENTORY, **lists}, table("inventory.public.stock"), topics=("inv-stock",))
    assert bool(found.observed) is covered


def test_offset_of_an_older_version_does_not_repeat_its_table() -> None:
    found = read(INVENTORY, {"table": "stock"}, table("inventory.public.stock"), topics=("inv-stock",))
    assert found.datasets_read == ("postgres://pg.example:5432/inventory.public.stock",)


def test_offsets_read_in_part_take_nothing_away() -> None:
    topics = ("inv-stock", "inv-orders")
    found = read(INVENTORY, table("inventory.public.stock"), topics=topics, complete=False)
    assert set(found.topics_written) == {*topics}
    assert found.observed == ("postgres://pg.example:5432/inventory.public.stock",)


@pytest.mark.parametrize(
    ("config", "partition"),
    [
        (INVENTORY, {"query": "query"}),
        (INVENTORY, {"protocol": "1", "table": 7}),
        (INVENTORY, {}),
        (SHOP, {"server": "cdc", "database": "shop"}),
        (MONGO, {"ns": "a name of its own"}),
        (MONGO, {"ns": "mongodb://c0.mongodb.example/shop"}),
        (BACKUP, {"folder": "elsewhere/orders/"}),
        ({"connector.class": "KinesisSource", "kafka.topic": "t"}, {"shardId": "shardId-000000000000"}),
    ],
)
def test_offsets_that_name_nothing_change_nothing(config: Mapping[str, str], partition: Partition) -> None:
    topics = ("inv-stock", "cdc.shop.dbo.orders", "m.shop.orders", "t")
    assert read(config, partition, topics=topics) == resolve(connector(config), topics)


def test_debezium_tables_of_an_incremental_snapshot_are_added() -> None:
    found = read(
        SHOP,
        {"server": "cdc", "database": "crm"},
        topics=("cdc.shop.dbo.orders",),
        offset=snapshot("crm.dbo.people", "crm.sales.left_over"),
    )
    people = "mssql://sql.example:1433/crm.dbo.people"
    assert found.observed == (people,)
    assert set(found.datasets_read) == {people, "mssql://sql.example:1433/shop.dbo.orders"}
    assert (people, "cdc.crm.dbo.people") in found.pairs
    assert "cdc.shop.dbo.people" not in found.topics_written


def test_debezium_collections_of_an_incremental_snapshot_are_added() -> None:
    config = {
        "connector.class": "MongoDbCdcSource",
        "mongodb.connection.string": "mongodb+srv://c0.mongodb.example/?replicaSet=rs0",
        "topic.prefix": "m",
        "collection.include.list": "shop[.].*",
    }
    found = read(config, {"server_id": "m"}, offset=snapshot("shop.orders", "old.left_over"))
    (pair,) = found.pairs
    assert pair[1] == "m.shop.orders"
    assert found.observed == (pair[0],)
    assert not is_in_doubt(connector({**config, "collection.include.list": "shop.orders"}))


@pytest.mark.parametrize("broken", ["{", "[" * 100_000, "7", '["public.a"]', '[{"other": 1}]', None, 7])
def test_unreadable_snapshot_of_a_debezium_offset_is_ignored(broken: object) -> None:
    offset = {"incremental_snapshot_collections": broken}
    assert read(SHOP, {"server": "cdc"}, offset=offset) == resolve(connector(SHOP), ())


def test_mongodb_collection_counts_only_for_the_database_of_the_configuration() -> None:
    found = read(
        MONGO,
        {"ns": "mongodb+srv://c0.mongodb.example/shop.orders.eu"},
        {"ns": "mongodb+srv://c0.mongodb.example/old.orders"},
        {"ns": "mongodb+srv://other.example/shop.left_over"},
    )
    assert found.pairs == (("mongodb://c0.mongodb.example:27017/shop.orders.eu", "m.shop.orders.eu"),)


def test_folders_of_a_backup_name_its_topics_and_the_datasets_of_the_sink() -> None:
    folders = [{"folder": f"topics/{folder}/"} for folder in ("orders/partition=0", "orders/partition=1")]
    found = read(BACKUP, *folders, topics=("orders", "other"))
    assert found.pairs == (("s3://lake/topics/orders", "orders"),)
    assert found.datasets_read == found.observed == ("s3://lake/topics/orders",)
    assert not [warning for warning in found.warnings if "not known" in warning]


def kafka(topic: str, partition: int = 0) -> Partition:
    return {"kafka_topic": topic, "kafka_partition": partition}


def test_topics_of_a_sink_are_known_from_its_offsets_though_the_list_of_topics_is_incomplete() -> None:
    partitions = (kafka("orders.v1"), kafka("orders.v1", 1), kafka("payments"))
    found = read(ARCHIVE, *partitions, kind="sink", topics_complete=False)
    assert found.topics_read == found.observed == ("orders.v1",)
    assert found.datasets_written == ("s3://archive/topics/orders.v1",)


def test_offsets_of_a_deleted_topic_are_left_over() -> None:
    found = read(ARCHIVE, kafka("orders.gone"), kafka("orders.a"), topics=("orders.a",), kind="sink")
    assert found.topics_read == ("orders.a",)


def test_sink_reads_every_matching_topic_whether_or_not_it_has_an_offset_there() -> None:
    found = read(ARCHIVE, kafka("orders.a"), topics=("orders.a", "orders.empty"), kind="sink")
    assert found.topics_read == ("orders.a", "orders.empty")
    assert found.observed == ("orders.a",)


@pytest.mark.parametrize("topics_regex", [{}, {"topics.regex": "orders("}])
def test_sink_whose_configuration_tells_no_topics_reads_those_of_its_offsets(
    topics_regex: Mapping[str, str],
) -> None:
    config = {"connector.class": "S3_SINK", "s3.bucket.name": "archive", **topics_regex}
    found = read(config, kafka("a"), kafka("b"), topics=("a", "b", "c"), kind="sink")
    assert found.topics_read == found.observed == ("a", "b")
    assert found.datasets_written == ("s3://archive/topics/a", "s3://archive/topics/b")


CLASSES = sorted(family.classes[0] for family in (*SOURCES, *SINKS))
TEXT = st.text(max_size=12) | st.sampled_from(
    ["db.s.t", "t", ".", "a..b", "(", "topics/t/p", "mongodb://h/d.c"]
)
KEYS = st.sampled_from(["table", "ns", "folder", "kafka_topic", "server", "database"])


@given(
    name=st.sampled_from(CLASSES),
    partition=st.dictionaries(KEYS, TEXT | st.none() | st.integers() | st.lists(TEXT)),
    ids=st.lists(TEXT, max_size=3),
    tables=TEXT,
    complete=st.booleans(),
)
def test_offsets_of_any_shape_raise_nothing_and_take_no_plain_name_away(
    name: str, partition: Partition, ids: list[str], tables: str, complete: bool
) -> None:
    config = {
        **INVENTORY,
        **MONGO,
        **BACKUP,
        "connector.class": name,
        "database.hostname": "db.example",
        "table.include.list": f"public.named,{tables}",
    }
    record = connector(config, kind="")
    declared = resolve(record, ("inv-t", "orders"))
    found = [ConnectorOffset(partition, snapshot(*ids))]
    names = names_read(declared, found)
    lineage = with_evidence(record, declared, names, ("inv-t", "orders"), complete=complete)
    named = {dataset for dataset in declared.datasets_read if dataset.endswith(".named")}
    assert named <= set(lineage.datasets_read)
    assert set(lineage.observed) <= {*lineage.datasets_read, *lineage.topics_read}
