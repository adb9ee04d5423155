from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    Forbidden,
    MalformedResponse,
    NotFound,
    RateLimited,
    RequestRejected,
    ServerError,
    Unauthorized,
    Unreachable,
)
from lineage_bridge_dagster.confluent.api.session import MAX_TOTAL_WAIT, MAX_WAIT, ConfluentSession, join_path
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    Responder,
    failure,
    garbage,
    in_sequence,
    refused,
    settings,
    timeout,
)

CLOUD = Access("confluent_cloud")
PATH = "/org/v2/environments"


def get(session: ConfluentSession, access: Access = CLOUD) -> object:
    return session.get(session.control_url(PATH), access)


@pytest.mark.parametrize(
    ("respond", "error", "requests"),
    [
        (failure(401), Unauthorized, 1),
        (failure(403), Forbidden, 1),
        (failure(404), NotFound, 1),
        (failure(405), NotFound, 1),
        (lambda _: httpx.Response(404), NotFound, 1),
        (lambda _: httpx.Response(404, text="404 page not found"), NotFound, 1),
        (lambda _: httpx.Response(404, text="\n<html>not here</html>"), MalformedResponse, 1),
        (lambda _: httpx.Response(405, text="<!doctype html><p>no"), MalformedResponse, 1),
        (lambda _: httpx.Response(204), MalformedResponse, 1),
        (failure(400), RequestRejected, 1),
        (failure(429), RateLimited, 3),
        (failure(500), ServerError, 3),
        (failure(503), ServerError, 3),
        (timeout, Unreachable, 3),
        (refused, Unreachable, 3),
        (garbage, MalformedResponse, 1),
        (lambda _: httpx.Response(200, content="[" * 100_000), MalformedResponse, 1),
        (lambda _: httpx.Response(200, content="9" * 5_000), MalformedResponse, 1),
        (lambda _: httpx.Response(500, content="[" * 100_000), ServerError, 3),
    ],
)
def test_each_failure_has_its_own_error_and_only_transient_ones_are_retried(
    fake: FakeConfluent,
    session: ConfluentSession,
    respond: Responder,
    error: type[ConfluentError],
    requests: int,
) -> None:
    fake.routes[PATH] = respond
    with pytest.raises(error) as raised:
        get(session)
    assert len(fake.requests) == session.requests == requests
    assert raised.value.hint
    assert PATH in raised.value.message
    assert "secret-of" not in str(raised.value)


def test_redirect_is_not_followed(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = lambda _: httpx.Response(302, headers={"Location": "https://evil.example/x"})
    with pytest.raises(MalformedResponse, match="redirect"):
        get(session)
    assert [request.url.host for request in fake.requests] == ["api.confluent.cloud"]


def test_transient_failures_are_retried_after_a_wait(
    fake: FakeConfluent, session: ConfluentSession, waits: list[float]
) -> None:
    fake.routes[PATH] = in_sequence(failure(429, {"Retry-After": "7"}), failure(500), {"ok": True})
    assert get(session) == {"ok": True}
    assert waits[0] == 7.0
    assert 0 <= waits[1] <= 30


def test_rate_limit_reset_is_relative_seconds(
    fake: FakeConfluent, session: ConfluentSession, waits: list[float]
) -> None:
    fake.routes[PATH] = in_sequence(failure(429, {"X-RateLimit-Reset": "3"}), {"ok": True})
    get(session)
    assert waits == [3.0]


def test_total_wait_is_bounded(
    fake: FakeConfluent, session_with: Callable[..., ConfluentSession], waits: list[float]
) -> None:
    fake.routes[PATH] = failure(429, {"Retry-After": "100000"})
    with pytest.raises(RateLimited):
        get(session_with(max_attempts=20))
    assert set(waits) == {MAX_WAIT}
    assert sum(waits) <= MAX_TOTAL_WAIT


def test_a_post_that_only_reads_is_retried(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes["/ksql"] = failure(503)
    with pytest.raises(ServerError):
        session.post_query(session.control_url("/ksql"), CLOUD, {"ksql": "SHOW"})
    assert len(fake.requests) == 3


def test_concurrent_requests_are_limited(session: ConfluentSession) -> None:
    import threading

    now, most, lock = 0, 0, threading.Lock()
    gate = threading.Barrier(2, timeout=60)

    def respond(_request: httpx.Request) -> httpx.Response:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        gate.wait()
        with lock:
            now -= 1
        return httpx.Response(200, json={})

    with ConfluentSession(settings(max_concurrency=2), httpx.MockTransport(respond)) as limited:
        limited.map(lambda _: get(limited), range(8))
    assert most == 2


def test_map_keeps_the_order_and_propagates_exceptions(session: ConfluentSession) -> None:
    assert session.map(lambda n: n * 2, [3, 1, 2]) == [6, 2, 4]
    with pytest.raises(ZeroDivisionError):
        session.map(lambda n: 1 // n, [1, 0])


def test_debug_log_names_planes_and_no_secret(
    fake: FakeConfluent, session: ConfluentSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.routes[PATH] = in_sequence(failure(500), {"ok": True})
    get(session)
    assert "confluent_cloud GET api.confluent.cloud/org/v2/environments -> 500" in caplog.text
    assert "secret-of" not in caplog.text
    assert "KEY-" not in caplog.text


def test_request_count_is_thread_safe(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = {}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: get(session), range(64)))
    assert session.requests == 64


def test_join_path_keeps_percent_encoding() -> None:
    url = join_path(httpx.URL("https://h.confluent.cloud/base"), "/subjects/%3A.ctx%3Aa%2Fb")
    assert str(url) == "https://h.confluent.cloud/base/subjects/%3A.ctx%3Aa%2Fb"


def test_half_of_a_character_is_replaced(fake: FakeConfluent, session: ConfluentSession) -> None:
    answer = r'{"a": "\uD800", "b": "\ud83d\ude00", "c": "\u00fc"}'
    fake.routes[PATH] = lambda _: httpx.Response(200, content=answer)
    assert get(session) == {"a": "?", "b": "😀", "c": "ü"}


def test_a_proxy_without_a_usable_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "junk://user:hunter2@proxy")
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY") as raised:
        ConfluentSession(settings())
    assert "hunter2" not in str(raised.value)
