"""`lineage-bridge push` to a table bucket beside Glue."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner

from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable
from lineage_bridge_dagster.catalogs.rest.enrichment import table_node
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.documents import KEY_SOURCE_TOPICS
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, NOW, add_table, discovery
from lineage_bridge_dagster_tests.catalogs.rest.tables import Bucket

pytestmark = pytest.mark.xdist_group("rest")


@pytest.fixture
def env(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("env")
def test_one_push_reaches_glue_and_a_table_bucket(bucket: Bucket, tmp_path: Path) -> None:
    name = bucket.create((f"ns_{uuid.uuid4().hex[:8]}", "orders"))
    Catalog(bucket.aws).create("orders.v1")
    lineage = Graph()
    in_glue = add_table(lineage, "orders.v1")
    settings = CatalogSettings(
        name="s3tables", type="rest", uri=bucket.rest.glue_url, warehouse=bucket.rest.warehouse
    )
    table = IcebergTable(name[:1], name[1], "uuid", (), "s3://bucket/orders", {})
    node = table_node(table, settings, Scope("iceberg", "", "s3tables"), NOW.isoformat())
    lineage.add_node(node)
    (source,) = (edge.src_id for edge in lineage.edges.values() if edge.dst_id == in_glue.node_id)
    lineage.add_edge(Edge(source, node.node_id, EdgeType.MATERIALIZES))
    path = tmp_path / "lineage_graph.json"
    graph_json.dump(discovery(lineage), path)

    def push(*options: str) -> dict[str, object]:
        result = CliRunner().invoke(main, ["push", "--graph", str(path), "--json", *options])
        assert result.exit_code == 0, result.output
        counts = json.loads(result.stdout)["counts"]
        return {status: count for status, count in counts.items() if count}

    dotted = f"s3tables.{name[0]}.orders"
    assert push("--dry-run") == {"updated": 2}
    assert bucket.lineage(name) == {}
    assert push("--table", dotted) == {"updated": 1}
    assert bucket.lineage(name)[KEY_SOURCE_TOPICS] == "orders.v1"
    assert push() == {"updated": 1, "unchanged": 1}
    assert push("--table", f"{CLUSTER}.orders.v1", "--table", dotted) == {"unchanged": 2}
