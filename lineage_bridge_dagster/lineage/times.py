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


def iso_or_none(value: object) -> str | None:
    """A time as `iso` has it; None for anything else, such as a field that a service left out."""
    return iso(value) if isinstance(value, datetime) else None


def parse_iso(text: str) -> datetime | None:
    """An ISO 8601 time, in UTC if it names no zone; None for any other text, as a graph from a file may have.

    >>> parse_iso("2026-04-30T12:34:56Z"), parse_iso("yesterday")
    (datetime.datetime(2026, 4, 30, 12, 34, 56, tzinfo=datetime.timezone.utc), None)
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
