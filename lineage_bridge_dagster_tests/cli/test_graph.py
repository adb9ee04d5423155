"""The graph of a command: a file, or a discovery that needs a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.cli.conftest import run


@pytest.mark.parametrize(
    ("text", "named"),
    [("{", "bad.json"), ('{"nodes": [{}], "edges": []}', "nodes[0]"), ('{"nodes": 1}', "nodes")],
)
def test_malformed_graph_is_reported_with_its_place(
    catalog: Catalog, tmp_path: Path, text: str, named: str
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    result = run("push", "--graph", bad)
    assert result.exit_code == 2
    assert named in result.stderr
    assert "Traceback" not in result.output


def test_missing_graph_file_exits_2(catalog: Catalog) -> None:
    result = run("chains", "--graph", "nowhere.json")
    assert result.exit_code == 2
    assert "nowhere.json" in result.stderr


def test_extract_without_a_key_names_the_variable(catalog: Catalog) -> None:
    result = run("extract")
    assert result.exit_code == 2
    assert "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY" in result.stderr
