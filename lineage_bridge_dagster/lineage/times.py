"""Times as text: ISO 8601 in UTC, with milliseconds and a `Z`."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The default clock."""
    return datetime.now(UTC)


def iso(value: datetime) -> str:
    """ISO 8601 UTC with milliseconds; a time without a zone counts as UTC."""
    zoned = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return zoned.isoformat(timespec="milliseconds").replace("+00:00", "Z")
