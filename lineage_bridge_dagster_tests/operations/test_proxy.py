"""The worked example of a proxy: who reaches which webserver, tried on a real nginx where there is one."""

from __future__ import annotations

import http.client
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import crossplane
import pytest

from lineage_bridge_dagster_tests.deploy.programs import program
from lineage_bridge_dagster_tests.http_server import Answering, served

PROXY = Path(__file__).parents[2] / "deploy" / "proxy"
HOST = "dagster.example.com"


def directives(block: list[dict[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    for each in block:
        if each["directive"] == name:
            yield each
        yield from directives(each.get("block", []), name)


@pytest.fixture(scope="module")
def parsed() -> list[dict[str, Any]]:
    found = crossplane.parse(str(PROXY / "nginx.conf"), strict=False)
    assert (found["status"], found["errors"]) == ("ok", [])
    return list(found["config"][0]["parsed"])


def test_only_what_is_behind_a_login_reaches_dagster(parsed: list[dict[str, Any]]) -> None:
    for location in directives(parsed, "location"):
        passes = [each["args"][0] for each in location["block"] if each["directive"] == "proxy_pass"]
        if any("dagster" in target for target in passes):
            assert any(each["directive"] == "auth_request" for each in location["block"])
        else:
            assert passes in ([], ["http://oauth2_proxy"])


def test_every_server_behind_the_proxy_listens_on_loopback(parsed: list[dict[str, Any]]) -> None:
    servers = [
        server["args"][0]
        for upstream in directives(parsed, "upstream")
        for server in directives(upstream["block"], "server")
    ]
    assert len(servers) == 3
    assert all(server.startswith("127.0.0.1:") for server in servers)


def test_the_login_is_for_https_and_named_groups_and_has_no_secret_in_its_file() -> None:
    lines = (PROXY / "oauth2-proxy.cfg").read_text().splitlines()
    settings = dict(line.split(" = ", 1) for line in lines if " = " in line and not line.startswith("#"))
    assert settings["http_address"].startswith('"127.0.0.1:')
    assert settings["cookie_secure"] == settings["cookie_httponly"] == "true"
    assert "lineage-operators" in settings["allowed_groups"]
    assert settings["oidc_issuer_url"].startswith('"https://')
    assert not [name for name in settings if "secret" in name]


class Seen(NamedTuple):
    server: str
    headers: Mapping[str, str]


#: Cookies of the fake login, with the groups that they stand for.
_GROUPS = {"viewer": "lineage-viewers,other", "operator": "lineage-viewers,lineage-operators"}


class Proxied:
    """A running nginx over three small servers."""

    def __init__(self, port: int, seen: list[Seen]) -> None:
        self._port, self.seen = port, seen

    def get(self, path: str = "/runs", **headers: str) -> http.client.HTTPResponse:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=context, timeout=60)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", path, headers={"Host": HOST, **named})
        return connection.getresponse()


def _answer(name: str, seen: list[Seen]) -> type[Answering]:
    class Answer(Answering):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, extra = 200, {}
            if name == "oauth2_proxy":
                groups = _GROUPS.get(self.headers.get("Cookie", "").removeprefix("session="))
                status = 202 if groups else 401
                extra = {"X-Auth-Request-Groups": groups or "", "X-Auth-Request-Email": "a@example.com"}
            else:
                seen.append(Seen(name, dict(self.headers)))
                if self.headers.get("Upgrade") == "websocket":
                    status, extra = 101, {"Upgrade": "websocket", "Connection": "Upgrade"}
            self.send_response(status)
            for key, value in extra.items():
                self.send_header(key, value)
            if status != 101:
                self.send_header("Content-Length", "0")
            self.end_headers()
            self.close_connection = status == 101

    return Answer


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with ExitStack() as servers:
        yield from _proxied(tmp_path_factory.mktemp("nginx"), servers)


def _proxied(home: Path, running: ExitStack) -> Iterator[Proxied]:
    nginx, openssl = program("nginx"), program("openssl")
    subject = ["-subj", f"/CN={HOST}", "-keyout", home / "privkey.pem", "-out", home / "fullchain.pem"]
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject],
        check=True,
        capture_output=True,
    )
    seen: list[Seen] = []
    names = {"3000": "operators", "3001": "read_only", "4180": "oauth2_proxy"}
    servers = {port: running.enter_context(served(_answer(name, seen))) for port, name in names.items()}
    with socket.socket() as free, socket.socket() as other:
        free.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port, plain = free.getsockname()[1], other.getsockname()[1]
    text = (PROXY / "nginx.conf").read_text().replace("/etc/nginx/tls", str(home))
    text = text.replace("listen 443", f"listen 127.0.0.1:{port}").replace(
        "listen 80;", f"listen 127.0.0.1:{plain};"
    )
    for number, url in servers.items():
        text = text.replace(f"127.0.0.1:{number}", url.removeprefix("http://"))
    paths = "".join(
        f"{kind}_temp_path {home}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    text = text.replace("http {", f"http {{ access_log off; {paths}", 1)
    (home / "nginx.conf").write_text(text)
    options = f"daemon off; error_log {home}/error.log; pid {home}/pid;"
    process = subprocess.Popen([nginx, "-p", home, "-c", home / "nginx.conf", "-g", options])
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield Proxied(port, seen)
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize(("user", "server"), [("viewer", "read_only"), ("operator", "operators")])
def test_the_group_decides_which_webserver_answers(proxied: Proxied, user: str, server: str) -> None:
    proxied.seen.clear()
    assert proxied.get(Cookie=f"session={user}").status == 200
    (seen,) = proxied.seen
    assert seen.server == server
    assert seen.headers["Host"] == HOST
    # The session is the proxy's.
    assert not {"Cookie", "Authorization"} & set(seen.headers)


def test_without_a_session_there_is_the_login_alone(proxied: Proxied) -> None:
    proxied.seen.clear()
    answer = proxied.get("/runs?job=push")
    assert answer.status == 302
    assert str(answer.getheader("Location")).endswith("/oauth2/start?rd=/runs?job=push")
    assert not proxied.seen


def test_headers_of_a_client_give_it_no_rights(proxied: Proxied) -> None:
    proxied.seen.clear()
    forged = {"X_Auth_Request_Groups": "lineage-operators", "X_Forwarded_Groups": "lineage-operators"}
    assert proxied.get(Cookie="session=viewer", **forged).status == 200
    assert [seen.server for seen in proxied.seen] == ["read_only"]
    assert "lineage-operators" not in str(proxied.seen)


def test_websockets_pass_unless_another_site_opens_them(proxied: Proxied) -> None:
    proxied.seen.clear()
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Cookie": "session=viewer"}
    assert proxied.get("/graphql", Origin=f"https://{HOST}", **upgrade).status == 101
    assert proxied.get("/graphql", Origin="https://evil.example", **upgrade).status == 403
    assert [seen.headers["Upgrade"] for seen in proxied.seen] == ["websocket"]
