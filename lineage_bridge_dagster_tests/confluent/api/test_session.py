from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import pytest

from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    Forbidden,
    MalformedAnswer,
    MissingCredential,
    NotFound,
    PartialAnswer,
    RateLimited,
    RequestRefused,
    ServerError,
    Unauthorized,
    Unreachable,
    UntrustedAddress,
)
from lineage_bridge_dagster.confluent.api.http_errors import Access
from lineage_bridge_dagster.confluent.api.retry_after import MAX_TOTAL_WAIT, MAX_WAIT, asked_wait
from lineage_bridge_dagster.confluent.api.session import ConfluentSession, join
from lineage_bridge_dagster_tests.confluent.fake import (
    API,
    Answer,
    FakeConfluent,
    failure,
    garbage,
    key_of,
    keys,
    listing,
    refused,
    settings,
    timeout,
)

CLOUD = Access("confluent_cloud")
KAFKA = Access("kafka", ("lkc-abc123", "env-1"))
PATH = "/org/v2/environments"


def get(session: ConfluentSession, access: Access = CLOUD) -> object:
    return session.get(session.control_url(PATH), access)


def pages(session: ConfluentSession) -> list[object]:
    return session.pages(session.control_url(PATH), CLOUD)


def in_turn(*answers: Answer | object) -> Answer:
    """One answer after another; the last one stays."""
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        one = left.pop(0) if len(left) > 1 else left[0]
        return one(request) if callable(one) else httpx.Response(200, json=one)

    return answer


class TestFailures:
    @pytest.mark.parametrize(
        ("answer", "error", "requests"),
        [
            (failure(401), Unauthorized, 1),
            (failure(403), Forbidden, 1),
            (failure(404), NotFound, 1),
            (failure(405), NotFound, 1),
            (failure(400), RequestRefused, 1),
            (failure(429), RateLimited, 3),
            (failure(500), ServerError, 3),
            (failure(503), ServerError, 3),
            (timeout, Unreachable, 3),
            (refused, Unreachable, 3),
            (garbage, MalformedAnswer, 1),
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
        with pytest.raises(MalformedAnswer, match="redirect"):
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

    @pytest.mark.parametrize(("repeatable", "requests"), [(False, 1), (True, 3)])
    def test_a_post_is_tried_again_only_when_told_it_reads(
        self, fake: FakeConfluent, session: ConfluentSession, repeatable: bool, requests: int
    ) -> None:
        fake.routes["/ksql"] = failure(503)
        with pytest.raises(ServerError):
            session.post_query(session.control_url("/ksql"), CLOUD, {"ksql": "SHOW"}, repeatable=repeatable)
        assert len(fake.requests) == requests

    @pytest.mark.parametrize(
        ("headers", "seconds"),
        [
            ({"Retry-After": "5"}, 5.0),
            ({"Retry-After": "Wed, 21 Oct 2026 07:28:10 GMT"}, 10.0),
            ({"Retry-After": "Wed, 21 Oct 2026 07:00:00 GMT"}, 0.0),
            ({"Retry-After": "-4"}, 0.0),
            ({"Retry-After": "99999"}, MAX_WAIT),
            ({"Retry-After": "soon", "X-RateLimit-Reset": "2"}, 2.0),
            ({"Retry-After": "nan"}, None),
            ({"X-RateLimit-Reset": "0"}, 0.0),
            ({}, None),
        ],
    )
    def test_what_a_server_asks_to_wait(self, headers: dict[str, str], seconds: float | None) -> None:
        now = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)
        assert asked_wait(429, httpx.Headers(headers), now) == seconds

    def test_a_server_error_does_not_wait_for_the_rate_limits_reset(self) -> None:
        """The header stands on every answer, so a 500 would cost a minute a try."""
        headers = httpx.Headers({"X-RateLimit-Reset": "60"})
        assert asked_wait(500, headers, datetime.now(UTC)) is None
        assert asked_wait(503, httpx.Headers({**headers, "Retry-After": "2"}), datetime.now(UTC)) == 2.0


class TestPaging:
    @pytest.mark.parametrize("end", [{"next": None}, {"next": ""}, {}, None])
    def test_null_empty_or_absent_next_is_the_end(
        self, fake: FakeConfluent, session: ConfluentSession, end: object
    ) -> None:
        fake.routes[PATH] = {"data": [{"id": "env-1"}], **({} if end is None else {"metadata": end})}
        assert pages(session) == [{"id": "env-1"}]
        assert fake.requests[0].url.params["page_size"] == "100"

    def test_pages_are_followed_by_url(self, fake: FakeConfluent, session: ConfluentSession) -> None:
        fake.routes[PATH] = in_turn(
            listing(1, following=f"{API}{PATH}?page_size=100&page_token=a%3D"),
            listing(2, following=f"{PATH}?page_token=b"),
            listing(3),
        )
        assert pages(session) == [1, 2, 3]
        assert fake.requests[1].url.params["page_token"] == "a="

    def test_a_next_page_that_names_its_token_alone_keeps_the_filters(
        self, fake: FakeConfluent, session: ConfluentSession
    ) -> None:
        fake.routes[PATH] = in_turn(listing(1, following=f"{PATH}?page_token=a"), listing(2))
        assert session.pages(session.control_url(PATH), CLOUD, {"environment": "env-1"}) == [1, 2]
        asked = dict(fake.requests[1].url.params)
        assert asked == {"page_token": "a", "environment": "env-1", "page_size": "100"}

    def test_an_empty_page_in_the_middle_is_not_the_end(
        self, fake: FakeConfluent, session: ConfluentSession
    ) -> None:
        fake.routes[PATH] = in_turn(
            listing(1, following=f"{API}{PATH}?page_token=a"),
            listing(following=f"{API}{PATH}?page_token=b"),
            listing(3),
        )
        assert pages(session) == [1, 3]

    @pytest.mark.parametrize(
        "following",
        [
            "https://evil.example/org/v2/environments?page_token=x",
            "https://api.confluent.cloud.evil.example/x?page_token=x",
            "https://api.confluent.cloud@evil.example/x?page_token=x",
            "http://api.confluent.cloud/org/v2/environments?page_token=x",
            "//evil.example/x?page_token=x",
            "ftp://api.confluent.cloud/x",
        ],
    )
    def test_no_key_goes_to_a_foreign_next_page(
        self, fake: FakeConfluent, session: ConfluentSession, following: str
    ) -> None:
        fake.routes[PATH] = listing(1, following=following)
        with pytest.raises(PartialAnswer) as raised:
            pages(session)
        assert raised.value.items == [1]
        assert isinstance(raised.value.cause, UntrustedAddress)
        assert len(fake.requests) == 1

    def test_another_host_of_the_vendor_is_followed(
        self, fake: FakeConfluent, session: ConfluentSession
    ) -> None:
        fake.routes[PATH] = in_turn(
            listing(1, following=f"https://eu.api.confluent.cloud{PATH}?page_token=a"), listing(2)
        )
        assert pages(session) == [1, 2]

    def test_a_circle_of_pages_ends(self, fake: FakeConfluent, session: ConfluentSession) -> None:
        fake.routes[PATH] = listing(1, following=f"{API}{PATH}?page_token=same")
        with pytest.raises(PartialAnswer, match="circle") as raised:
            pages(session)
        assert raised.value.items == [1, 1]
        assert len(fake.requests) == 2

    @pytest.mark.parametrize("answer", [failure(500), failure(403), garbage, timeout, {"data": "no list"}])
    def test_half_a_list_is_told_as_half(
        self, fake: FakeConfluent, session: ConfluentSession, answer: Answer | object
    ) -> None:
        fake.routes[PATH] = in_turn(listing(1, following=f"{API}{PATH}?page_token=a"), answer)
        with pytest.raises(PartialAnswer) as raised:
            pages(session)
        assert raised.value.items == [1]

    @pytest.mark.parametrize(
        "body", [[], "text", 5, {}, {"data": {}}, {"data": 1}, {"data": [], "metadata": {"next": 7}}]
    )
    def test_a_list_of_the_wrong_shape_names_path_and_field(
        self, fake: FakeConfluent, session: ConfluentSession, body: object
    ) -> None:
        fake.routes[PATH] = lambda _: httpx.Response(200, json=body)
        with pytest.raises(MalformedAnswer, match=f"{PATH}.*(data|next|object)"):
            pages(session)


class TestAddresses:
    @pytest.mark.parametrize(
        "endpoint",
        [
            "https://lkc-1.evil.example",
            "https://confluent.cloud.evil.example",
            "https://notconfluent.cloud",
            "https://user:pass@lkc-1.confluent.cloud",
            "http://lkc-1.confluent.cloud",
            "file:///etc/passwd",
            "lkc-1.confluent.cloud",
            "",
            "https://",
            "http://169.254.169.254/latest",
            "https://[::1",
        ],
    )
    def test_a_foreign_endpoint_gets_no_key(self, session: ConfluentSession, endpoint: str) -> None:
        with pytest.raises(UntrustedAddress) as raised:
            session.data_url(endpoint, "/x", field="http_endpoint of cluster lkc-1")
        assert "http_endpoint of cluster lkc-1" in raised.value.message
        assert raised.value.denied

    @pytest.mark.parametrize(
        ("api", "endpoint", "url"),
        [
            (API, "https://lkc-1.aws.confluent.cloud:443", "https://lkc-1.aws.confluent.cloud/x"),
            (API, "https://LKC-1.Confluent.Cloud/base/", "https://lkc-1.confluent.cloud/base/x"),
            (
                "http://127.0.0.1:8080",
                "http://127.0.0.1:9090/kafka/lkc-1",
                "http://127.0.0.1:9090/kafka/lkc-1/x",
            ),
            ("http://127.0.0.1:8080", "http://localhost:8080/p", "http://localhost:8080/p/x"),
            ("https://proxy.corp", "https://proxy.corp/kafka", "https://proxy.corp/kafka/x"),
        ],
    )
    def test_the_vendors_and_the_configured_hosts_do(
        self, session_with: Callable[..., ConfluentSession], api: str, endpoint: str, url: str
    ) -> None:
        made = session_with(api_url=api)
        assert str(made.data_url(endpoint, "/x", field="f")) == url

    def test_percent_encoding_of_a_path_stays(self) -> None:
        url = join(httpx.URL("https://h.confluent.cloud/base"), "/subjects/%3A.ctx%3Aa%2Fb")
        assert str(url) == "https://h.confluent.cloud/base/subjects/%3A.ctx%3Aa%2Fb"


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
        assert made.requests_by_plane == {"confluent_cloud": 1, "kafka": 2, "tableflow": 1}

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
