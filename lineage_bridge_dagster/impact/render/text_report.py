"""The report for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import click

from lineage_bridge_dagster.impact.render.phrases import VERDICTS, describe, named, next_step, summary
from lineage_bridge_dagster.impact.report import Affected, Impact, Verdict

_COLORS = {Verdict.BREAKS: "red", Verdict.LOSES_DATA: "red", Verdict.CHANGES_MEANING: "yellow"}


def report(impact: Impact) -> str:
    """The changes, each affected node with its reason and path, what to do next, and what is not known."""
    return "\n".join(_lines(impact)) + "\n"


def _lines(impact: Impact) -> Iterator[str]:
    for change in impact.changes:
        yield f"Change: {describe(change)}"
    if impact.effects:
        yield ""
    for effect in impact.by_node:
        verdict = click.style(f"{VERDICTS[effect.verdict]:<20}", fg=_COLORS.get(effect.verdict))
        column = f" ({effect.column})" if effect.column else ""
        owner = f"  [{effect.owner}]" if effect.owner else ""
        yield f"{verdict}{named(effect.node)}{column}{owner}"
        yield f"{'':<20}  {effect.reason}"
        if len(effect.path) > 1:
            yield f"{'':<20}  by {_path(effect)}"
    steps = dict.fromkeys(next_step(effect) for effect in impact.by_node if effect.verdict in _COLORS)
    if steps:
        yield "\nNext:"
        yield from (f"  - {step}" for step in steps)
    for title, matters in (("Not known", True), ("Notes", False)):
        if gaps := [gap for gap in impact.gaps if gap.matters is matters]:
            yield f"\n{title}:"
            yield from (f"  - {f'{named(gap.node)}: ' if gap.node else ''}{gap.reason}" for gap in gaps)
    yield f"\n{summary(impact)[:1].upper()}{summary(impact)[1:]}."


def _path(effect: Affected) -> str:
    return " -> ".join(f"{step.node.name}{f'.{step.column}' if step.column else ''}" for step in effect.path)
