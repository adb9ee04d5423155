"""Puts what the watched lists show into the last discovery."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lineage_bridge_dagster.automation.tick import Update
from lineage_bridge_dagster.automation.watched_lists import GLUE, INTEGRATIONS, TABLEFLOW, ListScope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.settings import Settings


def list_updates(settings: Callable[[], Settings]) -> Update:
    """What a tick of the sensor calls when lists have changed. Settings are read for each call."""

    def update(last: Discovery, scopes: Sequence[ListScope]) -> Discovery | None:
        # Imported here: loading needs no API clients.
        from lineage_bridge_dagster.discovery.update import update

        if any(scope.api not in (TABLEFLOW, INTEGRATIONS, GLUE) for scope in scopes):
            return None
        return update(
            settings(),
            last,
            clusters={(scope.environment, scope.place) for scope in scopes if scope.api != GLUE},
            databases={scope.place for scope in scopes if scope.api == GLUE},
        )

    return update
