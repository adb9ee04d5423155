"""Transforms of whole connectors."""

from __future__ import annotations

from lineage_bridge_dagster_tests.confluent.connectors.conftest import POSTGRES, read
from lineage_bridge_dagster_tests.confluent.connectors.transforms.chain import EVENT_ROUTER, REGEX_ROUTER


def test_router_of_a_source_applies_only_if_it_matches_the_whole_topic() -> None:
    config = {
        **POSTGRES,
        "topic.prefix": "pg-ecommerce",
        "table.include.list": "public.orders",
        "transforms": "route",
        "transforms.route.type": REGEX_ROUTER,
        "transforms.route.regex": r"(.*)\.(.*)",
        "transforms.route.replacement": "$1_$2",
    }
    assert read("PostgresCdcSourceV2", config).topics_written == ("pg-ecommerce.public_orders",)
    config["transforms.route.regex"] = "public"
    assert read("PostgresCdcSourceV2", config).topics_written == ("pg-ecommerce.public.orders",)


def test_unknown_transform_of_a_source_is_reported_and_its_existing_topic_kept() -> None:
    config = {"kafka.topic": "a", "transforms": "mine", "transforms.mine.type": "com.example.Mine"}
    assert read("DatagenSource", config).topics_written == ()
    found = read("DatagenSource", config, ("a",))
    assert found.topics_written == ("a",)
    assert found.confidence < 1
    assert any("com.example.Mine" in warning for warning in found.warnings)


def test_outbox_router_of_a_source_matches_topics_by_name_with_low_confidence() -> None:
    found = read(
        "PostgresCdcSourceV2",
        POSTGRES
        | {"table.include.list": "public.outbox", "transforms": "o", "transforms.o.type": EVENT_ROUTER},
        ("outbox.event.order", "outbox.event.customer", "cdc.public.outbox"),
    )
    assert set(found.topics_written) == {"outbox.event.order", "outbox.event.customer"}
    assert found.confidence < 1
