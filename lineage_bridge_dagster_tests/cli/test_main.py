"""The command line as a user types it, against a strict Glue; a push from a file needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.glue.catalog import Catalog
from lineage_bridge_dagster_tests.glue.graphs import (
    CLUSTER,
    REGION,
    add_table,
    complete_coverage,
    discovery,
)
from lineage_bridge_dagster_tests.lineage.parquet_folder import dump_folder


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Catalog]:
    monkeypatch.chdir(tmp_path)
    with StrictAws() as aws:
        for name, value in {
            "AWS_ENDPOINT_URL": aws.endpoint_url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true",
            "LINEAGE_BRIDGE_AWS_REGION": REGION,
        }.items():
            monkeypatch.setenv(name, value)
        yield Catalog(aws)


@pytest.fixture
def graph(catalog: Catalog, tmp_path: Path) -> Path:
    """Two tables, in the file and in Glue."""
    made = Graph()
    for topic in ("orders.v1", "Customer.Profiles-EU"):
        add_table(made, topic)
        catalog.create(topic.lower())
    path = tmp_path / "lineage_graph.json"
    graph_json.dump(discovery(made), path)
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_push_from_a_file_writes_each_table_once(graph: Path, catalog: Catalog) -> None:
    first = run("push", "--graph", graph, "--json")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["counts"]["updated"] == 2
    parameters = catalog.parameters("orders.v1")
    assert parameters["lineage_bridge.source_topics"] == "orders.v1"
    second = json.loads(run("push", "--graph", graph, "--json").stdout)
    assert second["counts"]["unchanged"] == 2
    assert "UpdateTable" not in second["calls"]
    assert catalog.parameters("orders.v1") == parameters


def test_a_dry_run_shows_the_diff_and_writes_nothing(graph: Path, catalog: Catalog) -> None:
    before = catalog.table("orders.v1")
    shown = run("push", "--graph", graph, "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "+" in shown.stdout
    assert "lineage_bridge.source_topics" in shown.stdout
    assert "2 would be updated" in shown.stdout
    assert catalog.table("orders.v1") == before


def test_one_table_is_pushed_when_one_is_named(graph: Path, catalog: Catalog) -> None:
    assert run("push", "--graph", graph, "--table", f"{CLUSTER}.orders.v1").exit_code == 0
    assert "lineage_bridge.digest" in catalog.parameters("orders.v1")
    assert "lineage_bridge.digest" not in catalog.parameters("customer.profiles-eu")


def test_a_folder_of_parquet_files_serves_as_well(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    dump_folder(graph_json.load(graph), folder)
    one, other = run("chains", "--graph", graph), run("chains", "--graph", folder)
    assert one.exit_code == 0, one.output
    assert one.stdout == other.stdout
    lines = [json.loads(line) for line in one.stdout.splitlines()]
    assert len(lines) == 2
    assert lines[0]["hops"][0]["kind"] == "tableflow_table"
    assert lines[0]["hops"][1]["kind"] == "kafka_topic"


def test_chains_are_written_to_a_file(graph: Path, tmp_path: Path) -> None:
    output = tmp_path / "chains.jsonl"
    said = run("chains", "--graph", graph, "--output", output)
    assert said.exit_code == 0, said.output
    assert len(output.read_text().splitlines()) == 2
    assert "2 chains" in said.stderr


def test_a_table_that_went_fails_alone_and_exits_1(graph: Path, catalog: Catalog) -> None:
    catalog.glue.delete_table(DatabaseName=CLUSTER, Name="orders.v1")
    said = run("push", "--graph", graph)
    assert said.exit_code == 1
    assert f"{CLUSTER}.orders.v1" in said.stdout
    assert "1 failed" in said.stdout
    assert "1 updated" in said.stdout
    assert "lineage_bridge.digest" in catalog.parameters("customer.profiles-eu")


def test_access_denied_names_the_iam_action(graph: Path, catalog: Catalog) -> None:
    catalog.aws.fail("UpdateTable", code="AccessDeniedException", status=400, times=100)
    said = run("push", "--graph", graph)
    assert said.exit_code == 1
    assert "glue:UpdateTable" in said.stdout


def test_no_region_names_its_variable_and_changes_nothing(
    graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINEAGE_BRIDGE_AWS_REGION")
    said = run("push", "--graph", graph)
    assert said.exit_code == 2
    assert "LINEAGE_BRIDGE_AWS_REGION" in said.stderr


@pytest.mark.parametrize(
    ("text", "named"),
    [("{", "bad.json"), ('{"nodes": [{}], "edges": []}', "nodes[0]"), ('{"nodes": 1}', "nodes")],
)
def test_a_bad_file_is_told_by_name_and_place(
    catalog: Catalog, tmp_path: Path, text: str, named: str
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    said = run("push", "--graph", bad)
    assert said.exit_code == 2
    assert named in said.stderr
    assert "Traceback" not in said.output


def test_a_file_that_is_not_there_is_wrong_usage(catalog: Catalog) -> None:
    said = run("chains", "--graph", "nowhere.json")
    assert said.exit_code == 2
    assert "nowhere.json" in said.stderr


def test_extract_without_a_key_names_the_variable(catalog: Catalog) -> None:
    said = run("extract")
    assert said.exit_code == 2
    assert "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY" in said.stderr


def test_dotenv_is_read(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINEAGE_BRIDGE_AWS_REGION")
    # Restored afterwards: reading a .env file adds to the environment.
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", "")
    monkeypatch.delenv("LINEAGE_BRIDGE_AWS_REGION")
    (tmp_path / ".env").write_text(f"LINEAGE_BRIDGE_AWS_REGION={REGION}\n")
    assert run("push", "--graph", graph, "--dry-run").exit_code == 0


def test_what_a_failed_scope_may_lack_is_held_and_nothing_is_shortened(
    graph: Path, catalog: Catalog, tmp_path: Path
) -> None:
    assert run("push", "--graph", graph).exit_code == 0
    before = catalog.parameters("orders.v1")
    shorter = Graph()
    add_table(shorter, "orders.v1", connector=None)
    failed = ScopeReport(Scope("connect", "env-abc123", CLUSTER), Status.FAILED, "HTTP 500")
    path = tmp_path / "shorter.json"
    graph_json.dump(discovery(shorter, complete_coverage(failed)), path)
    said = run("push", "--graph", path, "--json")
    assert json.loads(said.stdout)["counts"]["held"] == 1
    assert said.exit_code == 3
    assert "HTTP 500" in said.stderr
    assert catalog.parameters("orders.v1") == before


@pytest.mark.parametrize(
    "command", [(), ("extract",), ("push",), ("chains",), ("sql",), ("local",), ("local", "demo")]
)
def test_help_has_examples(command: tuple[str, ...]) -> None:
    said = run(*command, "--help")
    assert said.exit_code == 0
    assert "Examples:" in said.stdout
