"""What the pages of a topic and its table say about Tableflow's settings."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.specs.graph_view import GraphView, NodeContext, Role
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, World

SETTINGS = {
    "storage_kind": "ByobAws",
    "bucket_name": "lake",
    "region": "us-east-1",
    "provider_integration_id": "cspi-1",
    "table_formats": ["DELTA", "ICEBERG"],
    "write_mode": "UPSERT_HISTORY",
    "error_handling": {"mode": "LOG", "target": "bad-orders"},
    "retention_ms": "604800000",
    "data_retention_ms": "2592000000",
    "enable_compaction": True,
    "enable_partitioning": False,
}
ROWS = {
    "Storage": "own bucket lake in us-east-1, by provider integration cspi-1",
    "Table formats": "Delta Lake, Iceberg; upsert history",
    "Failed records": "go to topic bad-orders",
    "Table retention": "snapshots 7 days, rows 30 days",
    "Maintenance": "compaction on, partitioning off",
}


def specs(**settings: Any) -> dict[str, Any]:
    """The asset specs of topic `t`, its table, the table's chain and its dead letter topic."""
    w = World()
    topic, dead = w.topic(EAST, "t"), w.topic(EAST, "bad-orders")
    table = w.glue(EAST, "t")
    tableflow = ids.tableflow_table_id(ENV, EAST, "t")
    w.graph.nodes[tableflow] = w.graph.nodes[tableflow].with_attributes(**settings)
    w.edge(tableflow, dead, EdgeType.PRODUCES, role="dlq")
    view = GraphView.of(w.discovery())
    nodes = w.graph.nodes
    translator = LineageTranslator()
    return {
        "topic": translator.get_asset_spec(nodes[topic], NodeContext(view)),
        "table": translator.get_asset_spec(nodes[table], NodeContext(view)),
        "chain": translator.get_asset_spec(nodes[table], NodeContext(view, Role.CHAIN)),
        "dead": translator.get_asset_spec(nodes[dead], NodeContext(view)),
    }


def test_pages_of_the_topic_and_the_table_show_tableflows_settings() -> None:
    found = specs(**SETTINGS)
    for name in ("topic", "table"):
        for row, text in ROWS.items():
            assert f"| {row} | {text} |" in found[name].description
    for name in ("chain", "dead"):
        assert not any(f"| {row} |" in found[name].description for row in ROWS)
    assert "| Written by | Tableflow table t |" in found["dead"].description


def test_the_settings_are_metadata_too() -> None:
    found = specs(**SETTINGS)
    for name in ("topic", "table"):
        metadata = found[name].metadata
        assert {key: metadata[f"lineage_bridge/{key}"] for key in EXPECTED} == EXPECTED
    assert not {f"lineage_bridge/{key}" for key in EXPECTED} & found["chain"].metadata.keys()


EXPECTED = {
    "storage": ROWS["Storage"],
    "table_formats": "DELTA, ICEBERG",
    "tableflow_write_mode": "UPSERT_HISTORY",
    "error_handling": "LOG",
    "dead_letter_topic": "bad-orders",
    "snapshot_retention": "7 days",
    "row_retention": "30 days",
    "provider_integration_id": "cspi-1",
}


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        (
            {"storage_kind": "Managed", "region": "us-east-1"},
            "| Storage | managed by Confluent in us-east-1 |",
        ),
        (
            {
                "storage_kind": "AzureDataLakeStorageGen2",
                "container_name": "c",
                "storage_account_name": "a",
                "region": "centralus",
            },
            "| Storage | own container c of storage account a in centralus |",
        ),
        ({"storage_kind": "ByobGcp"}, "| Storage | ByobGcp |"),
        ({"error_handling": {"mode": "SUSPEND"}}, "| Failed records | suspend the table |"),
        ({"error_handling": {"mode": "SKIP"}}, "| Failed records | are skipped |"),
        ({"error_handling": {"mode": "SOME_MODE"}}, "| Failed records | some mode |"),
        ({"retention_ms": -1, "data_retention_ms": 3_600_000}, "| Table retention | rows 1 hour |"),
        ({"enable_compaction": False}, "| Maintenance | compaction off |"),
    ],
)
def test_a_setting_reads_as_text(settings: dict[str, Any], rows: str) -> None:
    assert rows in specs(**settings)["table"].description


def test_settings_that_are_not_told_have_no_row() -> None:
    found = specs()
    assert not any(row in found[name].description for row in ROWS for name in ("topic", "table"))
