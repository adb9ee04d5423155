"""The report as SARIF 2.1.0, which GitHub shows as code scanning alerts at the file that changes.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from lineage_bridge_dagster.impact.render.phrases import VERDICTS, named, next_step
from lineage_bridge_dagster.impact.report import Affected, Impact, ImpactGap, Verdict
from lineage_bridge_dagster.impact.world import NodeRef

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Mapping[Verdict, str] = {
    Verdict.BREAKS: "error",
    Verdict.LOSES_DATA: "error",
    Verdict.CHANGES_MEANING: "warning",
    Verdict.CHANGES_TYPE: "warning",
    Verdict.GAINS_COLUMN: "note",
}
_GAP = "not_known"


def report(impact: Impact, files: Sequence[str] = ()) -> dict[str, Any]:
    """The report as values of JSON.

    Args:
        impact: What is reported. A gap that may hide effects is a warning.
        files: The files that hold the changes, relative to the repository's root.
    """
    gaps = [gap for gap in impact.gaps if gap.matters]
    rules = [
        {
            "id": str(verdict),
            "shortDescription": {"text": f"Something downstream {VERDICTS[verdict]}"},
            "defaultConfiguration": {"level": level},
        }
        for verdict, level in _LEVELS.items()
    ]
    rules.append(
        {
            "id": _GAP,
            "shortDescription": {"text": "What is downstream is not completely known"},
            "defaultConfiguration": {"level": "warning"},
        }
    )
    driver = {
        "name": "lineage-bridge impact",
        "version": version("lineage-bridge-dagster"),
        "rules": rules,
    }
    results = [*(_result(effect, files) for effect in impact.by_node), *(_gap(gap, files) for gap in gaps)]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _locations(node: NodeRef | None, files: Sequence[str]) -> list[dict[str, Any]]:
    logical = {"logicalLocations": [{"fullyQualifiedName": str(node)}]} if node else {}
    physical = [{"physicalLocation": {"artifactLocation": {"uri": file}}} for file in files]
    return [{**each, **logical} for each in physical] or ([logical] if logical else [])


def _result(effect: Affected, files: Sequence[str]) -> dict[str, Any]:
    column = f", column {effect.column}" if effect.column else ""
    text = f"{named(effect.node)}{column} {VERDICTS[effect.verdict]}: {effect.reason}. {next_step(effect)}"
    return {
        "ruleId": str(effect.verdict),
        "level": _LEVELS[effect.verdict],
        "message": {"text": text},
        "locations": _locations(effect.node, files),
        "partialFingerprints": {"node/v1": _digest(f"{effect.node} {effect.column} {effect.verdict}")},
    }


def _gap(gap: ImpactGap, files: Sequence[str]) -> dict[str, Any]:
    place = f"{named(gap.node)}: " if gap.node else ""
    return {
        "ruleId": _GAP,
        "level": "warning",
        "message": {"text": f"{place}{gap.reason}"},
        "locations": _locations(gap.node, files),
        "partialFingerprints": {"node/v1": _digest(f"{gap.node} {gap.reason}")},
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
