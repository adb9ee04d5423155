"""Our block in a table's description: writing it, finding it, and truncating it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from lineage_bridge_dagster.lineage.hops import drop_order
from lineage_bridge_dagster.lineage.outline import Outline
from lineage_bridge_dagster.lineage.text import one_line, shorten, size
from lineage_bridge_dagster.lineage.upstream import Place

FIRST_LINE = "Upstream lineage:"
LAST_LINE = "Managed by LineageBridge"
SYNCED = "Last synced: "

_SEPARATOR = "\n\n"
#: Bytes reserved for the time, whatever its precision: truncation must not depend on it.
_TIME_BYTES = 32
#: Maximum characters of an SQL text, tried in this order; 0 omits it.
_SQL_WIDTHS = (160, 80, 40, 0)

#: Minimum bytes of a hop's line besides its text: `- ` and the line break.
_LINE_BYTES = 3

_HOP = re.compile(r"\s*- \w+: ")
_SQL = " [SQL: "
#: How the lines of a block between the first and the last begin, after their indentation.
_OURS = ("- ", "→ ", "Environment: ", SYNCED)


@dataclass(frozen=True, slots=True)
class HopLine:
    """A hop as the description shows it.

    Attributes:
        kind: As `hops.hop_kind` gives it.
        mark: A note that is never left out, such as that the writer of a topic is inferred.
        sql: On one line, of any length; empty if there is none.
    """

    node_id: str
    distance: int
    kind: str
    name: str
    note: str = ""
    sql: str = ""
    mark: str = ""

    def text(self, sql_width: int, notes: bool) -> str:
        note = self.note if notes else ""
        if self.sql and sql_width:
            note = "SQL: " + shorten(self.sql, sql_width)
        note = ", ".join(filter(None, (self.mark, note)))
        return one_line(f"{self.kind}: {self.name}" + (f" [{note}]" if note else ""))


@dataclass(frozen=True, slots=True)
class DescriptionBlock:
    """The content of a block before truncation; its lines are in the order of a chain, nearest first."""

    lines: tuple[HopLine, ...]
    table: str
    environment: str | None = None
    sources: Mapping[Place, Sequence[Place]] = field(default_factory=dict, repr=False)

    def render(self, budget_bytes: int, synced_at: str) -> str | None:
        """Return the block in at most `budget_bytes`; None if even its shortest form is longer.

        Truncated in this order: SQL (shortened, then omitted), notes, repetitions of a hop that several
        others feed, then hops in between, replaced by lines with their number. The farthest source and the
        nearest hop are always shown.
        """
        if not self.lines:
            return None
        tail = [f"  → {one_line(self.table)} (glue)"]
        if self.environment:
            tail.append(f"Environment: {one_line(self.environment)}")
        tail += [SYNCED + one_line(synced_at), LAST_LINE]
        fixed = size("\n".join([FIRST_LINE, *tail])) + 1 + max(0, _TIME_BYTES - size(synced_at))
        body = self._body(budget_bytes - fixed)
        return None if body is None else "\n".join([FIRST_LINE, body, *tail])

    def _body(self, room: int) -> str | None:
        """The hops' lines in this many bytes; None if not even the shortest form fits."""
        outline = Outline.of([(line.node_id, line.distance) for line in self.lines], self.sources)
        names = [line.text(0, notes=False) for line in self.lines]
        for width, notes in (*((width, True) for width in _SQL_WIDTHS), (0, False)):
            texts = [line.text(width, notes) for line in self.lines]
            # A cheap lower bound first, to avoid laying out thousands of hops.
            if sum(map(size, texts)) + _LINE_BYTES * len(texts) - 1 <= room:
                body = _lay_out(outline, texts, names)
                if size(body) <= room:
                    return body
        return self._drop_hops(outline, names, room)

    def _drop_hops(self, outline: Outline, names: Sequence[str], room: int) -> str | None:
        """The body without repetitions, and with as few hops dropped as possible."""
        order = drop_order([(line.distance, line.kind) for line in self.lines])
        farthest = self.lines[-1].distance
        ends = {0, next(i for i, line in enumerate(self.lines) if line.distance == farthest)}
        order = [i for i in order if i not in ends]

        def without(count: int) -> str:
            return _lay_out(outline, names, names, frozenset(order[:count]), repeats=False)

        # No more hops than this many can be shown, so that the number of trials is bounded.
        low, high = max(0, len(self.lines) - room // _LINE_BYTES), len(order) + 1
        while low < high:
            middle = (low + high) // 2
            if middle <= len(order) and size(without(middle)) > room:
                low = middle + 1
            else:
                high = middle
        # The size is not monotonic, since a gap takes a line of its own: take the first that fits.
        for count in range(low, len(order) + 1):
            body = without(count)
            if size(body) <= room:
                return body
        return None


def _lay_out(
    outline: Outline,
    texts: Sequence[str],
    names: Sequence[str],
    dropped: Collection[int] = frozenset(),
    repeats: bool = True,
) -> str:
    """The lines of an outline, indented by two more spaces at each step."""
    lines = []
    for row in outline.rows(dropped, repeats):
        if row.hop is None:
            text = f"... {row.left_out} more" if row.left_out else "..."
        else:
            text = texts[row.hop] if row.first else names[row.hop]
        lines.append("  " * row.depth + "- " + text)
    return "\n".join(lines)


def split_description(text: str | None) -> tuple[str, str | None]:
    """Split a description into the user's text, byte for byte, and our block; None if there is none.

    Our block runs from a line `Upstream lineage:` to the next line `Managed by LineageBridge`; without that
    last line the text is the user's. Text below the block, and foreign lines inside it, belong to the user's
    text. If a block has such lines, or there are several blocks, the block returned differs from any that we
    would write, and so is written again.
    """
    text = text or ""
    spans = _spans(text)
    if not spans:
        return text, None
    users: list[str] = []
    rest = 0
    for start, end in spans:
        foreign = "\n".join(line for line in text[start:end].split("\n") if not _is_ours(line))
        users += [text[rest:start].removesuffix(_SEPARATOR), foreign]
        rest = end
        for letter in "\r\n\n":
            rest += text.startswith(letter, rest)
    users.append(text[rest:])
    blocks = (text[start:end] for start, end in spans)
    return _SEPARATOR.join(filter(None, users)), _SEPARATOR.join(blocks)


def join_description(users_text: str, block: str | None) -> str:
    """Return the user's text with our block below it."""
    if block is None:
        return users_text
    return users_text + _SEPARATOR + block if users_text else block


def with_sql_notes(text: str, show: Callable[[str], str]) -> str:
    """Return a description, or what is left of one, with the SQL of each hop as `show` returns it."""
    return "\n".join(_with_sql_note(line, show) for line in text.split("\n"))


def _with_sql_note(line: str, show: Callable[[str], str]) -> str:
    hop = _HOP.match(line)
    note = line.find(_SQL, hop.end()) if hop else -1
    start, end = note + len(_SQL), len(line.rstrip(" \t\r")) - 1
    if note < 0 or end < start or line[end] != "]":
        return line
    return line[:start] + show(line[start:end]) + line[end:]


def without_time(block: str) -> str:
    """Return the block without its `Last synced:` line."""
    return "\n".join(line for line in block.split("\n") if not line.startswith(SYNCED))


def _spans(text: str) -> list[tuple[int, int]]:
    """Where blocks are, without those inside others: from the `FIRST_LINE` nearest above a `LAST_LINE`."""
    starts: list[int] = []
    spans: list[tuple[int, int]] = []
    position = 0
    for line in text.split("\n"):
        mark = line.rstrip(" \t\r")
        if mark == FIRST_LINE:
            starts.append(position)
        elif mark == LAST_LINE and starts:
            start = starts.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, position + len(line.rstrip("\r"))))
        position += len(line) + 1
    return spans


def _is_ours(line: str) -> bool:
    mark = line.rstrip(" \t\r")
    return mark in ("", FIRST_LINE, LAST_LINE) or line.lstrip(" \t").startswith(_OURS)
