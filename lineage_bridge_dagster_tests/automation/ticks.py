"""A sensor over time, without Dagster: its clock, its cursor, its lists and the state that it has loaded."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from dagster import AssetKey

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.automation.cursor import Cursor
from lineage_bridge_dagster.automation.data_versions import Written
from lineage_bridge_dagster.automation.loaded import LoadedState, loaded_tables
from lineage_bridge_dagster.automation.requests import TickResult
from lineage_bridge_dagster.automation.sweep import SweepSettings
from lineage_bridge_dagster.automation.tick import Tick, Update
from lineage_bridge_dagster.automation.watched_lists import GLUE, TABLEFLOW, ListScope
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.world import ENV, World, many

LOG = logging.getLogger("tick")


class FakeDagster:
    """A Dagster client whose results a test sets."""

    def __init__(self) -> None:
        self.latest: str | None = None
        self.is_refreshing = False
        self.assets_in_flight: frozenset[AssetKey] = frozenset()
        self.pushed: dict[AssetKey, str] = {}
        self.pushed_at = 0.0
        self.reloads = 0
        self.reload_error: Exception | None = None
        self.state_error: LineageBridgeError | None = None
        self.lookups = 0
        self.refreshed_at = 0.0
        self.stored: list[Discovery] = []

    def latest_version(self) -> str | None:
        return self.latest

    def check_state(self) -> None:
        if self.state_error:
            raise self.state_error

    def store(self, discovery: Discovery) -> None:
        self.stored.append(discovery)
        self.latest = f"stored-{len(self.stored)}"

    def refreshing(self) -> bool:
        return self.is_refreshing

    def refreshed_since(self, since: float) -> bool:
        return self.refreshed_at > since

    def in_flight(self) -> frozenset[AssetKey]:
        return self.assets_in_flight

    def pushed_versions(self, keys: Sequence[AssetKey]) -> Mapping[AssetKey, str | None]:
        self.lookups += len(keys)
        return {key: self.pushed.get(key) for key in keys}

    def written_versions(self, keys: Sequence[AssetKey]) -> Mapping[AssetKey, Written]:
        return {key: Written(self.pushed[key], self.pushed_at) for key in keys if key in self.pushed}

    def reload(self) -> str:
        if self.reload_error:
            raise self.reload_error
        self.reloads += 1
        return "in a test"


class Lists:
    """The lists in Confluent and Glue; reading some of them may fail."""

    def __init__(self, w: World) -> None:
        self.entries: dict[ListScope, set[str]] = {}
        self.failing: set[ListScope] = set()
        self.read: list[ListScope] = []
        for node in w.graph.of_type("tableflow_table"):
            scope = ListScope(TABLEFLOW, ENV, node.cluster_id or "")
            self.entries.setdefault(scope, set()).add(f"{node.attributes['topic']}\tRUNNING")
        for node in w.graph.of_type("catalog_table"):
            self.entries.setdefault(ListScope(GLUE, "", node.attributes["database"]), set()).add(
                node.attributes["table_name"]
            )

    def __call__(self, scope: ListScope) -> Iterable[str]:
        self.read.append(scope)
        if scope in self.failing:
            raise LineageBridgeError("HTTP 500", hint="wait")
        return sorted(self.entries.get(scope, ()))


class Harness:
    """One sensor over time: its clock, its cursor and the state that it has loaded."""

    def __init__(self, w: World | None, version: str = "v1") -> None:
        self.dagster = FakeDagster()
        self.now = 1_000_000.0
        self.cursor = Cursor()
        self.lists = Lists(w or World())
        self.budget = 20.0
        self.spent = 0.0
        self.sweep = SweepSettings()
        self.server = "host/a"
        self.update: Update = lambda _discovery, _scopes: None
        self.load(w, version)

    def load(self, w: World | None, version: str) -> None:
        inventory = build_inventory(w.discovery(), LineageTranslator().get_asset_spec) if w else None
        self.loaded: LoadedState = loaded_tables(version if w else "", inventory, PushSettings)
        self.dagster.latest = version if w else None

    def push_everything(self) -> None:
        self.dagster.pushed = {table.key: table.version() for table in self.loaded.tables}
        self.dagster.pushed_at = self.now

    def tick(self, seconds: float = 10.0) -> TickResult:
        self.now += seconds
        tick = Tick(
            self.loaded,
            self.dagster,
            self.lists,
            LOG,
            self.update,
            budget_seconds=self.budget,
            clock=lambda: self.now,
            timer=self._timer,
            sweep=self.sweep,
            server=self.server,
        )
        # Dagster stores the cursor as text.
        cursor, warning = Cursor.read(self.cursor.write())
        assert not warning
        result = tick.run(cursor)
        self.cursor = result.cursor
        return result

    def _timer(self) -> float:
        self.spent += 1.0
        return self.spent


def up_to_date(tables: int = 2) -> Harness:
    """A sensor for which every table is pushed and every list was read."""
    harness = Harness(many(tables))
    harness.push_everything()
    result = harness.tick()
    assert not result.pushes
    assert result.refresh is None
    return harness


def unpushed(tables: int = 1) -> Harness:
    """A sensor whose state has tables, none of them pushed."""
    return Harness(many(tables))
