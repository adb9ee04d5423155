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
    MissingCredential,
    NotFound,
    RateLimited,
    RequestRejected,
    ServerError,
    Unauthorized,
    Unreachable,
)
from lineage_bridge_dagster.confluent.api.retry_after import MAX_TOTAL_WAIT, MAX_WAIT
from lineage_bridge_dagster.confluent.api.session import ConfluentSession, join_path
from lineage_bridge_dagster_tests.confluent.fake import (
    Answer,
    FakeConfluent,
    failure,
    garbage,
    in_turn,
    key_of,
    keys,
    refused,
    settings,
    timeout,
)

CLOUD = Access("confluent_cloud")
KAFKA = Access("kafka", ("lkc-abc123", "env-1"))
PATH = "/org/v2/environments"


def get(session: ConfluentSession, access: Access = CLOUD) -> object:
    return session.get(session.control_url(PATH), access)


class TestFailures:
    @pytest.mark.parametrize(
        ("answer", "error", "requests"),
        [
            (failure(401), Unauthorized, 1),
            (failure(403), Forbidden, 1),
            (failure(404), NotFound, 1),
            (failure(405), NotFound, 1),
            (failure(400), RequestRejected, 1),
            (failure(429), RateLimited, 3),
            (failure(500), ServerError, 3),
            (failure(503), ServerError, 3),
            (timeout, Unreachable, 3),
            (refused, Unreachable, 3),
            (garbage, MalformedResponse, 1),
        ],
    )
    def test_each_failure_is_its_own_error_and_only_passing_ones_are_tried_again(
        self,
        fake: FakeConfluent,
        session: ConfluentSession,
        answer: Answer,
        error: type[ConfluentError],
        requests: int,
    ) -> None:
        fake.routes[PATH] = answer
        with pytest.raises(error) as raised:
            get(session)
        assert len(fake.requests) == session.requests == requests
        assert raised.value.hint
        assert PATH in raised.value.message
        assert "secret-of" not in str(raised.value)

    def test_wrong_key_names_plane_and_variable(
        self, fake: FakeConfluent, session_with: Callable[..., ConfluentSession]
    ) -> None:
        fake.routes[PATH] = failure(401)
        with pytest.raises(Unauthorized) as raised:
            get(session_with(), KAFKA)
        assert "Kafka cluster lkc-abc123" in raised.value.message
        assert "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123" in raised.value.hint

    def test_missing_key_names_its_variable_and_nothing_is_sent(
        self, fake: FakeConfluent, session_with: Callable[..., ConfluentSession]
    ) -> None:
        with pytest.raises(MissingCredential) as raised:
            get(session_with(credentials=keys("confluent_cloud")), KAFKA)
        assert "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123" in raised.value.hint
        assert raised.value.denied
        assert fake.requests == []

    def test_missing_role_is_named(self, fake: FakeConfluent, session: ConfluentSession) -> None:
        fake.routes[PATH] = failure(403)
        with pytest.raises(Forbidden) as raised:
            get(session, KAFKA)
        assert "DeveloperRead" in raised.value.hint
        assert "scripted 403" in raised.value.message

    @pytest.mark.parametrize(
        "body",
        [
            {"errors": [{"detail": "Subject is\nunknown"}]},
            {"error": {"code": 404, "message": "Subject is unknown"}},
            {"error_code": 40401, "message": "Subject is unknown"},
        ],
    )
    def test_detail_is_read_from_all_three_shapes(
        self, fake: FakeConfluent, session: ConfluentSession, body: object
    ) -> None:
        fake.routes[PATH] = lambda _: httpx.Response(404, json=body)
        with pytest.raises(NotFound, match="Subject is unknown"):
            get(session)

    def test_a_secret_that_comes_back_in_an_error_is_not_shown(
        self, fake: FakeConfluent, session: ConfluentSession
    ) -> None:
        fake.routes[PATH] = lambda _: httpx.Response(
            401, json={"message": "bad password secret-of-confluent_cloud"}
        )
        with pytest.raises(Unauthorized) as raised:
            get(session)
        assert "secret-of-confluent_cloud" not in str(raised.value)

    @pytest.mark.parametrize("length", range(280, 300, 4))
    def test_no_part_of_a_secret_is_left_where_a_long_error_is_cut(
        self, fake: FakeConfluent, session: ConfluentSession, length: int
    ) -> None:
        body = {"message": "x" * length + "secret-of-confluent_cloud"}
        fake.routes[PATH] = lambda _: httpx.Response(401, json=body)
        with pytest.raises(Unauthorized) as raised:
            get(session)
        assert "sec" not in raised.value.message

    def test_redirect_is_not_followed(self, fake: FakeConfluent, session: ConfluentSession) -> None:
        fake.routes[PATH] = lambda _: httpx.Response(302, headers={"Location": "https://evil.example/x"})
        with pytest.raises(MalformedResponse, match="redirect"):
            get(session)
        assert [request.url.host for request in fake.requests] == ["api.confluent.cloud"]


class TestRetries:
    def test_passing_failures_are_waited_out(
        self, fake: FakeConfluent, session: ConfluentSession, waits: list[float]
    ) -> None:
        fake.routes[PATH] = in_turn(failure(429, {"Retry-After": "7"}), failure(500), {"ok": True})
        assert get(session) == {"ok": True}
        assert waits[0] == 7.0
        assert 0 <= waits[1] <= 30

    def test_rate_limit_reset_is_relative_seconds(
        self, fake: FakeConfluent, session: ConfluentSession, waits: list[float]
    ) -> None:
        fake.routes[PATH] = in_turn(failure(429, {"X-RateLimit-Reset": "3"}), {"ok": True})
        get(session)
        assert waits == [3.0]

    def test_total_wait_is_bounded(
        self,
        fake: FakeConfluent,
        session_with: Callable[..., ConfluentSession],
        waits: list[float],
    ) -> None:
        fake.routes[PATH] = failure(429, {"Retry-After": "100000"})
        with pytest.raises(RateLimited):
            get(session_with(max_attempts=20))
        assert set(waits) == {MAX_WAIT}
        assert sum(waits) <= MAX_TOTAL_WAIT

    @pytest.mark.parametrize(("read_only", "requests"), [(False, 1), (True, 3)])
    def test_a_post_is_tried_again_only_when_told_it_reads(
        self, fake: FakeConfluent, session: ConfluentSession, read_only: bool, requests: int
    ) -> None:
        fake.routes["/ksql"] = failure(503)
        with pytest.raises(ServerError):
            session.post_query(session.control_url("/ksql"), CLOUD, {"ksql": "SHOW"}, read_only=read_only)
        assert len(fake.requests) == requests


class TestSession:
    def test_each_plane_gets_its_own_key(
        self, fake: FakeConfluent, session_with: Callable[..., ConfluentSession]
    ) -> None:
        fake.routes[PATH] = {"ok": True}
        special = keys("kafka")["kafka"].model_copy(update={"key": "KEY-lkc-abc123"})
        made = session_with(credentials={**keys(), "kafka/LKC_ABC123": special})
        for access in (CLOUD, KAFKA, Access("kafka", ("lkc-other",)), Access("tableflow", ("lkc-abc123",))):
            get(made, access)
        assert [key_of(request) for request in fake.requests] == [
            "KEY-confluent_cloud",
            "KEY-lkc-abc123",
            "KEY-kafka",
            "KEY-tableflow",
        ]
        assert made.requests == 4

    def test_no_more_requests_are_in_flight_than_allowed(self, session: ConfluentSession) -> None:
        import threading

        now, most, lock = 0, 0, threading.Lock()
        gate = threading.Barrier(2, timeout=5)

        def answer(_request: httpx.Request) -> httpx.Response:
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            gate.wait()
            with lock:
                now -= 1
            return httpx.Response(200, json={})

        with ConfluentSession(settings(max_concurrency=2), httpx.MockTransport(answer)) as made:
            made.map(lambda _: get(made), range(8))
        assert most == 2

    def test_map_keeps_the_order_and_raises_what_a_call_raised(self, session: ConfluentSession) -> None:
        assert session.map(lambda n: n * 2, [3, 1, 2]) == [6, 2, 4]
        with pytest.raises(ZeroDivisionError):
            session.map(lambda n: 1 // n, [1, 0])

    def test_debug_log_names_planes_and_no_secret(
        self, fake: FakeConfluent, session: ConfluentSession, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        fake.routes[PATH] = in_turn(failure(500), {"ok": True})
        get(session)
        assert "confluent_cloud GET api.confluent.cloud/org/v2/environments -> 500" in caplog.text
        assert "secret-of" not in caplog.text
        assert "KEY-" not in caplog.text

    def test_counting_is_safe_between_threads(self, fake: FakeConfluent, session: ConfluentSession) -> None:
        fake.routes[PATH] = {}
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: get(session), range(64)))
        assert session.requests == 64

    def test_percent_encoding_of_a_path_stays(self) -> None:
        url = join_path(httpx.URL("https://h.confluent.cloud/base"), "/subjects/%3A.ctx%3Aa%2Fb")
        assert str(url) == "https://h.confluent.cloud/base/subjects/%3A.ctx%3Aa%2Fb"
