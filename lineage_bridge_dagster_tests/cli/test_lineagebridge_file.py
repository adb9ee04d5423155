"""`lineage-bridge push --graph` with a file that LineageBridge extracted, to a table that it wrote to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.cli.lineagebridge import (
    AVRO_FIELDS,
    CONNECTOR,
    GLUE,
    JSON_FIELDS,
    SERDE,
    SQL,
    TABLEFLOW,
    TOPIC,
    short_graph,
    whole_graph,
)

USERS_TEXT = "Orders of the shop.\nAsk #sales before you change it."
#: A block as LineageBridge writes it, with a source that is no longer upstream.
THEIR_BLOCK = """\
Upstream lineage:
- connector: postgres-source [PostgresCdcSource]
  - topic: orders.v1 [2 columns]
    - tableflow_table: lkc-abc123.orders.v1
  → lkc-abc123.orders.v1 (glue)
Environment: env-abc123
Last synced: 2026-03-01T00:00:00.000000+00:00
Managed by LineageBridge"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lineage_graph.json"
    path.write_text(json.dumps(short_graph()))
    return path


@pytest.fixture
def whole_file(tmp_path: Path) -> Path:
    path = tmp_path / "whole.json"
    path.write_text(json.dumps(whole_graph()))
    return path


def test_parameters_are_written_and_those_of_others_are_kept(file: Path, catalog: Catalog) -> None:
    catalog.create("orders.v1", parameters={"lineage_bridge.source_topics": "old.topic", "mine": "kept"})
    before = catalog.parameters("orders.v1")
    result = run("push", "--graph", file)
    assert result.exit_code == 0, result.output
    parameters = catalog.parameters("orders.v1")
    assert json.loads(parameters["lineage_bridge.upstream_chain"]) == [
        {
            "hop": 1,
            "kind": "tableflow_table",
            "qualified_name": "lkc-abc123.orders.v1",
            "display_name": "orders.v1 (tableflow)",
        },
        {"hop": 2, "kind": "topic", "qualified_name": "orders.v1", "display_name": "orders.v1"},
        {
            "hop": 3,
            "kind": "connector",
            "qualified_name": "mysql-source",
            "display_name": "mysql-source",
            "connector_class": "MySqlCdcSource",
        },
    ]
    assert parameters["lineage_bridge.source_topics"] == "orders.v1"
    assert parameters["lineage_bridge.source_connectors"] == "mysql-source"
    assert parameters["lineage_bridge.pipeline_type"] == "tableflow"
    assert parameters["lineage_bridge.environment_id"] == "env-abc123"
    assert parameters["lineage_bridge.cluster_id"] == "lkc-abc123"
    for key in ("mine", "table_type", "metadata_location"):
        assert parameters[key] == before[key]


def test_block_of_the_description_is_replaced_and_the_users_text_is_kept(
    file: Path, catalog: Catalog
) -> None:
    catalog.create("orders.v1", Description=f"{USERS_TEXT}\n\n{THEIR_BLOCK}")
    assert run("push", "--graph", file).exit_code == 0
    description = catalog.table("orders.v1")["Description"]
    assert description.startswith(f"{USERS_TEXT}\n\nUpstream lineage:\n- connector: mysql-source")
    assert description.endswith("\nManaged by LineageBridge")
    assert description.count("Upstream lineage:") == 1
    assert "postgres-source" not in description


def test_second_push_writes_nothing_and_reports_the_id_of_the_file(file: Path, catalog: Catalog) -> None:
    catalog.create("orders.v1", Description=THEIR_BLOCK)
    assert run("push", "--graph", file).exit_code == 0
    report = json.loads(run("push", "--graph", file, "--json").stdout)
    assert [table["table"] for table in report["tables"]] == [GLUE]
    assert {outcome: count for outcome, count in report["counts"].items() if count} == {"unchanged": 1}
    assert "UpdateTable" not in report["calls"]


def test_ids_of_the_file_are_kept(file: Path, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    assert run("push", "--graph", file, "--table", GLUE).exit_code == 0
    assert "lineage_bridge.digest" in catalog.parameters("orders.v1")
    discovery = graph_json.load(file)
    assert set(discovery.graph.nodes) == {CONNECTOR, TOPIC, TABLEFLOW, GLUE}
    (line,) = run("chains", "--graph", file).stdout.splitlines()
    assert json.loads(line)["table"] == GLUE


def test_whole_graph_gets_the_parameters_of_lineagebridges_own_push(
    whole_file: Path, catalog: Catalog
) -> None:
    catalog.create("orders.v1", parameters={"mine": "kept"})
    before = catalog.parameters("orders.v1")
    assert run("push", "--graph", whole_file).exit_code == 0
    pushed = {k: v for k, v in catalog.parameters("orders.v1").items() if k not in before}
    assert json.loads(pushed.pop("lineage_bridge.upstream_chain")) == [
        {
            "hop": 1,
            "kind": "tableflow_table",
            "qualified_name": "lkc-abc123.orders.v1",
            "display_name": "orders.v1 (tableflow)",
        },
        {
            "hop": 2,
            "kind": "topic",
            "qualified_name": "orders.v1",
            "display_name": "orders.v1",
            "schema_fields": JSON_FIELDS,
        },
        {
            "hop": 3,
            "kind": "flink_job",
            "qualified_name": "enrich-orders",
            "display_name": "enrich-orders",
            "sql": SQL,
        },
        {
            "hop": 4,
            "kind": "topic",
            "qualified_name": "shop.public.orders",
            "display_name": "shop.public.orders",
            "schema_fields": AVRO_FIELDS,
        },
        {
            "hop": 5,
            "kind": "connector",
            "qualified_name": "mysql-source",
            "display_name": "mysql-source",
            "connector_class": "MySqlCdcSource",
        },
        {
            "hop": 6,
            "kind": "external_dataset",
            "qualified_name": "mysql://shop/public.orders",
            "display_name": "mysql://shop/public.orders",
        },
    ]
    assert pushed.pop("lineage_bridge.digest")
    assert pushed.pop("lineage_bridge.last_synced")
    assert pushed == {
        "lineage_bridge.source_topics": "orders.v1,shop.public.orders",
        "lineage_bridge.source_connectors": "mysql-source",
        "lineage_bridge.pipeline_type": "tableflow",
        "lineage_bridge.environment_id": "env-abc123",
        "lineage_bridge.cluster_id": "lkc-abc123",
    }
    description = catalog.table("orders.v1")["Description"]
    assert "- topic: shop.public.orders [2 columns]" in description
    assert "- topic: orders.v1 [2 columns]" in description


def test_chain_that_lineagebridge_pushed_is_rewritten_once(whole_file: Path, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    assert run("push", "--graph", whole_file).exit_code == 0
    theirs = catalog.parameters("orders.v1")
    del theirs["lineage_bridge.digest"]
    theirs["lineage_bridge.last_synced"] = "2026-04-30T12:34:56.789012+00:00"
    catalog.edit("orders.v1", Parameters=theirs, Description=THEIR_BLOCK)
    for expected in ("updated", "unchanged"):
        report = json.loads(run("push", "--graph", whole_file, "--json").stdout)
        assert report["counts"][expected] == 1


def test_graph_is_written_again_with_the_ids_and_the_serde_of_the_file(
    whole_file: Path, tmp_path: Path
) -> None:
    discovery = graph_json.load(whole_file)
    graph_json.dump(discovery, tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    given = json.loads(whole_file.read_text())
    assert [node["node_id"] for node in again["nodes"]] == [node["node_id"] for node in given["nodes"]]
    assert again["edges"] == given["edges"]
    (table,) = [node for node in again["nodes"] if node["node_id"] == GLUE]
    assert table["attributes"]["serde_info"] == SERDE
