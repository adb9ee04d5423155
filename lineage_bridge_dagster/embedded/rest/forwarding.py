"""Forwards requests to the catalogs behind the gate."""

from __future__ import annotations

import httpx
from starlette.requests import Request
from starlette.responses import Response

from lineage_bridge_dagster.embedded.rest.faults import error

#: Headers that concern one connection only, or that the servlet must set itself.
_NOT_PROXIED = frozenset({"host", "content-length", "connection", "transfer-encoding", "authorization"})


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
