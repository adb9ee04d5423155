"""Whole configurations with the columns that they write."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster_tests.confluent.connectors.columns.scoring import ColumnScore, score
from lineage_bridge_dagster_tests.confluent.connectors.scoring import load
from lineage_bridge_dagster_tests.conftest import shared


@pytest.fixture(scope="module")
def total() -> ColumnScore:
    return score(load(shared("cases", "connector_columns.jsonl")))


@pytest.mark.parametrize("direction", ["source", "sink"])
def test_columns_of_the_shared_configurations_are_right(total: ColumnScore, direction: str) -> None:
    assert total.counts[direction, "right"] >= 200
    assert total.precision(direction) >= 0.98, "\n".join(total.mistakes)
    assert total.recall(direction) >= 0.95, "\n".join(total.mistakes)
