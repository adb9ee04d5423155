"""The gate before the catalogs: who may ask, for which catalog, and for what.

Two endpoints on one port:

- `/iceberg/v1/...` as Glue's: requests are signed for the service `glue`; the warehouse is a catalog id, and
  the prefix is `catalogs/{catalog id}`, with colons for slashes.
- `/iceberg/catalog/organizations/{org}/environments/{env}/v1/...` as Tableflow's: bearer tokens of the OAuth2
  endpoint below it, and reads only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qs, parse_qsl, quote, unquote

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded.rest.oauth import TokenIssuer, TokenRejected
from lineage_bridge_dagster.embedded.rest.sigv4 import SignatureRejected, SignedRequest, verify

GLUE_PATH = "/iceberg"
_TABLEFLOW = re.compile(r"/iceberg/catalog/organizations/([^/]+)/environments/([^/]+)(/v1/.*)")
_READS = frozenset({"GET", "HEAD"})
#: Names in a table bucket: https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-tables-buckets-naming.html
_S3_TABLES_NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,254}")

#: Headers that concern one connection only, or that the servlet must set itself.
_NOT_PROXIED = frozenset({"host", "content-length", "connection", "transfer-encoding", "authorization"})


@dataclass(frozen=True, slots=True)
class GlueGate:
    """Glue's Iceberg REST endpoint of one region.

    Attributes:
        catalogs: Base URL of the catalog behind each catalog id: `111122223333:s3tablescatalog/bucket`.
        secrets: The secret of each access key.
        region: Its region.
        now: Its time.
    """

    catalogs: Mapping[str, str]
    secrets: Mapping[str, str]
    region: str = "us-east-1"
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class TableflowGate:
    """Tableflow's REST catalog of one environment.

    Attributes:
        organization: Its organization.
        environment: Its environment.
        catalog: Base URL of the catalog behind it.
        issuer: Issues and verifies its tokens.
    """

    organization: str
    environment: str
    catalog: str
    issuer: TokenIssuer


class Gate:
    """Checks requests and forwards those that are allowed. `app` is the ASGI application."""

    def __init__(self, glue: GlueGate | None = None, tableflow: TableflowGate | None = None) -> None:
        self._glue = glue
        self._tableflow = tableflow
        self._client = httpx.AsyncClient(timeout=60, trust_env=False)
        methods = ["GET", "HEAD", "POST", "DELETE", "PUT"]
        self.app = Starlette(routes=[Route("/{path:path}", self._handle, methods=methods)])

    async def _handle(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("ascii")
        tableflow = _TABLEFLOW.fullmatch(path)
        if tableflow and self._tableflow:
            return await self._for_tableflow(self._tableflow, request, *tableflow.groups())
        if path.startswith(f"{GLUE_PATH}/v1/") and self._glue:
            return await self._for_glue(self._glue, request, path.removeprefix(GLUE_PATH))
        return _error(404, "NotFoundException", f"No route for request: {request.method} {path}")

    async def _for_glue(self, gate: GlueGate, request: Request, path: str) -> Response:
        body = await request.body()
        query = request.scope["query_string"].decode("ascii")
        signed = SignedRequest(request.method, GLUE_PATH + path, query, dict(request.headers), body)
        try:
            verify(signed, secrets=gate.secrets, region=gate.region, service="glue", now=gate.now())
        except SignatureRejected as error:
            return JSONResponse({"message": error.message}, 403, {"x-amzn-ErrorType": error.code})
        if path == "/v1/config":
            (warehouse,) = parse_qs(query).get("warehouse", [""])
            if warehouse not in gate.catalogs:
                return _error(404, "EntityNotFoundException", f"Catalog {warehouse or '(none)'} not found.")
            prefix = "catalogs/" + quote(warehouse.replace("/", ":"), safe=":")
            return JSONResponse({"defaults": {}, "overrides": {"prefix": prefix}})
        kind, _, rest = path.removeprefix("/v1/").partition("/")
        catalog, _, rest = rest.partition("/")
        by_prefix = {name.replace("/", ":"): url for name, url in gate.catalogs.items()}
        url = by_prefix.get(unquote(catalog))
        if kind != "catalogs" or url is None:
            return _error(404, "EntityNotFoundException", f"Catalog {unquote(catalog)} not found.")
        refused = await _refused_name(request) if "s3tablescatalog" in unquote(catalog) else ""
        if refused:
            return _error(400, "InvalidInputException", refused)
        return await self._forward(request, f"{url}/v1/{rest}", body)

    async def _for_tableflow(
        self, gate: TableflowGate, request: Request, organization: str, environment: str, path: str
    ) -> Response:
        if (organization, environment) != (gate.organization, gate.environment):
            return _error(404, "NotFoundException", f"No catalog of {organization}/{environment}.")
        try:
            if path == "/v1/oauth/tokens":
                form = dict(parse_qsl((await request.body()).decode()))
                return JSONResponse(gate.issuer.issue(form))
            token = gate.issuer.verify(request.headers.get("authorization", ""))
        except TokenRejected as error:
            if path == "/v1/oauth/tokens":
                return JSONResponse({"error": error.error, "error_description": error.message}, error.status)
            return _error(error.status, "NotAuthorizedException", error.message)
        if token.scope != gate.issuer.scope:
            return _error(403, "ForbiddenException", f"The token lacks the scope {gate.issuer.scope}.")
        metrics = path.endswith("/metrics")
        if request.method not in _READS and not metrics:
            return _error(403, "ForbiddenException", "Tableflow's tables are read-only.")
        if metrics:
            return Response(status_code=204)
        return await self._forward(request, gate.catalog + path, b"")

    async def _forward(self, request: Request, url: str, body: bytes) -> Response:
        headers = {name: value for name, value in request.headers.items() if name not in _NOT_PROXIED}
        query = request.scope["query_string"].decode("ascii")
        try:
            answer = await self._client.request(
                request.method, url + (f"?{query}" if query else ""), headers=headers, content=body
            )
        except httpx.HTTPError as error:
            return _error(503, "ServiceUnavailableException", f"The catalog does not answer: {error}")
        media_type = answer.headers.get("content-type")
        return Response(answer.content, answer.status_code, media_type=media_type)


async def _refused_name(request: Request) -> str:
    """Why S3 Tables refuses the name of a namespace or table that a request creates; empty if it does not."""
    path = request.url.path
    if request.method != "POST" or not path.endswith(("/tables", "/namespaces", "/register")):
        return ""
    body = await request.json()
    created = body.get("namespace") or [body.get("name")]
    wrong = [name for name in created if not _S3_TABLES_NAME.fullmatch(str(name))]
    if len(created) > 1:
        return "Multi-level namespaces are not supported."
    return f"The name {wrong[0]} is invalid: lower-case letters, digits and underscores." if wrong else ""


def _error(status: int, kind: str, message: str) -> JSONResponse:
    """An error in the shape of Iceberg's REST specification (`ErrorModel`)."""
    return JSONResponse({"error": {"message": message, "type": kind, "code": status}}, status)
