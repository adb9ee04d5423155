"""A proxy before a catalog, on whose connection everything may go wrong that does on a real one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

#: Headers that belong to one connection.
_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"})


@dataclass(frozen=True)
class Answer:
    """What the client gets in place of the catalog's answer."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Broken(Enum):
    """How an answer does not get to the client."""

    CUT = "the connection is closed after the request"
    HELD = "no answer comes"
    HALF = "the connection is closed in the middle of the answer"


@dataclass
class Fault:
    """What happens to requests.

    Attributes:
        step: `read` or `write`.
        effect: what the client gets; None for the catalog's own answer.
        applied: whether the catalog gets the request.
        times: how many requests have the fault; -1 for all.
        skip: requests of the step before the first fault.
        matching: only requests that contain this text.
        first: called before such a request is sent on.
        then: called after the catalog has answered it.
    """

    step: str
    effect: Answer | Broken | None = None
    applied: bool = False
    times: int = 1
    skip: int = 0
    matching: str = ""
    first: Callable[[], object] | None = None
    then: Callable[[], object] | None = None

    def applies(self, step: str, request: str) -> bool:
        """Whether a request has this fault; it counts the request."""
        if step != self.step or not self.times or self.matching not in request:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class Proxy:
    """Sends requests on, with faults. A context manager.

    Args:
        upstream: the catalog's URL.
        step_of: whether a request reads a table, writes one (`read`, `write`) or does neither.

    Attributes:
        faults: the first one that applies to a request happens.
        steps: the step of each request so far.
    """

    def __init__(self, upstream: str, step_of: Callable[[str, str, Mapping[str, str]], str]) -> None:
        self._upstream = urlsplit(upstream)
        self._step_of = step_of
        self._lock = threading.Lock()
        self.faults: list[Fault] = []
        self.steps: list[str] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

            def handle_one_request(self) -> None:
                with suppress(OSError):
                    super().handle_one_request()

            def serve(self) -> None:
                proxy._serve(self)

            do_GET = do_POST = do_HEAD = do_DELETE = serve

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}{self._upstream.path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        step = self._step_of(handler.command, handler.path, dict(handler.headers))
        text = handler.path + body.decode("utf-8", "replace")
        with self._lock:
            self.steps.append(step)
            fault = next((each for each in self.faults if each.applies(step, text)), Fault("", None))
        if fault.first is not None:
            fault.first()
        answer = self._forward(handler, body) if fault.applied or fault.effect is None else Answer(200)
        if fault.then is not None:
            fault.then()
        if isinstance(fault.effect, Answer):
            answer = fault.effect
        if fault.effect is Broken.HELD:
            handler.connection.recv(1)  # until the client hangs up
        if fault.effect in (Broken.CUT, Broken.HELD):
            _hang_up(handler)
            return
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(answer.body)))
        handler.end_headers()
        if fault.effect is Broken.HALF:
            handler.wfile.write(answer.body[: len(answer.body) // 2])
            _hang_up(handler)
            return
        if handler.command != "HEAD":
            handler.wfile.write(answer.body)

    def _forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> Answer:
        connection = HTTPConnection(self._upstream.hostname or "", self._upstream.port or 80)
        try:
            # `Host` stays as it was signed.
            connection.request(handler.command, handler.path, body, dict(handler.headers))
            response: HTTPResponse = connection.getresponse()
            headers = {name: value for name, value in response.getheaders() if name.lower() not in _HOP}
            return Answer(response.status, response.read(), headers)
        finally:
            connection.close()


def _hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    with suppress(OSError):
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)
