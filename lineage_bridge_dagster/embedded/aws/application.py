"""The WSGI layer: who may call, what fails on request, and who answers: Glue here, all else moto."""

from __future__ import annotations

import contextlib
import io
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from lineage_bridge_dagster.embedded.aws.errors import AwsError
from lineage_bridge_dagster.embedded.aws.faults import Fault, Faults
from lineage_bridge_dagster.embedded.aws.glue import StrictGlue
from lineage_bridge_dagster.embedded.aws.objects import DurableObjects, operation_of

StartResponse = Callable[..., Any]
Environ = dict[str, Any]

#: The stack's own addresses: health, faults, counts. No AWS request has such a path.
ADMIN = "/_strict/"

_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/\d{8}/([^/]+)/([^/]+)/aws4_request")

_REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 429: "Too Many Requests"}


class Application:
    """Answers one account's requests.

    Args:
        account_id: whose records in moto these are.
        glue: the Data Catalog.
        objects: S3's durability.
        faults: what fails on request.
    """

    def __init__(self, account_id: str, glue: StrictGlue, objects: DurableObjects, faults: Faults) -> None:
        self.closed = False
        self._account_id = account_id
        self._glue = glue
        self._objects = objects
        self._faults = faults
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._s3_writes = threading.Lock()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """One request."""
        if self.closed:
            raise _hung_up(environ, "the server was stopped")
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
        if path.startswith(ADMIN):
            return self._admin(environ, path.removeprefix(ADMIN), start_response)
        body = _body(environ)
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        operation = (
            target.partition(".")[2]
            if target
            else operation_of(environ["REQUEST_METHOD"], path, environ.get("QUERY_STRING", ""))
        )
        try:
            region = _signed_region(environ)
            fault = self._faults.meet(operation, path + body.decode("utf-8", "replace") if target else path)
            if fault is not None:
                return self._fail(fault, environ, path, body, operation, region, start_response)
            return self._answer(environ, path, body, operation, region, start_response)
        except AwsError as error:
            return _refuse(error, target, start_response)

    def _answer(
        self, environ: Environ, path: str, body: bytes, operation: str, region: str, start: StartResponse
    ) -> Iterable[bytes]:
        if environ.get("HTTP_X_AMZ_TARGET", "").startswith("AWSGlue."):
            if self._glue.answers(operation):
                return _send(start, 200, self._glue.call(region, operation, _request(body)))
            with self._glue.lock:
                return self._ask_moto(environ, body, start)[1]
        if environ["REQUEST_METHOD"] in ("PUT", "POST", "DELETE") and "HTTP_X_AMZ_TARGET" not in environ:
            with self._s3_writes:
                status, chunks = self._ask_moto(environ, body, start)
                if status < 300:
                    query = environ.get("QUERY_STRING", "")
                    self._objects.keep(environ["REQUEST_METHOD"], path, query, body)
                return chunks
        return self._ask_moto(environ, body, start)[1]

    def _ask_moto(self, environ: Environ, body: bytes, start: StartResponse) -> tuple[int, list[bytes]]:
        given = dict(environ)
        given["wsgi.input"] = io.BytesIO(body)
        given["CONTENT_LENGTH"] = str(len(body))
        # moto keeps each account's records apart; ours is chosen here, so that two servers in one process
        # never see each other's.
        given["HTTP_X_MOTO_ACCOUNT_ID"] = self._account_id
        given.pop("HTTP_TRANSFER_ENCODING", None)
        said: list[Any] = []

        def listen(*answer: Any) -> Callable[[bytes], None]:
            said[:] = answer
            return lambda _: None

        chunks = self._moto.get_application(given)(given, listen)
        collected = list(chunks)
        if hasattr(chunks, "close"):
            chunks.close()
        # Whole before the first byte goes out: a write is kept in the store before it is acknowledged.
        start(*said)
        return int(str(said[0]).split()[0]), collected

    def _fail(
        self,
        fault: Fault,
        environ: Environ,
        path: str,
        body: bytes,
        operation: str,
        region: str,
        start: StartResponse,
    ) -> Iterable[bytes]:
        healthy = not fault.code and not fault.drop
        if fault.apply_first and not healthy:
            # Carried out, its answer thrown away.
            list(self._answer(environ, path, body, operation, region, lambda *_: lambda _: None))
        if fault.delay_seconds:
            time.sleep(fault.delay_seconds)
        if fault.drop:
            raise _hung_up(environ, "dropped on request")
        if healthy:
            return self._answer(environ, path, body, operation, region, start)
        raise AwsError(fault.code, fault.message, fault.status)

    def _admin(self, environ: Environ, what: str, start: StartResponse) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        if (method, what) == ("GET", "health"):
            return _send(start, 200, {"status": "ok"})
        if (method, what) == ("GET", "calls"):
            return _send(start, 200, dict(self._faults.calls))
        if what == "faults" and method in ("GET", "POST", "DELETE"):
            if method == "POST":
                try:
                    self._faults.add(Fault.from_json(json.loads(_body(environ))))
                except (TypeError, ValueError) as error:
                    return _send(start, 400, {"error": str(error)})
            if method == "DELETE":
                self._faults.clear()
            return _send(start, 200, {"faults": self._faults.standing()})
        return _send(start, 404, {"error": "health, calls or faults"})


def _signed_region(environ: Environ) -> str:
    """The region that a request is signed for; that it is signed with a key is checked, its signature not.

    Raises:
        AwsError: it is not signed.
    """
    signed = environ.get("HTTP_AUTHORIZATION", "") or "Credential=" + _query(environ, "X-Amz-Credential")
    match = _CREDENTIAL.search(signed)
    if match is None:
        if environ.get("HTTP_X_AMZ_TARGET"):
            raise AwsError("MissingAuthenticationTokenException", "Missing Authentication Token")
        raise AwsError("AccessDenied", "Access Denied", 403)
    return match.group(2)


def _hung_up(environ: Environ, why: str) -> ConnectionError:
    """Close the connection under the request: a kept-alive one would otherwise wait for an answer."""
    with contextlib.suppress(OSError):
        environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    return ConnectionAbortedError(why)


def _query(environ: Environ, name: str) -> str:
    return str(parse_qs(environ.get("QUERY_STRING", "")).get(name, [""])[0])


def _body(environ: Environ) -> bytes:
    stream = environ["wsgi.input"]
    if environ.get("wsgi.input_terminated"):
        return bytes(stream.read())
    return bytes(stream.read(int(environ.get("CONTENT_LENGTH") or 0)))


def _request(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body or b"{}")
    except ValueError as error:
        raise AwsError("SerializationException", str(error)) from error
    if not isinstance(request, dict):
        raise AwsError("SerializationException", "Expected an object.")
    return request


def _send(
    start: StartResponse, status: int, answer: Any, content: str = "application/x-amz-json-1.1"
) -> list[bytes]:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    start(
        f"{status} {_REASONS.get(status, 'Error')}",
        [("Content-Type", content), ("Content-Length", str(len(body))), ("x-amzn-RequestId", "local")],
    )
    return [body]


def _refuse(error: AwsError, target: str, start: StartResponse) -> list[bytes]:
    if target:
        # Glue's own errors say `Message`, those of the front end `message`; clients read either.
        words = {"__type": error.code, "Message": error.message, "message": error.message}
        return _send(start, error.status, words)
    xml = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{escape(error.code)}</Code><Message>{escape(error.message)}</Message>"
        "<RequestId>local</RequestId></Error>"
    )
    return _send(start, error.status, xml.encode(), "application/xml")
