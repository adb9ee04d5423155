"""Times of data, in Unix milliseconds, as metadata and as text."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from dagster import MetadataValue, TimestampMetadataValue

from lineage_bridge_dagster.lineage.times import iso

#: How far the clock of another machine may be ahead.
SKEW_MS = 300_000


def now_ms() -> int:
    """Return the current time."""
    return int(time.time() * 1000)


def in_future(at_ms: int, now: int) -> bool:
    """Return whether a time is later than now by more than clocks may differ."""
    return at_ms > now + SKEW_MS


def timestamp(at_ms: int) -> TimestampMetadataValue:
    return MetadataValue.timestamp(at_ms / 1000)


def last_updated(at_ms: int | None) -> TimestampMetadataValue | None:
    """Return when data last changed, for Dagster's standard key; None if unknown or in the future."""
    return None if at_ms is None or in_future(at_ms, now_ms()) else timestamp(at_ms)


def as_text(at_ms: int) -> str:
    """Format a time, even one beyond the calendar, which producers may have written.

    >>> as_text(1_777_552_496_789)
    '2026-04-30T12:34:56.789Z'
    """
    try:
        return iso(datetime.fromtimestamp(at_ms / 1000, tz=UTC))
    except (ValueError, OverflowError, OSError):
        return f"{at_ms} ms since 1970"
