"""`lineage-bridge push --graph` with a file that LineageBridge extracted, to a table that it wrote to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.glue.catalog import Catalog

TOPIC = "confluent:kafka_topic:env-abc123:orders.v1"
CONNECTOR = "confluent:connector:env-abc123:mysql-source"
TABLEFLOW = "confluent:tableflow_table:env-abc123:lkc-abc123.orders.v1"
GLUE = "aws:glue_table:env-abc123:glue://lkc-abc123/orders.v1"
SEEN = {"first_seen": "2026-04-30T12:34:56.789012Z", "last_seen": "2026-04-30T12:34:56.789012Z"}

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


def node(
    node_id: str,
    node_type: str,
    name: str,
    display_name: str,
    catalog_type: str | None = None,
    **attributes: Any,
) -> dict[str, Any]:
    return {
        "node_id": node_id,
        "system": node_id.partition(":")[0],
        "node_type": node_type,
        "qualified_name": name,
        "display_name": display_name,
        "environment_id": "env-abc123",
        "environment_name": None,
        "cluster_id": "lkc-abc123",
        "cluster_name": None,
        "catalog_type": catalog_type,
        "attributes": attributes,
        "tags": [],
        "url": None,
        **SEEN,
    }


def edge(source: str, target: str, edge_type: str) -> dict[str, Any]:
    return {
        "src_id": source,
        "dst_id": target,
        "edge_type": edge_type,
        "confidence": 1.0,
        "attributes": {},
        **SEEN,
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Connector -> topic -> Tableflow table -> Glue table, in LineageBridge's format: without coverage."""
    nodes = [
        node(CONNECTOR, "connector", "mysql-source", "mysql-source", connector_class="MySqlCdcSource"),
        node(TOPIC, "kafka_topic", "orders.v1", "orders.v1", partitions_count=6),
        node(
            TABLEFLOW,
            "tableflow_table",
            "lkc-abc123.orders.v1",
            "orders.v1 (tableflow)",
            table_formats=["ICEBERG"],
            table_path="s3://bucket/orders.v1",
            phase="RUNNING",
            suspended=False,
        ),
        node(
            GLUE,
            "catalog_table",
            "glue://lkc-abc123/orders.v1",
            "lkc-abc123.orders.v1 (glue)",
            "AWS_GLUE",
            database="lkc-abc123",
            table_name="orders.v1",
            aws_region="us-east-1",
        ),
    ]
    edges = [
        edge(CONNECTOR, TOPIC, "produces"),
        edge(TOPIC, TABLEFLOW, "materializes"),
        edge(TABLEFLOW, GLUE, "materializes"),
    ]
    path = tmp_path / "lineage_graph.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": edges}))
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
