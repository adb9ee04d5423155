"""The WSGI layer: authentication, fault injection, and dispatch of requests to the strict Glue or to moto."""

from __future__ import annotations

import contextlib
import io
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from lineage_bridge_dagster.embedded.aws.errors import AwsError
from lineage_bridge_dagster.embedded.aws.faults import Fault, Faults
from lineage_bridge_dagster.embedded.aws.glue import StrictGlue
from lineage_bridge_dagster.embedded.aws.objects import DurableObjects, s3_operation
from lineage_bridge_dagster.embedded.aws.table_buckets import TableBuckets

StartResponse = Callable[..., Any]
Environ = dict[str, Any]

#: Prefix of the stack's own paths: health, faults, call counts. No AWS request has such a path.
ADMIN = "/_strict/"

#: AWS documents no limit of a whole request to Glue, but there is one. It holds a value of the largest size.
MAX_GLUE_REQUEST_BYTES = 512 * 1024

_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/\d{8}/([^/]+)/([^/]+)/aws4_request")

_REASONS = {
    200: "OK",
    204: "No Content",
    206: "Partial Content",
    409: "Conflict",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    429: "Too Many Requests",
}


class GlueExtension(Protocol):
    """What a server of Glue does beside what all of them do."""

    def check(self, access_key: str, region: str, operation: str, request: Mapping[str, Any]) -> None:
        """Raise an `AwsError` for a call that is refused."""

    def implements(self, operation: str) -> bool: ...

    def call(self, region: str, operation: str, request: dict[str, Any]) -> dict[str, Any]: ...


@dataclass
class Application:
    """Serves one account's requests."""

    account_id: str
    glue: StrictGlue
    objects: DurableObjects
    faults: Faults
    table_buckets: TableBuckets
    extension: GlueExtension | None = None
    closed: bool = False

    def __post_init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        # For each request moto would list the folders of all of its services.
        self._moto.get_backend_for_host = cache(self._moto.get_backend_for_host)  # type: ignore[method-assign]
        self._s3_writes = threading.Lock()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Handle one request, whose body is read to its end, so that the next one can follow."""
        if self.closed:
            raise _disconnect(environ, "the server was stopped")
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
        body = _body(environ)
        if path.startswith(ADMIN):
            return self._admin(environ["REQUEST_METHOD"], path.removeprefix(ADMIN), body, start_response)
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        operation = (
            target.partition(".")[2]
            if target
            else s3_operation(environ["REQUEST_METHOD"], path, environ.get("QUERY_STRING", ""))
        )
        try:
            _, region, _ = _signature(environ)
            request = path + body.decode("utf-8", "replace") if target else path
            fault = self.faults.record_call(operation, request, region)
            if fault is not None:
                return self._fail(fault, environ, path, body, operation, region, start_response)
            return self._handle(environ, path, body, operation, region, start_response)
        except AwsError as error:
            return _send_error(error, target or _signed_for(environ) == "s3tables", start_response)

    def _handle(
        self, environ: Environ, path: str, body: bytes, operation: str, region: str, start: StartResponse
    ) -> Iterable[bytes]:
        if environ.get("HTTP_X_AMZ_TARGET", "").startswith("AWSGlue."):
            if self.extension:
                self.extension.check(_signature(environ)[0], region, operation, _request(body))
            if len(body) > MAX_GLUE_REQUEST_BYTES:
                raise AwsError("InvalidInputException", "Payload size of request exceeded limit")
            for part in (self.table_buckets, self.glue, self.extension):
                if part and part.implements(operation):
                    return _send(start, 200, part.call(region, operation, _request(body)))
            with self.glue.lock:
                return self._call_moto(environ, body, start)[1]
        method, service = environ["REQUEST_METHOD"], _signature(environ)[2]
        if service == "s3tables":
            query = parse_qs(environ.get("QUERY_STRING", ""))
            return _send(start, *self.table_buckets.answer(method, path, query, body))
        if service == "s3" and (read := self.objects.read(method, path, environ)):
            status, headers, content = read
            start(f"{status} {_REASONS[status]}", [*headers.items(), ("x-amz-request-id", "local")])
            return [content]
        if service == "s3" and method in ("PUT", "POST", "DELETE"):
            with self._s3_writes:
                status, chunks = self._call_moto(environ, body, start)
                if status < 300:
                    query = environ.get("QUERY_STRING", "")
                    self.objects.persist(method, path, query, body)
                return chunks
        return self._call_moto(environ, body, start)[1]

    def _call_moto(self, environ: Environ, body: bytes, start: StartResponse) -> tuple[int, list[bytes]]:
        environ = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        # moto separates records by account; one account per server isolates the servers of one process.
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = self.account_id
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        response_start: list[Any] = []

        def capture_start(*arguments: Any) -> Callable[[bytes], None]:
            response_start[:] = arguments
            return lambda _: None

        # The response is collected before it is sent: the caller first writes the change to the store.
        chunks = self._moto.get_application(environ)(environ, capture_start)
        collected = list(chunks)
        if hasattr(chunks, "close"):
            chunks.close()
        start(*response_start)
        return int(str(response_start[0]).split()[0]), collected

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
        succeeds = not fault.code and not fault.drop
        if fault.apply_first and not succeeds:
            # Apply the operation but discard its response.
            list(self._handle(environ, path, body, operation, region, lambda *_: lambda _: None))
        if fault.delay_seconds:
            time.sleep(fault.delay_seconds)
        if fault.drop:
            raise _disconnect(environ, "dropped by an injected fault")
        if succeeds:
            return self._handle(environ, path, body, operation, region, start)
        raise AwsError(fault.code, fault.message, fault.status)

    def _admin(self, method: str, path: str, body: bytes, start: StartResponse) -> Iterable[bytes]:
        if (method, path) == ("GET", "health"):
            return _send(start, 200, {"status": "ok"})
        if (method, path) == ("GET", "calls"):
            return _send(start, 200, dict(self.faults.calls))
        if path == "faults" and method in ("GET", "POST", "DELETE"):
            if method == "POST":
                try:
                    self.faults.add(Fault(**json.loads(body)))
                except (TypeError, ValueError) as error:
                    return _send(start, 400, {"error": str(error)})
            if method == "DELETE":
                self.faults.reset()
            return _send(start, 200, self.faults.as_json())
        return _send(start, 404, {"error": "health, calls or faults"})


def _signature(environ: Environ) -> tuple[str, str, str]:
    """Return the access key, region and service of a request's signature, without verifying it.

    Raises:
        AwsError: the request is not signed.
    """
    signature = environ.get("HTTP_AUTHORIZATION", "") or "Credential=" + _query(environ, "X-Amz-Credential")
    match = _CREDENTIAL.search(signature)
    if match is None:
        if environ.get("HTTP_X_AMZ_TARGET"):
            raise AwsError("MissingAuthenticationTokenException", "Missing Authentication Token")
        raise AwsError("AccessDenied", "Access Denied", 403)
    return match.group(1), match.group(2), match.group(3)


def _signed_for(environ: Environ) -> str:
    """The service that a request is signed for; empty if it is not signed."""
    try:
        return _signature(environ)[2]
    except AwsError:
        return ""


def _disconnect(environ: Environ, reason: str) -> ConnectionError:
    """Close the request's connection, on which a keep-alive client would otherwise wait for a response."""
    with contextlib.suppress(OSError):
        environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    return ConnectionAbortedError(reason)


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
    start: StartResponse, status: int, payload: Any, content_type: str = "application/x-amz-json-1.1"
) -> list[bytes]:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    start(
        f"{status} {_REASONS.get(status, 'Error')}",
        [("Content-Type", content_type), ("Content-Length", str(len(body))), ("x-amzn-RequestId", "local")],
    )
    return [body]


def _send_error(error: AwsError, as_json: str | bool, start: StartResponse) -> list[bytes]:
    if as_json:
        # Glue's own errors have `Message`, its front end's `message`; clients read either.
        payload = {"__type": error.code, "Message": error.message, "message": error.message}
        return _send(start, error.status, payload)
    xml = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{escape(error.code)}</Code><Message>{escape(error.message)}</Message>"
        "<RequestId>local</RequestId></Error>"
    )
    return _send(start, error.status, xml.encode(), "application/xml")
