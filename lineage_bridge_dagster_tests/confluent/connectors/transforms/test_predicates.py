"""Predicates: on which records a transform works."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster_tests.confluent.connectors.transforms.chain import KAFKA, chain, regex_router

PREDICATES = KAFKA + "predicates."
TOMBSTONE = {"p": {"type": PREDICATES + "RecordIsTombstone"}}
HEADER = {"p": {"type": PREDICATES + "HasHeaderKey", "name": "h"}}


def named(pattern: str) -> dict[str, dict[str, str]]:
    return {"p": {"type": PREDICATES + "TopicNameMatches", "pattern": pattern}}


def test_topic_name_is_matched_as_a_whole() -> None:
    routing = chain(regex_router("(.*)", "new.$1", predicate="p"), predicates=named(r"cdc\.a"))
    assert routing.route("cdc.a") == ["new.cdc.a"]
    assert routing.route("cdc.ab") == ["cdc.ab"]
    assert routing.route_target("cdc.a") == "new.cdc.a"
    assert (routing.confidence, routing.warnings) == (1.0, [])


def test_negated_predicate() -> None:
    routing = chain(regex_router("(.*)", "new.$1", predicate="p", negate="true"), predicates=named("a"))
    assert routing.route("a") == ["a"]
    assert routing.route("b") == ["new.b"]


def test_predicate_sees_the_name_after_the_transforms_before_it() -> None:
    routing = chain(
        regex_router("cdc\\.(.*)", "$1"),
        regex_router("(.*)", "$1.v1", predicate="p"),
        predicates=named("orders"),
    )
    assert routing.route("cdc.orders") == ["orders.v1"]
    assert routing.route("cdc.items") == ["items"]


def test_filter_drops_the_topics_that_its_predicate_matches() -> None:
    routing = chain({"type": KAFKA + "Filter", "predicate": "p"}, predicates=named(r".*\.audit"))
    assert routing.route("shop.audit") == []
    assert routing.drops("shop.audit")
    assert routing.route("shop.orders") == ["shop.orders"]


@pytest.mark.parametrize("predicates", [TOMBSTONE, HEADER], ids=["tombstone", "header"])
def test_filter_of_some_records_leaves_the_topic(predicates: dict[str, dict[str, str]]) -> None:
    routing = chain({"type": KAFKA + "Filter", "predicate": "p"}, predicates=predicates)
    assert routing.route("orders") == ["orders"]
    assert routing.route_target("orders") == "orders"


@pytest.mark.parametrize("negate", ["true", "false"])
@pytest.mark.parametrize("predicates", [TOMBSTONE, HEADER], ids=["tombstone", "header"])
def test_router_of_some_records_may_write_both_topics_that_exist(
    predicates: dict[str, dict[str, str]], negate: str
) -> None:
    def routing(*topics: str) -> list[str]:
        router = regex_router("(.*)", "$1-deleted", predicate="p", negate=negate)
        return chain(router, predicates=predicates, topics=topics).route("orders")

    assert routing("orders", "orders-deleted") == ["orders", "orders-deleted"]
    assert routing("orders-deleted") == ["orders-deleted"]
    assert routing() == []


def test_router_of_some_records_lowers_the_confidence_and_leaves_a_sink_without_one_target() -> None:
    routing = chain(regex_router("(.*)", "$1-deleted", predicate="p"), predicates=TOMBSTONE)
    assert routing.confidence < 1
    assert routing.route_target("orders") is None


def test_router_that_changes_nothing_is_exact_whatever_its_predicate() -> None:
    routing = chain(regex_router("cdc", "x", predicate="p"), predicates=TOMBSTONE)
    assert routing.route("orders") == ["orders"]


@pytest.mark.parametrize(
    ("settings", "predicates", "told"),
    [
        ({"predicate": "p"}, {}, "predicates.p.type is not set"),
        ({"predicate": "p"}, {"p": {"type": PREDICATES + "TopicNameMatches"}}, "set predicates.p.pattern"),
        ({"predicate": "p"}, named("("), "Unclosed group"),
        ({"predicate": "p"}, {"p": {"type": "com.example.Mine"}}, "com.example.Mine is unknown"),
        ({"predicate": "${file:/run/x:p}"}, {}, "only the Connect worker knows"),
    ],
)
def test_predicate_that_cannot_be_told_may_or_may_not_hold(
    settings: dict[str, str], predicates: dict[str, dict[str, str]], told: str
) -> None:
    routing = chain(regex_router("(.*)", "new.$1", **settings), predicates=predicates, topics=("a", "new.a"))
    assert sorted(routing.route("a")) == ["a", "new.a"]
    assert routing.confidence < 1
    assert told in " ".join(routing.warnings)


def test_predicate_on_a_name_with_a_timestamp() -> None:
    stamped = {"type": KAFKA + "TimestampRouter"}
    topics = ("orders-20240131", "orders-20240131.v1")
    versioned = regex_router("(.*)", "$1.v1", predicate="p")
    assert chain(stamped, versioned, predicates=named("orders-[0-9]+"), topics=topics).route("orders") == [
        "orders-20240131.v1"
    ]
    assert chain(stamped, versioned, predicates=named("items-.*"), topics=topics).route("orders") == [
        "orders-20240131"
    ]
