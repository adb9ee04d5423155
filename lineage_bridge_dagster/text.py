"""Counts, lists, durations and sizes as text, for logs, messages and pages of the UI.

Times as ISO 8601 are in `lineage/times.py`; what Glue accepts as text is in `lineage/text.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

#: Receives the progress of a long operation, one line at a time.
ReportLine = Callable[[str], None]

#: Milliseconds of each unit, longest first.
_UNITS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000))


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "table"), plural(2000, "table"), plural(2, "ksqlDB query")
    ('1 table', '2,000 tables', '2 ksqlDB queries')
    """
    several = f"{noun[:-1]}ies" if noun.endswith("query") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else several}"


def first_few(texts: Sequence[str], limit: int = 5) -> str:
    """The first texts, and how many more there are.

    >>> first_few(["a", "b"]), first_few(["a", "b", "c"], 2)
    ('a, b', 'a, b and 1 more')
    """
    more = f" and {len(texts) - limit:,} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def counted(outcomes: Mapping[str, int]) -> str:
    """Outcomes with their counts, sorted.

    >>> counted({"updated": 1200, "failed": 2})
    '2 failed, 1,200 updated'
    """
    return ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6, quote: str = "") -> str:
    """`Did you mean X? `, or nothing where no known name is close."""
    close = difflib.get_close_matches(name, list(known), 1, cutoff)
    return f"Did you mean {quote}{close[0]}{quote}? " if close else ""


def sentence(text: str) -> str:
    """A clause as a sentence.

    >>> sentence("nothing is new")
    'Nothing is new.'
    """
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or its kind if it has none.

    >>> first_line(ValueError("no such column\\n at line 3")), first_line(TimeoutError())
    ('no such column', 'TimeoutError')
    """
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def duration(milliseconds: int) -> str:
    """A duration in its two largest units.

    >>> duration(604_800_000), duration(3_725_000), duration(59_999), duration(40)
    ('7 days', '1 hour 2 minutes', '59 seconds', 'under a second')
    """
    parts: list[str] = []
    rest = milliseconds
    for unit, length in _UNITS:
        count, rest = divmod(rest, length)
        if count:
            parts.append(plural(count, unit))
        elif parts:
            break
    return " ".join(parts[:2]) or "under a second"


def byte_size(count: int) -> str:
    """Bytes in the largest binary unit that they fill.

    >>> byte_size(1_073_741_824), byte_size(1_500), byte_size(12)
    ('1 GiB', '1.5 KiB', '12 bytes')
    """
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{round(count / 1024**power, 1):g} {unit}"
    return f"{count} bytes"


def clock_time(seconds: float) -> str:
    """A Unix time as a time of day in UTC.

    >>> clock_time(1_000_000.0)
    '13:46:40 UTC'
    """
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%H:%M:%S UTC")


def words(text: str) -> frozenset[str]:
    """The words of a text, for a long set of them."""
    return frozenset(text.split())
