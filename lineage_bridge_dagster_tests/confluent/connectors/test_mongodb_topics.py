"""How the MongoDB source names topics, and finds the collections that topics are named for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.connectors import ConnectorLineage, ConnectorRecord, resolve
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.mongodb_topics import MongoTopicNames


def names(mapped: dict[str, str] | None = None, **settings: str) -> MongoTopicNames:
    config = {f"topic.{name}": value for name, value in settings.items()}
    return MongoTopicNames.of(Config({**config, "topic.namespace.map": json.dumps(mapped or {})}), [])


def read(cluster: list[str], mapped: dict[str, str] | None = None, **config: Any) -> ConnectorLineage:
    values = {
        "connector.class": "com.mongodb.kafka.connect.MongoSourceConnector",
        "connection.uri": "mongodb://m:27017",
        "topic.namespace.map": json.dumps(mapped or {}),
        **{name.replace("_", "."): value for name, value in config.items()},
    }
    return resolve(ConnectorRecord("c", "source", None, values), cluster)


def test_a_name_has_prefix_database_collection_and_suffix() -> None:
    assert names().topic("shop", "orders") == "shop.orders"
    assert names(prefix="p", suffix="s", separator="-").topic("shop", "a.b") == "p-shop-a.b-s"


@pytest.mark.parametrize(
    ("mapped", "topic"),
    [
        ({"shop.orders": "o", "shop": "s", "/.*": "r", "*": "w"}, "p-o"),
        ({"shop": "s", "/.*": "r", "*": "w"}, "p-s-orders"),
        ({"/other.*": "x", r"/shop\..*": "{db}{sep}all", "*": "w"}, "p-shop-all"),
        ({r"/shop\..*": "t{sep_coll}", "*": "w"}, "p-t-orders"),
        ({r"/shop\..*": "{coll_sep}t{sep_coll_sep}u"}, "p-orders-t-orders-u"),
        ({"other": "x", "*": "w"}, "p-w"),
        ({"shop": "", "other.orders": "x"}, "p-shop-orders"),
    ],
)
def test_the_map_applies_in_the_documented_order(mapped: dict[str, str], topic: str) -> None:
    assert names(mapped, prefix="p", separator="-").topic("shop", "orders") == topic


def test_topics_of_a_database_are_those_of_its_collections_only() -> None:
    cluster = ["p.shop.orders", "p.shop.a.b", "p.shopping.x", "p.other.orders", "shop.orders"]
    found = read(cluster, database="shop", topic_prefix="p")

    assert found.topics_written == ("p.shop.a.b", "p.shop.orders")
    assert ("mongodb://m:27017/shop.a.b", "p.shop.a.b") in found.pairs


def test_topics_that_the_map_would_name_otherwise_are_left_out() -> None:
    found = read(["s.users", "shop.users", "o"], {"shop": "s", "shop.orders": "o"}, database="shop")

    assert dict(zip(found.topics_written, found.datasets_read, strict=True)) == {
        "o": "mongodb://m:27017/shop.orders",
        "s.users": "mongodb://m:27017/shop.users",
    }


def test_topics_of_an_expression_show_database_and_collection() -> None:
    mapped = {r"/(shop|crm)\..*": "cdc{sep}{coll}{sep}{db}"}
    found = read(["cdc.orders.shop", "cdc.orders.erp", "shop.orders"], mapped)

    assert found.pairs == (("mongodb://m:27017/shop.orders", "cdc.orders.shop"),)


def test_a_separator_within_names_leaves_the_collection_unknown() -> None:
    found = read(["p_shop_orders", "p_my_shop_orders"], topic_prefix="p", topic_separator="_")

    assert found.topics_written == ("p_my_shop_orders", "p_shop_orders")
    assert found.pairs == (("mongodb://m:27017/shop.orders", "p_shop_orders"),)


def test_a_deployment_without_prefix_claims_no_topic() -> None:
    found = read(["shop.orders", "payments.created"])

    assert found.topics_written == ()
    assert any("topic.prefix" in warning for warning in found.warnings)


def test_a_pipeline_names_the_collections() -> None:
    pipeline = json.dumps([{"$match": {"ns.coll": {"$in": ["orders", "users"]}}}])
    found = read(["shop.orders", "shop.audit"], database="shop", pipeline=pipeline)

    assert found.topics_written == ("shop.orders", "shop.users")


def test_a_mapper_of_the_users_own_leaves_topics_unknown() -> None:
    found = read(["shop.orders"], database="shop", collection="orders", topic_mapper="com.example.Mapper")

    assert found.topics_written == ()
    assert found.datasets_read == ("mongodb://m:27017/shop.orders",)


@pytest.mark.parametrize("key", ["/[", "/(a+)+$", "/(?<x>", "{", "/" + "(" * 2_000])
def test_bad_expressions_lose_only_themselves(key: str) -> None:
    found = read(["o"], {key: "x{coll}", "shop.orders": "o"}, database="shop", topic_prefix="p")

    assert "p.o" in found.topics_written
