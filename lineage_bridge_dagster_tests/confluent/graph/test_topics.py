from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.lineage.nodes import SchemaNode
from lineage_bridge_dagster_tests.confluent.discovered import (
    ENRICH,
    ORDERS_A,
    ORDERS_B,
    A,
    B,
    Run,
    edges,
    node,
    reason,
    status,
)
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    avro,
    config,
    failure,
    kafka_path,
    keys,
    listing,
    topic,
)


def test_attributes(run: Run, world: FakeConfluent) -> None:
    world.routes[kafka_path("lkc-a", "/topics/-/configs")] = listing(
        config("orders", "retention.ms", "604800000", is_default=True),
        config("orders", "cleanup.policy", "compact,delete"),
        config("orders", "compression.type", "producer", is_default=True),
        config("orders", "some.secret", "x", is_sensitive=True),
        config("orders", "message.timestamp.type", None),
    )
    attributes = node(run(), ORDERS_A).attributes
    assert attributes["partitions"] == 6
    assert attributes["replication_factor"] == 3
    assert attributes["retention_ms"] == 604800000
    assert attributes["cleanup_policy"] == "compact,delete"
    assert attributes["configs"] == {
        "retention.ms": "604800000",
        "cleanup.policy": "compact,delete",
        "message.timestamp.type": "",
    }
    assert attributes["bootstrap_endpoint"].startswith("SASL_SSL://lkc-a")
    assert (attributes["cloud"], attributes["region"]) == ("AWS", "us-east-1")
    assert [field["name"] for field in attributes["schema_fields"]] == ["id", "customer"]
    assert attributes["schema_id"] == 100042
    assert (attributes["schema_subject"], attributes["schema_version"]) == ("orders-value", 3)
    assert attributes["is_internal"] is False


def test_topic_has_the_types_of_columns_that_its_fields_do_not_tell(run: Run, world: FakeConfluent) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer", "connect.type": "int32"}}}
    world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [
        {**avro("orders-value", "id"), "schemaType": "JSON", "schema": json.dumps(schema)}
    ]
    assert node(run(), ORDERS_A).attributes["column_types"] == {"id": "int"}


def test_schemas_have_their_text_and_the_level_of_their_registry(run: Run, world: FakeConfluent) -> None:
    schema = SchemaNode.of(node(run(), "confluent:schema:env-1:orders-value"))
    assert json.loads(schema.definition)["type"] == "record"
    assert schema.registry_compatibility == "BACKWARD"


def test_schema_that_multiplies_is_named_in_a_note_and_stops_no_discovery(
    run: Run, world: FakeConfluent
) -> None:
    levels: dict[str, object] = {"L40": {"type": "string"}}
    for n in range(40):
        below = {"$ref": f"#/definitions/L{n + 1}"}
        levels[f"L{n}"] = {"type": "object", "properties": {"l": below, "r": below}}
    fields = {"id": {"type": "integer"}, "deep": {"$ref": "#/definitions/L0"}}
    schema = {"type": "object", "properties": fields, "definitions": levels}
    world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [
        {**avro("orders-value", "id"), "schemaType": "JSON", "schema": json.dumps(schema)},
        avro("orders-key", "id"),
    ]
    found = run()
    attributes = node(found, ORDERS_A).attributes
    assert [field["name"] for field in attributes["schema_fields"]] == ["id", "deep"]
    assert attributes["column_types"]["id"] == "long"
    assert node(found, ids.schema_id("env-1", "orders-key")).attributes["fields"]
    (report,) = (each for each in found.coverage if each.scope.api == "schema_registry" and each.notes)
    assert [(note.kind, note.names) for note in report.notes] == [("schema", ("orders-value",))]


def test_name_alone_does_not_make_a_topic_internal(run: Run, world: FakeConfluent) -> None:
    world.routes[kafka_path("lkc-a", "/topics")] = listing(
        topic("orders"),
        topic("enriched"),
        topic("_raw"),
        topic("confluent-audit"),
        topic("hidden", internal=True),
    )
    found = run()
    assert ids.topic_id(*A, "_raw") in found.graph
    assert ids.topic_id(*A, "confluent-audit") in found.graph
    assert ids.topic_id(*A, "hidden") not in found.graph


def test_internal_topic_with_data_flow_is_kept_and_marked(run: Run, world: FakeConfluent) -> None:
    world.routes[kafka_path("lkc-a", "/topics")] = listing(topic("orders", internal=True), topic("enriched"))
    kept = node(run(), ORDERS_A)
    assert kept.attributes["is_internal"] is True
    assert kept.tags == ("internal",)


@pytest.mark.parametrize("code", [403, 404, 405])
def test_unavailable_settings_leave_topics_complete(run: Run, world: FakeConfluent, code: int) -> None:
    world.routes[kafka_path("lkc-a", "/topics/-/configs")] = failure(code)
    found = run()
    assert found.coverage.complete
    assert "retention_ms" not in node(found, ORDERS_A).attributes


def test_failed_settings_make_topics_partial(run: Run, world: FakeConfluent) -> None:
    world.routes[kafka_path("lkc-a", "/topics/-/configs")] = failure(500)
    assert status(run(), "kafka", *A) is Status.PARTIAL


def test_missing_kafka_key_denies_only_its_scope(run: Run) -> None:
    found = run(credentials=keys("confluent_cloud", "schema_registry"))
    assert status(found, "kafka", *A) is Status.DENIED
    assert "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_A" in reason(found, "kafka", *A)
    assert status(found, "tableflow", *A) is Status.COMPLETE
    assert status(found, "flink", "env-1", "aws.us-east-1") is Status.COMPLETE
    # Topics that other resources name become nodes, marked as not observed.
    assert (ORDERS_A, ENRICH) in edges(found)
    assert node(found, ORDERS_A).attributes["observed"] is False


def test_mirror_has_an_edge_from_its_source_cluster(run: Run, world: FakeConfluent) -> None:
    world.routes[kafka_path("lkc-b", "/links/-/mirrors")] = listing(
        {
            "link_name": "in",
            "mirror_topic_name": "orders",
            "source_topic_name": "orders",
            "mirror_status": "ACTIVE",
        },
        {
            "link_name": "out",
            "mirror_topic_name": "totals",
            "source_topic_name": "t",
            "mirror_status": "ACTIVE",
        },
    )
    world.routes[kafka_path("lkc-b", "/links")] = listing(
        {"link_name": "in", "source_cluster_id": "lkc-a", "link_state": "ACTIVE"},
        {"link_name": "out", "remote_cluster_id": "lkc-of-another-organization"},
    )
    found = run()
    assert edges(found, EdgeType.TRANSFORMS) == {(ORDERS_A, ORDERS_B)}
    assert found.coverage.complete


@pytest.mark.parametrize("code", [404, 405])
def test_cluster_without_links_is_complete(run: Run, world: FakeConfluent, code: int) -> None:
    world.routes[kafka_path("lkc-a", "/links/-/mirrors")] = failure(code)
    assert run().coverage.complete


def test_lags_connect_consumer_groups_to_topics(run: Run, world: FakeConfluent) -> None:
    for cluster_id in ("lkc-a", "lkc-b"):
        world.routes[kafka_path(cluster_id, "/consumer-groups")] = listing(
            {"consumer_group_id": "dash/board", "state": "STABLE", "is_simple": False}
        )
    world.routes[kafka_path("lkc-a", "/consumer-groups/dash%2Fboard/lags")] = listing(
        {"topic_name": "orders", "partition_id": 0}, {"topic_name": "orders", "partition_id": 1}
    )
    found = run()
    group = ids.consumer_group_id(*A, "dash/board")
    assert (ORDERS_A, group) in edges(found, EdgeType.CONSUMES)
    assert ids.consumer_group_id(*B, "dash/board") in found.graph
    # Only dedicated clusters offer lags.
    assert len(world.requests_to("/lags")) == 1
    assert found.coverage.complete


@pytest.mark.parametrize("code", [401, 403, 404, 500])
def test_failing_consumer_groups_leave_topics_complete(run: Run, world: FakeConfluent, code: int) -> None:
    world.routes[kafka_path("lkc-a", "/consumer-groups")] = failure(code)
    found = run()
    assert status(found, "kafka", *A) is Status.COMPLETE
    assert found.coverage.complete is (code == 404)


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        *((path, failure(403)) for path in ("/links/-/mirrors", "/links", "/consumer-groups", "lags")),
        ("/links", listing()),
        ("/links", listing({"link_name": "in", "source_cluster_id": None})),
    ],
)
def test_resources_that_became_invisible_are_kept(
    run: Run, world: FakeConfluent, path: str, hidden: Any
) -> None:
    mirror = {"link_name": "in", "mirror_topic_name": "orders", "source_topic_name": "orders"}
    world.routes[kafka_path("lkc-b", "/links/-/mirrors")] = listing(mirror)
    world.routes[kafka_path("lkc-b", "/links")] = listing({"link_name": "in", "source_cluster_id": "lkc-a"})
    groups, lags = kafka_path("lkc-a", "/consumer-groups"), "/consumer-groups/readers/lags"
    world.routes[groups] = listing({"consumer_group_id": "readers"})
    world.routes[kafka_path("lkc-a", lags)] = listing({"topic_name": "orders"})
    last = carry_forward(run(), None)
    group = ids.consumer_group_id(*A, "readers")
    assert {(ORDERS_A, ORDERS_B)} == edges(last, EdgeType.TRANSFORMS)
    assert (ORDERS_A, group) in edges(last, EdgeType.CONSUMES)

    for cluster_id in ("lkc-a", "lkc-b"):
        world.routes[kafka_path(cluster_id, lags if path == "lags" else path)] = hidden
    found = run()
    api = "mirrors" if "links" in path else "consumer_groups"
    assert {report.scope.api for report in found.coverage.incomplete} == {api}
    kept = carry_forward(found, last)
    assert set(kept.graph.nodes) == set(last.graph.nodes)
    assert set(kept.graph.edges) == set(last.graph.edges)


def test_topic_has_key_and_value_schemas(run: Run, world: FakeConfluent) -> None:
    world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [
        avro("orders-value", "id"),
        avro("orders-key", "id"),
    ]
    found = run()
    assert edges(found, EdgeType.HAS_SCHEMA) == {
        (topic_id, ids.schema_id("env-1", f"orders-{role}"))
        for topic_id in (ORDERS_A, ORDERS_B)
        for role in ("key", "value")
    }
    assert node(found, ids.schema_id("env-1", "orders-key")).attributes["role"] == "key"
    assert node(found, ORDERS_A).attributes["key_schema_subject"] == "orders-key"


def test_topic_with_several_record_types_has_no_field_list(run: Run, world: FakeConfluent) -> None:
    world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [
        avro("orders-com.acme.Paid", "id", name="Paid"),
        avro("orders-com.acme.Sent", "id", name="Sent"),
    ]
    attributes = node(run(), ORDERS_A).attributes
    assert attributes["schema_subjects"] == ["orders-com.acme.Paid", "orders-com.acme.Sent"]
    assert "schema_fields" not in attributes
