"""A Confluent on a mock transport: routes by path, with payloads of the official documents' shapes."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from pydantic import SecretStr

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.confluent.settings import ConfluentSettings

API = "https://api.confluent.cloud"
ORGANIZATION = "7c60d51f-b44e-4682-87d6-449835ea4de6"

#: Planes, each with a key of its own; see `keys`.
PLANES = ("confluent_cloud", "kafka", "schema_registry", "flink", "ksqldb", "tableflow")

Json = Any
Responder = Callable[[httpx.Request], httpx.Response]


def keys(*planes: str) -> dict[str, Credential]:
    """A key for each plane, named as if it came from the environment."""
    return {
        plane: Credential(
            key=f"KEY-{plane}",
            secret=SecretStr(f"secret-of-{plane}"),
            variable=f"LINEAGE_BRIDGE_{plane.upper()}_API_KEY",
        )
        for plane in planes or PLANES
    }


def settings(**changes: Any) -> ConfluentSettings:
    return ConfluentSettings(**{"api_url": API, "credentials": keys(), "max_attempts": 3, **changes})


def key_of(request: httpx.Request) -> str:
    """The API key that a request carries."""
    given = request.headers.get("Authorization", "").removeprefix("Basic ")
    return base64.b64decode(given).decode().partition(":")[0]


def listing(*items: Json, following: object = None, kind: str = "List") -> dict[str, Json]:
    return {"kind": kind, "metadata": {"next": following}, "data": list(items)}


def failure(status: int, headers: Mapping[str, str] | None = None) -> Responder:
    """An error in the control plane's shape."""
    body = {"errors": [{"id": "1", "status": str(status), "detail": f"scripted {status}"}]}
    return lambda _request: httpx.Response(status, json=body, headers=dict(headers or {}))


def garbage(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, text="<html>Sign in</html>", headers={"Content-Type": "text/html"})


def timeout(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("timed out", request=request)


def refused(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("[Errno 111] Connection refused", request=request)


def in_sequence(*responses: Responder | object) -> Responder:
    """Send one response after another; the last one repeats."""
    left = list(responses)

    def respond(request: httpx.Request) -> httpx.Response:
        one = left.pop(0) if len(left) > 1 else left[0]
        return one(request) if callable(one) else httpx.Response(200, json=one)

    return respond


class FakeConfluent:
    """Responds by host and path, and records `requests`.

    `routes` maps `path`, or `host/path`, to a JSON body or a `Responder`; the query is not part of it.
    A path without a route returns 404.
    """

    def __init__(self) -> None:
        self.routes: dict[str, Json | Responder] = {}
        self.requests: list[httpx.Request] = []
        self._lock = threading.Lock()

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._respond)

    def requests_to(self, part: str) -> list[httpx.Request]:
        return [request for request in self.requests if part in str(request.url)]

    def _respond(self, request: httpx.Request) -> httpx.Response:
        with self._lock:
            self.requests.append(request)
        path = request.url.raw_path.decode().partition("?")[0]
        for route in (f"{request.url.host}{path}", path):
            if route in self.routes:
                route_value = self.routes[route]
                return (
                    route_value(request) if callable(route_value) else httpx.Response(200, json=route_value)
                )
        return failure(404)(request)


def environment(identifier: str = "env-1", name: str = "prod") -> Json:
    return {
        "api_version": "org/v2",
        "kind": "Environment",
        "id": identifier,
        "display_name": name,
        "stream_governance_config": {"package": "ESSENTIALS"},
    }


def cluster(identifier: str, name: str, environment: str = "env-1", kind: str = "Standard") -> Json:
    host = f"{identifier}-00000.us-east-1.aws.glb.confluent.cloud"
    return {
        "id": identifier,
        "kind": "Cluster",
        "spec": {
            "display_name": name,
            "availability": "SINGLE_ZONE",
            "cloud": "AWS",
            "region": "us-east-1",
            "config": {"kind": kind},
            "kafka_bootstrap_endpoint": f"SASL_SSL://{host}:9092",
            "http_endpoint": f"https://{host}:443",
            "environment": {"id": environment},
        },
        "status": {"phase": "PROVISIONED"},
    }


def topic(name: str, *, internal: bool = False, partitions: int = 6) -> Json:
    return {
        "kind": "KafkaTopic",
        "topic_name": name,
        "is_internal": internal,
        "replication_factor": 3,
        "partitions_count": partitions,
    }


def config(topic: str, name: str, value: str | None, **more: Json) -> Json:
    return {
        "kind": "KafkaTopicConfig",
        "topic_name": topic,
        "name": name,
        "value": value,
        "is_default": False,
        "is_sensitive": False,
        **more,
    }


def avro(subject: str, *fields: str, name: str = "Order", version: int = 3) -> Json:
    """The latest version of a subject; an absent `schemaType` is Avro."""
    record = {
        "type": "record",
        "name": name,
        "namespace": "com.acme",
        "fields": [{"name": field, "type": ["null", "string"]} for field in fields],
    }
    import json

    return {"subject": subject, "version": version, "id": 100042, "schema": json.dumps(record)}


def statement(
    name: str, sql: str, phase: str = "RUNNING", *, database: str = "orders", **status: Json
) -> Json:
    return {
        "api_version": "sql/v1",
        "kind": "Statement",
        "name": name,
        "metadata": {"created_at": status.pop("created_at", "2026-01-01T00:00:00Z")},
        "spec": {
            "statement": sql,
            "properties": {"sql.current-catalog": "prod", "sql.current-database": database},
            "compute_pool_id": "lfcp-1",
            "principal": "sa-1",
            "stopped": False,
        },
        "status": {"phase": phase, "detail": "", **status},
    }


def pool(identifier: str, region: str, cloud: str = "AWS") -> Json:
    return {
        "id": identifier,
        "spec": {"display_name": identifier, "cloud": cloud, "region": region, "max_cfu": 5},
        "status": {"phase": "PROVISIONED", "current_cfu": 0},
    }


def region(name: str, cloud: str = "AWS") -> Json:
    return {
        "id": f"dlz-{name}",
        "cloud": cloud,
        "region_name": name,
        "http_endpoint": f"https://flink.{name}.{cloud.lower()}.confluent.cloud",
    }


def tableflow_topic(name: str, **spec: Json) -> Json:
    status = spec.pop("status", {"phase": "RUNNING", "write_mode": "APPEND"})
    return {
        "kind": "TableflowTopic",
        "spec": {
            "display_name": name,
            "suspended": False,
            "storage": {
                "kind": "ByobAws",
                "bucket_name": "lake",
                "bucket_region": "us-east-1",
                "table_path": f"s3://lake/1/{name}",
            },
            "table_formats": ["ICEBERG"],
            **spec,
        },
        "status": status,
    }


def glue_integration(identifier: str = "tci-1", custom_database: str | None = None) -> Json:
    return {
        "id": identifier,
        "spec": {
            "display_name": "glue",
            "suspended": False,
            "config": {
                "kind": "AwsGlue",
                "provider_integration_id": "cspi-1",
                "custom_database": custom_database,
            },
        },
        "status": {"phase": "CONNECTED"},
    }


def connector(name: str, kind: str, config: Mapping[str, str], state: str = "RUNNING") -> dict[str, Json]:
    """One entry of the connectors' object."""
    return {
        name: {
            "id": {"id": f"lcc-{name}", "id_type": "ID"},
            "info": {"name": name, "type": kind, "config": dict(config), "tasks": []},
            "status": {
                "name": name,
                "type": kind,
                "connector": {"state": state, "worker_id": name, "trace": ""},
                "tasks": [],
            },
        }
    }


def offsets(*entries: Json, name: str = "pg") -> Json:
    """A connector's offsets, each `{"partition", "offset"}`."""
    observed = {"observed_at": "2026-04-30T12:34:00Z"}
    return {"name": name, "id": f"lcc-{name}", "offsets": list(entries), "metadata": observed}


def kafka_path(cluster_id: str, rest: str) -> str:
    return f"{cluster_id}-00000.us-east-1.aws.glb.confluent.cloud/kafka/v3/clusters/{cluster_id}{rest}"


def connect_path(cluster_id: str, environment_id: str = "env-1") -> str:
    return f"/connect/v1/environments/{environment_id}/clusters/{cluster_id}/connectors"


def offsets_path(cluster_id: str, name: str) -> str:
    return f"{connect_path(cluster_id)}/{name}/offsets"


def flink_path(region: str, what: str = "statements", environment_id: str = "env-1") -> str:
    host = f"flink.{region}.aws.confluent.cloud"
    return f"{host}/sql/v1/organizations/{ORGANIZATION}/environments/{environment_id}/{what}"


def by_cluster(responses: Mapping[str, Json]) -> Responder:
    """Respond to Tableflow's lists: one path for all clusters, selected by `spec.kafka_cluster`; else 400."""

    def respond(request: httpx.Request) -> httpx.Response:
        cluster_id = request.url.params.get("spec.kafka_cluster")
        if cluster_id is None or "environment" not in request.url.params:
            return failure(400)(request)
        return httpx.Response(200, json=responses.get(cluster_id, listing()))

    return respond


def small_world() -> FakeConfluent:
    """One environment with two clusters that share a topic name, two Flink regions, one registry."""
    fake = FakeConfluent()
    put = fake.routes
    put["/org/v2/organizations"] = listing({"id": ORGANIZATION, "display_name": "acme"})
    put["/org/v2/environments"] = listing(environment())
    put["/cmk/v2/clusters"] = listing(
        cluster("lkc-a", "orders", kind="Dedicated"), cluster("lkc-b", "analytics")
    )
    put["/fcpm/v2/compute-pools"] = listing(
        pool("lfcp-1", "us-east-1"), pool("lfcp-2", "us-east-1"), pool("lfcp-3", "eu-west-1")
    )
    put["/fcpm/v2/regions"] = listing(region("us-east-1"), region("eu-west-1"), region("ap-south-1"))
    put["/srcm/v3/clusters"] = listing(
        {"id": "lsrc-1", "spec": {"http_endpoint": "https://psrc-1.us-east-1.aws.confluent.cloud"}}
    )
    put["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [avro("orders-value", "id", "customer")]
    put["psrc-1.us-east-1.aws.confluent.cloud/config"] = {"compatibilityLevel": "BACKWARD"}
    for cluster_id, topics in (
        ("lkc-a", ("orders", "enriched", "dlq-lcc-s3-archive")),
        ("lkc-b", ("orders", "totals")),
    ):
        put[kafka_path(cluster_id, "/topics")] = listing(*(topic(name) for name in topics))
        put[kafka_path(cluster_id, "/topics/-/configs")] = listing(
            *(config(name, "retention.ms", "86400000") for name in topics)
        )
        put[kafka_path(cluster_id, "/links/-/mirrors")] = listing()
        put[kafka_path(cluster_id, "/consumer-groups")] = listing()
    put[connect_path("lkc-a")] = connector(
        "s3-archive",
        "sink",
        {
            "connector.class": "S3_SINK",
            "topics": "orders",
            "s3.bucket.name": "archive",
            "aws.secret.access.key": "do-not-show-me",
        },
    )
    put[connect_path("lkc-b")] = {}
    put["/tableflow/v1/tableflow-topics"] = by_cluster(
        {"lkc-a": listing(tableflow_topic("enriched")), "lkc-b": listing(tableflow_topic("orders"))}
    )
    put["/tableflow/v1/catalog-integrations"] = by_cluster(
        {"lkc-a": listing(glue_integration()), "lkc-b": listing(glue_integration("tci-2", "analytics_db"))}
    )
    put[flink_path("us-east-1")] = listing(
        statement("enrich", "INSERT INTO enriched SELECT * FROM orders WHERE id <> ''")
    )
    put[flink_path("eu-west-1")] = listing(
        statement("count", "INSERT INTO totals SELECT id FROM orders", "DEGRADED", database="lkc-b")
    )
    put[flink_path("us-east-1", "materialized-tables")] = listing()
    put["/ksqldbcm/v2/clusters"] = listing()
    return fake
