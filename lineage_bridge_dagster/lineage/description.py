"""Our block of a table's description: how it is written, found again and cut to size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lineage_bridge_dagster.lineage.hops import give_up_order
from lineage_bridge_dagster.lineage.text import MAX_DESCRIPTION_BYTES, one_line, shorten, size

FIRST_LINE = "Upstream lineage:"
LAST_LINE = "Managed by LineageBridge"
SYNCED = "Last synced: "

_SEPARATOR = "\n\n"
#: Bytes kept free for the time, whatever its precision: how much is cut must not hang on the moment.
_TIME_BYTES = 32
#: How wide an SQL text may be, tried in this order; 0 leaves it out.
_SQL_WIDTHS = (160, 80, 40, 0)

_OUR_LINE = re.compile(r"[ \t]*(?:- .*|→ .*|Environment: .*|Last synced: .*)?[ \t\r]*")


@dataclass(frozen=True, slots=True)
class Line:
    """One hop as the description shows it. `sql` is on one line, of any length; empty if there is none."""

    distance: int
    kind: str
    name: str
    note: str = ""
    sql: str = ""

    def text(self, sql_width: int, notes: bool) -> str:
        label = "topic" if self.kind == "kafka_topic" else self.kind
        note = self.note if notes else ""
        if self.sql and sql_width:
            note = "SQL: " + shorten(self.sql, sql_width)
        return one_line(f"{label}: {self.name}" + (f" [{note}]" if note else ""))


@dataclass(frozen=True, slots=True)
class BlockContent:
    """All that a block may show. `lines` in the order of a chain: nearest first."""

    lines: tuple[Line, ...]
    table: str
    environment: str | None = None

    def render(self, budget_bytes: int, synced_at: str) -> str | None:
        """The block in at most `budget_bytes`, or None when even the least worth showing takes more.

        Cut in this order: SQL (shortened, then left out), notes, then hops in between, which a line with
        their number stands for. The farthest source and the nearest hop are always shown.
        """
        if not self.lines:
            return None
        tail = [f"  → {one_line(self.table)} (glue)"]
        if self.environment:
            tail.append(f"Environment: {one_line(self.environment)}")
        tail += [SYNCED + one_line(synced_at), LAST_LINE]
        fixed = size("\n".join([FIRST_LINE, *tail])) + 1 + max(0, _TIME_BYTES - size(synced_at))
        room = budget_bytes - fixed
        for width, notes in (*((width, True) for width in _SQL_WIDTHS), (0, False)):
            texts = [line.text(width, notes) for line in self.lines]
            # Cheap first: a chain of thousands of hops need not be laid out to see that it is too long.
            if sum(map(size, texts)) + 3 * len(texts) - 1 <= room:
                body = self._body(texts, frozenset())
                if size(body) <= room:
                    return "\n".join([FIRST_LINE, body, *tail])
        body_or_none = self._cut(texts, room)
        return None if body_or_none is None else "\n".join([FIRST_LINE, body_or_none, *tail])

    def _cut(self, texts: Sequence[str], room: int) -> str | None:
        """The body with as few hops left out as it takes to fit."""
        order = give_up_order([(line.distance, line.kind) for line in self.lines])
        ends = {0, len(self.lines) - 1}
        order = [i for i in order if i not in ends]
        low, high = 1, len(order) + 1
        while low < high:
            middle = (low + high) // 2
            if middle <= len(order) and size(self._body(texts, frozenset(order[:middle]))) > room:
                low = middle + 1
            else:
                high = middle
        # A gap takes a line of its own, so the size does not fall evenly: take the first that truly fits.
        for count in range(low, len(order) + 1):
            body = self._body(texts, frozenset(order[:count]))
            if size(body) <= room:
                return body
        return None

    def _body(self, texts: Sequence[str], left_out: frozenset[int]) -> str:
        """The hops' lines, the farthest first, each distance that is shown two spaces deeper."""
        rows: list[tuple[int, str]] = []
        gap = 0
        for i in range(len(self.lines) - 1, -1, -1):
            if i in left_out:
                if not gap:
                    rows.append((self.lines[i].distance, ""))
                gap += 1
                continue
            if gap:
                rows[-1] = (rows[-1][0], f"... {gap} more")
                gap = 0
            rows.append((self.lines[i].distance, texts[i]))
        level, shown, lines = -1, None, []
        for distance, text in rows:
            if distance != shown:
                level, shown = level + 1, distance
            lines.append("  " * level + "- " + text)
        return "\n".join(lines)


def description_budget(users_text: str, limit: int = MAX_DESCRIPTION_BYTES) -> int:
    """Bytes that are left for our block beside the user's text; may be negative."""
    return limit - (size(users_text + _SEPARATOR) if users_text else 0)


def split_description(text: str | None) -> tuple[str, str | None]:
    """The user's text, byte for byte, and our block; None when there is none.

    Our block runs from a line `Upstream lineage:` to the next line `Managed by LineageBridge`; without that
    end it is the user's. Text below it, and lines inside it that are none of ours, are somebody's words and
    belong to the user's text. When that was so inside, or there was more than one block, the block returned
    is none that we would write, and so is written anew.
    """
    users_text, blocks = text or "", list[str]()
    # What is left of two blocks that were pasted into each other may form another.
    while (found := _split_once(users_text)) is not None:
        users_text, more = found
        blocks += more
    return users_text, _SEPARATOR.join(blocks) if blocks else None


def _split_once(text: str) -> tuple[str, list[str]] | None:
    """The text without its blocks, and these; None when there is none."""
    users: list[str] = []
    blocks: list[str] = []
    rest = text
    while (found := _find_block(rest)) is not None:
        start, end = found
        above, block, below = rest[:start], rest[start:end], rest[end:]
        blocks.append(block)
        if above := above.removesuffix(_SEPARATOR):
            users.append(above)
        inside = [line for line in block.split("\n")[1:-1] if not _OUR_LINE.fullmatch(line)]
        if inside:
            users.append("\n".join(inside))
        rest = below.removeprefix("\r").removeprefix("\n").removeprefix("\n")
    if not blocks:
        return None
    if rest:
        users.append(rest)
    return _SEPARATOR.join(users), blocks


def join_description(users_text: str, block: str | None) -> str:
    """The user's text with our block below it."""
    if block is None:
        return users_text
    return users_text + _SEPARATOR + block if users_text else block


def without_time(block: str) -> str:
    """The block without its `Last synced:` line."""
    return "\n".join(line for line in block.split("\n") if not line.startswith(SYNCED))


def _find_block(text: str) -> tuple[int, int] | None:
    """Where the first block starts and ends: the last first line before the first last line after one."""
    position = 0
    start: int | None = None
    for line in text.split("\n"):
        stripped = line.rstrip(" \t\r")
        if stripped == FIRST_LINE:
            start = position
        elif stripped == LAST_LINE and start is not None:
            return start, position + len(line.rstrip("\r"))
        position += len(line) + 1
    return None
