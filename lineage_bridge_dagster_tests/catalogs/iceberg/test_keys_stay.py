"""The key of a REST catalog goes to its own host, wherever that sends clients."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import CatalogError, open_catalog
from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.config.tableflow_catalog import TableflowPlace

PLACE = TableflowPlace("org-1", "env-1", "AWS", "us-east-1")
TOKEN = {"access_token": "token", "token_type": "bearer", "expires_in": 3600}


@dataclass
class Server:
    """A catalog that answers each request by the end of its path.

    Attributes:
        answers: Status, headers and JSON by the end of a path.
        received: What clients sent, credentials included.
    """

    answers: dict[str, tuple[int, dict[str, str], object]] = field(default_factory=dict)
    received: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def running(server: Server) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            server.received.append(f"{self.headers.get('Authorization', '')} {body}")
            known = (
                answer for end, answer in server.answers.items() if self.path.split("?")[0].endswith(end)
            )
            status, headers, content = next(known, (404, {}, {}))
            payload = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(payload))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = _answer

        def log_message(self, *_: object) -> None:
            """Nothing."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{listener.server_port}"
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def open_tableflow(server: Server) -> None:
    settings = Settings.from_env(
        {
            "LINEAGE_BRIDGE_TABLEFLOW_CATALOG": server.url,
            "LINEAGE_BRIDGE_TABLEFLOW_API_KEY": "key-1",
            "LINEAGE_BRIDGE_TABLEFLOW_API_SECRET": "hunter2",
        }
    )
    catalogs = settings.all_catalogs([PLACE])
    open_catalog(catalogs, catalogs.tableflow[PLACE])


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("end", ["/v1/oauth/tokens", "/v1/config"])
def test_a_redirect_to_another_host_is_not_followed(end: str, status: int) -> None:
    with running(Server()) as other, running(Server()) as own:
        own.answers = {
            "/v1/oauth/tokens": (200, {}, TOKEN),
            "/v1/config": (200, {}, {"defaults": {}, "overrides": {}}),
        } | {end: (status, {"Location": f"{other.url}{end}"}, {})}
        with pytest.raises(CatalogError, match="to another host") as raised:
            open_tableflow(own)
    assert other.received == []
    assert "uri of the catalog" in raised.value.hint
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("name", ["uri", "oauth2-server-uri"])
def test_a_configuration_that_names_another_host_is_refused(name: str) -> None:
    with running(Server()) as other, running(Server()) as own:
        overrides = {"defaults": {}, "overrides": {name: other.url}}
        own.answers = {"/v1/oauth/tokens": (200, {}, TOKEN), "/v1/config": (200, {}, overrides)}
        with pytest.raises(CatalogError, match="to another host"):
            open_tableflow(own)
    assert other.received == []


def test_a_redirect_on_the_same_host_is_followed() -> None:
    with running(Server()) as own:
        own.answers = {
            "/v1/oauth/tokens": (200, {}, TOKEN),
            "/v1/config": (307, {"Location": f"{own.url}/moved"}, {}),
            "/moved": (200, {}, {"defaults": {}, "overrides": {}}),
        }
        open_tableflow(own)
    assert sum(each.startswith("Bearer token") for each in own.received) == 2
