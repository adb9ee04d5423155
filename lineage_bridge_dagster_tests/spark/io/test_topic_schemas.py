"""The schemas that decode a topic's records: which subjects, which key, and what a registry may answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from dagster import AssetIn, AssetSpec, asset, materialize

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark import session as spark_session
from lineage_bridge_dagster.spark.io import read
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.io.options import ReadOptions
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.spark.io.topic_schemas import with_decoded
from lineage_bridge_dagster.spark.kafka import SparkTopic
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster.specs.graph_view import GraphView, NodeContext
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    Responder,
    avro,
    config,
    failure,
    garbage,
    kafka_path,
    key_of,
    keys,
    listing,
    refused,
    settings,
    small_world,
    timeout,
    topic,
)
from lineage_bridge_dagster_tests.spark.io.reading import read_asset
from lineage_bridge_dagster_tests.spark.records import (
    ORDER_V1,
    ORDERS,
    InMemoryTopic,
    order_v1,
    order_v2,
    payload,
    subject,
)

with_spark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

HOST = "psrc-1.us-east-1.aws.confluent.cloud"
METADATA = {
    "lineage_bridge/node_type": "kafka_topic",
    "lineage_bridge/topic": "orders",
    "lineage_bridge/cluster_id": "lkc-a",
    "lineage_bridge/environment_id": "env-1",
    "lineage_bridge/bootstrap": "SASL_SSL://lkc-a.confluent.cloud:9092",
    "lineage_bridge/schema_registry_url": f"https://{HOST}",
}
STRATEGY = "io.confluent.kafka.serializers.subject."


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeConfluent:
    """A registry that has every subject; records are returned as they are."""
    fake = FakeConfluent()
    client = httpx.Client
    monkeypatch.setattr(httpx, "Client", lambda **given: client(**{**given, "transport": fake.transport}))
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    monkeypatch.setattr(SparkTopic, "read", lambda *_: "records")
    monkeypatch.setattr(read, "with_decoded", lambda records, *_: records)

    def subject(request: httpx.Request) -> httpx.Response:
        name = request.url.params["subjectPrefix"]
        schema = {
            "subject": name,
            "version": 1,
            "id": 1,
            "schema": 'syntax = "proto3";',
            "schemaType": "PROTOBUF",
        }
        return httpx.Response(200, json=[schema])

    fake.routes[f"{HOST}/schemas"] = subject
    return fake


def read_topic(
    metadata: dict[str, Any], options: ReadOptions | None = None, credentials: Any = None
) -> object:
    configured = settings(credentials=credentials or keys(), max_attempts=2)
    source = AssetSource.from_metadata({**METADATA, **metadata})
    return read_asset(None, source, confluent=lambda: configured, options=options)  # type: ignore[arg-type]


def subjects_asked(fake: FakeConfluent) -> list[str]:
    """Each once: the versions that were deleted are a request of their own."""
    return list(dict.fromkeys(request.url.params["subjectPrefix"] for request in fake.requests))


@pytest.mark.parametrize(
    ("metadata", "options", "asked"),
    [
        ({"schema_subject": "com.acme.Order"}, {}, ["com.acme.Order"]),
        ({"schema_subject": "orders-com.acme.Order"}, {}, ["orders-com.acme.Order"]),
        ({"schema_subject": ":.eu:orders-value"}, {}, [":.eu:orders-value"]),
        (
            {"schema_subject": "orders-value", "key_schema_subject": "orders-key"},
            {},
            ["orders-value", "orders-key"],
        ),
        # Discovery knows that the values have no schema.
        ({"key_schema_subject": "orders-key"}, {}, ["orders-key"]),
        # Values of several types have no common one.
        ({"schema_subjects": ["orders-a", "orders-b"]}, {}, []),
        ({"schema_subjects": ["orders-a", "orders-b"]}, {"schema_subject": "orders-b"}, ["orders-b"]),
        ({"schema_subject": "orders-value"}, {"schema_subject": "other"}, ["other"]),
        ({}, {"schema_subject": "v", "key_schema_subject": "k"}, ["v", "k"]),
        # Metadata that somebody wrote by hand.
        ({}, {}, ["orders-value"]),
    ],
)
def test_subjects_are_those_that_discovery_or_the_input_names(
    metadata: dict[str, Any], options: dict[str, Any], asked: list[str], fake: FakeConfluent
) -> None:
    given = {f"lineage_bridge/{name}": value for name, value in metadata.items()}
    assert read_topic(given, ReadOptions(**options)) == "records"
    assert subjects_asked(fake) == asked


@pytest.mark.parametrize(
    ("qualifiers", "used"),
    [
        ([""], ""),
        (["", "ENV_1"], "ENV_1"),
        (["", "ENV_1", "LSRC_1"], "LSRC_1"),
        (["LSRC_1"], "LSRC_1"),
    ],
)
def test_key_of_the_registry_may_be_named_after_it_as_for_discovery(
    qualifiers: list[str], used: str, fake: FakeConfluent
) -> None:
    general = keys("schema_registry")["schema_registry"]
    credentials = keys("kafka") | {
        f"schema_registry/{name}".rstrip("/"): general.model_copy(update={"key": f"KEY{name}"})
        for name in qualifiers
    }
    read_topic({"lineage_bridge/schema_registry_id": "lsrc-1"}, credentials=credentials)
    assert {key_of(request) for request in fake.requests} == {f"KEY{used}"}


def test_missing_key_names_the_variables(fake: FakeConfluent) -> None:
    with pytest.raises(LineageBridgeError, match="LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY_LSRC_1"):
        read_topic({"lineage_bridge/schema_registry_id": "lsrc-1"}, credentials=keys("kafka"))
    assert not fake.requests


@pytest.mark.parametrize(
    "url", ["https://registry.evil.example", f"http://{HOST}", f"https://user:pw@{HOST}", "psrc-1"]
)
def test_untrusted_address_receives_no_key(url: str, fake: FakeConfluent) -> None:
    with pytest.raises(LineageBridgeError, match=r"(?i)no key was sent"):
        read_topic({"lineage_bridge/schema_registry_url": url})
    assert not fake.requests


def answer(body: Any) -> Responder:
    return lambda _request: httpx.Response(200, json=body)


def avro_version(schema: str) -> Responder:
    return answer([{"subject": "orders-value", "version": 1, "id": 1, "schema": schema}])


FAULTS: dict[str, tuple[Responder, str]] = {
    "401": (failure(401), "SCHEMA_REGISTRY_API_KEY"),
    "403": (failure(403), "DeveloperRead"),
    "404": (failure(404), "404"),
    "429": (failure(429), "429"),
    "500": (failure(500), "500"),
    "503": (failure(503), "503"),
    "redirect": (lambda _request: httpx.Response(302, headers={"Location": "https://evil"}), "redirect"),
    "timeout": (timeout, "timed out"),
    "refused": (refused, "could not be reached"),
    "html": (garbage, "did not return JSON"),
    "bytes": (lambda _request: httpx.Response(200, content=b"\xff\xfe\x00"), "did not return JSON"),
    "empty": (lambda _request: httpx.Response(200), "did not return JSON"),
    "object": (answer({"message": "sign in"}), "not a list"),
    "null": (lambda _request: httpx.Response(200, content=b"null"), "not a list"),
    "strange records": (answer([{"subject": "orders-value"}]), "version"),
    "no schemas": (answer([]), "no subject orders-value"),
    "schema is not JSON": (avro_version("{"), "orders-value"),
    "schema is not Avro": (avro_version('{"type": 7}'), "orders-value"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_the_registry_is_a_clear_failure_of_the_asset(
    fault: str, fake: FakeConfluent, monkeypatch: pytest.MonkeyPatch
) -> None:
    responder, expected = FAULTS[fault]
    fake.routes[f"{HOST}/schemas"] = responder
    monkeypatch.setattr(spark_session, "spark_session", lambda *_: object())
    for plane in ("KAFKA", "SCHEMA_REGISTRY"):
        monkeypatch.setenv(f"LINEAGE_BRIDGE_{plane}_API_KEY", "K")
        monkeypatch.setenv(f"LINEAGE_BRIDGE_{plane}_API_SECRET", "hidden")
    monkeypatch.setenv("LINEAGE_BRIDGE_CONFLUENT_MAX_ATTEMPTS", "2")
    orders = AssetSpec(
        ["kafka", "orders"], metadata={**METADATA, "lineage_bridge/schema_subject": "orders-value"}
    )

    @asset(ins={"orders": AssetIn(orders.key)})
    def reader(orders: Any) -> None:
        del orders

    manager = PySparkIcebergIOManager(spark=SparkResource(), confluent=ConfluentSettingsResource())
    result = materialize([orders, reader], resources={"io_manager": manager}, raise_on_error=False)
    (event,) = [event for event in result.all_events if event.is_step_failure]
    error = event.step_failure_data.error
    assert error is not None
    assert error.cls_name == "Failure"
    description = event.step_failure_data.user_failure_data.description  # type: ignore[union-attr]
    assert description is not None
    assert expected in description
    assert "->" in description
    assert "hidden" not in str(event)


def test_values_of_several_types_are_left_as_bytes_with_a_word(
    fake: FakeConfluent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    read_topic({"lineage_bridge/schema_subjects": ["orders-a", "orders-b"]})
    assert "orders-a, orders-b" in caplog.text
    assert "schema_subject" in caplog.text


def test_subject_that_no_registry_can_have_is_refused(fake: FakeConfluent) -> None:
    with pytest.raises(LineageBridgeError, match="no Schema Registry"):
        read_topic({"lineage_bridge/schema_registry_url": ""}, ReadOptions(schema_subject="orders-value"))
    assert read_topic({"lineage_bridge/schema_registry_url": ""}) == "records"


class TestDecoding:
    pytestmark = with_spark

    def test_keys_and_values_of_several_schemas_are_decoded_beside_their_bytes(self, spark: Any) -> None:
        key = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}
        orders = InMemoryTopic()
        one = payload(3, key, {"id": 1})
        orders.add(0, order_v1(1), order_v2(2, 250), None, key=one)
        schemas = {"value": ORDERS, "key": subject("orders.v1-key", (3, key))}
        rows = with_decoded(orders.read(spark, *orders.bounds()), schemas, "orders").orderBy("offset")
        assert [
            (row.key.id, bytes(row.raw_key), row.value and row.value.cents) for row in rows.collect()
        ] == [
            (1, one, None),
            (1, one, 250),
            (1, one, None),
        ]
        assert [bytes(row.raw_value or b"") for row in rows.collect()] == [order_v1(1), order_v2(2, 250), b""]

    def test_records_of_other_schemas_are_null_and_corrupt_ones_fail(self, spark: Any) -> None:
        orders = InMemoryTopic()
        orders.add(0, payload(99, ORDER_V1, {"id": 1, "item": "x"}), b"plain")
        rows = with_decoded(orders.read(spark, *orders.bounds()), {"value": ORDERS}, "orders").collect()
        assert [row.value for row in rows] == [None, None]
        orders.add(0, order_v1(1)[:-1])
        corrupt = with_decoded(orders.read(spark, *orders.bounds()), {"value": ORDERS}, "orders")
        with pytest.raises(Exception, match="A value of orders cannot be decoded: its bytes do not match"):
            corrupt.collect()

    def test_schema_that_spark_does_not_accept_is_named(self, spark: Any) -> None:
        wrong = SubjectSchemas("orders-value", (RegisteredSchema(1, '{"type": "rekord"}'),))
        records = spark.createDataFrame([], "key binary, value binary")
        with pytest.raises(LineageBridgeError, match=r"orders cannot be decoded.*subject orders-value"):
            with_decoded(records, {"value": wrong}, "orders")


# What discovery knows reaches the input.


def discovered(world: FakeConfluent) -> tuple[GraphView, Callable[[str], Node]]:
    found = discover(settings(max_attempts=1), transport=world.transport)
    view = GraphView.of(found)
    return view, lambda name: next(
        node
        for node in found.graph.nodes.values()
        if node.qualified_name == name and node.cluster_id == "lkc-a"
    )


@pytest.mark.parametrize(
    ("strategy", "schemas", "expected"),
    [
        ("", [avro("orders-value", "id")], {"value_subjects": ("orders-value",)}),
        (
            "",
            [avro("orders-value", "id"), avro("orders-key", "id")],
            {"value_subjects": ("orders-value",), "key_subject": "orders-key"},
        ),
        (
            "TopicRecordNameStrategy",
            [avro("orders-com.acme.Order", "id"), avro("orders-value", "id")],
            {"value_subjects": ("orders-com.acme.Order",)},
        ),
        (
            "TopicRecordNameStrategy",
            [avro("orders-com.acme.Order", "id"), avro("orders-com.acme.Refund", "id", name="Refund")],
            {"value_subjects": ("orders-com.acme.Order", "orders-com.acme.Refund")},
        ),
        # The subject does not name the topic: an input has to.
        ("RecordNameStrategy", [avro("com.acme.Order", "id"), avro("orders-value", "id")], {}),
    ],
)
def test_discovered_subjects_and_registry_reach_the_input(
    strategy: str, schemas: list[Any], expected: dict[str, Any]
) -> None:
    world = small_world()
    world.routes[f"{HOST}/schemas"] = schemas
    world.routes[kafka_path("lkc-a", "/topics")] = listing(topic("orders"))
    if strategy:
        world.routes[kafka_path("lkc-a", "/topics/-/configs")] = listing(
            config("orders", "confluent.value.subject.name.strategy", STRATEGY + strategy)
        )
    view, node = discovered(world)
    spec = LineageTranslator().get_asset_spec(node("orders"), NodeContext(view))
    source = AssetSource.from_metadata(spec.metadata)
    assert source.schema_registry_url == f"https://{HOST}"
    assert source.schema_registry_id == "lsrc-1"
    assert {"value_subjects": source.value_subjects, "key_subject": source.key_subject} == {
        "value_subjects": (),
        "key_subject": "",
        **expected,
    }
    assert source.subjects_known
