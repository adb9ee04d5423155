"""Formatting of SQL that has long lines; readable text stays unchanged."""

from __future__ import annotations

import sqlparse

#: Longest line, in characters, that is still readable; most people who write SQL break lines earlier.
_READABLE_LINE = 110
#: Longest text, in characters, that is formatted: the time needed grows with the length.
_MAX_CHARS = 20_000


def formatted(sql: str) -> str | None:
    """The text with line breaks and indents, if one of its lines is too long to read; else None.

    Only whitespace changes. Text that sqlparse cannot handle is not formatted.
    """
    if len(sql) > _MAX_CHARS or all(len(line) <= _READABLE_LINE for line in sql.splitlines()):
        return None
    try:
        text = sqlparse.format(sql, reindent=True, indent_width=2).strip()
    except Exception:
        # Its own errors, or a RecursionError: formatting must never fail a discovery.
        return None
    return text if text != sql.strip() else None
