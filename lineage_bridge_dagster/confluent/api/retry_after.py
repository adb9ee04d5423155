"""How long to wait before a retry. Pure."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

TOO_MANY_REQUESTS = 429

#: Longest single wait that a server can request, in seconds.
MAX_WAIT = 60.0
#: Longest total wait for one request, in seconds.
MAX_TOTAL_WAIT = 180.0


def requested_wait(status: int, headers: httpx.Headers, now: datetime) -> float | None:
    """Seconds that the server requests to wait, at most `MAX_WAIT`; None without a usable header.

    `Retry-After` is seconds or an HTTP date (RFC 9110, 10.2.3). `X-RateLimit-Reset` is relative seconds, as
    Confluent's OpenAPI documents declare it. Every response carries it, so it counts for a 429 only.
    """
    for name in ("Retry-After", *(("X-RateLimit-Reset",) if status == TOO_MANY_REQUESTS else ())):
        text = headers.get(name, "").strip()
        if not text:
            continue
        seconds = _seconds(text)
        if seconds is None and name == "Retry-After":
            seconds = _until(text, now)
        if seconds is not None:
            return min(max(seconds, 0.0), MAX_WAIT)
    return None


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _until(text: str, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - now).total_seconds()
