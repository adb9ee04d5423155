"""Stand-ins for Glue behind HTTP, in a process of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.managers import BaseManager
from threading import Thread
from typing import Any
from uuid import uuid4

from inventory_glue import InventoryGlue, InventoryTraffic

from lineage_bridge_dagster_tests.catalogs.glue.light_glue import LightGlue, Traffic

#: Handles a request of a region to an operation: the HTTP status and the body of the response.
Answer = Callable[[str, str, bytes], tuple[int, bytes]]


def serve(answer: Answer) -> str:
    """Serve on a port of the loopback interface, and return the URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body in one packet, or Nagle's algorithm adds 40 ms to a response.
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            operation = self.headers["X-Amz-Target"].partition(".")[2]
            # Credential=KEY/DATE/REGION/glue/aws4_request
            region = self.headers["Authorization"].split("/")[2]
            status, content = answer(region, operation, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            # Without it, a client may take the answer for one of a proxy.
            self.send_header("x-amzn-RequestId", str(uuid4()))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class GlueServer:
    """Serves a `LightGlue`."""

    def __init__(self, latency: float) -> None:
        self._glue = glue = LightGlue(latency)
        self._url = serve(lambda _region, operation, body: glue.answer(operation, body))

    def url(self) -> str:
        return self._url

    def add_tables(self, tables: list[tuple[str, Mapping[str, Any]]]) -> None:
        for database, table_input in tables:
            self._glue.add_table(database, table_input)

    def throttle(self, rate: float | None) -> None:
        self._glue.throttle(rate)

    def versions(self) -> dict[tuple[str, str], int]:
        return self._glue.versions()

    def traffic(self) -> Traffic:
        return self._glue.traffic()


class InventoryServer:
    """Serves an `InventoryGlue`."""

    def __init__(
        self, tables: int, columns: int, regions: list[str], latency: float, rate: float | None
    ) -> None:
        self._glue = InventoryGlue(tables, columns, regions, latency, rate)
        self._url = serve(self._glue.answer)

    def url(self) -> str:
        return self._url

    def change(self, count: int) -> None:
        self._glue.change(count)

    def drop(self, count: int) -> None:
        self._glue.drop(count)

    def traffic(self) -> InventoryTraffic:
        return self._glue.traffic()


class LakeServer:
    """Serves Glue and S3, with the bucket `lake`."""

    def __init__(self, region: str) -> None:
        from lineage_bridge_dagster.embedded.aws import StrictAws

        self._aws = StrictAws().start()
        self._aws.client("s3", region).create_bucket(Bucket="lake")

    def url(self) -> str:
        return self._aws.endpoint_url

    def pid(self) -> int:
        return os.getpid()


class GlueProcess(BaseManager):
    """The process: `with GlueProcess() as process: glue = process.GlueServer(0.03)`."""

    GlueServer: Callable[[float], Any]
    InventoryServer: Callable[[int, int, list[str], float, float | None], Any]
    LakeServer: Callable[[str], Any]


GlueProcess.register("GlueServer", GlueServer)
GlueProcess.register("InventoryServer", InventoryServer)
GlueProcess.register("LakeServer", LakeServer)
