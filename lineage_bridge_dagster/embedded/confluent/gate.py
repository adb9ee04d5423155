"""Middleware before the APIs: authorization and scripted faults.

Plain ASGI, so that a delayed response blocks no thread.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lineage_bridge_dagster.embedded.confluent import planes
from lineage_bridge_dagster.embedded.confluent.answers import (
    ApiError,
    EmulatorContext,
    error_body,
    request_id,
)
from lineage_bridge_dagster.embedded.confluent.faults import ApiFault
from lineage_bridge_dagster.embedded.faults import ActiveFaults
from lineage_bridge_dagster.embedded.kafka.broker import LocalBrokerError

#: What every response says of the limit, which nothing here reaches but a scripted fault.
_RATE_LIMIT = {"X-RateLimit-Limit": "6000", "X-RateLimit-Remaining": "5999", "X-RateLimit-Reset": "60"}


class Gate:
    """Middleware over all APIs. `requests` counts the requests to each API."""

    def __init__(self, app: ASGIApp, context: EmulatorContext, faults: ActiveFaults[ApiFault]) -> None:
        self.app = app
        self.state = context.state
        self.faults = faults
        self.requests: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        target = planes.target(scope["path"])
        identifier = request_id()
        scope["request_id"] = identifier

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = identifier
                for name, value in _RATE_LIMIT.items():
                    headers.setdefault(name, value)
            await send(message)

        self.requests[target.api] += 1
        asked = target.api, scope["path"], scope["query_string"].decode("latin-1")
        fault = self.faults.meet(lambda fault: fault.matches(*asked))
        if fault is not None and fault.delay:
            await asyncio.sleep(fault.delay)
        response: Response | None = None
        if not planes.is_authorized(Headers(scope=scope).get("authorization"), target):
            response = self._error(target, ApiError(401, _unauthorized(target)), identifier)
            response.headers["WWW-Authenticate"] = 'Basic realm="Confluent Cloud"'
        elif fault is not None:
            response = self._fault(target, fault, identifier)
        await (response or self.app)(scope, receive, send_with_headers)

    @staticmethod
    def _error(target: planes.RequestTarget, error: ApiError, identifier: str) -> Response:
        if error.status == 429:
            # The OpenAPI documents define headers and no body for a 429 response.
            return Response(status_code=429)
        return JSONResponse(error_body(target.shape, error, identifier), error.status)

    def _fault(self, target: planes.RequestTarget, fault: ApiFault, identifier: str) -> Response | None:
        if fault.garbage:
            return PlainTextResponse("<html><body>502 Bad Gateway</body></html>")
        if fault.status is None:
            return None
        error = ApiError(fault.status, fault.detail or f"Scripted fault: {fault.status}.")
        response = self._error(target, error, identifier)
        if fault.retry_after is not None:
            response.headers["Retry-After"] = str(fault.retry_after)
            response.headers["X-RateLimit-Remaining"] = "0"
            response.headers["X-RateLimit-Reset"] = str(fault.retry_after)
        return response


def _unauthorized(target: planes.RequestTarget) -> str:
    place = f" of {target.place}" if target.place else ""
    return f"Unauthorized: the API key is not valid for {' or '.join(target.planes)}{place}."


async def on_error(request: Request, error: Exception) -> Response:
    """Render an error in the shape of the requested API."""
    shape = planes.target(request.url.path).shape
    if isinstance(error, LocalBrokerError):
        error = ApiError(503, str(error))
    elif isinstance(error, HTTPException):
        error = ApiError(error.status_code, str(error.detail))
    elif not isinstance(error, ApiError):
        error = ApiError(500, f"{type(error).__name__}: {error}")
    identifier: Any = request.scope.get("request_id", "")
    return JSONResponse(error_body(shape, error, identifier), error.status, error.headers)
