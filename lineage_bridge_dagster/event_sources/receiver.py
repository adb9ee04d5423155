"""The HTTP receiver of events: `POST /api/v1/lineage` as Marquez has it, and `/batch` beside it.

It answers 201 once an event is on the disk, 4xx with the reason for what no retry would change, and 503 if it
could not write. Delivery is at least once; events that come twice have no effect.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.config.addresses import is_loopback
from lineage_bridge_dagster.event_sources.event_log import EventLog
from lineage_bridge_dagster.openlineage.incoming.essence import essential
from lineage_bridge_dagster.openlineage.incoming.parsing import RefusedEventError, parse_event

log = logging.getLogger(__name__)

#: Bytes of a request, also after it is unpacked.
MAX_BODY = 10 * 1024 * 1024
#: Seconds that a body may take.
_BODY_SECONDS = 60.0
#: Characters of the shortest token.
MIN_TOKEN = 16
#: Events of a batch.
MAX_BATCH = 5_000


class _HttpRefusal(Exception):
    def __init__(self, status: int, error: str, hint: str = "", **headers: str) -> None:
        super().__init__(error)
        self.response = JSONResponse(
            {"error": error, **({"hint": hint} if hint else {})}, status, headers=headers or None
        )


class EventReceiver:
    """The application.

    Args:
        token: What requests must bear, asked for with each of them, so that it can be rotated; empty if none
            is needed, since only this machine can connect.
    """

    def __init__(self, events: EventLog, token: Callable[[], str] = lambda: "") -> None:
        self._events, self._token = events, token
        # A token that is gone later lets nobody in.
        self._is_open = not token()

    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route("/api/v1/lineage", self._answering(self._one), methods=["POST"]),
                Route("/api/v1/lineage/batch", self._answering(self._batch), methods=["POST"]),
                Route("/health", _health, methods=["GET"]),
            ]
        )

    def _answering(
        self, handle: Callable[[Any], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                self._admit(request)
                async with asyncio.timeout(_BODY_SECONDS):
                    body = await _body(request)
                return await handle(_json(body))
            except TimeoutError:
                return JSONResponse({"error": "The body took too long."}, 408)
            except _HttpRefusal as refusal:
                return refusal.response
            except ClientDisconnect:
                return Response(status_code=400)

        return answer

    def _admit(self, request: Request) -> None:
        if self._is_open:
            # No page in a browser on this machine may post, neither as itself nor under a name of its own
            # for this address.
            if request.headers.get("origin") or not is_loopback(request.url.hostname or ""):
                raise _HttpRefusal(403, "Without a token, only programs on this machine may send events.")
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        expected = self._token()
        is_same = hmac.compare_digest(token.strip().encode(), expected.encode())
        if scheme.lower() != "bearer" or len(expected) < MIN_TOKEN or not is_same:
            raise _HttpRefusal(
                401,
                "The bearer token is missing or wrong.",
                "Send Authorization: Bearer with the token of LINEAGE_BRIDGE_OPENLINEAGE_TOKEN.",
                **{"www-authenticate": "Bearer"},
            )

    async def _one(self, document: Any) -> Response:
        if problem := _problem(document):
            raise _HttpRefusal(400, *problem)
        await self._write([document])
        return Response(status_code=201)

    async def _batch(self, document: Any) -> Response:
        """Take the good events of a list, and tell of each other one why it is refused."""
        found = document.get("events") if isinstance(document, Mapping) else document
        if not isinstance(found, list):
            raise _HttpRefusal(400, "The body is not a list of events.", 'Send [...] or {"events": [...]}.')
        if len(found) > MAX_BATCH:
            raise _HttpRefusal(413, f"The batch has {len(found)} events.", f"Send at most {MAX_BATCH}.")
        problems = [(index, problem) for index, each in enumerate(found) if (problem := _problem(each))]
        wrong = {index for index, _ in problems}
        good = [each for index, each in enumerate(found) if index not in wrong]
        await self._write(good)
        failed = [{"index": index, "error": error, "hint": hint} for index, (error, hint) in problems]
        summary = {"received": len(found), "successful": len(good), "failed": len(failed)}
        status = 400 if failed and not good else 200
        return JSONResponse({"summary": summary, "failed_events": failed}, status)

    async def _write(self, documents: list[Any]) -> None:
        if not documents:
            return
        lines = [orjson.dumps(essential(each)) for each in documents]
        try:
            await run_in_threadpool(self._events.append, lines)
        except OSError as error:
            log.warning("Events could not be written: %s", error)
            raise _HttpRefusal(
                503, "The event could not be written.", "Send it again.", **{"retry-after": "10"}
            ) from error


async def _health(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _problem(document: object) -> tuple[str, str] | None:
    """Why a document is not an event, and what to write; None if it is one."""
    try:
        parse_event(document)
    except RefusedEventError as error:
        return error.message, error.hint
    return None


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _HttpRefusal(400, f"The body is no JSON: {error}.") from error


async def _body(request: Request) -> bytes:
    """The body, unpacked, of at most `MAX_BODY` bytes."""
    packing = request.headers.get("content-encoding", "identity").lower()
    if packing not in ("identity", "gzip"):
        raise _HttpRefusal(415, f"The encoding {packing[:40]!r} is not known.", "Send gzip or none.")
    unpack = zlib.decompressobj(wbits=31) if packing == "gzip" else None
    body = bytearray()
    async for chunk in request.stream():
        if unpack is None:
            body += chunk
        else:
            try:
                body += unpack.decompress(chunk, MAX_BODY + 1 - len(body))
            except zlib.error as error:
                raise _HttpRefusal(400, f"The body is not valid gzip: {error}.") from error
        if len(body) > MAX_BODY:
            raise _HttpRefusal(413, f"The body has more than {MAX_BODY} bytes.", "Send smaller batches.")
    if unpack is not None and not unpack.eof:
        raise _HttpRefusal(400, "The body ends before its gzip does.")
    return bytes(body)
