"""`lineage-bridge-extract` as LineageBridge's scripts call it: emulated Confluent, strict Glue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lineage_bridge_dagster.cli.lineagebridge_extract import main
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator

CLUSTER = world.ORDERS_PLATFORM.id
TABLE = "orders.v1"


@pytest.fixture(scope="module")
def emulator() -> Iterator[ConfluentEmulator]:
    with ConfluentEmulator() as started:
        started.seed()
        yield started


@pytest.fixture(autouse=True)
def credentials(emulator: ConfluentEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in emulator.env().items():
        monkeypatch.setenv(name, value)


def extract(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def graph(path: str = "lineage_graph.json") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path(path).read_text())
    return document


def kinds(path: str = "lineage_graph.json") -> set[str]:
    return {node["node_type"] for node in graph(path)["nodes"]}


def test_graph_is_written_to_the_default_file(catalog: Catalog) -> None:
    catalog.create(TABLE, CLUSTER)
    result = extract("--env", world.ENVIRONMENT_ID)
    assert result.exit_code == 0, result.output
    nodes, edges = len(graph()["nodes"]), len(graph()["edges"])
    assert result.stdout == f"Complete: {nodes} nodes, {edges} edges\nOutput: lineage_graph.json\n"
    tables = [node for node in graph()["nodes"] if node["catalog_type"] == "AWS_GLUE"]
    assert f"glue://{CLUSTER}/{TABLE}" in {node["qualified_name"] for node in tables}


def test_only_the_named_clusters_are_read_and_pushed(catalog: Catalog) -> None:
    cluster = ("--env", world.ENVIRONMENT_ID, "--cluster", CLUSTER, "--output", "us.json")
    assert extract(*cluster, "--no-enrich").exit_code == 0
    tables = [node for node in graph("us.json")["nodes"] if node["node_type"] == "tableflow_table"]
    assert {table["cluster_id"] for table in tables} == {CLUSTER}
    for table in tables:
        catalog.create(table["attributes"]["topic"].lower(), CLUSTER)

    result = extract(*cluster, "--push-lineage")
    assert result.exit_code == 0, result.output
    assert f"updated    {CLUSTER}.{TABLE}" in result.stdout
    assert "lineage_bridge.upstream_chain" in catalog.parameters(TABLE, CLUSTER)


def test_a_graph_can_be_read_first_and_enriched_later(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.create(TABLE, CLUSTER)
    with monkeypatch.context() as without_aws:
        for name in ("LINEAGE_BRIDGE_AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            without_aws.delenv(name)
        result = extract("--env", world.ENVIRONMENT_ID, "--no-enrich", "--output", "graph.json")
    assert result.exit_code == 0, result.output
    assert "tableflow_table" in kinds("graph.json")
    assert "catalog_table" not in kinds("graph.json")
    before = graph("graph.json")

    assert extract("--enrich-only", "--output", "graph.json").exit_code == 0
    after = graph("graph.json")
    assert "catalog_table" in kinds("graph.json")
    ids = {node["node_id"] for node in after["nodes"]}
    assert {node["node_id"] for node in before["nodes"]} <= ids
    assert any(scope["scope"].startswith("glue:") for scope in after["coverage"])


def test_enriched_file_shows_sql_as_the_setting_tells(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_PUSH_SQL", "full")
    assert extract("--env", world.ENVIRONMENT_ID, "--no-enrich").exit_code == 0
    assert "INSERT INTO" in json.dumps(graph())
    monkeypatch.setenv("LINEAGE_BRIDGE_PUSH_SQL", "none")
    assert extract("--enrich-only").exit_code == 0
    assert "INSERT INTO" not in json.dumps(graph())


def test_metrics_are_named_as_ignored(catalog: Catalog) -> None:
    result = extract(
        "--env", world.ENVIRONMENT_ID, "--metrics", "--metrics-lookback-hours", "6", "--no-enrich"
    )
    assert result.exit_code == 0, result.output
    assert "this project reads no metrics" in result.stderr


def test_incomplete_discovery_is_written_and_exits_3(catalog: Catalog, emulator: ConfluentEmulator) -> None:
    with emulator.fault(api="tableflow", status=403):
        result = extract("--env", world.ENVIRONMENT_ID)
    assert result.exit_code == 3
    assert "denied" in result.stderr
    assert graph()["nodes"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--env", "env-1", "--push-glue"), "--push-glue"),
        (("--no-enrich", "--enrich-only"), "--enrich-only"),
        (("--enrich-only", "--output", "nowhere.json"), "nowhere.json"),
        (("--env", "env-unknown"), "env-unknown"),
    ],
)
def test_wrong_use_exits_2_and_names_what_there_is(
    catalog: Catalog, arguments: tuple[str, ...], named: str
) -> None:
    result = extract(*arguments)
    assert result.exit_code == 2
    assert named in result.stderr
    assert "Traceback" not in result.output


def test_unknown_option_names_those_of_this_project(catalog: Catalog) -> None:
    result = extract("--enable-stream-catalog")
    assert result.exit_code == 2
    assert "--enable-stream-catalog" in result.stderr
    for option in ("--env", "--cluster", "--output", "--push-lineage", "lineage-bridge push --help"):
        assert option in result.stderr


def test_without_a_key_the_variable_is_named(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in world.credentials_env():
        monkeypatch.delenv(name, raising=False)
    result = extract()
    assert result.exit_code == 2
    assert "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY" in result.stderr
