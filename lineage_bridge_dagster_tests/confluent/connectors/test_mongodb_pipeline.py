"""Which collections a MongoDB change stream is limited to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.mongodb_topics import PipelineSelection


def selection(*conditions: Any) -> PipelineSelection:
    pipeline = [{"$match": condition} for condition in conditions]
    return PipelineSelection.of(Config({"pipeline": json.dumps(pipeline)}), [])


@pytest.mark.parametrize(
    ("condition", "collections"),
    [
        ({"ns.coll": "orders"}, ["orders"]),
        ({"ns.coll": {"$eq": "orders"}}, ["orders"]),
        ({"ns.coll": {"$in": ["orders", "users"]}}, ["orders", "users"]),
        ({"ns.coll": {"$regex": "^(orders|users)$"}}, ["orders", "users"]),
        ({"ns": {"db": "shop", "coll": "orders"}}, ["orders"]),
        ({"ns": {"db": "other", "coll": "orders"}}, []),
        ({"ns.db": "other", "ns.coll": "orders"}, []),
        ({"$and": [{"operationType": "insert"}, {"ns.coll": "orders"}]}, ["orders"]),
        ({"$or": [{"ns.coll": "orders"}, {"ns.coll": "users"}]}, ["orders", "users"]),
        ({"ns.coll": "orders", "operationType": {"$in": ["insert"]}}, ["orders"]),
    ],
)
def test_collections_that_conditions_list(condition: Any, collections: list[str]) -> None:
    found = selection(condition)

    assert list(found.listed("shop")) == [("shop", name) for name in collections]
    assert found.is_complete("shop")


@pytest.mark.parametrize(
    ("condition", "allowed"),
    [
        ({"operationType": "insert"}, ["orders", "users", "tmp"]),
        ({"ns.coll": {"$ne": "tmp"}}, ["orders", "users"]),
        ({"ns.coll": {"$nin": ["tmp", "users"]}}, ["orders"]),
        ({"ns.coll": {"$not": {"$in": ["tmp"]}}}, ["orders", "users"]),
        ({"ns.coll": {"$regex": "^o"}}, ["orders"]),
        ({"ns.coll": {"$regex": "^O", "$options": "i"}}, ["orders"]),
        ({"$or": [{"ns.coll": "orders"}, {"operationType": "drop"}]}, ["orders", "users", "tmp"]),
        ({"ns.coll": {"$regex": "["}}, ["orders", "users", "tmp"]),
        ({"ns.coll": 5, "$or": 5, "ns": "x"}, ["orders", "users", "tmp"]),
        ("text", ["orders", "users", "tmp"]),
    ],
)
def test_collections_that_conditions_allow_without_a_list(condition: Any, allowed: list[str]) -> None:
    found = selection(condition)

    assert [name for name in ("orders", "users", "tmp") if found.allows("shop", name)] == allowed
    assert not found.is_complete("shop")


def test_conditions_of_several_stages_hold_together() -> None:
    found = selection({"ns.coll": {"$in": ["orders", "users"]}}, {"ns.coll": {"$ne": "users"}})

    assert list(found.listed("shop")) == [("shop", "orders")]


def test_a_deployment_is_complete_only_with_databases() -> None:
    assert not selection({"ns.coll": "orders"}).is_complete("")
    assert selection({"ns.coll": "orders", "ns.db": "shop"}).is_complete("")


@pytest.mark.parametrize("pipeline", ["{", "[" * 100_000, "null", '[{"$match":' * 60 + "1" + "}]" * 60])
def test_unreadable_pipelines_are_ignored_with_a_warning(pipeline: str) -> None:
    warnings: list[str] = []
    found = PipelineSelection.of(Config({"pipeline": pipeline}), warnings)

    assert found.allows("shop", "orders")
    assert not found.is_complete("shop")
    assert len(warnings) == 1
