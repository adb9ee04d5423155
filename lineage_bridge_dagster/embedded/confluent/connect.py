"""Managed connectors. Unpaged, and with an error shape of their own."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import ApiError, Context, Json, cluster_of
from lineage_bridge_dagster.embedded.confluent.state import Document

_ROOT = "/connect/v1/environments/{environment}/clusters/{cluster}/connectors"


class Connect:
    """`/connect/v1`: connectors with their config, state, tasks and offsets."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @property
    def routes(self) -> list[Route]:
        return [
            Route(_ROOT, self.connectors),
            # Names may hold a slash, so the longer paths come first.
            Route(f"{_ROOT}/{{name:path}}/config", self.config),
            Route(f"{_ROOT}/{{name:path}}/status", self.status),
            Route(f"{_ROOT}/{{name:path}}/tasks", self.tasks),
            Route(f"{_ROOT}/{{name:path}}/pause", self.pause, methods=["PUT"]),
            Route(f"{_ROOT}/{{name:path}}/resume", self.resume, methods=["PUT"]),
            Route(f"{_ROOT}/{{name:path}}", self.connector),
            Route(f"{_ROOT}/{{name:path}}", self.delete, methods=["DELETE"]),
        ]

    def connectors(self, request: Request) -> Response:
        """Names alone, or with `expand` what it asks for."""
        cluster = _cluster(request)
        expand = {part for part in request.query_params.get("expand", "").split(",") if part}
        with self.context.state.reading("connectors") as document:
            found: Document = document.get(cluster.id, {})
            if not expand:
                return JSONResponse(sorted(found))
            parts = {"id": _id, "info": _info, "status": _status}
            return JSONResponse(
                {
                    name: {part: tell(one) for part, tell in parts.items() if part in expand}
                    for name, one in sorted(found.items())
                }
            )

    def connector(self, request: Request) -> Response:
        return JSONResponse(_info(self._one(request)))

    def config(self, request: Request) -> Response:
        return JSONResponse(self._one(request)["config"])

    def status(self, request: Request) -> Response:
        return JSONResponse(_status(self._one(request)))

    def tasks(self, request: Request) -> Response:
        one = self._one(request)
        return JSONResponse([{"id": {"connector": one["name"], "task": 0}, "config": one["config"]}])

    def pause(self, request: Request) -> Response:
        return self._set_state(request, "PAUSED")

    def resume(self, request: Request) -> Response:
        return self._set_state(request, "RUNNING")

    def delete(self, request: Request) -> Response:
        one = self._one(request)
        with self.context.state.changing("connectors") as document:
            del document[one["cluster"]][one["name"]]
        return JSONResponse({})

    def _set_state(self, request: Request, state: str) -> Response:
        one = self._one(request)
        with self.context.state.changing("connectors") as document:
            document[one["cluster"]][one["name"]]["state"] = state
        return Response(status_code=202)

    def _one(self, request: Request) -> Document:
        cluster = _cluster(request)
        name = request.path_params["name"]
        with self.context.state.reading("connectors") as document:
            found: Document | None = document.get(cluster.id, {}).get(name)
        if found is None:
            raise ApiError(404, f"Connector {name} not found")
        return found


def _cluster(request: Request) -> world.Cluster:
    if request.path_params["environment"] != world.ENVIRONMENT_ID:
        raise ApiError(403, f"Forbidden Access to environment {request.path_params['environment']}")
    return cluster_of(request.path_params["cluster"])


def _id(one: Document) -> Json:
    return {"id": one["id"], "id_type": "ID"}


def _info(one: Document) -> Json:
    return {
        "name": one["name"],
        "type": one["kind"],
        "config": one["config"],
        "tasks": [{"connector": one["name"], "task": 0}],
    }


def _status(one: Document) -> Json:
    return {
        "name": one["name"],
        "type": one["kind"],
        "connector": {"state": one["state"], "worker_id": one["id"], "trace": ""},
        "tasks": [{"id": 0, "state": one["state"], "worker_id": one["id"], "msg": ""}],
    }
