"""The report as Markdown for one comment on a pull request, which a later report replaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lineage_bridge_dagster.impact.render.phrases import (
    KINDS,
    VERDICTS,
    describe,
    named,
    next_step,
    summary,
)
from lineage_bridge_dagster.impact.report import Affected, Impact, Verdict
from lineage_bridge_dagster.text import first_few, plural

#: First line of the report: whoever posts it finds the comment of before by it.
MARKER = "<!-- lineage-bridge-impact -->"
#: Maximum characters of a comment on GitHub are 65,536; GitLab takes more.
MAX_LENGTH = 65_000
#: Maximum changes that are named, gaps, and nodes in one line.
_MAX_CHANGES, _MAX_GAPS, _MAX_NODES = 10, 20, 10

_HARMLESS = frozenset({Verdict.CHANGES_TYPE, Verdict.GAINS_COLUMN})


def report(impact: Impact) -> str:
    """The report: a summary, what to look at in a table, what to do next, and the rest folded.

    Rows that would not fit into a comment are left out, and counted.
    """
    effects = impact.by_node
    grave = [effect for effect in effects if effect.verdict not in _HARMLESS]
    mild = [effect for effect in effects if effect.verdict in _HARMLESS]
    parts = [MARKER, f"### Impact: {summary(impact)}", _changes(impact)]
    if gaps := [gap for gap in impact.gaps if gap.matters]:
        lines = [f"- {_place(gap.node)}{gap.reason}" for gap in gaps[:_MAX_GAPS]]
        more = [f"- and {len(gaps) - _MAX_GAPS:,} more"] if len(gaps) > _MAX_GAPS else []
        parts.append("\n".join(["**Not known, so there may be more:**", "", *lines, *more]))
    room = MAX_LENGTH - len("\n\n".join(parts)) - 2_000
    if grave:
        table = _table(grave, room // 2)
        parts += [table, "**What to do next**\n\n" + "\n".join(_steps(grave))]
        room -= len(parts[-1]) + len(table)
    if mild:
        table = _table(mild, room // 2)
        parts.append(_folded(f"{plural(len(mild), 'node')} with a new column or a different type", table))
        room -= len(table)
    if paths := _fitting((_path(effect) for effect in effects if len(effect.path) > 1), room):
        parts.append(_folded("How each is reached", "\n".join(paths)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _changes(impact: Impact) -> str:
    texts = [cell(describe(change)) for change in impact.changes]
    return f"{plural(len(texts), 'change')}: {first_few(texts, _MAX_CHANGES)}." if texts else "No change."


def _place(node: object) -> str:
    return f"`{node}`: " if node else ""


def _table(effects: Sequence[Affected], room: int) -> str:
    has_owner = any(effect.owner for effect in effects)
    header = ["", "what", "column", "why", *(["owner"] if has_owner else [])]
    lines = [_row(header), "|" + " --- |" * len(header)]
    rows = [_row(_cells(effect, has_owner)) for effect in effects]
    shown = _fitting(rows, room)
    more = f"\n\n{len(rows) - len(shown):,} more are not shown." if len(shown) < len(rows) else ""
    return "\n".join([*lines, *shown]) + more


def _cells(effect: Affected, has_owner: bool) -> Iterator[str]:
    yield f"**{VERDICTS[effect.verdict]}**" if effect.verdict is Verdict.BREAKS else VERDICTS[effect.verdict]
    yield f"{KINDS[effect.node.kind]} `{code(effect.node.name)}`"
    yield f"`{code(effect.column)}`" if effect.column else ""
    yield cell(effect.reason)
    if has_owner:
        yield cell(effect.owner)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _steps(effects: Sequence[Affected]) -> Iterator[str]:
    """Each thing to do once, with the nodes that it is for."""
    nodes: dict[str, list[str]] = {}
    for effect in effects:
        nodes.setdefault(next_step(effect), []).append(f"`{code(effect.node.name)}`")
    for step, names in nodes.items():
        yield f"- [ ] {first_few(names, _MAX_NODES)}: {step}"


def _path(effect: Affected) -> str:
    steps = [
        f"{cell(named(step.node))}{f'.{cell(step.column)}' if step.column else ''}"
        f"{f' ({cell(step.evidence)})' if step.evidence else ''}"
        for step in effect.path
    ]
    return f"- `{code(effect.node.name)}`: {' → '.join(steps)}"


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _fitting(lines: Iterable[str], room: int) -> list[str]:
    """The first lines that fit into a number of characters."""
    found = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        found.append(line)
    return found


def code(text: str) -> str:
    """A name within backticks of a table's cell."""
    return " ".join(text.split()).replace("`", "'").replace("|", "\\|")


def cell(text: str) -> str:
    """A text of others on one line, without markup, and without mentions of people."""
    text = " ".join(text.split())
    for character in "\\`|*_[]":
        text = text.replace(character, f"\\{character}")
    return text.replace("<", "&lt;").replace("@", "&#64;")
