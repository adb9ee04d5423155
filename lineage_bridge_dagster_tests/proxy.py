"""An HTTP proxy through which clients reach an embedded endpoint under the host name of a service."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import urlsplit

import httpx


class ProxyToGlue:
    """A proxy on the loopback that sends requests for `glue.*` elsewhere. A context manager.

    Args:
        glue_url: Where requests for Glue go.

    Attributes:
        address: Its host and port.
    """

    def __init__(self, glue_url: str) -> None:
        target = urlsplit(glue_url)

        class Handler(BaseHTTPRequestHandler):
            def _forward(self) -> None:
                url = urlsplit(self.path)
                host = target.netloc if (url.hostname or "").startswith("glue.") else url.netloc
                query = f"?{url.query}" if url.query else ""
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {
                    name: value for name, value in self.headers.items() if not name.startswith("Proxy-")
                }
                answer = httpx.request(
                    self.command,
                    f"http://{host}{url.path}{query}",
                    headers=headers,
                    content=body,
                    trust_env=False,
                )
                self.send_response(answer.status_code)
                for name in ("Content-Type", "Content-Range", "ETag", "Last-Modified", "Accept-Ranges"):
                    if name in answer.headers:
                        self.send_header(name, answer.headers[name])
                length = len(answer.content) if self.command != "HEAD" else answer.headers["Content-Length"]
                self.send_header("Content-Length", str(length))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.content)

            do_GET = do_HEAD = do_POST = _forward

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.address = f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
