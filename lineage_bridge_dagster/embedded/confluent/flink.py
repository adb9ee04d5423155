"""Flink SQL of each region: statements, and materialized tables, of which the world has none."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import ApiError, Context, Json, base_url, page
from lineage_bridge_dagster.embedded.confluent.planes import flink_prefix
from lineage_bridge_dagster.embedded.confluent.state import Document, stable_uuid

_ROOT = "/flink/{place}/sql/v1/organizations/{organization}/environments/{environment}"


class Flink:
    """`{http_endpoint}/sql/v1/...` of every region that has a compute pool."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @property
    def routes(self) -> list[Route]:
        return [
            Route(f"{_ROOT}/statements", self.statements),
            Route(f"{_ROOT}/statements/{{name}}", self.statement),
            Route(f"{_ROOT}/statements/{{name}}", self.delete, methods=["DELETE"]),
            Route(f"{_ROOT}/materialized-tables", self.materialized_tables),
        ]

    def statements(self, request: Request) -> Response:
        place = _place(request)
        pool = request.query_params.get("spec.compute_pool_id")
        labels = _labels(request.query_params.get("label_selector", ""))
        with self.context.state.reading("statements") as document:
            items = [
                _statement(base_url(request), place, one)
                for _, one in sorted(document.get(place, {}).items())
                if pool in (None, "", one["pool"]) and labels.items() <= one.get("labels", {}).items()
            ]
        return page(request, self.context, items, api_version="sql/v1", kind="StatementList", total=False)

    def statement(self, request: Request) -> Response:
        place = _place(request)
        answer = _statement(base_url(request), place, self._one(request, place))
        # The document requires this of a single statement's spec, without saying what it is.
        answer["spec"]["statement_name"] = answer["name"]
        return JSONResponse(answer)

    def delete(self, request: Request) -> Response:
        place = _place(request)
        one = self._one(request, place)
        with self.context.state.changing("statements") as document:
            del document[place][one["name"]]
        return Response(status_code=202)

    def _one(self, request: Request, place: str) -> Document:
        name = request.path_params["name"]
        with self.context.state.reading("statements") as document:
            found: Document | None = document.get(place, {}).get(name)
        if found is None:
            raise ApiError(404, f"Statement {name} not found.")
        return found

    def materialized_tables(self, request: Request) -> Response:
        _place(request)
        return page(
            request, self.context, [], api_version="sql/v1", kind="MaterializedTableList", total=False
        )


def _place(request: Request) -> str:
    """The `{cloud}.{region}` asked.

    Raises:
        ApiError: 404 for a region without a pool; 403 for another organization or environment.
    """
    place: str = request.path_params["place"]
    if place not in {pool.place for pool in world.POOLS}:
        raise ApiError(404, f"There is no Flink in {place}.")
    asked = (request.path_params["organization"], request.path_params["environment"])
    if asked != (world.ORGANIZATION_ID, world.ENVIRONMENT_ID):
        raise ApiError(403, "Forbidden Access to this organization or environment.")
    return place


def _labels(selector: str) -> dict[str, str]:
    pairs = (part.split("=", 1) for part in selector.split(",") if "=" in part)
    return {name.strip(): value.strip() for name, value in pairs}


def _statement(base: str, place: str, one: Document) -> Json:
    url = (
        f"{base}{flink_prefix(place)}/sql/v1/organizations/{world.ORGANIZATION_ID}"
        f"/environments/{world.ENVIRONMENT_ID}/statements/{one['name']}"
    )
    return {
        "api_version": "sql/v1",
        "kind": "Statement",
        "name": one["name"],
        "organization_id": world.ORGANIZATION_ID,
        "environment_id": world.ENVIRONMENT_ID,
        "metadata": {
            "self": url,
            "created_at": world.CREATED_AT,
            "updated_at": world.CREATED_AT,
            "uid": stable_uuid("statement", place, one["name"]),
            "resource_version": "1",
            "labels": one.get("labels", {}),
        },
        "spec": {
            "statement": one["sql"],
            "properties": {
                "sql.current-catalog": one["catalog"],
                "sql.current-database": one["database"],
            },
            "compute_pool_id": one["pool"],
            "principal": one["principal"],
            "stopped": one["phase"] == "STOPPED",
        },
        "status": {
            "phase": one["phase"],
            "detail": "",
            "traits": {
                "sql_kind": one["sql_kind"],
                "is_bounded": False,
                "is_append_only": True,
                "connection_refs": [],
            },
        },
    }
