"""The report as JSON, whose schema is published as `docs/impact_report.schema.json`."""

from __future__ import annotations

from typing import Any

from lineage_bridge_dagster.impact.render.phrases import describe, next_step
from lineage_bridge_dagster.impact.report import Affected, Impact, PathStep

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
