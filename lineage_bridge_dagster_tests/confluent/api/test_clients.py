"""Every client against every failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.confluent.api.clusters import ClusterClient, KafkaCluster
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
    UntrustedAddress,
)
from lineage_bridge_dagster.confluent.api.flink import (
    ComputePool,
    FlinkClient,
    FlinkRegion,
    RegionKey,
    regions_of,
)
from lineage_bridge_dagster.confluent.api.kafka_rest import KafkaRestClient
from lineage_bridge_dagster.confluent.api.org import OrgClient
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.api.tableflow import TableflowClient
from lineage_bridge_dagster_tests.confluent.fake import (
    ORGANIZATION,
    Answer,
    FakeConfluent,
    cluster,
    connector,
    failure,
    garbage,
    key_of,
    keys,
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

#: Name -> the call, the path it asks, the plane its key is of, and a good item.
CLIENTS: dict[str, tuple[Call, str, str, Any]] = {
    "organizations": (
        lambda s: OrgClient(s).organizations(),
        "/org/v2/organizations",
        "confluent_cloud",
        {"id": ORGANIZATION},
    ),
    "environments": (
        lambda s: OrgClient(s).environments(),
        "/org/v2/environments",
        "confluent_cloud",
        {"id": "env-1", "display_name": "prod"},
    ),
    "clusters": (
        lambda s: ClusterClient(s).clusters("env-1"),
        "/cmk/v2/clusters",
        "confluent_cloud",
        cluster("lkc-a", "orders"),
    ),
    "topics": (
        lambda s: KafkaRestClient(s, "env-1", LKC).topics(),
        "/kafka/v3/clusters/lkc-a/topics",
        "kafka",
        topic("orders"),
    ),
    "topic configs": (
        lambda s: KafkaRestClient(s, "env-1", LKC).topic_configs(),
        "/kafka/v3/clusters/lkc-a/topics/-/configs",
        "kafka",
        {"topic_name": "orders", "name": "retention.ms", "value": "1"},
    ),
    "mirrors": (
        lambda s: KafkaRestClient(s, "env-1", LKC).mirrors(),
        "/kafka/v3/clusters/lkc-a/links/-/mirrors",
        "kafka",
        {"link_name": "l", "mirror_topic_name": "m", "source_topic_name": "s", "mirror_status": "ACTIVE"},
    ),
    "registries": (
        lambda s: SchemaRegistryClient(s, "env-1").registries(),
        "/srcm/v3/clusters",
        "confluent_cloud",
        {"id": "lsrc-1"},
    ),
    "compute pools": (
        lambda s: FlinkClient(s).compute_pools("env-1"),
        "/fcpm/v2/compute-pools",
        "confluent_cloud",
        pool("lfcp-1", "us-east-1"),
    ),
    "regions": (
        lambda s: FlinkClient(s).regions(),
        "/fcpm/v2/regions",
        "confluent_cloud",
        region("us-east-1"),
    ),
    "statements": (
        lambda s: FlinkClient(s).statements(FLINK, ORGANIZATION, "env-1", US),
        f"/sql/v1/organizations/{ORGANIZATION}/environments/env-1/statements",
        "flink",
        statement("s", "SELECT 1"),
    ),
    "materialized tables": (
        lambda s: FlinkClient(s).materialized_tables(FLINK, ORGANIZATION, "env-1", US),
        f"/sql/v1/organizations/{ORGANIZATION}/environments/env-1/materialized-tables",
        "flink",
        {"name": "t", "spec": {"kafka_cluster_id": "lkc-a", "query": "SELECT 1"}},
    ),
    "tableflow topics": (
        lambda s: TableflowClient(s).topics("env-1", "lkc-a"),
        "/tableflow/v1/tableflow-topics",
        "tableflow",
        tableflow_topic("orders"),
    ),
    "catalog integrations": (
        lambda s: TableflowClient(s).integrations("env-1", "lkc-a"),
        "/tableflow/v1/catalog-integrations",
        "tableflow",
        {"id": "tci-1", "spec": {"config": {"kind": "AwsGlue"}}},
    ),
}
#: The two whose answers are not pages of `data`.
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
    ("answer", "error"),
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
    fake: FakeConfluent, session: ConfluentSession, name: str, answer: Answer, error: type[ConfluentError]
) -> None:
    call, path, _ = EVERY[name]
    fake.routes[path] = answer
    with pytest.raises(error):
        call(session)


@pytest.mark.parametrize("name", CLIENTS)
def test_each_list_gives_its_first_half_when_the_second_fails(
    fake: FakeConfluent, session: ConfluentSession, name: str
) -> None:
    call, path, _, item = CLIENTS[name]

    def answer(request: httpx.Request) -> httpx.Response:
        if "page_token" in request.url.params:
            return failure(500)(request)
        return httpx.Response(200, json=listing(item, following=f"{path}?page_token=2"))

    fake.routes[path] = answer
    with pytest.raises(PartialResponse) as raised:
        call(session)
    assert len(raised.value.items) == 1


@pytest.mark.parametrize("name", CLIENTS)
def test_each_list_keeps_the_good_items_beside_a_malformed_one(
    fake: FakeConfluent, session: ConfluentSession, name: str
) -> None:
    call, path, _, item = CLIENTS[name]
    fake.routes[path] = listing(item, "not an object", item)
    with pytest.raises(PartialResponse, match="item 1") as raised:
        call(session)
    assert len(raised.value.items) == 2


@pytest.mark.parametrize("name", CLIENTS)
def test_each_list_takes_nulls_unknown_fields_and_unknown_enums(
    fake: FakeConfluent, session: ConfluentSession, name: str
) -> None:
    call, path, plane, item = CLIENTS[name]
    odd = {**item, "status": {"phase": "SOMETHING_NEW", "write_mode": "TELEPATHY"}, "new": {"a": [None]}}
    odd["spec"] = {**item.get("spec", {}), "error": None, "storage": None, "cloud": "MARS", "later": None}
    fake.routes[path] = listing(odd)
    assert len(call(session)) == 1
    assert {key_of(request) for request in fake.requests} == {f"KEY-{plane}"}


def test_required_filters_are_sent_with_every_page(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes["/tableflow/v1/tableflow-topics"] = listing()
    TableflowClient(session).topics("env-1", "lkc-a")
    assert dict(fake.requests[0].url.params) == {
        "environment": "env-1",
        "spec.kafka_cluster": "lkc-a",
        "page_size": "100",
    }


def test_kafka_rest_is_sent_no_paging_parameters(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes["/kafka/v3/clusters/lkc-a/topics"] = listing(topic("orders"))
    KafkaRestClient(session, "env-1", LKC).topics()
    assert fake.requests[0].url.query == b""


def test_consumer_group_is_percent_encoded(fake: FakeConfluent, session: ConfluentSession) -> None:
    path = "/kafka/v3/clusters/lkc-a/consumer-groups/a%2Fb%20c/lags"
    fake.routes[path] = listing({"topic_name": "orders", "lag": 0})
    assert [lag.topic_name for lag in KafkaRestClient(session, "env-1", LKC).consumer_lags("a/b c")] == [
        "orders"
    ]


def test_a_cluster_on_a_foreign_host_gets_no_key(fake: FakeConfluent, session: ConfluentSession) -> None:
    raw = cluster("lkc-a", "orders")
    raw["spec"]["http_endpoint"] = "https://evil.example"
    with pytest.raises(UntrustedAddress):
        KafkaRestClient(session, "env-1", KafkaCluster.model_validate(raw)).topics()
    assert fake.requests == []


def test_private_access_points_are_read_where_the_old_fields_are_gone() -> None:
    raw = cluster("lkc-a", "orders")
    del raw["spec"]["http_endpoint"], raw["spec"]["kafka_bootstrap_endpoint"]
    raw["spec"]["endpoints"] = {
        "ap1": {
            "http_endpoint": "https://lkc-a.private.confluent.cloud",
            "kafka_bootstrap_endpoint": "lkc-a.private.confluent.cloud:9092",
            "connection_type": "PRIVATE_LINK",
        }
    }
    read = KafkaCluster.model_validate(raw)
    assert read.http_endpoint == "https://lkc-a.private.confluent.cloud"
    assert read.bootstrap_endpoint == "lkc-a.private.confluent.cloud:9092"


class TestConnect:
    PATH = OTHERS["connectors"][1]

    def test_an_empty_object_means_none(self, fake: FakeConfluent, session: ConfluentSession) -> None:
        fake.routes[self.PATH] = {}
        assert ConnectClient(session).connectors("env-1", "lkc-a") == []

    def test_the_type_is_the_apis_and_not_the_configurations(
        self, fake: FakeConfluent, session: ConfluentSession
    ) -> None:
        fake.routes[self.PATH] = connector("s3", "sink", {"type": "source", "connector.class": "S3_SINK"})
        (found,) = ConnectClient(session).connectors("env-1", "lkc-a")
        assert (found.name, found.type, found.id, found.state) == ("s3", "sink", "lcc-s3", "RUNNING")
        assert fake.requests[0].url.params["expand"] == "info,status,id"

    def test_a_malformed_one_does_not_hide_the_others(
        self, fake: FakeConfluent, session: ConfluentSession
    ) -> None:
        fake.routes[self.PATH] = {**connector("good", "sink", {}), "bad": {"info": None}}
        with pytest.raises(PartialResponse, match="'bad'") as raised:
            ConnectClient(session).connectors("env-1", "lkc-a")
        assert [one.name for one in raised.value.items] == ["good"]


class TestFlink:
    def test_every_distinct_region_counts_once(self) -> None:
        pools = [pool("a", "us-east-1"), pool("b", "us-east-1", "aws"), pool("c", "us-east-1", "GCP")]
        found = regions_of(ComputePool.model_validate(one) for one in pools)
        assert found == [RegionKey("aws", "us-east-1"), RegionKey("gcp", "us-east-1")]

    def test_the_endpoint_is_the_regions_own(self, session: ConfluentSession) -> None:
        told = FlinkRegion(cloud="AWS", region_name="us-east-1", http_endpoint="https://f.confluent.cloud")
        private = told.model_copy(update={"http_endpoint": "", "private_http_endpoint": "https://p.example"})
        client = FlinkClient(session)
        assert client.endpoint(US, [told]) == "https://f.confluent.cloud"
        assert client.endpoint(US, [private]) == "https://p.example"
        assert client.endpoint(US, []) == "https://flink.us-east-1.aws.confluent.cloud"

    def test_without_the_list_no_address_is_made_up_for_another_host(
        self, session_with: Callable[..., ConfluentSession]
    ) -> None:
        made = session_with(api_url="http://127.0.0.1:1", credentials=keys())
        with pytest.raises(UntrustedAddress):
            FlinkClient(made).endpoint(US, [])
