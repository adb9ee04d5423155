"""All clients against all failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.confluent.api.connect import ConnectClient
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    Forbidden,
    MalformedResponse,
    NotFound,
    PartialResponse,
    RateLimited,
    ServerError,
    Unauthorized,
    Unreachable,
)
from lineage_bridge_dagster.confluent.api.flink import (
    ComputePool,
    FlinkRegion,
    FlinkStatement,
    MaterializedTable,
    RegionKey,
    list_flink,
)
from lineage_bridge_dagster.confluent.api.kafka_rest import KafkaTopic, Mirror, TopicSetting, list_kafka
from lineage_bridge_dagster.confluent.api.org import Environment, KafkaCluster, Organization
from lineage_bridge_dagster.confluent.api.paging import list_control
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.api.tableflow import CatalogIntegration, TableflowTopic, list_tableflow
from lineage_bridge_dagster_tests.confluent.fake import (
    ORGANIZATION,
    FakeConfluent,
    Responder,
    cluster,
    failure,
    garbage,
    key_of,
    listing,
    pool,
    region,
    statement,
    tableflow_topic,
    timeout,
    topic,
)

LKC = KafkaCluster.model_validate(cluster("lkc-a", "orders"))
LSRC = Registry.model_validate(
    {"id": "lsrc-1", "spec": {"http_endpoint": "https://psrc-1.us-east-1.aws.confluent.cloud"}}
)
US = RegionKey("aws", "us-east-1")
FLINK = "https://flink.us-east-1.aws.confluent.cloud"

Call = Callable[[ConfluentSession], list[Any]]

#: Name -> the call, its path, the plane of its key, and a valid item.
CLIENTS: dict[str, tuple[Call, str, str, Any]] = {
    "organizations": (
        lambda s: list_control(s, Organization),
        "/org/v2/organizations",
        "confluent_cloud",
        {"id": ORGANIZATION},
    ),
    "environments": (
        lambda s: list_control(s, Environment),
        "/org/v2/environments",
        "confluent_cloud",
        {"id": "env-1", "display_name": "prod"},
    ),
    "clusters": (
        lambda s: list_control(s, KafkaCluster, "env-1"),
        "/cmk/v2/clusters",
        "confluent_cloud",
        cluster("lkc-a", "orders"),
    ),
    "topics": (
        lambda s: list_kafka(s, KafkaTopic, "env-1", LKC),
        "/kafka/v3/clusters/lkc-a/topics",
        "kafka",
        topic("orders"),
    ),
    "topic configs": (
        lambda s: list_kafka(s, TopicSetting, "env-1", LKC),
        "/kafka/v3/clusters/lkc-a/topics/-/configs",
        "kafka",
        {"topic_name": "orders", "name": "retention.ms", "value": "1"},
    ),
    "mirrors": (
        lambda s: list_kafka(s, Mirror, "env-1", LKC),
        "/kafka/v3/clusters/lkc-a/links/-/mirrors",
        "kafka",
        {"link_name": "l", "mirror_topic_name": "m", "source_topic_name": "s", "mirror_status": "ACTIVE"},
    ),
    "registries": (
        lambda s: list_control(s, Registry, "env-1"),
        "/srcm/v3/clusters",
        "confluent_cloud",
        {"id": "lsrc-1"},
    ),
    "compute pools": (
        lambda s: list_control(s, ComputePool, "env-1"),
        "/fcpm/v2/compute-pools",
        "confluent_cloud",
        pool("lfcp-1", "us-east-1"),
    ),
    "regions": (
        lambda s: list_control(s, FlinkRegion),
        "/fcpm/v2/regions",
        "confluent_cloud",
        region("us-east-1"),
    ),
    "statements": (
        lambda s: list_flink(s, FlinkStatement, FLINK, ORGANIZATION, "env-1", US),
        f"/sql/v1/organizations/{ORGANIZATION}/environments/env-1/statements",
        "flink",
        statement("s", "SELECT 1"),
    ),
    "materialized tables": (
        lambda s: list_flink(s, MaterializedTable, FLINK, ORGANIZATION, "env-1", US),
        f"/sql/v1/organizations/{ORGANIZATION}/environments/env-1/materialized-tables",
        "flink",
        {"name": "t", "spec": {"kafka_cluster_id": "lkc-a", "query": "SELECT 1"}},
    ),
    "tableflow topics": (
        lambda s: list_tableflow(s, TableflowTopic, "env-1", "lkc-a"),
        "/tableflow/v1/tableflow-topics",
        "tableflow",
        tableflow_topic("orders"),
    ),
    "catalog integrations": (
        lambda s: list_tableflow(s, CatalogIntegration, "env-1", "lkc-a"),
        "/tableflow/v1/catalog-integrations",
        "tableflow",
        {"id": "tci-1", "spec": {"config": {"kind": "AwsGlue"}}},
    ),
}
#: The two lists that are not pages of `data`.
OTHERS: dict[str, tuple[Call, str, str]] = {
    "schemas": (
        lambda s: SchemaRegistryClient(s, "env-1").latest_schemas(LSRC),
        "/schemas",
        "schema_registry",
    ),
    "connectors": (
        lambda s: ConnectClient(s).connectors("env-1", "lkc-a"),
        "/connect/v1/environments/env-1/clusters/lkc-a/connectors",
        "confluent_cloud",
    ),
}
EVERY = {name: entry[:3] for name, entry in CLIENTS.items()} | OTHERS


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    ("respond", "error"),
    [
        (failure(401), Unauthorized),
        (failure(403), Forbidden),
        (failure(404), NotFound),
        (failure(429), RateLimited),
        (failure(502), ServerError),
        (timeout, Unreachable),
        (garbage, MalformedResponse),
        (lambda _: httpx.Response(200, json="a string"), MalformedResponse),
        (lambda _: httpx.Response(200, json=None), MalformedResponse),
    ],
    ids=["401", "403", "404", "429", "502", "timeout", "garbage", "string", "null"],
)
def test_each_client_raises_each_failure(
    fake: FakeConfluent, session: ConfluentSession, name: str, respond: Responder, error: type[ConfluentError]
) -> None:
    call, path, _ = EVERY[name]
    fake.routes[path] = respond
    with pytest.raises(error):
        call(session)


@pytest.mark.parametrize("name", CLIENTS)
def test_failing_second_page_keeps_the_first(
    fake: FakeConfluent, session: ConfluentSession, name: str
) -> None:
    call, path, _, item = CLIENTS[name]

    def respond(request: httpx.Request) -> httpx.Response:
        if "page_token" in request.url.params:
            return failure(500)(request)
        return httpx.Response(200, json=listing(item, following=f"{path}?page_token=2"))

    fake.routes[path] = respond
    with pytest.raises(PartialResponse) as raised:
        call(session)
    assert len(raised.value.items) == 1


@pytest.mark.parametrize("has_names", [False, True], ids=["not an object", "empty names"])
@pytest.mark.parametrize("name", CLIENTS)
def test_malformed_item_keeps_the_others(
    fake: FakeConfluent, session: ConfluentSession, name: str, has_names: bool
) -> None:
    call, path, _, item = CLIENTS[name]
    fake.routes[path] = listing(item, dict.fromkeys(item, "") if has_names else "not an object", item)
    with pytest.raises(PartialResponse, match="item 1") as raised:
        call(session)
    assert len(raised.value.items) == 2


@pytest.mark.parametrize("name", CLIENTS)
def test_nulls_unknown_fields_and_unknown_enums_are_accepted(
    fake: FakeConfluent, session: ConfluentSession, name: str
) -> None:
    call, path, plane, item = CLIENTS[name]
    odd = {**item, "status": {"phase": "SOMETHING_NEW", "write_mode": "TELEPATHY"}, "new": {"a": [None]}}
    odd["spec"] = {**item.get("spec", {}), "error": None, "storage": None, "cloud": "MARS", "later": None}
    fake.routes[path] = listing(odd)
    assert len(call(session)) == 1
    assert {key_of(request) for request in fake.requests} == {f"KEY-{plane}"}
