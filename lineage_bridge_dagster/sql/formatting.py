"""SQL that its author left on one line, laid out to be read; text that was laid out stays as it is."""

from __future__ import annotations

import sqlparse

#: Characters of a line that can still be read across; most who write SQL by hand break it before.
_READABLE = 110
#: Characters of a statement that are worth laying out: the time it takes grows with them.
_LONGEST = 20_000


def formatted(sql: str) -> str | None:
    """The text with line ends and indents, when a line of it is too long to read; else None.

    Comments, names and literals stay as they are. What the library can't read is left alone.
    """
    if len(sql) > _LONGEST or all(len(line) <= _READABLE for line in sql.splitlines()):
        return None
    try:
        text = sqlparse.format(sql, reindent=True, indent_width=2).strip()
    except Exception:
        # Its own errors and Python's recursion: a nicer view is never worth a discovery.
        return None
    return text if text != sql.strip() else None
