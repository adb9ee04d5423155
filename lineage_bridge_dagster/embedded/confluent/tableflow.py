"""Tableflow API: topics that are written as tables, and the catalogs that the tables are published to."""

from __future__ import annotations

import json
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import (
    ApiError,
    EmulatorContext,
    Json,
    base_url,
    cluster_crn,
    cluster_reference,
    environment_reference,
    find_cluster,
    metadata,
    page,
    require_environment,
    require_parameter,
    resource,
)
from lineage_bridge_dagster.embedded.confluent.state import Document, new_tableflow, now

_TOPICS = "/tableflow/v1/tableflow-topics"
_INTEGRATIONS = "/tableflow/v1/catalog-integrations"
_FORMATS = {"ICEBERG", "DELTA"}
#: What the internal API can make the public one report of a topic and of a catalog integration.
TOPIC_OVERRIDES = frozenset(
    {
        "phase",
        "error_message",
        "sync_status",
        "sync_error_message",
        "suspended",
        "table_formats",
        "storage_kind",
        "bucket_region",
    }
)
INTEGRATION_OVERRIDES = frozenset({"phase", "error_message", "suspended", "absent"})


class Tableflow:
    """`/tableflow/v1`. A Tableflow topic has no id; environment, cluster and display name identify it."""

    def __init__(self, context: EmulatorContext) -> None:
        self.context = context

    @property
    def routes(self) -> list[Route]:
        return [
            Route(_TOPICS, self.enable, methods=["POST"]),
            Route(_TOPICS, self.topics),
            Route(f"{_TOPICS}/{{topic}}", self.topic),
            Route(f"{_TOPICS}/{{topic}}", self.disable, methods=["DELETE"]),
            Route(_INTEGRATIONS, self.integrations),
        ]

    def topics(self, request: Request) -> Response:
        cluster = _cluster(request)
        with self.context.state.reading("tableflow") as document:
            items = [
                _topic(base_url(request), _overridden(document, key))
                for key, topic in sorted(document["topics"].items())
                if topic["cluster"] == cluster.id
            ]
        return page(request, self.context, items, api_version="tableflow/v1", kind="TableflowTopicList")

    def topic(self, request: Request) -> Response:
        return JSONResponse(_topic(base_url(request), self._find(request)))

    def _find(self, request: Request) -> Document:
        cluster = _cluster(request)
        name = request.path_params["topic"]
        with self.context.state.reading("tableflow") as document:
            key = f"{cluster.id}/{name}"
            if key not in document["topics"]:
                raise ApiError(404, f"Tableflow is not enabled on topic {name} of {cluster.id}.")
            return _overridden(document, key)

    async def enable(self, request: Request) -> Response:
        """Enable Tableflow on a topic; it is PENDING until its table exists."""
        body = await request.body()
        base = base_url(request)
        created = await run_in_threadpool(self._enable, base, body)
        return JSONResponse(
            _topic(base, {**created, "integrated": True}),
            202,
            {"Location": f"{base}{_TOPICS}/{created['topic']}"},
        )

    def _enable(self, base: str, body: bytes) -> Document:
        spec = _parse_spec(body)
        name = _required_text(spec, "/spec/display_name", "display_name")
        if _required_text(spec, "/spec/environment/id", "environment", "id") != world.ENVIRONMENT_ID:
            raise ApiError(403, "Forbidden Access to this environment.", pointer="/spec/environment/id")
        cluster = find_cluster(_required_text(spec, "/spec/kafka_cluster/id", "kafka_cluster", "id"))
        if name not in self.context.brokers[cluster.id].topics():
            raise ApiError(404, f"Topic {name} not found in {cluster.id}.", pointer="/spec/display_name")
        storage = _parse_storage(spec, cluster)
        formats = spec.get("table_formats") or ["ICEBERG"]
        if not isinstance(formats, list) or not set(formats) <= _FORMATS:
            raise ApiError(
                400, "table_formats must contain only ICEBERG and DELTA.", pointer="/spec/table_formats"
            )
        created = new_tableflow(
            cluster, name, storage=storage, config=spec.get("config"), table_formats=formats
        )
        with self.context.state.changing("tableflow") as document:
            key = f"{cluster.id}/{name}"
            if key in document["topics"]:
                raise ApiError(
                    409,
                    f"Tableflow is already enabled on topic {name} of {cluster.id}.",
                    headers={"Location": f"{base}{_TOPICS}/{name}"},
                )
            document["topics"][key] = created
        return created

    def disable(self, request: Request) -> Response:
        topic = self._find(request)
        with self.context.state.changing("tableflow") as document:
            key = f"{topic['cluster']}/{topic['topic']}"
            document.get("overrides", {}).pop(key, None)
            dropped = document["topics"].pop(key)
            document["dropped"].append({**dropped, "dropped_at": now()})
        return Response(status_code=204)

    def integrations(self, request: Request) -> Response:
        cluster = _cluster(request)
        items = [] if self._override(cluster).get("absent") else [self._integration(request, cluster)]
        return page(request, self.context, items, api_version="tableflow/v1", kind="CatalogIntegrationList")

    def _integration(self, request: Request, cluster: world.Cluster) -> Json:
        return _integration(base_url(request), cluster, self._override(cluster))

    def _override(self, cluster: world.Cluster) -> Document:
        with self.context.state.reading("tableflow") as document:
            override: Document = document.get("overrides", {}).get(cluster.id, {})
            return override


def _cluster(request: Request) -> world.Cluster:
    """Return the cluster that the two required filters select."""
    require_environment(request)
    return find_cluster(require_parameter(request, "spec.kafka_cluster"), parameter="spec.kafka_cluster")


def _parse_spec(body: bytes) -> Document:
    try:
        spec = json.loads(body)["spec"]
    except (ValueError, KeyError, TypeError) as error:
        raise ApiError(400, "The body must be JSON with a spec.", pointer="/spec") from error
    if not isinstance(spec, dict):
        raise ApiError(400, "spec must be an object.", pointer="/spec")
    return spec


def _required_text(spec: Document, pointer: str, *path: str) -> str:
    value: Any = spec
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    if not isinstance(value, str) or not value:
        raise ApiError(400, f"{pointer.rpartition('/')[2]} is required.", pointer=pointer)
    return value


def _parse_storage(spec: Document, cluster: world.Cluster) -> Document:
    """Return the table's storage; by default the cluster's own bucket."""
    storage = spec.get("storage") or {
        "kind": "ByobAws",
        "bucket_name": cluster.bucket,
        "provider_integration_id": cluster.provider_integration_id,
    }
    if not isinstance(storage, dict) or storage.get("kind") not in ("ByobAws", "Managed"):
        raise ApiError(400, "storage.kind must be ByobAws or Managed.", pointer="/spec/storage/kind")
    if storage["kind"] == "ByobAws":
        for name in ("bucket_name", "provider_integration_id"):
            _required_text(storage, f"/spec/storage/{name}", name)
    return {k: storage[k] for k in ("kind", "bucket_name", "provider_integration_id") if k in storage}


def _overridden(document: Document, key: str) -> Document:
    topic, overrides = document["topics"][key], document.get("overrides", {})
    integrated = not overrides.get(topic["cluster"], {}).get("absent")
    return {**topic, **overrides.get(key, {}), "integrated": integrated}


def _topic(base: str, topic: Document) -> Json:
    cluster = find_cluster(topic["cluster"])
    running = topic["phase"] == "RUNNING"
    storage = dict(topic["storage"])
    if kind := topic.get("storage_kind"):
        storage = {"kind": kind}
    if storage["kind"] == "ByobAws":
        storage["bucket_region"] = topic.get("bucket_region") or cluster.region
    if running:
        storage["table_path"] = topic["table_path"]
    return {
        "api_version": "tableflow/v1",
        "kind": "TableflowTopic",
        "metadata": metadata(
            f"{base}{_TOPICS}/{topic['topic']}",
            cluster_crn(cluster.id, f"tableflow-topic={topic['topic']}"),
            topic["created_at"],
            topic["updated_at"],
        ),
        "spec": {
            "display_name": topic["topic"],
            "suspended": topic["suspended"],
            "config": {
                "enable_compaction": True,
                "enable_partitioning": False,
                "retention_ms": "604800000",
                "record_failure_strategy": "SUSPEND",
                "error_handling": {"mode": "SUSPEND"},
                "metadata_column_naming_scheme": "DEFAULT",
                **topic["config"],
            },
            "storage": storage,
            "table_formats": topic["table_formats"],
            "environment": environment_reference(base),
            "kafka_cluster": cluster_reference(base, cluster.id),
        },
        "status": {
            "phase": topic["phase"],
            "error_message": topic["error_message"],
            "catalog_sync_statuses": [
                {
                    "catalog_integration_id": cluster.integration_id,
                    "catalog_type": "AWS_GLUE",
                    "sync_status": topic["sync_status"],
                    "error_message": (topic.get("sync_error_message") or topic["error_message"] or None)
                    if topic["sync_status"] == "FAILED"
                    else None,
                }
            ]
            # Glue gets no tables of Confluent's own storage.
            if topic["integrated"] and topic["storage"]["kind"] != world.MANAGED_STORAGE
            else [],
            "failing_table_formats": [
                {"format": table_format, "error_message": topic["error_message"]}
                for table_format in topic["table_formats"]
                if topic["phase"] == "FAILED"
            ],
            "write_mode": topic["write_mode"],
        },
    }


def _integration(base: str, cluster: world.Cluster, override: Document) -> Json:
    config: Json = {"kind": "AwsGlue", "provider_integration_id": cluster.provider_integration_id}
    if cluster.glue_database:
        config["custom_database"] = cluster.glue_database
    spec = {
        "display_name": f"{cluster.name}-glue",
        "suspended": override.get("suspended", False),
        "config": config,
        "environment": environment_reference(base),
        "kafka_cluster": cluster_reference(base, cluster.id),
    }
    status = {
        "phase": override.get("phase", "CONNECTED"),
        "error_message": override.get("error_message", ""),
        "last_sync_at": now(),
    }
    own, name = (
        cluster.integration_id,
        cluster_crn(cluster.id, f"catalog-integration={cluster.integration_id}"),
    )
    return resource(base, _INTEGRATIONS[1:], "CatalogIntegration", own, name, spec=spec, status=status)
