"""Connect API: managed connectors, without pagination and with its own error shape."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import ApiError, EmulatorContext, Json, find_cluster
from lineage_bridge_dagster.embedded.confluent.state import Document, now

_ROOT = "/connect/v1/environments/{environment}/clusters/{cluster}/connectors"


class Connect:
    """`/connect/v1`: connectors with their config, state, tasks and offsets."""

    def __init__(self, context: EmulatorContext) -> None:
        self.context = context

    @property
    def routes(self) -> list[Route]:
        return [
            Route(_ROOT, self.connectors),
            Route(f"{_ROOT}/{{name:path}}/offsets", self.offsets),
        ]

    def connectors(self, request: Request) -> Response:
        """List names, or with `expand` the requested parts of each connector."""
        cluster = _cluster(request)
        expand = {part for part in request.query_params.get("expand", "").split(",") if part}
        with self.context.state.reading("connectors") as document:
            connectors = {n: self.context.localized(c) for n, c in document.get(cluster.id, {}).items()}
            if not expand:
                return JSONResponse(sorted(connectors))
            parts = {"id": _id, "info": _info, "status": _status}
            return JSONResponse(
                {
                    name: {part: render(connector) for part, render in parts.items() if part in expand}
                    for name, connector in sorted(connectors.items())
                }
            )

    def offsets(self, request: Request) -> Response:
        """A source's offsets as the sample platform has them; a sink's up to the end of its topics."""
        connector = self._find(request)
        pairs = connector.get("offsets") or ()
        if connector["kind"] == "sink":
            pairs = self._sink_offsets(connector)
        return JSONResponse(
            {
                "name": connector["name"],
                "id": connector["id"],
                "offsets": [{"partition": partition, "offset": offset} for partition, offset in pairs],
                "metadata": {"observed_at": now()},
            }
        )

    def _sink_offsets(self, connector: Document) -> list[tuple[Json, Json]]:
        broker = self.context.brokers[connector["cluster"]]
        config = connector["config"]
        topics = [name.strip() for name in config.get("topics", "").split(",")]
        pattern = config.get("topics.regex", "")
        return [
            ({"kafka_topic": topic, "kafka_partition": partition}, {"kafka_offset": end})
            for topic in sorted(broker.topics())
            if topic in topics or (pattern and re.fullmatch(pattern, topic))
            for partition, end in sorted(broker.end_offsets(topic).items())
        ]

    def _find(self, request: Request) -> Document:
        cluster = _cluster(request)
        name = request.path_params["name"]
        with self.context.state.reading("connectors") as document:
            connector: Document | None = document.get(cluster.id, {}).get(name)
        if connector is None:
            raise ApiError(404, f"Connector {name} not found")
        return self.context.localized(connector)


def _cluster(request: Request) -> world.Cluster:
    if request.path_params["environment"] != world.ENVIRONMENT_ID:
        raise ApiError(403, f"Forbidden Access to environment {request.path_params['environment']}")
    return find_cluster(request.path_params["cluster"])


def _id(connector: Document) -> Json:
    return {"id": connector["id"], "id_type": "ID"}


def _info(connector: Document) -> Json:
    return {
        "name": connector["name"],
        "type": connector["kind"],
        "config": connector["config"],
        "tasks": [{"connector": connector["name"], "task": 0}],
    }


def _status(connector: Document) -> Json:
    return {
        "name": connector["name"],
        "type": connector["kind"],
        "connector": {"state": connector["state"], "worker_id": connector["id"], "trace": ""},
        "tasks": [{"id": 0, "state": connector["state"], "worker_id": connector["id"], "msg": ""}],
    }
