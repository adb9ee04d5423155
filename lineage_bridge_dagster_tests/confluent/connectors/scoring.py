"""Precision and recall of connector lineage, against configurations with their expected lineage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage_bridge_dagster.confluent.connectors import ConnectorLineage, ConnectorRecord, resolve

Case = Mapping[str, Any]
Item = tuple[str, ...]

CASES = Path(__file__).with_name("cases")
METRICS = ("topics", "datasets", "pairs")
#: Key of a case -> attribute of `ConnectorLineage`.
_TOPICS = {"writes": "topics_written", "reads": "topics_read"}
_DATASETS = {"datasets_read": "datasets_read", "datasets_written": "datasets_written"}


@dataclass(slots=True)
class Score:
    """What was found and expected, counted by metric."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    #: `{case} {metric}: wrong|missed {item}`, one for each mistake.
    mistakes: list[str] = field(default_factory=list)

    def __iadd__(self, other: Score) -> Score:
        self.right += other.right
        self.wrong += other.wrong
        self.missed += other.missed
        self.mistakes += other.mistakes
        return self

    def precision(self, metric: str) -> float:
        found = self.right[metric] + self.wrong[metric]
        return self.right[metric] / found if found else 1.0

    def recall(self, metric: str) -> float:
        expected = self.right[metric] + self.missed[metric]
        return self.right[metric] / expected if expected else 1.0

    def __str__(self) -> str:
        return "  ".join(
            f"{metric} {self.precision(metric):.3f} / {self.recall(metric):.3f}" for metric in METRICS
        )


def load(*paths: Path) -> list[Case]:
    """Read the cases of JSON Lines files."""
    return [json.loads(line) for path in paths for line in path.read_text().splitlines() if line.strip()]


def lineage_of(case: Case) -> ConnectorLineage:
    identifier = case["lcc"] if case["managed"] else None
    record = ConnectorRecord(case["config"].get("name", case["id"]), case["type"], identifier, case["config"])
    return resolve(record, case["topics_in_cluster"])


def score(cases: Iterable[Case]) -> Score:
    """Score all cases; an exception fails the case's caller."""
    total = Score()
    for case in cases:
        total += _score(case, lineage_of(case))
    return total


def by_class(cases: Iterable[Case]) -> dict[str, Score]:
    """Score the cases of each connector class."""
    scores: dict[str, Score] = {}
    for case in cases:
        scores.setdefault(case["class"], Score())
        scores[case["class"]] += score([case])
    return dict(sorted(scores.items()))


def pairs_of(lineage: ConnectorLineage) -> Iterator[tuple[str, str]]:
    """The pairs of input and output: those known; for any other output of data, every input."""
    outputs = {
        "source": set(lineage.topics_written) - {*lineage.dlq_topics, *lineage.report_topics},
        "sink": set(lineage.datasets_written),
    }[lineage.direction]
    inputs = lineage.datasets_read if lineage.direction == "source" else lineage.topics_read
    yield from lineage.pairs
    known = {output for _, output in lineage.pairs}
    yield from ((source, output) for output in outputs - known for source in inputs)


def _score(case: Case, lineage: ConnectorLineage) -> Score:
    expect, optional = case["expect"], case.get("optional", {})
    names = _spellings(case)
    result = Score()

    def compare(metric: str, found: Iterable[Item], due: set[Item], allowed: set[Item]) -> None:
        seen = {tuple(names.get(part, part) for part in item) for item in found}
        result.right[metric] += len(seen & due)
        for kind, items in (("wrong", seen - due - allowed), ("missed", due - seen)):
            getattr(result, kind)[metric] += len(items)
            result.mistakes += [f"{case['id']} {metric}: {kind} {' -> '.join(i)}" for i in sorted(items)]

    def listed(where: Mapping[str, Any], **roles: str) -> set[Item]:
        return {(role, name) for role, key in roles.items() for name in where.get(key, ())}

    found = {role: getattr(lineage, role) for role in (*_TOPICS.values(), *_DATASETS.values())}
    for metric, keys in (("topics", _TOPICS), ("datasets", _DATASETS)):
        items = [(role, name) for role in keys.values() for name in found[role]]
        roles = {role: key for key, role in keys.items()}
        compare(metric, items, listed(expect, **roles), listed(optional, **roles))
    if expect["pairs"] or lineage.direction == "source":
        pairs, more = ({tuple(pair) for pair in where.get("pairs", ())} for where in (expect, optional))
        compare("pairs", pairs_of(lineage), pairs, more)
    return result


def _spellings(case: Case) -> dict[str, str]:
    """Every accepted spelling of a dataset, by the expected one."""
    spellings = {other: name for name, others in case.get("accept", {}).items() for other in others}
    return spellings | {other: name for name, other in case.get("ol", {}).items()}
