"""The embedded stack and Dagster, started once for all end-to-end tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.embedded.dagster_process import DagsterProcess
from lineage_bridge_dagster.embedded.headless import SWEEP_MINUTES
from lineage_bridge_dagster.embedded.stack import Stack
from lineage_bridge_dagster.embedded.world import actions
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi, eventually

#: Topics of the sample world without Tableflow, with the database and the name of their tables: one with
#: capitals and a dot, and one of the cluster in Europe.
NEW_TABLES = {
    "Sessions.Enriched": ("lkc-7k2m9p", "sessions.enriched"),
    "payments-v1": ("analytics_eu", "payments-v1"),
}


@dataclass(slots=True)
class LiveStack:
    """The running stack and the content of its Glue catalog."""

    stack: Stack

    @property
    def events(self) -> Path:
        """The folder that discoveries read events of OpenLineage from."""
        return self.stack.home / "openlineage"

    @property
    def settings(self) -> Settings:
        return Settings.from_env(os.environ)

    def tables(self) -> dict[str, GlueTable]:
        """Return all tables that Tableflow syncs and that exist in Glue, by `database.table`."""
        reader = GlueReader(glue_client(self.settings.aws))
        tables = {f"{db}.{name}": reader.table(db, name) for db, name in self.stack.tableflow_tables()}
        return {name: table for name, table in tables.items() if table is not None}

    def lineage(self) -> dict[str, dict[str, str]]:
        """Return our parameters of each table; Tableflow keeps changing the others."""
        return {
            name: {key: value for key, value in table.parameters.items() if key.startswith("lineage_bridge.")}
            for name, table in self.tables().items()
        }

    def pushed(self) -> set[str]:
        """Return the names of the tables that have lineage in Glue."""
        return {name for name, parameters in self.lineage().items() if "lineage_bridge.digest" in parameters}

    def fail(self, **fault: object) -> None:
        """Make an API of the emulator fail until `heal`."""
        url = os.environ["LINEAGE_BRIDGE_CONFLUENT_API_URL"]
        httpx.post(f"{url}/emulator/faults", json=fault, timeout=10).raise_for_status()

    def heal(self) -> None:
        url = os.environ["LINEAGE_BRIDGE_CONFLUENT_API_URL"]
        httpx.delete(f"{url}/emulator/faults", timeout=10).raise_for_status()


@pytest.fixture(scope="session")
def live_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveStack]:
    """The running stack, with its variables in the environment."""
    home = Path(tmp_path_factory.mktemp("stack")) / "home"
    stack = Stack(home)
    try:
        stack.up(progress=print)
        before = dict(os.environ)
        live = LiveStack(stack)
        live.events.mkdir()
        os.environ.update({**stack.env(), "LINEAGE_BRIDGE_OPENLINEAGE_PATHS": str(live.events)})
        try:
            yield live
        finally:
            os.environ.clear()
            os.environ.update(before)
    finally:
        stack.down()


@pytest.fixture(scope="session")
def live_ui(live_stack: LiveStack) -> Iterator[DagsterUi]:
    """Dagster on the stack, with its sensors running."""
    env = {
        **live_stack.stack.env(),
        "LINEAGE_BRIDGE_OPENLINEAGE_PATHS": str(live_stack.events),
        "LINEAGE_BRIDGE_SENSORS": "on",
        "LINEAGE_BRIDGE_SENSOR_INTERVAL_SECONDS": "1",
        "LINEAGE_BRIDGE_SENSOR_SWEEP_MINUTES": SWEEP_MINUTES,
        # Runs meet APIs that fail until they are healed.
        "LINEAGE_BRIDGE_CONFLUENT_MAX_ATTEMPTS": "2",
    }
    with DagsterProcess(live_stack.stack.paths, env) as dagster:
        dagster.start_sensors()
        dagster.wait_until_ready()
        yield DagsterUi(dagster.url)


@pytest.fixture(scope="session")
def all_pushed(live_stack: LiveStack, live_ui: DagsterUi) -> LiveStack:
    """The running stack after the sensor has pushed the lineage of every table of the sample world."""
    expected = {f"{database}.{name}" for database, name in live_stack.stack.tableflow_tables()}
    assert len(expected) >= 6
    eventually(lambda: live_stack.pushed() >= expected or None, 720, "lineage of the sample world in Glue", 2)
    return live_stack


@pytest.fixture(scope="session")
def new_tables(all_pushed: LiveStack, live_ui: DagsterUi) -> LiveStack:
    """The running stack after Tableflow was enabled on the topics of `NEW_TABLES`, all at once.

    A test that must see what comes before asks for it by `getfixturevalue`.
    """
    assert live_ui.assets().isdisjoint("/".join(("glue", *table)) for table in NEW_TABLES.values())
    for topic in NEW_TABLES:
        actions.enable_tableflow(all_pushed.stack.home, topic)
    return all_pushed
