"""What each router makes of a topic."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.transforms.neutral import NEUTRAL
from lineage_bridge_dagster.confluent.connectors.transforms.routers import ROUTERS
from lineage_bridge_dagster_tests.confluent.connectors.transforms.chain import (
    EVENT_ROUTER,
    KAFKA,
    chain,
    regex_router,
)

COMMON = "com.github.jcustenborder.kafka.connect.transform.common."
TIMESTAMP_ROUTER = KAFKA + "TimestampRouter"


@pytest.mark.parametrize(
    "router",
    [
        regex_router(r"cdc\.public\.(.*)", "$1"),
        {
            "type": "io.confluent.connect.cloud.transforms.TopicRegexRouter",
            "regex": r"cdc\.(?P<schema>\w+)\.(?P<table>.*)",
            "replacement": "${table}",
        },
        {
            "type": "io.debezium.transforms.ByLogicalTableRouter",
            "topic.regex": r"cdc\.(?<schema>\w+)\.(?<table>.*)",
            "topic.replacement": "${table}",
        },
        {
            "type": "io.debezium.transforms.ToLogicalTopicRouter",
            "topic.regex": r"cdc\.public\.(.*)",
            "topic.replacement": "$1",
        },
    ],
    ids=lambda router: router["type"],
)
def test_router_by_expression_changes_sources_and_sinks_alike(router: dict[str, str]) -> None:
    routing = chain(router)
    assert routing.route("cdc.public.orders") == ["orders"]
    assert routing.route_target("cdc.public.orders") == "orders"
    assert routing.route("other") == ["other"]
    assert (routing.confidence, routing.warnings) == (1.0, [])


def test_logical_table_router_keeps_a_name_that_would_become_empty() -> None:
    router = {
        "type": "io.debezium.transforms.ByLogicalTableRouter",
        "topic.regex": "(a)?b",
        "topic.replacement": "$1",
    }
    assert chain(router).route("b") == ["b"]


def test_empty_name_is_no_topic() -> None:
    routing = chain(regex_router("orders(.*)", "$1"))
    assert routing.route("orders") == []
    assert routing.route_target("orders") is None
    assert "leave nothing of the name orders" in routing.warnings[0]


TOPICS = ("orders-20240131", "orders-20241341", "orders-2024", "orders-x20240131", "orders", "other-20240131")


def test_timestamp_router_writes_the_existing_topics_with_a_timestamp() -> None:
    routing = chain({"type": TIMESTAMP_ROUTER}, topics=TOPICS)
    assert routing.route("orders") == ["orders-20240131"]
    assert routing.confidence < 1


def test_timestamp_router_leaves_a_sink_without_one_target() -> None:
    routing = chain({"type": TIMESTAMP_ROUTER, "topic.format": "logs-${timestamp}-${topic}"})
    assert routing.route_target("orders") is None
    assert routing.template("orders") == "logs-${timestamp}-orders"


def test_timestamp_router_takes_its_formats() -> None:
    routing = chain(
        {"type": TIMESTAMP_ROUTER, "topic.format": "${timestamp}.${topic}", "timestamp.format": "yyyy.MM"},
        topics=("2024.01.orders", "2024.13.orders", "2024.1.orders"),
    )
    assert routing.route("orders") == ["2024.01.orders"]


def test_timestamp_router_without_a_timestamp_is_exact() -> None:
    routing = chain({"type": TIMESTAMP_ROUTER, "topic.format": "all-${topic}"})
    assert routing.route("orders") == ["all-orders"]
    assert routing.confidence == 1


def test_message_timestamp_router_has_other_keys() -> None:
    router = {
        "type": "io.confluent.connect.transforms.MessageTimestampRouter",
        "topic.format": "foo-${topic}-${timestamp}",
        "message.timestamp.format": "yyyy-MM-dd",
        "topic.timestamp.format": "yyyy.MM.dd",
        "message.timestamp.keys": "timestamp,time,ts",
    }
    assert chain(router, topics=("foo-bar-2019.08.06", "foo-bar-2019-08-06")).route("bar") == [
        "foo-bar-2019.08.06"
    ]


def test_wrong_timestamp_format_is_reported() -> None:
    routing = chain({"type": TIMESTAMP_ROUTER, "timestamp.format": "yyyy-bb"}, topics=TOPICS)
    assert routing.route("orders") == []
    assert "transforms.t1.timestamp.format" in routing.warnings[0]


OUTBOX = ("outbox.event.order", "outbox.event.customer", "outbox.event", "cdc.public.outbox", "order")


def test_outbox_router_writes_the_existing_topics_that_its_replacement_may_name() -> None:
    routing = chain({"type": EVENT_ROUTER}, topics=OUTBOX)
    assert routing.route("cdc.public.outbox") == ["outbox.event.customer", "outbox.event.order"]
    assert routing.template("cdc.public.outbox") == "outbox.event.${routedByValue}"
    assert routing.confidence <= 0.5


@pytest.mark.parametrize(
    "settings",
    [
        {"route.topic.replacement": "${routedByValue}"},
        {"route.topic.replacement": "$1"},
        {"route.topic.replacement": "$0"},
        {"route.topic.replacement": "$1.$1"},
        {"route.topic.replacement": "$1", "route.topic.regex": "(.+)"},
    ],
)
def test_outbox_router_without_a_fixed_text_claims_nothing(settings: dict[str, str]) -> None:
    routing = chain({"type": EVENT_ROUTER, **settings}, topics=(*OUTBOX, "a.a"))
    assert routing.route("cdc.public.outbox") == []
    assert "transforms.t1.route.topic.replacement" in routing.warnings[0]


@pytest.mark.parametrize(
    ("regex", "replacement", "found"),
    [
        (
            "(?P<routedByValue>.*)",
            "outbox.event.${routedByValue}",
            ["outbox.event.customer", "outbox.event.order"],
        ),
        ("(order|customer)", "$1", ["order"]),
        # Java's own classes, which RE2 reads otherwise.
        ("([a-z&&[^b-z]])", "$1-x-$1", ["a-x-a"]),
        ("(?<a>[a-z]+)-(?<b>v[0-9])", "${a}.${b}", ["order.v1"]),
        ("(.*)", "$1-x-$1", ["a-x-a"]),
        ("(.*)", "fixed", ["fixed"]),
    ],
)
def test_outbox_router_uses_what_its_expression_says_of_the_values(
    regex: str, replacement: str, found: list[str]
) -> None:
    routing = chain(
        {"type": EVENT_ROUTER, "route.topic.regex": regex, "route.topic.replacement": replacement},
        topics=(*OUTBOX, "order.v1", "order.x1", "a-x-a", "a-x-b", "fixed"),
    )
    assert routing.route("cdc.public.outbox") == found


@pytest.mark.parametrize(
    ("settings", "certain"),
    [
        ({"route.topic.replacement": "orders"}, True),
        ({"route.topic.replacement": "orders", "route.topic.regex": "(.*)"}, True),
        ({"route.topic.replacement": "orders", "route.topic.regex": "(?<t>order.*)"}, False),
    ],
)
def test_outbox_router_to_one_topic_is_certain_whether_or_not_the_topic_exists(
    settings: dict[str, str], certain: bool
) -> None:
    for topics in ((), ("orders",)):
        routing = chain({"type": EVENT_ROUTER, **settings}, topics=topics)
        assert routing.routed("cdc.public.outbox") == {"orders": False}
        assert (routing.confidence == 1.0 and not routing.warnings) is certain


def test_mongodb_outbox_router_is_the_same() -> None:
    router = {"type": "io.debezium.connector.mongodb.transforms.outbox.MongoEventRouter"}
    assert chain(router, topics=OUTBOX).route("x") == ["outbox.event.customer", "outbox.event.order"]


@pytest.mark.parametrize(
    "router",
    [
        {"type": "io.confluent.connect.transforms.ExtractTopic$Value", "field": "f2"},
        {"type": "io.confluent.connect.transforms.ExtractTopic$Header", "field": "f2"},
        {"type": "io.aiven.kafka.connect.transforms.ExtractTopic$Key", "field.name": "f2"},
        {"type": "io.aiven.kafka.connect.transforms.ExtractTopicFromSchemaName$Value"},
        {"type": "com.clickhouse.kafka.connect.transforms.ExtractTopic$Value", "field.name": "f2"},
        {"type": COMMON + "SchemaNameToTopic$Value"},
        {"type": "io.debezium.transforms.ExtractNewRecordState", "route.by.field": "f2"},
    ],
    ids=lambda router: router["type"],
)
def test_topic_in_the_record_is_not_known(router: dict[str, str]) -> None:
    routing = chain(router, topics=("orders", "f2"))
    assert routing.route("orders") == []
    assert routing.route_target("orders") is None
    assert routing.confidence <= 0.5
    assert "not known" in routing.warnings[0]


def test_records_without_the_field_may_keep_an_existing_topic() -> None:
    router = {
        "type": "io.confluent.connect.transforms.ExtractTopic$Value",
        "field": "f2",
        "skip.missing.or.null": "true",
    }
    assert chain(router, topics=("orders",)).route("orders") == ["orders"]
    assert chain(router).route("orders") == []


def test_schema_names_are_routed_to_the_topics_of_their_map() -> None:
    router = {
        "type": "io.aiven.kafka.connect.transforms.ExtractTopicFromSchemaName$Value",
        "schema.name.topic-map": "com.acme.Order:orders,com.acme.Customer:customers",
    }
    assert chain(router, topics=("orders", "raw")).route("raw") == ["orders"]


def test_script_may_leave_an_existing_topic() -> None:
    router = {
        "type": "io.debezium.transforms.ContentBasedRouter",
        "language": "jsr223.groovy",
        "topic.expression": "value.op == 'u' ? 'updates' : null",
        "topic.regex": "cdc.*",
    }
    routing = chain(router, topics=("cdc.orders", "updates"))
    assert routing.route("cdc.orders") == ["cdc.orders"]
    assert routing.route("cdc.customers") == []
    assert routing.route("other") == ["other"]
    assert routing.route_target("cdc.orders") is None


def test_unwrapping_leaves_the_topic_alone() -> None:
    router = {
        "type": "io.debezium.transforms.ExtractNewRecordState",
        "delete.tombstone.handling.mode": "rewrite",
    }
    assert not chain(router)


@pytest.mark.parametrize(
    ("old", "new", "name", "result"),
    [
        ("UPPER_UNDERSCORE", "LOWER_CAMEL", "TOPIC_NAME", "topicName"),
        ("UPPER_UNDERSCORE", "LOWER_UNDERSCORE", "TOPIC_NAME", "topic_name"),
        ("UPPER_CAMEL", "LOWER_HYPHEN", "TopicName", "topic-name"),
        ("LOWER_HYPHEN", "UPPER_CAMEL", "topic-name", "TopicName"),
    ],
)
def test_topic_case_is_changed(old: str, new: str, name: str, result: str) -> None:
    router = {"type": COMMON + "ChangeTopicCase", "from": old, "to": new}
    assert chain(router).route(name) == [result]


def test_unknown_case_is_reported_with_those_there_are() -> None:
    routing = chain({"type": COMMON + "ChangeTopicCase", "from": "lower", "to": "UPPER_CAMEL"}, topics=("a",))
    assert routing.route("a") == []
    assert "transforms.t1.from" in routing.warnings[0]
    assert "LOWER_HYPHEN" in routing.warnings[0]


def test_topic_is_made_lower_case() -> None:
    assert chain({"type": COMMON + "LowerCaseTopic"}).route("DB.Orders") == ["db.orders"]


@pytest.mark.parametrize(
    ("style", "result"),
    [
        ("snake_case", "x_db_order_items_2_y"),
        ("camel_case", "x_dbOrderitems2_y"),
        ("UPPER_CASE", "x_DB.ORDERITEMS2_y"),
        ("lower_case", "x_db.orderitems2_y"),
        ("default", "x_db.orderItems2_y"),
    ],
)
def test_collection_names_of_debeziums_jdbc_sink(style: str, result: str) -> None:
    router = {
        "type": "io.debezium.connector.jdbc.transforms.CollectionNameTransformation",
        "collection.naming.style": style,
        "collection.naming.prefix": "x_",
        "collection.naming.suffix": "_y",
    }
    assert chain(router).route_target("db.orderItems2") == result


def test_chunks_of_timescaledb_go_to_the_topics_of_hypertables() -> None:
    router = {"type": "io.debezium.connector.postgresql.transforms.timescaledb.TimescaleDb"}
    topics = ("timescaledb.public.conditions", "cdc._timescaledb_internal._hyper_1_1_chunk", "cdc.public.a")
    routing = chain(router, topics=topics)
    assert routing.route("cdc._timescaledb_internal._hyper_1_1_chunk") == ["timescaledb.public.conditions"]
    assert routing.route("cdc.public.a") == ["cdc.public.a"]


def test_kafkas_filter_without_a_predicate_drops_everything() -> None:
    routing = chain({"type": KAFKA + "Filter"}, topics=("orders",))
    assert routing.route("orders") == []
    assert routing.drops("orders")
    assert routing.route_target("orders") is None


@pytest.mark.parametrize("kind", sorted(NEUTRAL))
def test_neutral_transforms_are_no_routers(kind: str) -> None:
    assert kind not in ROUTERS
    assert not chain({"type": f"{kind}$Value"})


#: The transforms of Confluent Cloud's managed connectors: `fm_transforms_list.json` of
#: github.com/confluentinc/connect-migration-utility.
MANAGED = """
com.clickhouse.kafka.connect.transforms.KeyToValue
com.github.jcustenborder.kafka.connect.transform.common.AdjustPrecisionAndScale$Value
com.github.jcustenborder.kafka.connect.transform.common.BytesToString$Value
com.github.jcustenborder.kafka.connect.transform.common.ChangeTopicCase
com.github.jcustenborder.kafka.connect.transform.common.ExtractNestedField$Value
com.github.jcustenborder.kafka.connect.transform.common.ExtractTimestamp$Value
com.github.jcustenborder.kafka.connect.transform.common.ExtractXPath$Value
com.github.jcustenborder.kafka.connect.transform.common.SetMaximumPrecision$Value
com.github.jcustenborder.kafka.connect.transform.common.TimestampNow
com.github.jcustenborder.kafka.connect.transform.common.TimestampNowField$Value
io.confluent.cctransforms.ExtractKey$Value
io.confluent.connect.cloud.transforms.TopicRegexRouter
io.confluent.connect.cloud.transforms.xml.FromXml$Value
io.confluent.connect.transforms.Drop$Value
io.confluent.connect.transforms.ExtractTopic$Header
io.confluent.connect.transforms.Filter$Value
io.confluent.connect.transforms.Flatten$Value
io.confluent.connect.transforms.GzipDecompress$Value
io.confluent.connect.transforms.MessageTimestampRouter
io.confluent.connect.transforms.ReplaceField$Value
io.confluent.connect.transforms.TombstoneHandler
io.debezium.transforms.ByLogicalTableRouter
io.debezium.transforms.ExtractNewRecordState
io.debezium.transforms.HeaderToValue
io.debezium.transforms.TimezoneConverter
io.debezium.transforms.UnwrapFromEnvelope
io.debezium.transforms.outbox.EventRouter
org.apache.kafka.connect.transforms.Cast$Value
org.apache.kafka.connect.transforms.DropHeaders
org.apache.kafka.connect.transforms.ExtractField$Value
org.apache.kafka.connect.transforms.Filter
org.apache.kafka.connect.transforms.Flatten$Value
org.apache.kafka.connect.transforms.HeaderFrom$Value
org.apache.kafka.connect.transforms.HoistField$Value
org.apache.kafka.connect.transforms.InsertField$Value
org.apache.kafka.connect.transforms.InsertHeader
org.apache.kafka.connect.transforms.MaskField$Value
org.apache.kafka.connect.transforms.RegexRouter
org.apache.kafka.connect.transforms.ReplaceField$Value
org.apache.kafka.connect.transforms.SetSchemaMetadata$Value
org.apache.kafka.connect.transforms.TimestampConverter$Value
org.apache.kafka.connect.transforms.TimestampRouter
org.apache.kafka.connect.transforms.ValueToKey
"""


def test_all_transforms_of_managed_connectors_are_known() -> None:
    kinds = {line.partition("$")[0] for line in MANAGED.split()}
    assert kinds - NEUTRAL - ROUTERS.keys() == set()
