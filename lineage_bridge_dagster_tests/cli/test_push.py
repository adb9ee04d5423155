"""`lineage-bridge push` against a strict Glue; from a file it needs nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.coverage import Note, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    REGION,
    add_table,
    complete_coverage,
    discovery,
)
from lineage_bridge_dagster_tests.cli.conftest import run


def test_push_from_a_file_writes_each_table_once(graph: Path, catalog: Catalog) -> None:
    first = run("push", "--graph", graph, "--json")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["counts"]["updated"] == 2
    parameters = catalog.parameters("orders.v1")
    assert parameters["lineage_bridge.source_topics"] == "orders.v1"
    second = json.loads(run("push", "--graph", graph, "--json").stdout)
    assert second["counts"]["unchanged"] == 2
    assert "UpdateTable" not in second["calls"]
    assert catalog.parameters("orders.v1") == parameters


def test_dry_run_shows_the_diff_and_writes_nothing(graph: Path, catalog: Catalog) -> None:
    before = catalog.table("orders.v1")
    result = run("push", "--graph", graph, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "+" in result.stdout
    assert "lineage_bridge.source_topics" in result.stdout
    assert "2 would be updated" in result.stdout
    assert catalog.table("orders.v1") == before


def test_dry_run_colors_the_diff_unless_no_color_is_set(
    graph: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["push", "--graph", str(graph), "--dry-run"]

    def output() -> str:
        return CliRunner().invoke(main, arguments, color=True).stdout

    assert "\x1b[32m    + lineage_bridge.source_topics" in output()
    assert "\x1b[" not in run(*arguments).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in output()
    assert "    + lineage_bridge.source_topics" in output()


def test_only_the_named_table_is_pushed(graph: Path, catalog: Catalog) -> None:
    assert run("push", "--graph", graph, "--table", f"{CLUSTER}.orders.v1").exit_code == 0
    assert "lineage_bridge.digest" in catalog.parameters("orders.v1")
    assert "lineage_bridge.digest" not in catalog.parameters("customer.profiles-eu")


def test_missing_table_fails_alone_and_exits_1(graph: Path, catalog: Catalog) -> None:
    catalog.glue.delete_table(DatabaseName=CLUSTER, Name="orders.v1")
    result = run("push", "--graph", graph)
    assert result.exit_code == 1
    assert f"{CLUSTER}.orders.v1" in result.stdout
    assert "1 failed" in result.stdout
    assert "1 updated" in result.stdout
    assert "lineage_bridge.digest" in catalog.parameters("customer.profiles-eu")


def test_table_that_was_missing_in_the_discovery_is_skipped_with_the_reason_and_exits_0(
    catalog: Catalog, tmp_path: Path
) -> None:
    catalog.create("orders.v1")
    known = Graph()
    add_table(known, "orders.v1")
    table = add_table(known, "payments")
    told = {"glue_status": "missing", "glue_reason": "it was dropped", "glue_next_step": "Resume Tableflow."}
    known.add_node(table.with_attributes(**told))
    path = tmp_path / "missing.json"
    graph_json.dump(discovery(known), path)
    result = run("push", "--graph", path)
    assert result.exit_code == 0, result.output
    said = f"skipped    {CLUSTER}.payments  Tableflow is enabled, but Glue has no such table in {REGION}"
    assert said in result.stdout
    assert "-> Resume Tableflow." in result.stdout
    assert "1 updated" in result.stdout


def test_access_denied_names_the_iam_action(graph: Path, catalog: Catalog) -> None:
    catalog.aws.fail("UpdateTable", code="AccessDeniedException", status=400, times=100)
    result = run("push", "--graph", graph)
    assert result.exit_code == 1
    assert "glue:UpdateTable" in result.stdout


def test_missing_region_names_its_variable_and_exits_2(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINEAGE_BRIDGE_AWS_REGION")
    result = run("push", "--graph", graph)
    assert result.exit_code == 2
    assert "LINEAGE_BRIDGE_AWS_REGION" in result.stderr


def test_dotenv_file_is_read(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINEAGE_BRIDGE_AWS_REGION")
    # Restored afterwards: reading a .env file adds to the environment.
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", "")
    monkeypatch.delenv("LINEAGE_BRIDGE_AWS_REGION")
    (tmp_path / ".env").write_text(f"LINEAGE_BRIDGE_AWS_REGION={REGION}\n")
    assert run("push", "--graph", graph, "--dry-run").exit_code == 0


def test_what_the_discovery_leaves_open_is_named_and_holds_nothing_back(
    graph: Path, catalog: Catalog, tmp_path: Path
) -> None:
    scope = Scope("connect", "env-abc123", CLUSTER)
    note = ScopeReport(scope, Status.COMPLETE, notes=(Note("connector_class", ("crm",)),))
    known = Graph()
    add_table(known, "orders.v1")
    path = tmp_path / "noted.json"
    graph_json.dump(discovery(known, complete_coverage(note)), path)
    result = run("push", "--graph", path, "--json")
    assert result.exit_code == 0
    assert f"note     {scope}  1 connector of an unknown class: crm" in result.stderr
    assert json.loads(result.stdout)["counts"]["updated"] == 1


def test_push_from_an_incomplete_discovery_is_held_and_exits_3(
    graph: Path, catalog: Catalog, tmp_path: Path
) -> None:
    assert run("push", "--graph", graph).exit_code == 0
    before = catalog.parameters("orders.v1")
    shorter = Graph()
    add_table(shorter, "orders.v1", connector=None)
    failed = ScopeReport(Scope("connect", "env-abc123", CLUSTER), Status.FAILED, "HTTP 500")
    path = tmp_path / "shorter.json"
    graph_json.dump(discovery(shorter, complete_coverage(failed)), path)
    result = run("push", "--graph", path, "--json")
    assert json.loads(result.stdout)["counts"]["held"] == 1
    assert result.exit_code == 3
    assert "HTTP 500" in result.stderr
    assert catalog.parameters("orders.v1") == before
