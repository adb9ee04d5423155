"""Times of data, in Unix milliseconds, as Dagster and a person read them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from dagster import MetadataValue, TimestampMetadataValue

from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster.specs.metadata import StandardMetadata

#: How far another machine's clock may be ahead of ours.
SKEW_MS = 300_000


def now_ms() -> int:
    """The time now."""
    return int(time.time() * 1000)


def in_future(at_ms: int, now: int) -> bool:
    """Whether a time is later than now by more than clocks differ: nothing happened then."""
    return at_ms > now + SKEW_MS


def timestamp(at_ms: int) -> TimestampMetadataValue:
    """A time as metadata."""
    return MetadataValue.timestamp(at_ms / 1000)


def last_updated(at_ms: int | None, now: int) -> dict[str, Any]:
    """The data's own time under the key that Dagster reads it from, where it is known and has been."""
    if at_ms is None or in_future(at_ms, now):
        return {}
    return {**StandardMetadata(last_updated_timestamp=timestamp(at_ms))}


def at(at_ms: int) -> str:
    """A time as text; producers may have written one that no calendar has.

    >>> at(1_777_552_496_789)
    '2026-04-30T12:34:56.789Z'
    """
    try:
        return iso(datetime.fromtimestamp(at_ms / 1000, tz=UTC))
    except (ValueError, OverflowError, OSError):
        return f"{at_ms} ms since 1970"
