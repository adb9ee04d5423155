"""Markdown for pages and metadata of the UI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Link(NamedTuple):
    """A cell of a table with a link; a plain text if the URL is empty."""

    text: str
    url: str = ""


#: Brackets and emphasis in a name, which would end or change the text of a link.
_NOT_IN_LINKS, _ESCAPED = re.compile(r"([\[\]*_])"), r"\\\1"

#: Characters of a paragraph that others wrote.
_MAX_PARAGRAPH = 2_000

#: A chain may have thousands of hops; an event or a description shows this many rows.
MAX_ROWS = 200


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table of at most `MAX_ROWS` rows."""
    lines = [
        "| " + " | ".join(header) + " |",
        "|" + " --- |" * len(header),
        *("| " + " | ".join(cell(value) for value in row) + " |" for row in rows[:MAX_ROWS]),
    ]
    if len(rows) > MAX_ROWS:
        lines.append(f"\n{len(rows) - MAX_ROWS} more rows are not shown.")
    return "\n".join(lines)


def cell(value: object, limit: int = 300) -> str:
    """Any value as one cell of a table: escaped, on one line, at most `limit` characters."""
    if isinstance(value, Link):
        text = cell(value.text, limit)
        return f"[{_NOT_IN_LINKS.sub(_ESCAPED, text)}]({value.url})" if value.url else text
    text = " ".join(str("" if value is None else value).split())
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    # Backticks are escaped too: one that lost its pair to the limit would turn the rest into code.
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "\\`")


def paragraph(text: str) -> str:
    """A text of others, such as an error message, as a paragraph without markup."""
    return _NOT_IN_LINKS.sub(_ESCAPED, cell(text, _MAX_PARAGRAPH))


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"
