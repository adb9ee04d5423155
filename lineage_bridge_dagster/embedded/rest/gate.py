"""The gate before the catalogs: who may ask, for which catalog, and for what.

Two endpoints on one port:

- `/iceberg/v1/...` as Glue's: requests are signed for the service `glue`; the warehouse is a catalog id, and
  the prefix is `catalogs/{catalog id}`, with colons for slashes.
- `/iceberg/catalog/organizations/{org}/environments/{env}/v1/...` as Tableflow's: bearer tokens of the OAuth2
  endpoint below it, and reads only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, parse_qsl, quote, unquote

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from lineage_bridge_dagster.embedded.faults import ActiveFaults
from lineage_bridge_dagster.embedded.rest.faults import SKEW, CatalogFault, error
from lineage_bridge_dagster.embedded.rest.names import (
    CLOCK_SKEW,
    EXPIRED_TOKEN,
    GLUE_PATH,
    S3_TABLES_ENDPOINT,
    TABLEFLOW_ENDPOINT,
)
from lineage_bridge_dagster.embedded.rest.oauth import TokenIssuer, TokenRejected, client_of
from lineage_bridge_dagster.embedded.rest.sigv4 import SignatureRejected, SignedRequest, verify

#: Headers that concern one connection only, or that the servlet must set itself.
_NOT_PROXIED = frozenset({"host", "content-length", "connection", "transfer-encoding", "authorization"})


_TABLEFLOW = re.compile(r"/iceberg/catalog/organizations/([^/]+)/environments/([^/]+)(/v1/.*)")
_READS = frozenset({"GET", "HEAD"})

#: Names in a table bucket: https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-tables-buckets-naming.html
_S3_TABLES_NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,254}")

#: Path below Tableflow's catalog where tokens are issued.
_TOKENS = "/v1/oauth/tokens"
_TABLE = re.compile(r"/v1/(?:[^/]+/)?namespaces/[^/]+/tables/[^/]+")


class Forwarder:
    """Sends requests on, without their credentials."""

    def __init__(self) -> None:
        self._client = httpx.AsyncClient(timeout=60, trust_env=False)

    async def __call__(self, request: Request, url: str, body: bytes) -> Response:
        headers = {name: value for name, value in request.headers.items() if name not in _NOT_PROXIED}
        query = request.scope["query_string"].decode("ascii")
        try:
            answer = await self._client.request(
                request.method, url + (f"?{query}" if query else ""), headers=headers, content=body
            )
        except httpx.HTTPError as cause:
            return error(503, "ServiceUnavailableException", f"The catalog does not answer: {cause}")
        media_type = answer.headers.get("content-type")
        return Response(answer.content, answer.status_code, media_type=media_type)


@dataclass(frozen=True, slots=True)
class GlueGate:
    """Glue's Iceberg REST endpoint of one region.

    Attributes:
        catalogs: Base URL of the catalog behind each catalog id: `111122223333:s3tablescatalog/bucket`.
        secrets: The secret of each access key.
    """

    catalogs: Mapping[str, str]
    secrets: Mapping[str, str]
    region: str = "us-east-1"
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class TableflowGate:
    """Tableflow's REST catalog of one environment; `vended` is handed out for the files of a table."""

    organization: str
    environment: str
    catalog: str
    issuer: TokenIssuer
    vended: Mapping[str, str] = field(default_factory=dict)


class CatalogGate:
    """Checks requests and forwards those that are allowed. `app` is the ASGI application.

    No gate is before the further `routes`.
    """

    def __init__(
        self,
        glue: GlueGate,
        tableflow: TableflowGate,
        faults: ActiveFaults[CatalogFault],
        routes: Sequence[BaseRoute] = (),
    ) -> None:
        self._glue = glue
        self._tableflow = tableflow
        self._faults = faults
        self._forward = Forwarder()
        methods = ["GET", "HEAD", "POST", "DELETE", "PUT"]
        self.app = Starlette(routes=[*routes, Route("/{path:path}", self._handle, methods=methods)])

    async def _handle(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("ascii")
        tableflow = _TABLEFLOW.fullmatch(path)
        if tableflow:
            return await self._for_tableflow(self._tableflow, request, *tableflow.groups())
        if path.startswith(f"{GLUE_PATH}/v1/"):
            return await self._for_glue(self._glue, request, path.removeprefix(GLUE_PATH))
        return error(404, "NotFoundException", f"No route for request: {request.method} {path}")

    async def _for_glue(self, gate: GlueGate, request: Request, path: str) -> Response:
        fault = self._faults.meet(lambda fault: fault.api == S3_TABLES_ENDPOINT)
        if fault and (answer := await fault.answer()):
            return answer
        now = gate.now() + (SKEW if fault and fault.status == CLOCK_SKEW else timedelta())
        body = await request.body()
        query = request.scope["query_string"].decode("ascii")
        signed = SignedRequest(request.method, GLUE_PATH + path, query, dict(request.headers), body)
        try:
            verify(signed, secrets=gate.secrets, region=gate.region, service="glue", now=now)
        except SignatureRejected as rejected:
            return JSONResponse({"message": rejected.message}, 403, {"x-amzn-ErrorType": rejected.code})
        if path == "/v1/config":
            (warehouse,) = parse_qs(query).get("warehouse", [""])
            if warehouse not in gate.catalogs:
                return error(404, "EntityNotFoundException", f"Catalog {warehouse or '(none)'} not found.")
            prefix = "catalogs/" + quote(warehouse.replace("/", ":"), safe=":")
            return JSONResponse({"defaults": {}, "overrides": {"prefix": prefix}})
        kind, _, rest = path.removeprefix("/v1/").partition("/")
        catalog, _, rest = rest.partition("/")
        by_prefix = {name.replace("/", ":"): url for name, url in gate.catalogs.items()}
        url = by_prefix.get(unquote(catalog))
        if kind != "catalogs" or url is None:
            return error(404, "EntityNotFoundException", f"Catalog {unquote(catalog)} not found.")
        refused = await _refused_name(request) if "s3tablescatalog" in unquote(catalog) else ""
        if refused:
            return error(400, "InvalidInputException", refused)
        return await self._forward(request, f"{url}/v1/{rest}", body)

    async def _for_tableflow(
        self, gate: TableflowGate, request: Request, organization: str, environment: str, path: str
    ) -> Response:
        if (organization, environment) != (gate.organization, gate.environment):
            return error(404, "NotFoundException", f"No catalog of {organization}/{environment}.")
        # A token that is issued is not one that is used.
        fault = self._faults.meet(
            lambda fault: (
                fault.api == TABLEFLOW_ENDPOINT and (fault.status != EXPIRED_TOKEN or path != _TOKENS)
            )
        )
        if fault and (answer := await fault.answer()):
            return answer
        try:
            if path == _TOKENS:
                form = dict(parse_qsl((await request.body()).decode()))
                client = client_of(request.headers.get("authorization", ""))
                return JSONResponse(gate.issuer.issue({**client, **form}))
            token = gate.issuer.verify(request.headers.get("authorization", ""), expired=fault is not None)
        except TokenRejected as rejected:
            if path == _TOKENS:
                return JSONResponse(
                    {"error": rejected.error, "error_description": rejected.message}, rejected.status
                )
            return error(rejected.status, "NotAuthorizedException", rejected.message)
        if token.scope != gate.issuer.scope:
            return error(403, "ForbiddenException", f"The token lacks the scope {gate.issuer.scope}.")
        metrics = path.endswith("/metrics")
        if request.method not in _READS and not metrics:
            return error(403, "ForbiddenException", "Tableflow's tables are read-only.")
        if metrics:
            return Response(status_code=204)
        answer = await self._forward(request, gate.catalog + path, b"")
        return with_credentials(request, path, answer, gate.vended)


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


def with_credentials(request: Request, path: str, answer: Response, vended: Mapping[str, str]) -> Response:
    """The answer, with properties for files if it is a table and the client asks for them.

    Args:
        path: Below the catalog's base URL.
        vended: Properties of Iceberg's clients. Nothing for a bucket of the customer's own.
    """
    asked = "vended-credentials" in request.headers.get("x-iceberg-access-delegation", "")
    if not vended or not asked or answer.status_code != 200 or not _TABLE.fullmatch(path):
        return answer
    table = json.loads(bytes(answer.body))
    return JSONResponse({**table, "config": {**table.get("config", {}), **vended}})
