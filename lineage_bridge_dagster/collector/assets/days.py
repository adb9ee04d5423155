"""The range of a day's extract, and when the mark moves to its end. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from lineage_bridge_dagster.collector.marks import BEGINNING, FORMAT


def range_of_day(
    mark: str | None, first: datetime, last: datetime, now: datetime, start: str = ""
) -> tuple[str, str]:
    """The range of the extract of a day, as marks.

    It starts at the mark, so that it covers days that were missed, or at the start of the day if that is
    earlier, so that the extract of a day that was extracted before has the whole day again. It ends with the
    day, or now.

    Args:
        mark: The published mark; without one, everything has changed.
        first: The start of the day.
        last: The start of the next day.
        now: The time of the extract.
        start: A start that somebody asked for.

    >>> day = datetime(2026, 11, 22, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC)
    >>> range_of_day("2026-11-20 00:00:00", *day, datetime(2026, 11, 23, 1, tzinfo=UTC))
    ('2026-11-20 00:00:00', '2026-11-23 00:00:00')
    >>> range_of_day("2026-11-22 10:00:00", *day, datetime(2026, 11, 22, 12, tzinfo=UTC))
    ('2026-11-22 00:00:00', '2026-11-22 12:00:00')
    """
    end = min(last, now).astimezone(UTC).strftime(FORMAT)
    return start or min(mark or BEGINNING, first.astimezone(UTC).strftime(FORMAT)), end


def moves(mark: str | None, start: str, end: str) -> bool:
    """Whether an extract of a range moves the mark: forward, and past nothing that was not extracted.

    >>> moves(None, BEGINNING, "2026-11-22 00:00:00")
    True
    >>> moves("2026-11-20 00:00:00", "2026-11-21 00:00:00", "2026-11-22 00:00:00")
    False
    >>> moves("2026-11-22 00:00:00", "2026-11-20 00:00:00", "2026-11-21 00:00:00")
    False
    """
    return start <= (mark or BEGINNING) < end
