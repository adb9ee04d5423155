from __future__ import annotations

from datetime import UTC, datetime

import httpx
import pytest

from lineage_bridge_dagster.confluent.api.session import MAX_WAIT, requested_wait


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
def test_requested_wait_of_headers(headers: dict[str, str], seconds: float | None) -> None:
    now = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)
    assert requested_wait(429, httpx.Headers(headers), now) == seconds


def test_server_error_ignores_the_rate_limit_reset() -> None:
    """Every response has the header, so a 500 would cost a minute per attempt."""
    headers = httpx.Headers({"X-RateLimit-Reset": "60"})
    assert requested_wait(500, headers, datetime.now(UTC)) is None
    assert requested_wait(503, httpx.Headers({**headers, "Retry-After": "2"}), datetime.now(UTC)) == 2.0
