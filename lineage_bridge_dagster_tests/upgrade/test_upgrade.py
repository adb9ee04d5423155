"""An upgrade from 0.1.0 goes on with what that version stored, and a newer version's is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from dagster import DagsterInstance

from lineage_bridge_dagster.automation.cursor import Cursor
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.update_plan import TableUpdate, plan_update
from lineage_bridge_dagster.catalogs.plans import NoChange
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.collector.marks import MarkFile
from lineage_bridge_dagster.dagster_internals.instance import keep_values
from lineage_bridge_dagster.formats import EVERY_FORMAT, NewerFormatError, StoredFormat
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.documents import render
from lineage_bridge_dagster.operations import stored_formats
from lineage_bridge_dagster.operations.metrics.reading import TOTALS_KEY
from lineage_bridge_dagster.operations.metrics.totals import RunTotals
from lineage_bridge_dagster.topic_to_iceberg.state import LoadState
from lineage_bridge_dagster_tests.assets.world import EAST, many
from lineage_bridge_dagster_tests.project import load
from lineage_bridge_dagster_tests.upgrade import V0_1_0

KEY = "LineageBridgeComponent"
STATE = V0_1_0 / "discovery.json"


def test_its_discovery_becomes_the_same_assets(instance: DagsterInstance) -> None:
    storage = instance.defs_state_storage
    assert storage
    storage.upload_state_from_path(KEY, "of-0-1-0", STATE)
    last = StateStore.of(instance, KEY).last_good()
    assert last is not None
    keys = {key.to_user_string() for key in load().resolve_asset_graph().get_all_asset_keys()}
    tables = [node for node in last.graph.of_type("catalog_table") if node.attributes.get("database")]
    for node in tables:
        database, table = node.attributes["database"], node.attributes["table_name"]
        assert {f"glue/{database}/{table}", f"upstream_chain/{database}/{table}"} <= keys
    for node in last.graph.of_type("kafka_topic"):
        assert f"kafka/{node.cluster_id}/{node.qualified_name}" in keys
    assert len(tables) >= 6


def test_its_cursor_goes_on() -> None:
    written = (V0_1_0 / "cursor.json").read_text()
    cursor, warning = Cursor.read(written)
    assert not warning
    known = json.loads(written)
    assert cursor.seen == known["seen"]
    assert {key: each.count for key, each in cursor.attempts.items()} == {
        key: each["count"] for key, each in known["attempts"].items()
    }


def test_its_push_is_updated_once_and_other_text_stays() -> None:
    discovery = graph_json.load(STATE)
    raw = json.loads((V0_1_0 / "glue_table.json").read_text())
    node = next(n for n in discovery.graph.nodes.values() if n.node_id.endswith(f"glue://{EAST}/o.v1"))
    document = render(chain_of(discovery.graph, node.node_id, coverage=discovery.coverage), PushSettings())

    def plan(table: dict[str, object]) -> object:
        found = GlueTable.from_raw(table, EAST)
        return plan_update(found, document, PushSettings(), complete=True, now="2026-05-01T00:00:00.000Z")

    update = plan(raw)
    assert isinstance(update, TableUpdate)
    text = str(update.table_input["Description"])
    assert text.startswith("Orders of the east.\n")
    assert text.count("Managed by LineageBridge") == 1
    changed = {"Description": text, "Parameters": update.table_input["Parameters"]}
    assert changed["Parameters"].keys() >= raw["Parameters"].keys()
    assert isinstance(plan({**raw, **changed}), NoChange)


@pytest.mark.parametrize("each", EVERY_FORMAT, ids=lambda each: each.name)
def test_a_newer_format_is_refused_with_where_it_is_and_what_to_do(each: StoredFormat) -> None:
    assert each.check(None, "here") == 1
    assert each.check(str(each.version), "here") == each.version
    with pytest.raises(NewerFormatError) as caught:
        each.check(each.version + 1, "s3://states/x")
    for text in ("s3://states/x", each.name, f"format {each.version + 1}", "Install", each.back):
        assert text in str(caught.value)


def test_files_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "topics.json"
    path.write_text(json.dumps({"format": 9, "environment": "e", "cluster": "c", "topics": []}))
    with pytest.raises(NewerFormatError, match="format 9"):
        LoadState.read(path)
    marks = MarkFile("glue", tmp_path)
    with gzip.open(tmp_path / "glue_20260101000000.state.gz", "wt") as file:
        file.write('{"version": 9, "behind": {}, "catalogs": {}}\n')
    with pytest.raises(NewerFormatError, match="format 9"):
        marks.state("2026-01-01 00:00:00")


@pytest.fixture
def migrate(instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """The command on an instance, with a catalog that has no lineage tables."""
    monkeypatch.setattr(DagsterInstance, "from_config", lambda _home: instance)
    monkeypatch.setattr(DagsterInstance, "__exit__", lambda *_args: None)
    monkeypatch.setattr(stored_formats, "stored_tables", lambda *_args: iter(()))
    monkeypatch.setenv("DAGSTER_HOME", instance.root_directory)
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", "us-east-1")

    def run(*options: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["migrate", *options])
        return result.exit_code, result.output

    return run


def test_migrate_tells_what_is_stored_and_goes_back_from_a_newer_version(
    instance: DagsterInstance, migrate: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    store, storage = StateStore.of(instance, KEY), instance.defs_state_storage
    assert storage
    storage.upload_state_from_path(KEY, "of-0-1-0", STATE)
    assert migrate("--dry-run") == (0, f"{KEY}: format 1\n")
    for totals, code, told in (
        (RunTotals.begin(1.0).model_dump_json(), 0, "totals of the metrics: format 1"),
        ("cut", 0, "totals of the metrics: cannot be read; counting starts over"),
        ('{"version": 9}', 1, "has format 9 of the totals of the metrics"),
    ):
        keep_values(instance, {TOTALS_KEY: totals})
        ended, text = migrate("--dry-run")
        assert (ended, told in text) == (code, True)
    keep_values(instance, {TOTALS_KEY: RunTotals.begin(1.0).model_dump_json()})
    counted = "totals of the metrics: format 1\n"
    newer = tmp_path / "newer"
    newer.write_text('{"format": 9, "nodes": {}}')
    ours = store.store(many(1).discovery())
    storage.upload_state_from_path(KEY, "of-a-newer-one", newer)
    code, text = migrate("--dry-run")
    assert code == 1
    assert "has format 9" in text
    going = f"{KEY}: version {ours} becomes the newest\n{counted}"
    assert migrate("--to-this-version", "--dry-run") == (0, going)
    assert store.latest_version() == "of-a-newer-one"
    assert migrate("--to-this-version")[0] == 0
    assert store.latest_version() == ours
    assert migrate() == (0, f"{KEY}: format 1\n{counted}")
