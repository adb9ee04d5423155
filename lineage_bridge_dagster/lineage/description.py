"""Our block in a table's description: writing it, finding it, and truncating it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lineage_bridge_dagster.lineage.hops import drop_order
from lineage_bridge_dagster.lineage.text import one_line, shorten, size

FIRST_LINE = "Upstream lineage:"
LAST_LINE = "Managed by LineageBridge"
SYNCED = "Last synced: "

_SEPARATOR = "\n\n"
#: Bytes reserved for the time, whatever its precision: truncation must not depend on it.
_TIME_BYTES = 32
#: Maximum characters of an SQL text, tried in this order; 0 omits it.
_SQL_WIDTHS = (160, 80, 40, 0)

_SQL_NOTE = re.compile(r"^(\s*- \w+: .*? \[SQL: )(.*)(\][ \t\r]*)$", re.MULTILINE)
_OUR_LINE = re.compile(r"[ \t]*(?:- .*|→ .*|Environment: .*|Last synced: .*)?[ \t\r]*")


@dataclass(frozen=True, slots=True)
class HopLine:
    """A hop as the description shows it.

    Attributes:
        kind: As `hops.hop_kind` gives it.
        sql: On one line, of any length; empty if there is none.
    """

    distance: int
    kind: str
    name: str
    note: str = ""
    sql: str = ""

    def text(self, sql_width: int, notes: bool) -> str:
        note = self.note if notes else ""
        if self.sql and sql_width:
            note = "SQL: " + shorten(self.sql, sql_width)
        return one_line(f"{self.kind}: {self.name}" + (f" [{note}]" if note else ""))


@dataclass(frozen=True, slots=True)
class DescriptionBlock:
    """The content of a block before truncation. `lines` are in the order of a chain: nearest first."""

    lines: tuple[HopLine, ...]
    table: str
    environment: str | None = None

    def render(self, budget_bytes: int, synced_at: str) -> str | None:
        """Return the block in at most `budget_bytes`; None if even its shortest form is longer.

        Truncated in this order: SQL (shortened, then omitted), notes, then hops in between, replaced by a
        line with their number. The farthest source and the nearest hop are always shown.
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
            # A cheap lower bound first, to avoid laying out thousands of hops.
            if sum(map(size, texts)) + 3 * len(texts) - 1 <= room:
                body = self._body(texts, frozenset())
                if size(body) <= room:
                    return "\n".join([FIRST_LINE, body, *tail])
        shortened = self._drop_hops(texts, room)
        return None if shortened is None else "\n".join([FIRST_LINE, shortened, *tail])

    def _drop_hops(self, texts: Sequence[str], room: int) -> str | None:
        """The body with as few hops dropped as possible."""
        order = drop_order([(line.distance, line.kind) for line in self.lines])
        ends = {0, len(self.lines) - 1}
        order = [i for i in order if i not in ends]
        low, high = 1, len(order) + 1
        while low < high:
            middle = (low + high) // 2
            if middle <= len(order) and size(self._body(texts, frozenset(order[:middle]))) > room:
                low = middle + 1
            else:
                high = middle
        # The size is not monotonic, since a gap takes a line of its own: take the first that fits.
        for count in range(low, len(order) + 1):
            body = self._body(texts, frozenset(order[:count]))
            if size(body) <= room:
                return body
        return None

    def _body(self, texts: Sequence[str], dropped: frozenset[int]) -> str:
        """The hops' lines, farthest first, indented by two more spaces at each distance shown."""
        rows: list[tuple[int, str]] = []
        gap = 0
        for i in range(len(self.lines) - 1, -1, -1):
            if i in dropped:
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


def split_description(text: str | None) -> tuple[str, str | None]:
    """Split a description into the user's text, byte for byte, and our block; None if there is none.

    Our block runs from a line `Upstream lineage:` to the next line `Managed by LineageBridge`; without that
    last line the text is the user's. Text below the block, and foreign lines inside it, belong to the user's
    text. If a block has such lines, or there are several blocks, the block returned differs from any that we
    would write, and so is written again.
    """
    users_text, blocks = text or "", list[str]()
    # The remains of two nested blocks may form another.
    while (found := _split_once(users_text)) is not None:
        users_text, more = found
        blocks += more
    return users_text, _SEPARATOR.join(blocks) if blocks else None


def _split_once(text: str) -> tuple[str, list[str]] | None:
    """The text without its blocks, and the blocks; None if there are none."""
    users: list[str] = []
    blocks: list[str] = []
    rest = text
    while (found := _find_block(rest)) is not None:
        start, end = found
        above, block, below = rest[:start], rest[start:end], rest[end:]
        blocks.append(block)
        if above := above.removesuffix(_SEPARATOR):
            users.append(above)
        foreign = [line for line in block.split("\n")[1:-1] if not _OUR_LINE.fullmatch(line)]
        if foreign:
            users.append("\n".join(foreign))
        rest = below.removeprefix("\r").removeprefix("\n").removeprefix("\n")
    if not blocks:
        return None
    if rest:
        users.append(rest)
    return _SEPARATOR.join(users), blocks


def join_description(users_text: str, block: str | None) -> str:
    """Return the user's text with our block below it."""
    if block is None:
        return users_text
    return users_text + _SEPARATOR + block if users_text else block


def with_sql_notes(text: str, show: Callable[[str], str]) -> str:
    """Return a description, or what is left of one, with the SQL of each hop as `show` returns it."""
    return _SQL_NOTE.sub(lambda note: note[1] + show(note[2]) + note[3], text)


def without_time(block: str) -> str:
    """Return the block without its `Last synced:` line."""
    return "\n".join(line for line in block.split("\n") if not line.startswith(SYNCED))


def _find_block(text: str) -> tuple[int, int] | None:
    """The span of the first block, from the `FIRST_LINE` nearest above the `LAST_LINE` that ends it."""
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
