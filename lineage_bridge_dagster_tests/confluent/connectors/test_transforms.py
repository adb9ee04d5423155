"""Transforms that change topics."""

from __future__ import annotations

from lineage_bridge_dagster_tests.confluent.connectors.conftest import POSTGRES, read


def test_router_applies_only_if_it_matches_the_whole_topic() -> None:
    config = {
        **POSTGRES,
        "topic.prefix": "pg-ecommerce",
        "table.include.list": "public.orders",
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": r"(.*)\.(.*)",
        "transforms.route.replacement": "$1_$2",
    }
    assert read("PostgresCdcSourceV2", config).topics_written == ("pg-ecommerce.public_orders",)
    config["transforms.route.regex"] = "public"
    assert read("PostgresCdcSourceV2", config).topics_written == ("pg-ecommerce.public.orders",)


def test_transforms_apply_in_order_and_unknown_ones_warn() -> None:
    router = "io.confluent.connect.cloud.transforms.TopicRegexRouter"
    found = read(
        "DatagenSource",
        {
            "kafka.topic": "a",
            "transforms": "one,two,three",
            "transforms.one.type": router,
            "transforms.one.regex": "a",
            "transforms.one.replacement": "b",
            "transforms.two.type": router,
            "transforms.two.regex": "b",
            "transforms.two.replacement": "c",
            "transforms.three.type": "com.example.Mine",
        },
    )
    assert found.topics_written == ("c",)
    assert found.datasets_read == ()
    assert any("com.example.Mine" in warning for warning in found.warnings)


def test_outbox_router_matches_topics_by_name_with_low_confidence() -> None:
    found = read(
        "PostgresCdcSourceV2",
        POSTGRES
        | {
            "table.include.list": "public.outbox",
            "transforms": "o",
            "transforms.o.type": "io.debezium.transforms.outbox.EventRouter",
        },
        ("outbox.event.order", "outbox.event.customer", "cdc.public.outbox"),
    )
    assert set(found.topics_written) == {"outbox.event.order", "outbox.event.customer"}
    assert found.confidence < 1
