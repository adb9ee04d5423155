"""The stand-in for Glue behind HTTP, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.managers import BaseManager
from threading import Thread
from typing import Any

from lineage_bridge_dagster_tests.glue.light_glue import LightGlue, Traffic


class GlueServer:
    """Serves a `LightGlue` on a port of the loopback interface."""

    def __init__(self, latency: float) -> None:
        self._glue = LightGlue(latency)
        glue = self._glue

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Headers and body in one packet, or Nagle's algorithm adds 40 ms to a response.
            wbufsize = -1
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                operation = self.headers["X-Amz-Target"].partition(".")[2]
                status, content = glue.answer(operation, body)
                self.send_response(status)
                self.send_header("Content-Type", "application/x-amz-json-1.1")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def add_tables(self, tables: list[tuple[str, Mapping[str, Any]]]) -> None:
        for database, table_input in tables:
            self._glue.add_table(database, table_input)

    def throttle(self, rate: float | None) -> None:
        self._glue.throttle(rate)

    def versions(self) -> dict[tuple[str, str], int]:
        return self._glue.versions()

    def traffic(self) -> Traffic:
        return self._glue.traffic()


class GlueProcess(BaseManager):
    """The process: `with GlueProcess() as process: glue = process.GlueServer(0.03)`."""

    GlueServer: Callable[[float], Any]


GlueProcess.register("GlueServer", GlueServer)
