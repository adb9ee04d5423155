"""Flink SQL API of each region: statements, and an empty list of materialized tables."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import ApiError, EmulatorContext, Json, base_url, page
from lineage_bridge_dagster.embedded.confluent.planes import flink_prefix
from lineage_bridge_dagster.embedded.confluent.state import Document, stable_uuid

_ROOT = "/flink/{region}/sql/v1/organizations/{organization}/environments/{environment}"


class Flink:
    """`{http_endpoint}/sql/v1/...` of every region that has a compute pool."""

    def __init__(self, context: EmulatorContext) -> None:
        self.context = context

    @property
    def routes(self) -> list[Route]:
        return [
            Route(f"{_ROOT}/statements", self.statements),
            Route(f"{_ROOT}/materialized-tables", self.materialized_tables),
        ]

    def statements(self, request: Request) -> Response:
        region = _region(request)
        with self.context.state.reading("statements") as document:
            items = [
                _statement(base_url(request), region, statement)
                for _, statement in sorted(document.get(region, {}).items())
            ]
        return page(request, self.context, items, api_version="sql/v1", kind="StatementList", total=False)

    def materialized_tables(self, request: Request) -> Response:
        _region(request)
        return page(
            request, self.context, [], api_version="sql/v1", kind="MaterializedTableList", total=False
        )


def _region(request: Request) -> str:
    """Return the `{cloud}.{region}` in the path.

    Raises:
        ApiError: 404 for a region without a compute pool; 403 for another organization or environment.
    """
    region: str = request.path_params["region"]
    if region not in {pool.region_id for pool in world.POOLS}:
        raise ApiError(404, f"Flink is not available in {region}.")
    scope = (request.path_params["organization"], request.path_params["environment"])
    if scope != (world.ORGANIZATION_ID, world.ENVIRONMENT_ID):
        raise ApiError(403, "Forbidden Access to this organization or environment.")
    return region


def _statement(base: str, region: str, statement: Document) -> Json:
    url = (
        f"{base}{flink_prefix(region)}/sql/v1/organizations/{world.ORGANIZATION_ID}"
        f"/environments/{world.ENVIRONMENT_ID}/statements/{statement['name']}"
    )
    return {
        "api_version": "sql/v1",
        "kind": "Statement",
        "name": statement["name"],
        "organization_id": world.ORGANIZATION_ID,
        "environment_id": world.ENVIRONMENT_ID,
        "metadata": {
            "self": url,
            "created_at": world.CREATED_AT,
            "updated_at": world.CREATED_AT,
            "uid": stable_uuid("statement", region, statement["name"]),
            "resource_version": "1",
            "labels": {},
        },
        "spec": {
            "statement": statement["sql"],
            "properties": {
                "sql.current-catalog": statement["catalog"],
                "sql.current-database": statement["database"],
            },
            "compute_pool_id": statement["pool"],
            "principal": statement["principal"],
            "stopped": statement["phase"] == "STOPPED",
        },
        "status": {
            "phase": statement["phase"],
            "detail": "",
            "traits": {
                "sql_kind": statement["sql_kind"],
                "is_bounded": False,
                "is_append_only": True,
                "connection_refs": [],
            },
        },
    }
