"""Precision and recall of the columns of connectors, against configurations with their expected columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.confluent.connectors.columns.report import connector_report

Case = Mapping[str, Any]
Columns = Mapping[str, frozenset[str]]


@dataclass
class ColumnScore:
    """Written columns whose sources are exactly right, wrong, and missed, by the direction of connectors."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    mistakes: list[str] = field(default_factory=list)

    def precision(self, direction: str) -> float:
        right, wrong = self.counts[direction, "right"], self.counts[direction, "wrong"]
        return right / (right + wrong)

    def recall(self, direction: str) -> float:
        right, missed = self.counts[direction, "right"], self.counts[direction, "missed"]
        return right / (right + missed)


def score(cases: Iterable[Case]) -> ColumnScore:
    """Compare what is found with what is expected, as `accept` of a case tells."""
    found = ColumnScore()
    for case in cases:
        columns = _spelled(connector_report(case).columns.columns, case)
        accept = case.get("accept", {})
        if not columns and accept.get("whole_case_unknown"):
            continue
        for outcome, what in _outcomes(columns, case["expected"], accept):
            found.counts[case["type"], outcome] += 1
            if outcome != "right":
                found.mistakes.append(f"{case['id']}: {outcome} {what}")
    return found


def _outcomes(columns: Columns, expected: Mapping[str, Any], accept: Mapping[str, Any]) -> Iterator[Any]:
    for name, sources in columns.items():
        allowed = [*([expected[name]] if name in expected else []), *accept.get(name, ())]
        if sources in map(frozenset, allowed):
            if name in expected:
                yield "right", name
        elif name in expected or not _is_extra(name, accept.get("extra_targets", ())):
            yield "wrong", f"{name}: {sorted(sources)}, not {expected.get(name)}"
            if name in expected:
                yield "missed", name
    for name in expected.keys() - columns.keys():
        if name not in accept.get("optional", ()):
            yield "missed", name


def _is_extra(name: str, extra: Iterable[str]) -> bool:
    return any(name == each or (each.endswith("*") and name.startswith(each[:-1])) for each in extra)


def _spelled(columns: Columns, case: Case) -> dict[str, frozenset[str]]:
    """The columns with datasets named as the case names them."""
    names = {
        other: name for name, others in case.get("accept", {}).get("dataset", {}).items() for other in others
    }

    def spelled(text: str) -> str:
        for other in sorted(names, key=len, reverse=True):
            if text == other or text.startswith(f"{other}."):
                return names[other] + text.removeprefix(other)
        return text

    return {spelled(name): frozenset(map(spelled, sources)) for name, sources in columns.items()}
