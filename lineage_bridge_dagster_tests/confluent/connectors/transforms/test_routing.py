"""Chains of transforms, and settings that cannot be applied."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster_tests.confluent.connectors.transforms.chain import (
    EVENT_ROUTER,
    KAFKA,
    REGEX_ROUTER,
    chain,
    regex_router,
)

STAMPED = {"type": KAFKA + "TimestampRouter"}


def test_no_transforms_change_nothing() -> None:
    routing = chain()
    assert not routing
    assert routing.route("a") == ["a"]
    assert routing.route_target("a") == routing.template("a") == "a"


def test_transforms_work_in_order() -> None:
    assert chain(regex_router("a", "b"), regex_router("b", "c")).route("a") == ["c"]
    assert chain(regex_router("b", "c"), regex_router("a", "b")).route("a") == ["b"]


def test_timestamp_after_a_router() -> None:
    routing = chain(regex_router(r"cdc\.(.*)", "$1"), STAMPED, topics=("a-20240131", "cdc.a-20240131"))
    assert routing.route("cdc.a") == ["a-20240131"]
    assert routing.template("cdc.a") == "a-${timestamp}"


def test_router_after_a_timestamp_is_applied_around_it() -> None:
    routing = chain(STAMPED, regex_router("(.*)-([0-9]+)", "$2.$1"), topics=("20240131.a", "a-20240131"))
    assert routing.route("a") == ["20240131.a"]
    assert routing.template("a") == "${timestamp}.a"


def test_router_that_splits_a_timestamp_makes_a_name_that_is_not_known() -> None:
    routing = chain(
        STAMPED, regex_router("(.*)-([0-9]{4})([0-9]*)", "$1-$2"), topics=("a-2024", "a-20240131")
    )
    assert routing.route("a") == []
    assert routing.route_target("a") is None


def test_router_after_an_outbox_router() -> None:
    routing = chain(
        {"type": EVENT_ROUTER},
        regex_router(r"outbox\.event\.(.*)", "events.$1.v1"),
        topics=("events.order.v1", "events.order.v2", "outbox.event.order"),
    )
    assert routing.route("cdc.outbox") == ["events.order.v1"]


def test_unknown_transform_is_named_and_leaves_a_source_only_existing_topics() -> None:
    routing = chain(regex_router("a", "b"), {"type": "com.example.Mine"}, topics=("b",))
    assert routing.route("a") == ["b"]
    assert routing.route("c") == []
    assert routing.route_target("a") == "b"
    assert routing.confidence < 1
    assert any("com.example.Mine" in warning for warning in routing.warnings)


@pytest.mark.parametrize(
    ("settings", "stays"),
    [
        ({"type": "com.example.AddUuid$Value", "field": "uuid"}, True),
        ({"type": "com.example.MaskPii", "fields": "email,phone"}, True),
        ({"type": "com.example.Unwrap"}, True),
        ({"type": "com.example.TenantRouter"}, False),
        ({"type": "com.example.TopicFromField$Value"}, False),
        ({"type": "com.example.Mine", "destination.field": "tenant"}, False),
        ({"type": "com.example.Mine", "topic.format": "${topic}-x"}, False),
        ({"type": "com.example.RenameTable"}, False),
        ({}, False),
    ],
)
def test_unknown_transform_takes_a_sinks_target_only_if_it_may_change_it(
    settings: dict[str, str], stays: bool
) -> None:
    routing = chain(settings, topics=("orders",))
    assert routing.route_target("orders") == ("orders" if stays else None)
    assert routing.route("orders") == ["orders"]
    assert routing.confidence == 0.8
    assert settings.get("type", "type is not set").partition("$")[0] in routing.warnings[0]


def test_new_class_of_a_known_package_is_unknown() -> None:
    assert "HeaderRouter" in chain({"type": KAFKA + "HeaderRouter"}).warnings[0]


def test_class_may_be_given_by_its_simple_name() -> None:
    assert chain({"type": "RegexRouter", "regex": "a", "replacement": "b"}).route("a") == ["b"]
    assert not chain({"type": "InsertHeader"})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "transforms.t1.type is not set"),
        ({"type": REGEX_ROUTER}, "set transforms.t1.regex and transforms.t1.replacement"),
        ({"type": REGEX_ROUTER, "regex": "a"}, "set transforms.t1.replacement"),
        (
            {"type": REGEX_ROUTER, "topic.regex": "a", "replacement": "b"},
            "set transforms.t1.regex (it has transforms.t1.topic.regex)",
        ),
        (
            {"type": "io.debezium.transforms.ByLogicalTableRouter", "regex": "a", "replacement": "b"},
            "set transforms.t1.topic.regex and transforms.t1.topic.replacement",
        ),
        ({"type": REGEX_ROUTER, "regex": "(", "replacement": "b"}, "Unclosed group"),
        ({"type": REGEX_ROUTER, "regex": "(a)", "replacement": "$2"}, "No group 2"),
        (
            {"type": REGEX_ROUTER, "regex": "${env:REGEX}", "replacement": "b"},
            "transforms.t1.regex refers to a value that only the Connect worker knows",
        ),
        ({"type": EVENT_ROUTER, "route.topic.replacement": "${nope}"}, "No group with name {nope}"),
    ],
)
def test_settings_that_cannot_be_applied_are_named_with_what_to_write(
    settings: dict[str, str], told: str
) -> None:
    routing = chain(settings)
    assert routing.route("a") == []
    assert routing.route_target("a") is None
    assert told in " ".join(routing.warnings)
    assert all("transforms.t1" in warning for warning in routing.warnings)


def test_topic_is_not_claimed_after_a_router_that_cannot_be_applied() -> None:
    assert chain({"type": REGEX_ROUTER, "regex": "("}, topics=("a",)).route("a") == []


def test_replacement_of_a_missing_group_spoils_only_what_the_expression_matches() -> None:
    routing = chain(regex_router("a(.*)", "$2"))
    assert routing.route("abc") == []
    assert routing.route("b") == ["b"]


def test_router_that_takes_too_long_is_given_up() -> None:
    routing = chain(regex_router(r"(a|aa)+b(?=\1)", "x"))
    assert [routing.route("a" * length) for length in range(200, 249)] == [[]] * 49
    assert len(routing.warnings) == 2
    assert "takes too long" in routing.warnings[0]


def test_outcomes_of_many_predicates_stay_few() -> None:
    predicates = {"p": {"type": KAFKA + "predicates.RecordIsTombstone"}}
    routers = [regex_router("(.*)", f"$1{number}", predicate="p") for number in range(10)]
    routing = chain(*routers, predicates=predicates, topics=("a",))
    assert routing.route("a") == []
    assert "too many" in " ".join(routing.warnings)


def test_routing_all_topics_of_a_large_cluster_looks_at_few_for_each() -> None:
    topics = [f"t{number}" for number in range(20_000)]
    routing = chain({**STAMPED, "topic.format": "${timestamp}-${topic}"}, topics=topics)
    assert all(routing.route(topic) == [] for topic in topics[:2_000])
