"""Upkeep of tables that is played instead of done by Spark."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import ModuleType

import pytest

from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.upkeep import Upkeep, UpkeepLimits

Play = Callable[..., dict[str, UpkeepLimits]]


def player(
    monkeypatch: pytest.MonkeyPatch, keep_up: tuple[ModuleType, str], exists: tuple[ModuleType, str]
) -> Play:
    """Make a function that has the named functions of these modules play the outcomes it is given.

    It takes an outcome per table by its last name: its upkeep, or the error with which that fails. All other
    tables do not exist. It returns the limits with which each table was looked after, by full name.
    """

    def play(**outcomes: Upkeep | Exception) -> dict[str, UpkeepLimits]:
        asked: dict[str, UpkeepLimits] = {}

        def played(_: object, name: TableName, limits: UpkeepLimits, now: datetime) -> Upkeep:
            assert now.tzinfo is not None
            asked[str(name)] = limits
            outcome = outcomes[name.table]
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(*keep_up, played)
        monkeypatch.setattr(*exists, lambda _, name: name.table in outcomes)
        return asked

    return play
