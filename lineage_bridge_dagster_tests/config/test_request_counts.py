"""Each attempt of a request is counted by its API and by what came back, where the client was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import pytest
import requests
from botocore.awsrequest import AWSResponse
from botocore.exceptions import EndpointConnectionError
from pyiceberg.exceptions import RESTError

from lineage_bridge_dagster.automation.cursor import Cursor, TickTotals
from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.iceberg.guarded import GuardedRestCatalog
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.config.request_counts import RequestCounts, counting
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import ConfluentError
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    Responder,
    failure,
    in_sequence,
    refused,
    settings,
    timeout,
)
from lineage_bridge_dagster_tests.http_server import Answering, served

PATH = "/org/v2/environments"


@pytest.mark.parametrize(
    ("respond", "expected", "retries"),
    [
        (in_sequence({}), {"200": 1}, 0),
        (in_sequence(failure(429), failure(503), {}), {"429": 1, "503": 1, "200": 1}, 2),
        (failure(403), {"403": 1}, 0),
        (timeout, {"timeout": 3}, 2),
        (refused, {"unreachable": 3}, 2),
    ],
)
def test_requests_to_confluent(respond: Responder, expected: Mapping[str, int], retries: int) -> None:
    fake = FakeConfluent()
    fake.routes[PATH] = respond
    with counting(RequestCounts()) as counts:
        session = ConfluentSession(settings(), fake.transport, sleep=lambda _seconds: None)
    # The client counts as long as it lives.
    with session:
        try:
            session.get(session.control_url(PATH), Access("confluent_cloud"))
        except ConfluentError:
            assert expected != {"200": 1}
    assert counts.requests == {("confluent_cloud", status): n for status, n in expected.items()}
    assert sum(counts.retries.values()) == retries


class _Body:
    def __init__(self, text: str) -> None:
        self._text = text.encode()

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self._text


@pytest.mark.parametrize(
    ("code", "status", "counted"),
    [
        ("", 200, "200"),
        ("ThrottlingException", 400, "429"),
        ("AccessDeniedException", 400, "403"),
        ("UnrecognizedClientException", 400, "401"),
        ("InternalServiceException", 500, "500"),
        ("unreachable", 0, "unreachable"),
    ],
)
def test_requests_to_glue(monkeypatch: pytest.MonkeyPatch, code: str, status: int, counted: str) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _seconds: None)
    with counting(RequestCounts()) as counts:
        client = glue_client(AwsSettings(region="us-east-1"))

    def answer(**_: Any) -> AWSResponse:
        if code == "unreachable":
            raise EndpointConnectionError(endpoint_url="https://glue")
        text = f'{{"__type": "{code}", "Message": "m"}}' if code else '{"TableList": []}'
        return AWSResponse("", status, {}, _Body(text))

    client.meta.events.register("before-send.glue", answer)
    try:
        assert not list(GlueReader(client).names("db"))
    except CallError:
        assert code
    assert set(counts.requests) == {("glue", counted)}
    attempts = sum(counts.requests.values())
    assert counts.retries.get("glue", 0) == attempts - 1
    assert (attempts > 1) == (counted in ("429", "500", "unreachable"))


@pytest.mark.parametrize("properties", [{}, {"credential": "id:secret"}])
@pytest.mark.parametrize("status", [200, 403, 429, 500])
def test_requests_to_rest_catalogs(status: int, properties: Mapping[str, str]) -> None:
    class Catalog(Answering):
        """Without tables, and with the status for all but its configuration."""

        def do_GET(self) -> None:
            answer = b'{"defaults": {}, "overrides": {}, "namespaces": []}'
            self.reply(200 if self.path.startswith("/v1/config") else status, answer)

        def do_POST(self) -> None:
            self.body()
            self.reply(200, b'{"access_token": "token", "token_type": "bearer"}')

    with served(Catalog) as url:
        with counting(RequestCounts()) as counts:
            catalog = GuardedRestCatalog("lake", uri=url, **properties)
        with nullcontext() if status == 200 else pytest.raises(RESTError):
            assert catalog.list_namespaces() == []
    # The configuration and, with a credential, a token for it and one for all else.
    good = 3 if properties else 1
    expected = {("iceberg_rest", "200"): good + (status == 200)}
    assert counts.requests == {**expected, **({} if status == 200 else {("iceberg_rest", str(status)): 1})}


@pytest.mark.parametrize(
    ("error", "counted"), [(requests.ReadTimeout, "timeout"), (requests.ConnectionError, "unreachable")]
)
def test_rest_catalogs_without_an_answer(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception], counted: str
) -> None:
    def send(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    with counting(RequestCounts()) as counts, pytest.raises(error):
        GuardedRestCatalog("lake", uri="http://127.0.0.1:1")
    assert counts.requests == {("iceberg_rest", counted): 1}


def test_totals_of_ticks_outlive_the_process_that_counted() -> None:
    totals = TickTotals()
    for _process in range(2):
        counts = RequestCounts()
        for _tick in range(3):
            before = counts.requests, counts.retries
            counts.add("tableflow", 200)
            counts.add("glue", 429)
            counts.retry("glue")
            totals.add(counts, *before)
            totals = Cursor.read(Cursor(totals=totals).write())[0].totals
    assert totals.requests == {"tableflow": {"200": 6}, "glue": {"429": 6}}
    assert totals.retries == {"glue": 6}


def test_a_client_that_nobody_counts_works() -> None:
    fake = FakeConfluent()
    fake.routes[PATH] = in_sequence({})
    with ConfluentSession(settings(), fake.transport) as session:
        assert session.get(session.control_url(PATH), Access("confluent_cloud")) == {}
