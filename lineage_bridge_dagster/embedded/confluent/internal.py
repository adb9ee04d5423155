"""The emulator's internal API under `/emulator`, for the materializer, tests and `lineage-bridge local`.

It requires no key; the emulator listens on the loopback interface only.

- `GET /emulator/tableflow`: one entry per Tableflow topic, with what is needed to write its table
- `PUT /emulator/tableflow/{cluster}/{topic}/status`: report `{"phase": "RUNNING"}` or `{"phase": "FAILED",
  "error_message": "..."}`; optional `table_path` (if it differs), `sync_status`, `write_mode`. RUNNING means
  that the Glue table exists: the public API then returns `table_path` and SYNCED
- `PUT /emulator/tableflow/{cluster}/{topic}/override`: what the public API reports instead, to show a topic
  without a table: any of `phase`, `error_message`, `sync_status`, `sync_error_message`, `suspended`,
  `table_formats`, `storage_kind` and `bucket_region`; `{}` ends it
- `PUT /emulator/integrations/{cluster}/override`: the same for the cluster's catalog integration: any of
  `phase`, `error_message` and `suspended`; `absent` to report none
- `GET /emulator/tableflow/dropped`: entries of topics that were disabled, whose tables are to be removed
- `DELETE /emulator/tableflow/dropped/{table id}`: report that a table was removed; its id is the last part of
  `table_path`
- `GET /emulator/sinks`: the Iceberg sink connectors, with what is needed to write their tables
- `GET|POST|DELETE /emulator/faults`: scripted failures (see `faults`); `DELETE ...?api=` clears one API's
- `POST /emulator/options`: `max_page_size`, an upper bound on the size of pages; null restores the default
- `GET|DELETE /emulator/requests`: number of requests to each API; reset the counts
- `GET /emulator/health`: 200 with the state of each broker
"""

from __future__ import annotations

import json
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent import planes
from lineage_bridge_dagster.embedded.confluent.answers import (
    MAX_PAGE_SIZE,
    ApiError,
    EmulatorContext,
    Json,
    base_url,
)
from lineage_bridge_dagster.embedded.confluent.faults import ApiFault
from lineage_bridge_dagster.embedded.confluent.gate import Gate
from lineage_bridge_dagster.embedded.confluent.state import Document, now
from lineage_bridge_dagster.embedded.confluent.tableflow import INTEGRATION_OVERRIDES, TOPIC_OVERRIDES
from lineage_bridge_dagster.embedded.kafka.broker import LocalBrokerError

PHASES = ("PENDING", "RUNNING", "FAILED")
_SYNC = {"PENDING": "PENDING", "RUNNING": "SYNCED", "FAILED": "FAILED"}


class Internal:
    """Routes of the internal API. `gate` is set after construction because it wraps the routes."""

    def __init__(self, context: EmulatorContext) -> None:
        self.context = context
        self.gate: Gate | None = None

    @property
    def routes(self) -> list[Route]:
        root = "/emulator"
        return [
            Route(f"{root}/health", self.health),
            Route(f"{root}/tableflow", self.tableflow),
            Route(f"{root}/tableflow/dropped", self.dropped),
            Route(f"{root}/tableflow/dropped/{{table}}", self.forget, methods=["DELETE"]),
            Route(f"{root}/tableflow/{{cluster}}/{{topic}}/status", self.set_status, methods=["PUT"]),
            Route(f"{root}/tableflow/{{cluster}}/{{topic}}/override", self.override, methods=["PUT"]),
            Route(f"{root}/integrations/{{cluster}}/override", self.override, methods=["PUT"]),
            Route(f"{root}/sinks", self.sinks),
            Route(f"{root}/faults", self.add_fault, methods=["POST"]),
            Route(f"{root}/faults", self.clear_faults, methods=["DELETE"]),
            Route(f"{root}/faults", self.faults),
            Route(f"{root}/options", self.set_options, methods=["POST"]),
            Route(f"{root}/requests", self.reset_requests, methods=["DELETE"]),
            Route(f"{root}/requests", self.requests),
        ]

    def health(self, _: Request) -> Response:
        brokers: dict[str, str] = {}
        for cluster_id, broker in self.context.brokers.items():
            try:
                brokers[cluster_id] = f"{len(broker.topics())} topics"
            except LocalBrokerError as error:
                brokers[cluster_id] = str(error)
        return JSONResponse({"status": "ok", "brokers": brokers})

    def tableflow(self, request: Request) -> Response:
        with self.context.state.reading("tableflow") as document:
            entries = [
                self._entry(base_url(request), topic) for _, topic in sorted(document["topics"].items())
            ]
        return JSONResponse(entries)

    def dropped(self, request: Request) -> Response:
        with self.context.state.reading("tableflow") as document:
            entries = [self._entry(base_url(request), topic) for topic in document["dropped"]]
        return JSONResponse(entries)

    def forget(self, request: Request) -> Response:
        table = request.path_params["table"]
        with self.context.state.changing("tableflow") as document:
            remaining = [d for d in document["dropped"] if d["table_path"].rpartition("/")[2] != table]
            if len(remaining) == len(document["dropped"]):
                raise ApiError(404, f"No dropped table {table}.")
            document["dropped"] = remaining
        return Response(status_code=204)

    async def set_status(self, request: Request) -> Response:
        body = await _json_object(request)
        return await run_in_threadpool(self._set_status, request, body)

    def _set_status(self, request: Request, body: Document) -> Response:
        phase = body.get("phase")
        if phase not in PHASES:
            raise ApiError(400, f"phase must be one of {', '.join(PHASES)}.", pointer="/phase")
        key = f"{request.path_params['cluster']}/{request.path_params['topic']}"
        with self.context.state.changing("tableflow") as document:
            topic = document["topics"].get(key)
            if topic is None:
                raise ApiError(404, f"Tableflow is not enabled on {key}.")
            changes = {
                "phase": phase,
                "error_message": body.get("error_message") or "",
                "sync_status": body.get("sync_status") or _SYNC[phase],
                "table_path": body.get("table_path") or topic["table_path"],
                "write_mode": body.get("write_mode") or topic["write_mode"],
            }
            if any(topic[name] != value for name, value in changes.items()):
                topic.update(changes, updated_at=now())
            entry = self._entry(base_url(request), topic)
        return JSONResponse(entry)

    async def override(self, request: Request) -> Response:
        """Set what the public API reports of a Tableflow topic or an integration, whatever its real state."""
        body = await _json_object(request)
        place = request.path_params
        known = TOPIC_OVERRIDES if "topic" in place else INTEGRATION_OVERRIDES
        if unknown := body.keys() - known:
            raise ApiError(400, f"unknown fields: {', '.join(sorted(unknown))}")
        key = "/".join(place[part] for part in ("cluster", "topic") if part in place)

        def change() -> None:
            with self.context.state.changing("tableflow") as document:
                overrides = document.setdefault("overrides", {})
                overrides.pop(key, None)
                if body:
                    overrides[key] = body

        await run_in_threadpool(change)
        return JSONResponse(body)

    def _entry(self, base: str, topic: Document) -> Json:
        """Describe one table for the materializer. `glue_region` is the region of the only Glue catalog."""
        cluster = world.cluster(topic["cluster"])
        return {
            "environment": world.ENVIRONMENT_ID,
            "organization": world.ORGANIZATION_ID,
            "cluster": cluster.id,
            "cluster_name": cluster.name,
            "cloud": cluster.cloud,
            "region": cluster.region,
            "topic": topic["topic"],
            "subject": f"{topic['topic']}-value",
            "bootstrap": self.context.bootstrap[cluster.id],
            "schema_registry_url": base + planes.schema_registry_prefix(),
            "storage_kind": topic["storage"]["kind"],
            "table_path": topic["table_path"],
            "table_formats": topic["table_formats"],
            "glue_database": cluster.database,
            "glue_table": topic["topic"].lower(),
            "glue_region": world.GLUE_REGION,
            "config": topic["config"],
            "phase": topic["phase"],
            "error_message": topic["error_message"],
            "created_at": topic["created_at"],
        }

    def sinks(self, request: Request) -> Response:
        with self.context.state.reading("connectors") as document:
            sinks = [
                {
                    "connector": connector["name"],
                    "id": connector["id"],
                    "state": connector["state"],
                    "bootstrap": self.context.bootstrap[cluster],
                    "schema_registry_url": base_url(request) + planes.schema_registry_prefix(),
                    "config": self.context.localized(connector)["config"],
                }
                for cluster, connectors in document.items()
                for connector in connectors.values()
                if connector["config"]["connector.class"] == world.ICEBERG_SINK
            ]
        return JSONResponse(sinks)

    def _gate(self) -> Gate:
        if self.gate is None:
            raise ApiError(503, "The emulator is still starting.")
        return self.gate

    def faults(self, _: Request) -> Response:
        return JSONResponse(self._gate().faults.as_json())

    async def add_fault(self, request: Request) -> Response:
        try:
            fault = ApiFault.parse(await _json_object(request))
        except (ValueError, TypeError) as error:
            raise ApiError(400, str(error)) from error
        self._gate().faults.add(fault)
        return JSONResponse(fault.as_json(), 201)

    def clear_faults(self, request: Request) -> Response:
        api = request.query_params.get("api")
        return JSONResponse({"cleared": self._gate().faults.clear(lambda fault: api in (None, fault.api))})

    async def set_options(self, request: Request) -> Response:
        body = await _json_object(request)
        if "max_page_size" in body:
            self.context.max_page_size = body["max_page_size"] or MAX_PAGE_SIZE
        return JSONResponse({"max_page_size": self.context.max_page_size})

    def requests(self, _: Request) -> Response:
        return JSONResponse(dict(sorted(self._gate().requests.items())))

    def reset_requests(self, _: Request) -> Response:
        self._gate().requests.clear()
        return Response(status_code=204)


async def _json_object(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except ValueError as error:
        raise ApiError(400, "The body must be JSON.") from error
    if not isinstance(body, dict):
        raise ApiError(400, "The body must be a JSON object.")
    return body
