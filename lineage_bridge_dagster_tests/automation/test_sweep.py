"""The sweep of whole tables: lost lineage is found and repaired, at a pace of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from botocore.client import BaseClient
from dagster import AssetKey

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.automation import losses
from lineage_bridge_dagster.automation import sweep as sweep_module
from lineage_bridge_dagster.automation.loaded import loaded_tables
from lineage_bridge_dagster.automation.requests import TickResult
from lineage_bridge_dagster.automation.sweep import SweepSettings
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.location import create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, many
from lineage_bridge_dagster_tests.automation.ticks import Harness
from lineage_bridge_dagster_tests.catalogs.glue.runs import push_to_glue

ROUND = 300.0
HOUR = 3600.0


class Swept(Harness):
    """A sensor that sweeps a strict Glue, whose pushes the test carries out."""

    def __init__(self, glue: BaseClient, tables: int, repair: bool = True, owner: str = "ours") -> None:
        self.glue, self.world = glue, many(tables)
        self.settings = PushSettings(owner=owner)
        self.pages: list[str | None] = []
        #: Errors that the next pages raise.
        self.errors: list[Exception] = []
        create_tables(glue, self.world)
        super().__init__(self.world)
        self.sweep = SweepSettings(self.page, seconds=ROUND, repair=repair)
        inventory = build_inventory(self.world.discovery(), LineageTranslator().get_asset_spec)
        self.loaded = loaded_tables("v1", inventory, lambda: self.settings)
        self.push()

    def push(self) -> None:
        push_to_glue(self.world.discovery(), self.glue, self.settings)  # type: ignore[arg-type]
        self.push_everything()

    def page(self, database: str, token: str | None) -> tuple[Sequence[GlueTable], str | None]:
        self.pages.append(token)
        if self.errors:
            raise self.errors.pop()
        return GlueReader(self.glue).page(database, token)  # type: ignore[arg-type]

    def edit(self, number: int = 0, *, wipe: bool = True, move: bool = False, **parameters: str) -> None:
        """Write a table as another writer does, which may take lineage away and commit data."""
        name = f"topic.{number:05d}"
        current = self.glue.get_table(DatabaseName=EAST, Name=name)["Table"]
        kept = {k: v for k, v in current["Parameters"].items() if not (wipe and k.startswith("lineage_"))}
        if move:
            kept["metadata_location"] = f"s3://bucket/{name}/metadata/{self.now}.metadata.json"
        table_input: dict[str, Any] = {"Name": name, "Parameters": {**kept, **parameters}}
        if not wipe:
            table_input["Description"] = current["Description"]
        for field in ("StorageDescriptor", "TableType"):
            if field in current:
                table_input[field] = current[field]
        self.glue.update_table(
            DatabaseName=EAST, TableInput=table_input, VersionId=current["VersionId"], SkipArchive=True
        )

    def repaired(self, result: TickResult) -> list[str]:
        return [key.path[-1] for push in result.pushes if push.repair for key in push.keys]


def key(number: int = 0) -> AssetKey:
    return AssetKey(["glue", EAST, f"topic.{number:05d}"])


def test_wiped_lineage_is_found_named_and_repaired(glue: BaseClient) -> None:
    swept = Swept(glue, 2)
    assert not swept.tick().pushes
    swept.edit(1)
    assert not swept.tick().pushes
    result = swept.tick(ROUND)
    assert [push.keys for push in result.pushes] == [(key(1),)]
    assert any("topic.00001 (wiped)" in note for note in result.notes)
    swept.push()
    assert not swept.tick(ROUND).pushes


def test_a_table_with_its_lineage_is_never_pushed_again_however_often_data_is_committed(
    glue: BaseClient,
) -> None:
    swept = Swept(glue, 1)
    for _ in range(5):
        swept.edit(wipe=False, move=True, numRows="7")
        assert not swept.tick(ROUND).pushes
    assert not swept.cursor.losses


def test_a_sweep_reads_each_hundred_tables_once_and_goes_on_where_it_stopped(
    glue: BaseClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_module, "MAX_PAGES", 2)
    swept = Swept(glue, 250)
    swept.edit(249)
    assert (swept.tick().pushes, len(swept.pages)) == ([], 2)
    assert swept.repaired(swept.tick()) == ["topic.00249"]
    assert len(swept.pages) == 3
    swept.tick()
    assert len(swept.pages) == 3
    swept.tick(ROUND)
    assert len(swept.pages) == 5


def test_a_tick_that_is_out_of_time_reads_one_page(glue: BaseClient) -> None:
    swept = Swept(glue, 250)
    swept.budget = 0.0
    for pages in (1, 2, 3, 3):
        swept.tick()
        assert len(swept.pages) == pages


def test_repairs_that_are_undone_wait_longer_and_name_the_likely_writer(glue: BaseClient) -> None:
    swept = Swept(glue, 1)
    repaired = []
    checks = []
    for _ in range(60):
        swept.edit(move=True)
        result = swept.tick(ROUND)
        if result.pushes:
            repaired.append(swept.now)
            swept.push()
        checks += [check for check in result.checks if check.asset_key == key()]
    waits = [later - earlier for earlier, later in pairwise(repaired)]
    assert len(waits) >= 4
    assert waits == sorted(waits)
    assert waits[-1] >= 8 * waits[0]
    assert checks[-1].check_name == "lineage_in_sync"
    assert not checks[-1].passed
    assert "metadata_location moved" in str(checks[-1].description)
    assert "CloudTrail" in str(checks[-1].description)
    # The check is recorded when lineage is lost again, not by each sweep that sees it missing.
    assert len(checks) <= len(repaired)


def test_a_loss_that_was_never_repaired_is_one_loss_and_accuses_nobody(glue: BaseClient) -> None:
    swept = Swept(glue, 1)
    swept.edit()
    for _ in range(20):
        # Its repairs fail, while Iceberg commits go on.
        swept.edit(move=True)
        result = swept.tick(HOUR)
        assert not result.checks
        assert "likely writer" not in " ".join(result.notes)
    assert [loss.count for loss in swept.cursor.losses.values()] == [1]


def test_repairs_that_fail_wait_longer(glue: BaseClient) -> None:
    swept = Swept(glue, 1)
    swept.edit()
    repaired = [swept.now for _ in range(60) if swept.repaired(swept.tick(ROUND))]
    waits = [later - earlier for earlier, later in pairwise(repaired)]
    assert len(waits) >= 4
    assert waits[-1] >= 8 * waits[0]


def test_commits_that_lineage_outlived_are_no_proof_against_the_next_one(glue: BaseClient) -> None:
    swept = Swept(glue, 1)
    text = ""
    for _ in range(5):
        swept.edit(move=True)
        text += " ".join(swept.tick(6 * HOUR).notes)
        swept.push()
        for _ in range(2):
            swept.edit(wipe=False, move=True)
            swept.tick(ROUND)
    assert "outlived Iceberg commits before" in text
    assert "such as Tableflow's" not in text


def test_a_table_that_kept_its_lineage_for_a_day_starts_over(glue: BaseClient) -> None:
    swept = Swept(glue, 1)
    for _ in range(4):
        swept.edit()
        swept.tick(HOUR)
        swept.push()
    swept.tick(25 * HOUR)
    assert not swept.cursor.losses
    swept.edit()
    assert swept.repaired(swept.tick(ROUND)) == ["topic.00000"]


def test_lost_lineage_may_only_be_reported(glue: BaseClient) -> None:
    swept = Swept(glue, 1, repair=False)
    swept.edit()
    result = swept.tick()
    assert not result.pushes
    assert "topic.00000 (wiped)" in str(result.checks[0].description)
    for _ in range(5):
        # Commits change the table's version, and not what is missing.
        swept.edit(move=True)
        result = swept.tick(ROUND)
        assert not result.checks
        assert any("topic.00000 (wiped)" in note for note in result.notes)
    swept.push()
    assert [check.passed for check in swept.tick(ROUND).checks] == [True]


def test_tables_of_another_instance_are_not_requested_until_they_are_taken_over(glue: BaseClient) -> None:
    swept = Swept(glue, 2)
    swept.settings = PushSettings(owner="theirs")
    swept.dagster.pushed = {}
    swept.tick()
    for _ in range(3):
        result = swept.tick(ROUND)
        assert not result.pushes
        assert not swept.cursor.attempts
    assert any("another instance (ours)" in note for note in result.notes)
    # A newer discovery changes nothing about that.
    swept.cursor.state = "v0"
    assert not swept.tick().pushes
    swept.settings = PushSettings(owner="theirs", take_over=True)
    assert [push.tables for push in swept.tick().pushes] == [2]


def test_a_table_that_its_owner_gave_up_is_requested(glue: BaseClient) -> None:
    swept = Swept(glue, 2)
    swept.settings = PushSettings(owner="theirs")
    swept.dagster.pushed = {}
    swept.tick()
    swept.edit(1)
    swept.tick(ROUND)
    result = swept.tick()
    assert [key.path[-1] for push in result.pushes for key in push.keys] == ["topic.00001", "topic.00001"]
    assert [push.tables for push in result.pushes] == [1]


def test_without_a_sweep_tables_of_another_instance_are_not_remembered(glue: BaseClient) -> None:
    swept = Swept(glue, 1)
    swept.settings = PushSettings(owner="theirs")
    swept.dagster.pushed = {}
    swept.tick()
    assert swept.cursor.foreign
    swept.sweep = SweepSettings(swept.page, seconds=0.0)
    swept.tick()
    assert swept.tick().pushes


def test_the_cursor_stays_small_with_thousands_of_tables_of_another_instance(glue: BaseClient) -> None:
    swept = Swept(glue, 200)
    swept.settings = PushSettings(owner="theirs")
    swept.dagster.pushed = {}
    swept.tick()
    assert not swept.tick().pushes
    assert len(swept.cursor.write()) < 1000 + 200 * 15


def test_more_losses_than_the_cursor_keeps_are_repaired_sweep_by_sweep(
    glue: BaseClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "MAX_LOSSES", 4)
    swept = Swept(glue, 10)
    swept.tick()
    for number in range(10):
        swept.edit(number)
    repaired = []
    for _ in range(3):
        result = swept.tick(ROUND)
        names = swept.repaired(result)
        assert len(names) <= 4
        repaired += names
        # The runs carry out what was requested, and nothing else.
        tables = {f"glue://{EAST}/{name}" for name in names}
        ids = [n.node_id for n in swept.world.graph.of_type("catalog_table") if n.qualified_name in tables]
        push_to_glue(swept.world.discovery(), glue, swept.settings, tables=ids)  # type: ignore[arg-type]
    assert sorted(repaired) == [f"topic.{number:05d}" for number in range(10)]
    assert len(swept.cursor.losses) <= 4


def test_a_table_in_a_run_is_not_compared(glue: BaseClient) -> None:
    swept = Swept(glue, 1)
    swept.edit()
    swept.dagster.assets_in_flight = frozenset({key()})
    assert not swept.tick().pushes
    assert not swept.cursor.losses


def test_a_discovery_that_lost_lineage_repairs_nothing_with_it(glue: BaseClient) -> None:
    swept = Swept(glue, 1)
    lesser = many(1)
    lesser.graph.edges = {
        edge_key: edge for edge_key, edge in lesser.graph.edges.items() if edge.edge_type != EdgeType.PRODUCES
    }
    inventory = build_inventory(lesser.discovery(), LineageTranslator().get_asset_spec)
    loaded = loaded_tables("v1", inventory, lambda: swept.settings)
    assert loaded.tables[0].version() != swept.loaded.tables[0].version()
    swept.loaded = loaded
    swept.edit()
    result = swept.tick()
    assert not swept.repaired(result)
    assert not swept.cursor.losses


def test_a_page_that_cannot_be_read_is_read_again_and_loses_nothing(glue: BaseClient) -> None:
    swept = Swept(glue, 2)
    swept.edit()
    swept.errors = [RuntimeError("throttled")]
    result = swept.tick()
    assert any("throttled" in note for note in result.notes)
    assert not result.pushes
    assert not swept.cursor.losses
    assert swept.repaired(swept.tick()) == ["topic.00000"]


def test_a_page_that_fails_twice_is_left_to_the_next_sweep(glue: BaseClient) -> None:
    swept = Swept(glue, 1)
    swept.edit()
    swept.errors = [RuntimeError("denied"), RuntimeError("denied")]
    swept.tick()
    swept.tick()
    assert len(swept.pages) == 2
    swept.tick()
    assert len(swept.pages) == 2
    assert swept.repaired(swept.tick(ROUND)) == ["topic.00000"]
