"""`lineage-bridge store`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.parquet_folder import dump_folder
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.spark.graphs import world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_graph_is_stored_from_a_file_and_from_a_folder_alike(
    spark: SparkSession,
    spark_catalog: CatalogSettings,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", spark_catalog.region or "")
    for name in ("warehouse", "glue_endpoint", "s3_endpoint"):
        monkeypatch.setenv(f"LINEAGE_BRIDGE_CATALOG_{name.upper()}", getattr(spark_catalog, name))
    discovery = limited(world(3), "redacted")
    graph_json.dump(discovery, tmp_path / "graph.json")
    dump_folder(discovery, tmp_path / "graph")
    first = run("store", "--graph", tmp_path / "graph.json", "--namespace", database)
    assert first.exit_code == 0, first.output
    assert "3 chains" in first.stderr
    assert "3 changed" in first.stderr
    again = run("store", "--graph", tmp_path / "graph", "--namespace", database)
    assert again.exit_code == 0, again.output
    assert "none changed" in again.stderr
    assert spark.table(quoted("glue", database, "upstream_chains")).count() == 3 * 9


def test_setting_without_a_value_is_refused_before_anything_starts(tmp_path: Path) -> None:
    result = run("store", "--graph", tmp_path, "--conf", "spark.driver.memory")
    assert result.exit_code == 2
    assert "is not KEY=VALUE" in result.stderr


def test_graph_that_is_not_there_is_named_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_CATALOG_WAREHOUSE", "s3://lake/warehouse")
    result = run("store", "--graph", tmp_path / "none.json")
    assert result.exit_code == 2
    assert "none.json cannot be read: No such file" in result.stderr
    assert "Starting Spark" not in result.stderr
