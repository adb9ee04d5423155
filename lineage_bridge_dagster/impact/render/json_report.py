"""The report as JSON, whose schema is `docs/impact_report.schema.json`; many of them as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from lineage_bridge_dagster.impact import analysis
from lineage_bridge_dagster.impact.files import read_case
from lineage_bridge_dagster.impact.render.phrases import describe, next_step
from lineage_bridge_dagster.impact.report import Affected, Impact, PathStep
from lineage_bridge_dagster.lineage.json_lines import answer_lines
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.flink.tree import ParsedText

#: Version of the format. Fields may be added within a version.
VERSION = 1


def report(impact: Impact) -> dict[str, Any]:
    """The report as values of JSON.

    `effects` has each affected node once, with its gravest verdict, gravest first; a node's `columns` are all
    that the changes do to its columns. An empty `column` stands for rows, or for all columns.
    """
    columns: dict[Any, list[dict[str, str]]] = {}
    for effect in impact.effects:
        columns.setdefault(effect.node, []).append(
            {"column": effect.column or "", "verdict": str(effect.verdict), "reason": effect.reason}
        )
    return {
        "version": VERSION,
        "complete": not impact.is_incomplete,
        "changes": [describe(change) for change in impact.changes],
        "effects": [_effect(effect, columns[effect.node]) for effect in impact.by_node],
        "gaps": [
            {"node": str(gap.node) if gap.node else "", "reason": gap.reason, "matters": gap.matters}
            for gap in impact.gaps
        ],
    }


def _effect(effect: Affected, columns: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "node": str(effect.node),
        "kind": str(effect.node.kind),
        "name": effect.node.name,
        "node_id": effect.node.node_id,
        "asset_key": list(effect.asset_key),
        "verdict": str(effect.verdict),
        "column": effect.column or "",
        "reason": effect.reason,
        "next_step": next_step(effect),
        "owner": effect.owner,
        "columns": columns,
        "path": [_step(step) for step in effect.path],
    }


def _step(step: PathStep) -> dict[str, str]:
    return {"node": str(step.node), "column": step.column or "", "evidence": step.evidence}


def report_lines(text: str) -> Iterator[str]:
    """A report for each line `{"id", "world", "change"}` that is not empty, with its `id`, in the same order.

    One JVM parses the SQL of all. The report of a line that is not understood is `{"id", "error"}`.
    """
    with ExitStack() as stack:
        parsers: list[FlinkSqlParser] = []

        def parse(texts: Sequence[str]) -> list[ParsedText]:
            if not parsers:
                parsers.append(stack.enter_context(FlinkSqlParser()))
            return list(parsers[0].parse_trees(texts))

        def answer(document: Any) -> dict[str, Any]:
            world, changes = read_case(document)
            found = analysis.impact(world, changes.changes, parse)
            return report(replace(found, gaps=(*changes.gaps, *found.gaps)))

        yield from answer_lines(text, answer)
