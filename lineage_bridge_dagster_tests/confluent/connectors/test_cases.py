"""Whole configurations with their expected lineage: `cases/` and those that all projects share."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_bridge_dagster_tests.confluent.connectors.scoring import CASES, METRICS, load, score
from lineage_bridge_dagster_tests.conftest import shared

FILES = sorted(CASES.glob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lineage_of_each_configuration_is_exact(path: Path) -> None:
    mistakes = score(load(path)).mistakes
    assert not mistakes, "\n" + "\n".join(mistakes)


def test_lineage_of_the_shared_configurations_is_exact() -> None:
    cases = load(shared("confluent", "connector_cases.jsonl"))
    total = score(cases)
    assert not total.mistakes, "\n" + "\n".join(total.mistakes)
    assert {metric for metric in METRICS if total.right[metric]} == set(METRICS)


def test_cases_are_many_and_have_names_of_their_own() -> None:
    cases = load(*FILES)
    assert len(cases) >= 150
    assert len({case["id"] for case in cases}) == len(cases)
